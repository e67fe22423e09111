//! Times of a step, compared with arithmetic done by hand and with an H100.

use run_plan::plan::{Assumptions, DRIVER_BYTES, Hardware, Plan, Setup, StepTime};
use training_run::config::Zero;

use crate::plan::{on, setup};

/// GRPO of 7B on one H100, 64 responses of 1024 tokens: seconds and bytes that `scripts/gpu-check.sh` measured (`docs/hardware.md`).
#[test]
fn a_step_of_7b_takes_what_an_h100_took() {
    let settings = [
        "data.max_prompt_tokens=16",
        "rollout.prompts_per_step=8",
        "rollout.group_size=8",
        "rollout.max_response_tokens=1024",
        "rollout.rows=64",
        "algorithm.mini_batch_prompts=4",
        "optimizer.master=split",
        "optimizer.moments=bf16",
        "training.micro_batch_tokens=16384",
        "training.activation_bytes=0",
    ];
    let mut setup = on(setup("7b", &settings), 1, 1, 0);
    (setup.mean_prompt_tokens, setup.mean_response_tokens) = (4, 1024);
    let hardware = Hardware::named("h100", 400.0).expect("a known device");
    let plan = Plan::new(setup, hardware, Assumptions::default());
    let near = |planned: f64, measured: f64, bound: f64| {
        assert!((planned / measured - 1.0).abs() < bound, "planned {planned}, measured {measured}");
    };
    let time = &plan.time;
    near(time.sampling_seconds, 9.09, 0.1);
    near(time.scoring_seconds, 1.56, 0.1);
    near(time.update_seconds + time.optimizer_seconds, 6.65, 0.1);
    near(time.step_seconds, 20.1, 0.1);
    near((plan.memory.peak_bytes() - DRIVER_BYTES) as f64, 81_210_114_048.0, 0.01);
}

/// 14.14 GB of weights at 4.3 TB/s are 3.29 ms, 64 rows of 1280 tokens 1.09 ms; from 181 rows on the products take longer than
/// the weights: 256 rows take 4.58 + 4.37 ms.
#[test]
fn decoding_is_bound_by_memory_and_then_by_products() {
    let hardware = Hardware {
        memory_bytes_per_second: 4.3e12,
        matrix_flops_per_second: 790e12,
        ..Hardware::named("h200", 3200.0).expect("known")
    };
    let ideal = Assumptions {
        matrix_fraction: 1.0,
        decode_fraction: 1.0,
        overlap_fraction: 1.0,
        ..Assumptions::default()
    };
    for (rows, milliseconds) in [(64, 4.38), (256, 8.95)] {
        let setup = setup("7b", &[]).with(|run| {
            (run.rollout.prompts_per_step, run.rollout.rows) = (rows / 8, rows);
            (run.data.max_prompt_tokens, run.rollout.max_response_tokens) = (256, 2048);
        });
        let setup = Setup { mean_prompt_tokens: 256, mean_response_tokens: 2048, ..setup };
        let time = StepTime::new(&setup, &hardware, &ideal);
        let prompts = (rows / 8 * 256) as f64 * 2.0 * 6.525e9 / 790e12;
        let computed = (time.sampling_seconds - prompts) / 2048.0 * 1e3;
        assert!((computed - milliseconds).abs() < 0.02, "{rows} rows: {computed} ms");
    }
}

/// With every block recomputed, six operations a weight and token are 6/8 of those that are done.
#[test]
fn utilisation_does_not_count_what_is_computed_again() {
    let hardware = Hardware::named("h200", 3200.0).expect("known");
    let assumptions = Assumptions::default();
    let mfu = |setup: &Setup| StepTime::new(setup, &hardware, &assumptions).update_mfu;
    let cut = on(setup("7b", &["data.max_prompt_tokens=1"]), 1, 8, 3);
    // The head's share of the weights is 0.077 and has 3.875 passes on average in place of three.
    let fraction = mfu(&cut) / assumptions.matrix_fraction;
    assert!((fraction - 0.75).abs() < 0.003, "{fraction}");
    let kept = cut.with(|run| {
        (run.training.activation_bytes, run.parallel.zero) = (usize::MAX, Zero::Nothing);
    });
    assert!(mfu(&kept) / assumptions.matrix_fraction > 0.97);
}

/// Servers take neither the trainer's memory nor, ahead of it, its time; groups that are dropped are sampled all the same.
#[test]
fn sampling_elsewhere_ahead_and_in_vain_is_counted() {
    let hardware = Hardware::named("h200", 3200.0).expect("known");
    let plan = |settings: &[&str], kept_fraction: f64| {
        let setup = Setup { mean_response_tokens: 2048, ..setup("7b", settings) };
        let assumptions = Assumptions { kept_fraction, ..Assumptions::default() };
        Plan::new(setup, hardware.clone(), assumptions)
    };
    let dynamic = "dynamic_sampling.enabled=true";
    let alone = plan(&[dynamic], 1.0);
    let served = plan(&[dynamic, "rollout.engine=vllm"], 1.0);
    let sampling = |plan: &Plan| {
        let phase = plan.memory.phases.iter().find(|phase| phase.name == "sampling");
        phase.expect("every run samples").items.len()
    };
    assert!(sampling(&alone) > 0);
    assert_eq!(sampling(&served), 0);
    let (alone, served) = (alone.time, served.time);
    assert!((alone.step_seconds - served.step_seconds).abs() < 1e-9);
    let ahead = plan(&[dynamic, "rollout.engine=vllm", "rollout.staleness=1"], 1.0).time;
    let updating = alone.step_seconds - alone.sampling_seconds;
    let longer = alone.sampling_seconds.max(updating);
    assert!((ahead.step_seconds - longer).abs() < 1e-9 * longer, "{ahead:?}");
    let half = plan(&[dynamic], 0.5).time.sampling_seconds / alone.sampling_seconds;
    assert!(half > 1.16 && half < 2.0, "each round waits once for the longest response: {half}");
    let ignored = plan(&["dynamic_sampling.enabled=false"], 0.5).time;
    assert!((ignored.sampling_seconds - alone.sampling_seconds).abs() < 1e-9);
}
