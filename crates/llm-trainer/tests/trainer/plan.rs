//! `llm-trainer plan` and `--dry-run`, and the peaks that a run really has.

use std::path::Path;
use std::process::{Command, Output};

use decoder::model::Decoder;
use model_files::model_config::{Architecture, ExpertOptions, ModelConfig, ModelShape};
use run_plan::plan::ByteCount;
use serde_json::Value;
use tch::{Device, Kind};

use crate::fixture::{directory, one_thread, small_shape};
use crate::in_process;
use crate::ranks::{commands, start, succeed};
use crate::training_run::{assert_success, column, steps, train_command};

/// Width, feed-forward width, blocks.
type Size = (usize, usize, usize);

/// Settings of a run with long responses.
const LONG: [&str; 6] = [
    "rollout.prompts_per_step=8",
    "rollout.group_size=8",
    "rollout.rows=64",
    "rollout.max_response_tokens=50",
    "algorithm.mini_batch_prompts=8",
    "training.micro_batch_tokens=2048",
];

/// A random model over the recorded tokens.
fn save_model(target: &Path, size: Size) {
    save_changed(target, size, |_| ());
}

/// Saves as [`save_model`] does, a changed shape.
fn save_changed(
    target: &Path,
    (hidden_size, intermediate_size, num_hidden_layers): Size,
    change: impl FnOnce(&mut ModelShape),
) {
    one_thread();
    let source = directory("tiny_qwen2_untied");
    let recorded = Decoder::load(&source, Device::Cpu, Kind::Float).expect("a recorded model");
    let mut shape = ModelShape {
        hidden_size,
        intermediate_size,
        num_hidden_layers,
        num_attention_heads: hidden_size / 64,
        num_key_value_heads: hidden_size / 128,
        head_dim: 64,
        vocab_size: recorded.config().vocab_size,
        max_position_embeddings: 512,
        tie_word_embeddings: false,
        initializer_range: 0.02,
        eos_token_ids: recorded.config().eos_token_ids.clone(),
        ..small_shape()
    };
    change(&mut shape);
    let config = ModelConfig::new(shape);
    let model = Decoder::initialise(config.expect("a valid shape"), 3, Device::Cpu, Kind::Float);
    model.save(target, &source).expect("a temporary folder is writable");
}

/// The command of [`train`] turned into another with the same file and settings.
fn planned(root: &Path, ranks: usize, overrides: &[&str]) -> Value {
    let _config = train_command(root, overrides);
    let mut command = Command::new(env!("CARGO_BIN_EXE_llm-trainer"));
    command.arg("plan").arg("--config").arg(root.join("tiny.toml"));
    command.args(["--json", "--gpu-memory", "1TB", "--gpus", &ranks.to_string()]);
    for one in overrides {
        command.args(["--set", one]);
    }
    let output = in_process::run(&mut command);
    assert_success(&output);
    serde_json::from_slice(&output.stdout).expect("one JSON object")
}

/// Planned peak of all tensors, in bytes.
fn tensor_bytes(plan: &Value) -> f64 {
    let sum = |items: &Value| -> f64 {
        let items = items.as_array().expect("a list of buffers").iter();
        items.map(|item| item["bytes"].as_f64().expect("bytes")).sum()
    };
    let memory = &plan["memory"];
    let phases = memory["phases"].as_array().expect("a list of phases").iter();
    sum(&memory["resident"]) + phases.map(|phase| sum(&phase["items"])).fold(0.0, f64::max)
}

/// The peak of a run of two steps beyond that of the same run of the recorded model of a few kilobytes, as measured and as
/// planned.
fn growth(size: Size, ranks: usize, settings: &[&str]) -> (f64, f64) {
    growth_of(|target| save_model(target, size), ranks, settings)
}

/// The growth of a run of the model that `save` writes.
fn growth_of(save: impl FnOnce(&Path), ranks: usize, settings: &[&str]) -> (f64, f64) {
    let peaks_of = |model: &Path| {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = format!("model.path={:?}", model.display().to_string());
        let common = ["training.steps=2", "evaluation.every=0", "checkpoint.every=0", &path];
        let overrides = [&common, settings].concat();
        let mut started = commands(ranks, folder.path(), &overrides);
        for command in &mut started {
            // What was freed would else stay with the process, and lie between what is in use. Tensors from 128 KiB on are mapped one by
            // one, and given back when they are freed.
            command.env("LLM_TRAINER_KEEP_FREED_MEMORY", "no");
            command.env("MALLOC_MMAP_THRESHOLD_", "131072").env("MALLOC_TRIM_THRESHOLD_", "131072");
        }
        succeed(start(started));
        let measured = column(&steps(folder.path()), "perf/max_memory_bytes")[1];
        (measured, tensor_bytes(&planned(folder.path(), ranks, &overrides)))
    };
    let folder = tempfile::tempdir().expect("a temporary folder");
    save(folder.path());
    let (large, small) = (peaks_of(folder.path()), peaks_of(&directory("tiny_qwen2_untied")));
    (large.0 - small.0, large.1 - small.1)
}

/// The tolerance is for what no plan knows: what the allocator keeps in pieces, copies that libraries make for their products,
/// and responses that end early.
fn assert_close(case: &str, (measured, planned): (f64, f64)) {
    let ratio = measured / planned;
    let message =
        format!("{case}: measured {:.1} MB, planned {:.1} MB", measured / 1e6, planned / 1e6);
    eprintln!("{message}");
    assert!((0.75..1.25).contains(&ratio), "{message}");
}

#[test]
fn peaks_are_those_of_the_plan() {
    let wide = (512, 2048, 2);
    assert_close("bf16", growth(wide, 1, &["model.dtype=bf16", "optimizer.moments=bf16"]));
    // Its matrices are large beside what a few tokens take: in f32, as a processor without kernels for bf16 multiplies them, too.
    let narrow = ["model.dtype=bf16", "optimizer.moments=bf16", "optimizer.master=none"];
    assert_close("bf16, wide", growth((1024, 4096, 1), 1, &narrow));
    let reference = ["algorithm.reference_kl={}"];
    assert_close("with a reference", growth(wide, 1, &reference));
    let long = [&LONG[..], &["training.activation_bytes=100000000"]].concat();
    assert_close("long responses", growth((256, 1024, 4), 1, &long));
}

/// Vectors are copied for every expert that a token goes to.
#[test]
fn peaks_with_experts_are_those_of_the_plan() {
    let mixture = |shape: &mut ModelShape| {
        shape.architecture = Architecture::Qwen3Moe;
        shape.attention = Architecture::Qwen3Moe.attention();
        shape.experts = Some(ExpertOptions {
            count: 8,
            per_token: 3,
            intermediate_size: 256,
            normalised: true,
            block_step: 1,
            dense_blocks: Vec::new(),
        });
    };
    let save = |target: &Path| save_changed(target, (256, 1024, 4), mixture);
    assert_close("experts, recomputed", growth_of(save, 1, &LONG));
    let kept = [&LONG[..], &["training.activation_bytes=150000000"]].concat();
    assert_close("experts, kept", growth_of(save, 1, &kept));
    let folder = tempfile::tempdir().unwrap();
    save(folder.path());
    let planned = plan(&["--model", &folder.path().display().to_string(), "--gpu", "h100"]);
    assert_success(&planned);
    let shown = text(&planned.stdout);
    assert!(shown.contains("0.01 billion parameters, 0.00 of them active, in"), "{shown}");
}

#[test]
fn peaks_with_norms_of_results_are_those_of_the_plan() {
    let gemma = |shape: &mut ModelShape| {
        shape.architecture = Architecture::Gemma3;
        shape.attention = Architecture::Gemma3.attention();
    };
    let save = |target: &Path| save_changed(target, (256, 1024, 4), gemma);
    let long = [&LONG[..], &["training.activation_bytes=100000000"]].concat();
    assert_close("norms of results", growth_of(save, 1, &long));
}

#[test]
fn peaks_over_ranks_are_those_of_the_plan() {
    let wide = (512, 2048, 2);
    for stage in ["parallel.zero=1", "parallel.zero=3"] {
        assert_close(stage, growth(wide, 2, &[stage]));
    }
}

fn plan(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_llm-trainer"));
    in_process::run(command.arg("plan").args(arguments))
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn what_does_not_fit_is_said_with_what_would_and_fails() {
    let fits = plan(&["--model", "0.5b", "--gpu", "h200"]);
    assert_success(&fits);
    assert!(text(&fits.stdout).contains("fits into 139 GiB"), "{}", text(&fits.stdout));
    for (size, line) in [
        ("qwen3-0.6b", "Qwen3-0.6B: 0.60 billion parameters in bf16"),
        ("Qwen3-30B-A3B", "Qwen3-30B-A3B: 30.53 billion parameters, 3.35 of them active, in bf16"),
    ] {
        let asked = ["--gpus", "8", "--zero", "3", "--gpu", "h200", "--model", size];
        let planned = plan(&asked);
        assert_success(&planned);
        let shown = text(&planned.stdout);
        assert!(shown.starts_with(line), "{shown}");
    }
    let refused = plan(&["--preset", "qwen2.5-7b-kl-cov", "--gpu", "h100", "--gpu-memory", "80GB"]);
    assert_eq!(refused.status.code(), Some(2));
    let shown = text(&refused.stdout);
    assert!(shown.contains("Qwen2.5-7B: 7.62 billion parameters"), "{shown}");
    assert!(shown.contains("does not fit into 74.5 GiB"), "{shown}");
    assert!(shown.contains("  fits          --nodes"), "{shown}");
    let error = text(&refused.stderr);
    assert!(
        error.starts_with("error: Qwen2.5-7B does not fit into 74.5 GiB: one rank needs "),
        "{error}"
    );
}

#[test]
fn what_cannot_be_planned_is_refused_in_one_line() {
    // As a process: nothing else may be said beside the line.
    let refusal = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_llm-trainer"));
        let output = command.arg("plan").args(arguments).output().expect("the program runs");
        assert_eq!(output.status.code(), Some(2));
        text(&output.stderr).trim_end().to_owned()
    };
    assert_eq!(
        refusal(&["--model", "9b"]),
        "error: 9b: neither a Hugging Face directory nor one of 0.5b, 1.5b, 3b, 7b, 14b, 32b, 72b, qwen3-0.6b, \
         qwen3-1.7b, qwen3-4b, qwen3-8b, qwen3-14b, qwen3-32b, qwen3-30b-a3b"
    );
    assert_eq!(
        refusal(&["--model", "7b", "--gpu", "tpu"]),
        "error: --gpu is \"tpu\", expected one of h200, h100, a100"
    );
    for option in ["--gpu-memory", "--host-memory"] {
        let memory = |text| refusal(&["--model", "7b", "--gpu", "h100", option, text]);
        for text in ["much", "-80GB"] {
            let expected = format!("error: {option}: {text:?} is no amount of memory, expected ");
            assert!(memory(text).starts_with(&expected), "{}", memory(text));
        }
        let bytes = format!("error: {option}: \"80\" is 80 bytes, expected a unit, as 80GB");
        assert_eq!(memory("80"), bytes);
    }
    let length = refusal(&["--model", "7b", "--mean-response-tokens", "9999"]);
    assert_eq!(length, "error: --mean-response-tokens is 9999, expected 1 to the longest, 1024");
}

#[test]
fn a_dry_run_plans_for_ranks_that_are_not_there() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = train_command(folder.path(), &["parallel.zero=3", "model.device=auto"]);
    let output = command.args(["--dry-run", "--ranks", "16", "--gpu", "h100"]).output().unwrap();
    assert_success(&output);
    let shown = text(&output.stdout);
    for expected in [
        "# 4 prompts × 3 samples = 12 rollouts a step",
        "# 16 ranks: 2 nodes of 8 devices; parallel.zero = 3",
        "# memory of one rank",
        "# fits into 79.0 GiB",
        "# sent by each rank in a training step",
        "#   gradients to shards",
    ] {
        assert!(shown.contains(expected), "{expected} in {shown}");
    }
    // As a whole it is a configuration still.
    shown.parse::<toml::Table>().expect("TOML");
}

/// The teacher's weights count, not the policy's once more.
#[test]
fn a_dry_run_counts_the_weights_of_a_teacher() {
    let (folder, teacher) = (tempfile::tempdir().unwrap(), directory("tiny_qwen2_untied"));
    let reference = format!("model.reference={}", teacher.display());
    let settings = ["algorithm.reference_kl.estimator=k1", &reference];
    let mut command = train_command(folder.path(), &settings);
    let output = command.args(["--dry-run", "--gpu", "h100"]).output().unwrap();
    assert_success(&output);
    let shown = text(&output.stdout);
    let config = ModelConfig::read(&teacher.join("config.json")).unwrap();
    let expected = ByteCount(4 * config.parameter_count() as u64).to_string();
    let row = shown.lines().find(|line| line.contains("reference model")).expect("a row");
    assert!(row.contains(&expected), "{expected} in {row}");
}

/// A machine without a GPU is planned as what it is, to the end of the run.
#[test]
fn without_a_gpu_the_cpu_is_planned_and_the_whole_run_timed() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = train_command(folder.path(), &["model.device=auto"]);
    command.arg("--dry-run").env("CUDA_VISIBLE_DEVICES", "");
    let output = command.output().unwrap();
    assert_success(&output);
    let shown = text(&output.stdout);
    for expected in ["# time of a training step on this CPU (1 rank), a rough estimate", " GFLOP/s"]
    {
        assert!(shown.contains(expected), "{expected} in {shown}");
    }
    assert!(!shown.contains("H200") && !shown.contains("GPU hours"), "{shown}");
    let last = shown.lines().last().unwrap();
    assert!(last.starts_with("# the whole run, 4 steps: "), "{last}");
    assert!(!last.contains(": 0 "), "three digits of it: {last}");
}

#[test]
fn a_plan_ends_with_days_and_gpu_hours_of_the_whole_run() {
    let output =
        plan(&["--preset", "qwen2.5-7b-kl-cov", "--gpus", "8", "--zero", "3", "--gpu", "h200"]);
    let shown = text(&output.stdout);
    let last = shown.lines().last().unwrap();
    let words: Vec<&str> = last.split(' ').collect();
    assert!(last.starts_with("the whole run, 2500 steps: "), "{shown}");
    let value_of = |unit: &str| -> f64 {
        let place = words.iter().position(|word| word.starts_with(unit)).expect("a unit");
        words[place - 1].parse().expect("a number")
    };
    assert!((value_of("days,") * 24.0 * 8.0 / value_of("GPU") - 1.0).abs() < 0.01, "{last}");
}

/// The command prints a list of settings, and a plan with them fits.
#[test]
fn settings_that_fit_are_printed_one_a_line() {
    let asked = ["--preset", "qwen2.5-7b-kl-cov", "--gpus", "8", "--gpu", "h100"];
    let output = plan(&[&asked[..], &["--choose"]].concat());
    assert_success(&output);
    let chosen = text(&output.stdout);
    let settings: Vec<&str> = chosen.lines().flat_map(|setting| ["--set", setting]).collect();
    assert!(chosen.contains("parallel.offload_block_inputs=true\n"), "{chosen}");
    assert_success(&plan(&[&asked[..], &settings].concat()));
    let refused = plan(&[
        "--preset",
        "qwen2.5-7b-kl-cov",
        "--gpu",
        "h100",
        "--gpu-memory",
        "8GB",
        "--choose",
    ]);
    assert_eq!((refused.status.code(), text(&refused.stdout).as_str()), (Some(2), ""));
    let error = text(&refused.stderr);
    assert!(error.starts_with("error: Qwen2.5-7B fits with none of the settings"), "{error}");
}

#[test]
fn a_dry_run_over_ranks_is_printed_once() {
    let folder = tempfile::tempdir().unwrap();
    let of_rank = |rank: &str| {
        let mut command = train_command(folder.path(), &[]);
        command.arg("--dry-run").env("RANK", rank).env("WORLD_SIZE", "2");
        command.env("LOCAL_RANK", rank).env("LOCAL_WORLD_SIZE", "2");
        command.env("MASTER_ADDR", "127.0.0.1").env("MASTER_PORT", "1");
        let output = command.output().unwrap();
        assert_success(&output);
        text(&output.stdout)
    };
    assert!(of_rank("0").contains("# 2 ranks: 1 node of 2 devices"));
    assert_eq!(of_rank("1"), "");
}
