//! Plans compared with arithmetic done by hand.

use model_files::model_config::ModelConfig;
use run_plan::plan::{
    Assumptions, DRIVER_BYTES, Hardware, MemoryPlan, ModelSizes, Phase, Plan, Setup, StepTime,
    Traffic, preset_model,
};
use training_run::config::{Dtype, LoraSection, Run, Zero};

/// Parameters of Qwen2.5-7B.
pub(crate) const P: f64 = 7_615_616_512.0;

pub(crate) fn setup(size: &str, more: &[&str]) -> Setup {
    let open = ["model.path=m", "data.train.arithmetic={}"];
    let overrides: Vec<String> = open.iter().chain(more).map(|&one| one.to_owned()).collect();
    let run = Run::from_preset("qwen2.5-7b-grpo", &overrides).expect("a run");
    let config = preset_model(size).expect("a known shape");
    Setup::of_run(&run, ModelSizes::of(size, &config))
}

pub(crate) fn on(mut setup: Setup, nodes: usize, gpus: usize, zero: u8) -> Setup {
    setup.run.parallel.zero = Zero::try_from(zero).expect("a stage of the trainer");
    setup.with_ranks(nodes, gpus).expect("counts in range")
}

fn gigabytes(bytes: u64) -> f64 {
    bytes as f64 / 1e9
}

/// Most bytes of what has this name, in any phase.
pub(crate) fn bytes_of(memory: &MemoryPlan, name: &str) -> u64 {
    let resident = memory.resident.iter();
    let items = resident.chain(memory.phases.iter().flat_map(|phase| &phase.items));
    items.filter(|item| item.name == name).map(|item| item.bytes).max().unwrap_or(0)
}

/// bf16 weights and gradients, f32 master weights and moments: 2 + 2 + 4 + 8 bytes a parameter.
#[test]
fn one_rank_keeps_sixteen_bytes_a_parameter_and_twelve_with_narrow_moments() {
    let plan = |more: &[&str]| {
        let setup = setup("7b", more);
        let plan = MemoryPlan::new(&setup, setup.longest());
        (plan.resident_bytes() + bytes_of(&plan, "gradients")) as f64 / P
    };
    assert!((plan(&[]) - 16.0).abs() < 1e-9);
    assert!((plan(&["optimizer.moments=bf16"]) - 12.0).abs() < 1e-9);
    // Half a master weight, the parameter being the other half; or none.
    let narrow = "optimizer.moments=bf16";
    assert!((plan(&["optimizer.master=split", narrow]) - 10.0).abs() < 1e-9);
    assert!((plan(&["optimizer.master=none", narrow]) - 8.0).abs() < 1e-9);
    // In f32 the parameters are the master weights: 4 + 4 + 8.
    assert!((plan(&["model.dtype=f32"]) - 16.0).abs() < 1e-9);
}

/// 32,763,876,352 parameters of the teacher at two bytes, cut as the policy is, and a pass through them in place of its own.
#[test]
fn a_teacher_of_another_size_counts_by_its_own_weights() {
    let teacher: f64 = 32_763_876_352.0;
    let policys = setup("7b", &["algorithm.reference_kl.estimator=k1"]);
    let config = preset_model("32b").expect("a known shape");
    let taught = Setup { reference: Some(ModelSizes::of("32b", &config)), ..policys.clone() };
    let resident = |setup: &Setup| {
        bytes_of(&MemoryPlan::new(setup, setup.longest()), "reference model") as f64
    };
    assert!((resident(&policys) - 2.0 * P).abs() < 1.0);
    assert!((resident(&taught) - 2.0 * teacher).abs() < 1.0);
    assert!((resident(&on(taught.clone(), 1, 8, 3)) - 2.0 * teacher / 8.0).abs() < 2.0);
    // Below an adapter is the policy's model, not a teacher.
    let adapted = |setup: &Setup| setup.with(|run| run.lora = Some(LoraSection::default()));
    assert!(resident(&adapted(&policys)).abs() < 1e-9);
    assert!((resident(&adapted(&taught)) - 2.0 * teacher).abs() < 1.0);
    let scoring = |setup: &Setup| {
        let hardware = Hardware::named("h100", 3200.0).expect("known");
        let assumed = Assumptions::default();
        StepTime::new(setup, &hardware, &assumed).scoring_seconds
    };
    let expected = f64::midpoint(1.0, teacher / P);
    assert!((scoring(&taught) / scoring(&policys) / expected - 1.0).abs() < 1e-9);
}

/// The head of the 0.5B model is its widest matrix, of 151,936 × 896; four bytes of each number, and no other difference.
#[test]
fn where_products_are_taken_in_f32_the_head_is_there_once_more() {
    let short = ["rollout.max_response_tokens=16", "training.micro_batch_tokens=2064"];
    let narrow = setup("0.5b", &short);
    let lengths = narrow.longest();
    let widened = MemoryPlan::new(&Setup { widens_products: true, ..narrow.clone() }, lengths);
    let narrow = MemoryPlan::new(&narrow, lengths);
    let head = 4 * 151_936 * 896;
    for phase in ["sampling", "scoring", "updating"] {
        let bytes = |plan: &MemoryPlan| {
            let planned = plan.phases.iter().find(|other| other.name == phase);
            planned.expect("a phase of every plan").bytes()
        };
        let more = bytes(&widened) - bytes(&narrow);
        // Sampling reads prompts besides, by blocks whose widest product, of gate and up, is of 896 × 9,728.
        let block = if phase == "sampling" {
            4 * (896 * 9728 + lengths.prompt_tokens as u64 * (896 + 9728))
        } else {
            0
        };
        assert_eq!(more, head + block, "{phase}");
    }
    assert_eq!(widened.resident, narrow.resident);
}

/// Inputs wait for the backward pass of their block, so the peak is at its beginning. If they are offloaded, it is at the first block,
/// when the gradients of all others are there.
#[test]
fn block_inputs_go_as_gradients_come() {
    let update = |more: &[&str]| {
        let setup = setup("0.5b", &[&["training.activation_bytes=0"], more].concat());
        let memory = MemoryPlan::new(&setup, setup.longest());
        let phase = memory.phases.iter().find(|phase| phase.name == "updating");
        let items = phase.expect("a phase of every plan").items.clone();
        let gradients = items.iter().find(|item| item.name == "gradients");
        (gradients.expect("gradients").bytes, setup.model)
    };
    let (gradients, model) = update(&[]);
    let head = model.head_parameters();
    assert_eq!(gradients, 2 * head as u64);
    let (gradients, _) = update(&["parallel.offload_block_inputs=true"]);
    assert_eq!(gradients, 2 * (head + 23 * model.block_parameters) as u64);
}

/// The f32 sum of the gradients of a head of 151,936 × 896 is the largest tensor of the 0.5B model, if micro-batches are small.
#[test]
fn the_largest_tensor_is_counted_once_more() {
    let short = ["rollout.max_response_tokens=16", "training.micro_batch_tokens=2064"];
    let setup = setup("0.5b", &short);
    let memory = MemoryPlan::new(&setup, setup.longest());
    let overhead = memory.peak_bytes() - memory.tensor_bytes();
    assert_eq!(overhead, DRIVER_BYTES + 4 * 151_936 * 896);
}

/// 596,049,920 parameters of Qwen3-0.6B at sixteen bytes; 28 blocks cache 8 keys and values of width 128 in bf16.
#[test]
fn a_run_of_qwen3_0_6b_is_planned() {
    let setup = setup(
        "qwen3-0.6b",
        &["rollout.rows=64", "rollout.max_response_tokens=2048", "data.max_prompt_tokens=256"],
    );
    let memory = MemoryPlan::new(&setup, setup.longest());
    assert_eq!(memory.resident_bytes() + bytes_of(&memory, "gradients"), 16 * 596_049_920);
    assert_eq!(bytes_of(&memory, "KV cache"), 2 * 28 * 8 * 128 * 2 * 64 * 2304);
}

/// Eight experts of Qwen3-30B-A3B are as wide as the MLP that its file also names. All 128 take memory, and time where few rows read
/// them; products of a pass are those of the eight, and the router's 48 · 2048 · 128 weights.
#[test]
fn experts_take_memory_by_all_and_products_by_those_of_a_token() {
    let mixture = setup("qwen3-30b-a3b", &["algorithm.reference_kl={}"]);
    let mut shape = (*preset_model("qwen3-30b-a3b").expect("a known shape")).clone();
    shape.experts = None;
    let config = ModelConfig::new(shape).expect("a shape of its own");
    let dense = Setup { model: ModelSizes::of("dense", &config), ..mixture.clone() };
    let parameters =
        |setup: &Setup| bytes_of(&MemoryPlan::new(setup, setup.longest()), "parameters") / 2;
    assert_eq!(parameters(&mixture), 30_532_122_624);
    assert_eq!(parameters(&mixture) - parameters(&dense), 48 * 2048 * (120 * 3 * 768 + 128));
    let hardware = Hardware::named("h100", 3200.0).expect("known");
    let assumptions = Assumptions { matrix_fraction: 1.0, ..Assumptions::default() };
    let time = |setup: &Setup| StepTime::new(setup, &hardware, &assumptions);
    let (of_mixture, of_dense) = (time(&mixture), time(&dense));
    let routers = f64::from(48 * 2048 * 128);
    let lengths = mixture.expected();
    let tokens = mixture.sequences_per_rank() * (lengths.prompt_tokens + lengths.response_tokens);
    // A pass of the policy and one of the reference, at two operations a weight.
    let expected = 2.0 * 2.0 * tokens as f64 * routers / 989e12;
    let scored = of_mixture.scoring_seconds - of_dense.scoring_seconds;
    assert!((scored / expected - 1.0).abs() < 1e-6, "{scored} {expected}");
    assert!(of_mixture.update_seconds < 1.01 * of_dense.update_seconds);
    assert!(of_mixture.sampling_seconds > 2.0 * of_dense.sampling_seconds);
}

#[test]
fn each_stage_cuts_what_it_says() {
    let plan = |zero| {
        let setup = on(setup("7b", &[]), 1, 8, zero);
        MemoryPlan::new(&setup, setup.longest())
    };
    let resident = |zero| gigabytes(plan(zero).resident_bytes());
    let all = P * 1e-9;
    // Whole gradients are there from the updates to the optimiser's step alone.
    assert!((resident(0) - 14.0 * all).abs() < 0.01);
    // Parameters whole; master weights and moments of an eighth.
    assert!((resident(1) - (2.0 + 12.0 / 8.0) * all).abs() < 0.01, "{}", resident(1));
    assert!((resident(2) - (2.0 + 12.0 / 8.0) * all).abs() < 0.01, "{}", resident(2));
    // Parameters are sharded at stage 3.
    let cut = 14.0 / 8.0 * all;
    assert!((resident(3) - cut).abs() < 0.01, "{} {cut}", resident(3));
    // The sum of the gradients is of an eighth too, and is there where whole gradients would be.
    let phases = |zero| {
        let holds = |phase: &&Phase| phase.items.iter().any(|item| item.name == "gradient shards");
        plan(zero).phases.iter().filter(holds).map(|phase| phase.name).collect::<Vec<_>>()
    };
    assert_eq!(phases(1), ["optimiser step"]);
    assert_eq!([phases(2), phases(3)], [["updating", "optimiser step"]; 2]);
    assert!((gigabytes(bytes_of(&plan(1), "gradient shards")) - all / 2.0).abs() < 0.01);
}

/// Parameters of two bytes are whole. An eighth is kept of a copy of the parameters, their lower halves and moments of two
/// bytes. At stage 3 the optimiser steps the parameters' own shard.
#[test]
fn a_split_master_is_cut_as_a_whole_one() {
    let resident = |master: &str, zero| {
        let master = format!("optimizer.master={master}");
        let setup = on(setup("7b", &[&master, "optimizer.moments=bf16"]), 1, 8, zero);
        let parameters = if zero == 3 { 2.0 / 8.0 } else { 2.0 };
        MemoryPlan::new(&setup, setup.longest()).resident_bytes() as f64 / P - parameters
    };
    for (zero, copied) in [(1, 2.0), (2, 2.0), (3, 0.0)] {
        let split = (copied + 2.0 + 4.0) / 8.0;
        let none = (copied + 4.0) / 8.0;
        assert!((resident("split", zero) - split).abs() < 1e-6, "{zero}");
        assert!((resident("none", zero) - none).abs() < 1e-6, "{zero}");
    }
}

#[test]
fn the_cache_is_that_of_the_longest_sequences() {
    let setup = setup(
        "7b",
        &["rollout.rows=256", "rollout.max_response_tokens=2048", "data.max_prompt_tokens=256"],
    );
    let memory = MemoryPlan::new(&setup, setup.longest());
    // 57344 bytes a token, 256 slots, 2304 tokens.
    assert_eq!(bytes_of(&memory, "KV cache"), 57_344 * 256 * 2304);
}

/// 28 blocks and what the last one leaves, 3584 numbers of two bytes, and the angles of 64 pairs in f32.
#[test]
fn block_inputs_are_of_the_whole_optimiser_step() {
    let setup = on(setup("7b", &[]), 4, 8, 3);
    let tokens = 32 * 8 / 32 * (2048 + 8192);
    let memory = MemoryPlan::new(&setup, setup.longest());
    assert_eq!(bytes_of(&memory, "block inputs"), tokens * (29 * 3584 * 2 + 128 * 4));
    let shorter = Setup { mean_prompt_tokens: 512, mean_response_tokens: 1024, ..setup };
    let memory = MemoryPlan::new(&shorter, shorter.expected());
    assert_eq!(bytes_of(&memory, "block inputs"), 8 * 1536 * (29 * 3584 * 2 + 128 * 4));
}

#[test]
fn what_does_not_fit_is_answered_with_what_does() {
    let hardware = Hardware::named("h200", 3200.0).expect("known");
    let plan = Plan::new(setup("7b", &[]), hardware.clone(), Assumptions::default());
    assert!(!plan.fits, "the paper's mini-batch on one device");
    let first = plan.alternatives.iter().find(|one| one.fits).expect("something does");
    assert!(first.change.contains("--nodes") || first.change.contains(", "), "{first:?}");
    for alternative in &plan.alternatives {
        assert!(alternative.peak_bytes < plan.memory.peak_bytes(), "{alternative:?}");
        assert_eq!(alternative.fits, alternative.peak_bytes <= hardware.memory_bytes);
    }
    let eight = on(setup("7b", &[]), 1, 8, 3);
    let plan = Plan::new(eight, hardware, Assumptions::default());
    assert!(plan.fits && plan.alternatives.is_empty(), "{plan}");
}

#[test]
fn a_fit_needs_every_byte_of_the_peak() {
    let setup = on(setup("7b", &[]), 1, 8, 3);
    let peak = MemoryPlan::new(&setup, setup.longest()).peak_bytes();
    for (memory_bytes, fits) in [(peak, true), (peak - 1, false)] {
        let hardware = Hardware { memory_bytes, ..Hardware::named("h200", 3200.0).expect("known") };
        assert_eq!(Plan::new(setup.clone(), hardware, Assumptions::default()).fits, fits);
    }
}

/// One optimiser step sends each block twice in bf16 and its gradient once in f32, whatever the number of micro-batches.
#[test]
fn stage_3_sends_each_block_twice_and_its_gradient_once() {
    let setup = on(setup("7b", &[]), 1, 8, 3);
    let outer = 2.0 * 152_064.0 * 3584.0 + 3584.0;
    let blocks = P - outer;
    let sent = Traffic::new(&setup);
    // Embedding and head count as blocks. Backward does not gather the embedding. The first of eight steps does not gather the head
    // for statistics.
    let head = 152_064.0 * 3584.0;
    let expected = 7.0 / 8.0 * (2.0 * P + 2.0 * (blocks + head - head / 8.0) + 4.0 * P);
    let bytes = sent.bytes_sent_per_optimizer_step as f64;
    assert!((bytes / expected - 1.0).abs() < 1e-6, "{bytes} {expected}");
    // 32 sequences of 8192 + 512 tokens, three at a time: eleven micro-batches, and 3 P (N - 1) / N bytes·2 for each.
    assert_eq!(sent.micro_batches, 11);
    let usual = 11.0 * 3.0 * 7.0 / 8.0 * 2.0 * P;
    let bytes = sent.usual_bytes_sent_per_optimizer_step as f64;
    assert!((bytes / usual - 1.0).abs() < 1e-6, "{bytes} {usual}");
    assert!(Traffic::new(&on(setup, 1, 1, 3)).collectives.is_empty());
}

#[test]
fn counts_that_cannot_be_are_named() {
    let refused = |nodes, gpus, tensor| {
        let setup = setup("7b", &[]).with(|run| run.parallel.tensor = tensor);
        setup.with_ranks(nodes, gpus).expect_err("refused").to_string()
    };
    assert_eq!(refused(1, 0, 1), "gpus is 0, expected 1 to 1048576");
    let start = "parallel.tensor is";
    assert_eq!(
        refused(1, 8, 3),
        format!("{start} 3, expected a divisor of the 8 devices of a node")
    );
    let of_model = refused(1, 8, 8);
    assert!(
        of_model
            .starts_with("`num_attention_heads` is 28, expected a multiple of parallel.tensor = 8")
            && of_model.ends_with("can be split into 1, 2 or 4"),
        "{of_model}"
    );
}

/// Each of eight ranks holds one of 3B's two key heads; four ranks hold the same one and sum its gradient.
#[test]
fn ranks_beyond_the_key_heads_hold_them_again() {
    let on = |tensor| {
        setup("3b", &["optimizer.moments=bf16"])
            .with(|run| run.parallel.tensor = tensor)
            .with_ranks(1, 8)
            .expect("eight")
    };
    let (two, eight) = (on(2), on(8));
    let memory = |setup: &Setup| MemoryPlan::new(setup, setup.longest());
    let (in_two, in_eight) = (memory(&two), memory(&eight));
    // A rank has four times the sequences, and as many keys of each.
    let cached = |memory| bytes_of(memory, "KV cache");
    assert_eq!(cached(&in_eight), cached(&in_two));
    let keys = 36 * 2 * 2048 * 256u64;
    let all = 3_085_938_688u64;
    let of_eight = all / 8 + keys / 2 - keys / 8;
    assert!(bytes_of(&in_eight, "parameters").abs_diff(2 * of_eight) < 64);
    let traffic = Traffic::new(&eight);
    let shared = traffic.collectives.iter().find(|c| c.name.starts_with("gradients of tensor"));
    let shared = shared.expect("copies of key heads");
    assert_eq!(
        (shared.ranks, shared.bytes_sent),
        (4, eight.optimizer_steps() as u64 * 4 * keys / 2 * 6 / 4)
    );
    assert!(Traffic::new(&two).collectives.iter().all(|c| c.name != shared.name));
}

/// Everything but the norms is sharded; each rank works on four times as many sequences as without.
#[test]
fn ranks_that_share_a_model_share_its_bytes() {
    let memory = |tensor| {
        let setup = setup("7b", &[])
            .with(|run| run.parallel.tensor = tensor)
            .with_ranks(1, 4)
            .expect("four devices");
        MemoryPlan::new(&setup, setup.longest())
    };
    let (unsharded, cut) = (memory(1), memory(4));
    let ratio = unsharded.resident_bytes() as f64 / cut.resident_bytes() as f64;
    assert!((ratio - 4.0).abs() < 0.01, "{ratio}");
    assert_eq!(bytes_of(&unsharded, "KV cache"), 4 * bytes_of(&cut, "KV cache"));
    assert_eq!(4 * bytes_of(&unsharded, "block inputs"), bytes_of(&cut, "block inputs"));
    assert_eq!(bytes_of(&cut, "activations that are kept"), 0);
}

/// All-reduces of a token in 28 blocks: the embedding, two per block forward, one in recomputation, two backward; the head's for
/// sampled tokens.
#[test]
fn ranks_of_a_model_send_the_residual_stream() {
    let settings = ["metrics.probe_tokens=0"];
    let sharded = setup("7b", &settings)
        .with(|run| run.parallel.tensor = 4)
        .with_ranks(1, 8)
        .expect("eight devices");
    let bytes = |setup: &Setup, name: &str| {
        let traffic = Traffic::new(setup);
        let collective = traffic.collectives.iter().find(|one| one.name.starts_with(name));
        collective.map_or(0.0, |one| one.bytes_sent as f64)
    };
    // Half of 2048 responses of 8192 tokens to half of 256 prompts of 512, which are read once each.
    let (sequences, tokens) = (1024.0, 1024.0 * 8704.0);
    let sampled = 128.0 * 512.0 + sequences * 8191.0;
    let vectors = (tokens + sampled) * 57.0 + tokens * 141.0 + sequences * 8192.0;
    let expected = vectors * 3584.0 * 2.0 * 2.0 * 3.0 / 4.0;
    let sent = bytes(&sharded, "activations of tensor");
    assert!((sent / expected - 1.0).abs() < 1e-9, "{sent} {expected}");
    assert!(bytes(&sharded, "statistics of tensor").abs() < 1e-9);
    // The whole rows of logits, in f64, where some are left out.
    let truncated = sharded.with(|run| run.rollout.top_k = 50);
    let rows = sequences * 8192.0 * 152_064.0 * 8.0 * 3.0 / 4.0;
    let sent = bytes(&truncated, "statistics of tensor");
    assert!((sent / rows - 1.0).abs() < 1e-9, "{sent} {rows}");
}

#[test]
fn a_plan_is_written_out() {
    let setup = Setup { mean_response_tokens: 1500, ..on(setup("32b", &[]), 4, 8, 3) };
    let hardware = Hardware::named("h100", 3200.0).expect("known");
    insta::assert_snapshot!(Plan::new(setup, hardware, Assumptions::default()).to_string());
}

#[test]
fn low_rank_corrections_have_small_gradients_and_moments() {
    let setup = setup("7b", &["lora.rank=32"]);
    let memory = MemoryPlan::new(&setup, setup.longest());
    // rank · (inputs + outputs): 2 · (3584 + 3584) + 2 · (3584 + 512) + 3 · (3584 + 18944), in 28 blocks.
    let trained = 28 * 32 * (2 * 7168 + 2 * 4096 + 3 * 22_528);
    assert_eq!(setup.trained_parameters(), trained);
    assert_eq!(bytes_of(&memory, "optimiser moments"), 8 * trained as u64);
    assert_eq!(setup.run.optimizer.moments, Dtype::F32);
}

/// One H200 with split master weights and narrow moments has tens of gigabytes left. A rank that gathers blocks cannot keep their
/// graphs.
#[test]
fn memory_that_is_left_is_offered_to_activations() {
    let hardware = Hardware::named("h200", 400.0).expect("a known device");
    let assumptions = Assumptions::default();
    let more =
        ["optimizer.moments=bf16", "optimizer.master=split", "algorithm.mini_batch_prompts=2"];
    let mut shorter: Vec<&str> = more.to_vec();
    shorter.extend(["rollout.max_response_tokens=2048", "data.max_prompt_tokens=512"]);
    shorter.extend(["rollout.rows=16", "training.micro_batch_tokens=8192"]);
    let one = setup("7b", &shorter);
    let plan = Plan::new(one.clone(), hardware.clone(), assumptions);
    let more = plan.more_kept.as_ref().expect("memory is left");
    let seconds = |activation_bytes: usize| {
        let setup = one.with(|run| run.training.activation_bytes = activation_bytes);
        StepTime::new(&setup, &hardware, &assumptions).step_seconds
    };
    let saved = plan.time.step_seconds - seconds(more.activation_bytes);
    assert!((saved - more.saved_seconds).abs() < 1e-9 && saved > 0.0);
    assert!(more.peak_bytes <= hardware.memory_bytes && more.peak_bytes > plan.memory.peak_bytes());
    assert!(seconds(more.activation_bytes - 1_000_000_000) > seconds(more.activation_bytes));
    let text = plan.to_string();
    let line = text.lines().find(|line| line.starts_with("faster by")).expect("a line");
    assert!(
        line.ends_with(&format!("training.activation_bytes = {}", more.activation_bytes)),
        "{line}"
    );
    // The largest useful value is offered: with it nothing is left to offer.
    let best = one.with(|run| run.training.activation_bytes = more.activation_bytes);
    assert_eq!(Plan::new(best, hardware.clone(), assumptions).more_kept, None);
    let cut = on(setup("7b", &shorter), 1, 8, 3);
    assert_eq!(Plan::new(cut, hardware, assumptions).more_kept, None);
}
