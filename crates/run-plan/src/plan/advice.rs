//! Suggests changes where a setup does not fit, and uses for memory that is left.

use serde::Serialize;
use training_run::config::{Dtype, LoraSection, MasterWeights, RunConfig, Zero};

use super::memory::MemoryPlan;
use super::setup::Setup;
use super::time::{Assumptions, Hardware, StepTime};

/// One change, or several together.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Alternative {
    /// Settings to change, separated by commas.
    pub change: String,
    /// Note on the change, such as its effect on the result; empty if there is none.
    pub remark: String,
    /// Peak memory of one rank with the change, in bytes.
    pub peak_bytes: u64,
    /// True if the changed setup fits into device and host memory.
    pub fits: bool,
    /// Host memory of one rank with the change, in bytes.
    pub host_bytes: u64,
    /// Seconds of a training step spent on the host and on copies to and from it, by the model of [`StepTime`].
    pub host_seconds: f64,
}

/// A change of one or more settings, and the setup with it.
struct Step {
    change: String,
    /// Note on the change; empty if it leaves the result of the run as it is but for rounding.
    remark: &'static str,
    setup: Setup,
    memory: MemoryPlan,
}

impl Step {
    fn new(change: String, remark: &'static str, setup: Setup) -> Self {
        let memory = MemoryPlan::new(&setup, setup.longest());
        Self { change, remark, setup, memory }
    }
}

/// Lists changes that could help: all neutral ones together, then more devices, then each change alone, the lowest peak first.
pub fn alternatives(
    setup: &Setup,
    hardware: &Hardware,
    assumptions: &Assumptions,
) -> Vec<Alternative> {
    let now = MemoryPlan::new(setup, setup.longest());
    let evaluate = |Step { change, remark, setup, memory }: Step| Alternative {
        change,
        remark: remark.to_owned(),
        peak_bytes: memory.peak_bytes(),
        fits: hardware.holds(&setup, &memory),
        host_bytes: memory.host_bytes(),
        host_seconds: StepTime::new(&setup, hardware, assumptions).host_seconds,
    };
    let mut alone: Vec<Alternative> = single_steps(setup).into_iter().map(evaluate).collect();
    let host_holds = hardware.host_holds(setup, &now);
    alone.retain(|alternative| {
        alternative.peak_bytes < now.peak_bytes()
            || (!host_holds && alternative.host_bytes < now.host_bytes())
    });
    alone.sort_by_key(|alternative| alternative.peak_bytes);
    let wide = [neutral_steps(setup, hardware), more_devices(setup, hardware)];
    wide.into_iter().flatten().map(evaluate).chain(alone).collect()
}

/// A larger `training.activation_bytes` and the time that it saves.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MoreActivationMemory {
    /// Value of `training.activation_bytes`: the fewest whole gigabytes that save this much.
    pub activation_bytes: usize,
    /// Peak memory of one rank with it, in bytes.
    pub peak_bytes: u64,
    /// Seconds that a training step becomes shorter, by the model of [`StepTime`].
    pub saved_seconds: f64,
}

/// Finds the smallest `training.activation_bytes` that saves as much time as all memory left at the longest lengths.
///
/// With it, backward recomputes fewer blocks. `None` on a CPU, or if it saves less than a hundredth of a training step.
pub fn more_kept(
    setup: &Setup,
    hardware: &Hardware,
    assumptions: &Assumptions,
) -> Option<MoreActivationMemory> {
    const GIGABYTE: usize = 1_000_000_000;
    let with =
        |gigabytes: usize| setup.with(|run| run.training.activation_bytes = gigabytes * GIGABYTE);
    let peak = |setup: &Setup| MemoryPlan::new(setup, setup.longest()).peak_bytes();
    let seconds = |setup: &Setup| StepTime::new(setup, hardware, assumptions).step_seconds;
    let (first, last) = (
        setup.run.training.activation_bytes / GIGABYTE + 1,
        usize::try_from(hardware.memory_bytes).unwrap_or(usize::MAX) / GIGABYTE,
    );
    // Both the peak and the time are monotone.
    let sizes: Vec<usize> = (first..=last).collect();
    let fitting = sizes.partition_point(|&size| peak(&with(size)) <= hardware.memory_bytes);
    let most = with(*sizes.get(fitting.checked_sub(1)?)?);
    let shortest = seconds(&most);
    let enough = sizes.partition_point(|&size| seconds(&with(size)) > shortest);
    let best = with(*sizes.get(enough)?);
    let now = seconds(setup);
    let saved_seconds = now - shortest;
    (!setup.on_cpu && saved_seconds >= 0.01 * now).then(|| MoreActivationMemory {
        activation_bytes: best.run.training.activation_bytes,
        peak_bytes: peak(&best),
        saved_seconds,
    })
}

/// Combines changes that cost time at most, until the setup fits or none is left; `None` for fewer than two.
///
/// Host memory is used only once nothing else helps, as far as there is enough of it.
fn neutral_steps(setup: &Setup, hardware: &Hardware) -> Option<Step> {
    let mut now = Step::new(String::new(), "", setup.clone());
    let mut changes: Vec<String> = Vec::new();
    while !hardware.holds(&now.setup, &now.memory) {
        let before = &now.memory;
        let better = single_steps(&now.setup)
            .into_iter()
            .filter(|step| step.remark.is_empty())
            .filter(|step| hardware.host_holds(&step.setup, &step.memory))
            .filter(|step| step.memory.peak_bytes() < before.peak_bytes())
            .min_by_key(|Step { memory, .. }| {
                (memory.host_bytes() > before.host_bytes(), memory.peak_bytes())
            });
        let Some(step) = better else { break };
        let field = |change: &str| change.split(' ').next().unwrap_or_default().to_owned();
        changes.retain(|earlier| field(earlier) != field(&step.change));
        changes.push(step.change.clone());
        now = step;
    }
    let several = changes.len() > 1;
    several.then(|| Step { change: changes.join(", "), remark: "together", ..now })
}

/// The fewest machines, up to 64 times as many, on which the setup fits at stage 3.
fn more_devices(setup: &Setup, hardware: &Hardware) -> Option<Step> {
    let (mut wider, mut cut) = (setup.clone(), "");
    if setup.run.lora.is_none() {
        (wider.run.parallel.zero, cut) = (Zero::Parameters, ", parallel.zero = 3");
    }
    let mut steps = (0..6).map(|_| {
        if wider.gpus_per_node < 8 {
            wider.gpus_per_node *= 2;
        } else {
            wider.nodes *= 2;
        }
        let change = format!("--nodes {} --gpus {}{cut}", wider.nodes, wider.gpus_per_node);
        Step::new(change, "more devices", wider.clone())
    });
    steps.find(|step| hardware.holds(&step.setup, &step.memory))
}

struct Steps<'a> {
    setup: &'a Setup,
    steps: Vec<Step>,
}

impl Steps<'_> {
    /// Adds a change of the setup by `change`, written as `setting`, where it applies.
    fn add(
        &mut self,
        applies: bool,
        setting: impl Into<String>,
        remark: &'static str,
        change: impl FnOnce(&mut RunConfig),
    ) {
        if applies {
            self.steps.push(Step::new(setting.into(), remark, self.setup.with(change)));
        }
    }
}

/// Lists every setting that takes memory, changed by one step. Those without a remark leave the result of the run as it is but
/// for rounding.
fn single_steps(setup: &Setup) -> Vec<Step> {
    let mut steps = Steps { setup, steps: Vec::new() };
    cuts(&mut steps);
    budgets(&mut steps);
    number_formats(&mut steps);
    other_results(&mut steps);
    steps.steps
}

/// Adds settings that shard more of the model over the ranks.
fn cuts(steps: &mut Steps<'_>) {
    let setup = steps.setup;
    let parallel = setup.run.parallel;
    let can_cut = setup.data_ranks() > 1 && setup.run.lora.is_none();
    for zero in [Zero::Optimizer, Zero::Gradients, Zero::Parameters] {
        let stage = u8::from(zero);
        let setting = format!("parallel.zero = {stage}");
        let applies = can_cut && stage > u8::from(parallel.zero);
        steps.add(applies, setting, "", |run| run.parallel.zero = zero);
    }
    for tensor in [2, 4, 8].into_iter().filter(|&tensor| tensor > parallel.tensor) {
        let wider = setup.with(|run| run.parallel.tensor = tensor);
        if let Ok(wider) = wider.with_ranks(setup.nodes, setup.gpus_per_node) {
            steps.steps.push(Step::new(format!("parallel.tensor = {tensor}"), "", wider));
        }
    }
}

/// Adds settings that process less at a time or keep less on the device.
fn budgets(steps: &mut Steps<'_>) {
    let Setup { run, on_cpu, .. } = steps.setup;
    let rows = run.rollout.rows.div_ceil(2);
    let setting = format!("rollout.rows = {rows}");
    steps.add(run.rollout.rows > 1, setting, "", |run| run.rollout.rows = rows);
    let tokens = run.training.micro_batch_tokens;
    let fewer = (tokens / 2).max(steps.setup.longest().sequence_tokens());
    let setting = format!("training.micro_batch_tokens = {fewer}");
    steps.add(fewer < tokens, setting, "", |run| run.training.micro_batch_tokens = fewer);
    let applies = run.training.activation_bytes > 0;
    let setting = "training.activation_bytes = 0";
    steps.add(applies, setting, "", |run| run.training.activation_bytes = 0);
    let offload = !run.parallel.offload_optimizer;
    let setting = format!("parallel.offload_optimizer = {offload}");
    steps.add(!on_cpu, setting, "", |run| run.parallel.offload_optimizer = offload);
    let offload = !run.parallel.offload_block_inputs;
    let setting = format!("parallel.offload_block_inputs = {offload}");
    steps.add(!on_cpu, setting, "", |run| run.parallel.offload_block_inputs = offload);
    let (applies, setting) = (run.metrics.probe_tokens > 0, "metrics.probe_tokens = 0");
    let remark = "the change of entropy is not measured";
    steps.add(applies, setting, remark, |run| run.metrics.probe_tokens = 0);
}

fn number_formats(steps: &mut Steps<'_>) {
    let run = &steps.setup.run;
    let (is_narrow, master) = (run.model.dtype == Dtype::Bf16, run.optimizer.master);
    let (applies, setting) = (run.optimizer.moments != Dtype::Bf16, "optimizer.moments = \"bf16\"");
    steps.add(applies, setting, "rounded stochastically", |run| {
        run.optimizer.moments = Dtype::Bf16;
    });
    let (applies, setting) =
        (is_narrow && master == MasterWeights::F32, "optimizer.master = \"split\"");
    steps.add(applies, setting, "", |run| run.optimizer.master = MasterWeights::Split);
    let (applies, setting) =
        (is_narrow && master != MasterWeights::None, "optimizer.master = \"none\"");
    steps.add(applies, setting, "weights are rounded stochastically", |run| {
        run.optimizer.master = MasterWeights::None;
    });
    steps.add(!is_narrow, "model.dtype = \"bf16\"", "master weights stay in f32", |run| {
        run.model.dtype = Dtype::Bf16;
    });
}

fn other_results(steps: &mut Steps<'_>) {
    let setup = steps.setup;
    let run = &setup.run;
    let prompts = run.algorithm.mini_batch_prompts;
    let (applies, half) = (prompts > 1 && prompts.is_multiple_of(2), prompts / 2);
    let setting = format!("algorithm.mini_batch_prompts = {half}");
    let remark = "twice as many optimiser steps, each over half as much";
    steps.add(applies, setting, remark, |run| run.algorithm.mini_batch_prompts = half);
    let shorter = run.rollout.max_response_tokens / 2;
    if shorter > 0 {
        let mean_response_tokens = setup.mean_response_tokens.min(shorter);
        let setup = setup.with(|run| run.rollout.max_response_tokens = shorter);
        let setup = Setup { mean_response_tokens, ..setup };
        let setting = format!("rollout.max_response_tokens = {shorter}");
        steps.steps.push(Step::new(setting, "longer responses are cut", setup));
    }
    let remark = "low-rank corrections are trained in place of the weights";
    steps.add(run.lora.is_none(), "lora = {}", remark, |run| {
        run.lora = Some(LoraSection::default());
        if run.parallel.zero.shards_parameters() {
            run.parallel.zero = Zero::Optimizer;
        }
    });
    let (setting, remark) =
        ("algorithm.reference_kl absent", "no pull to the policy before the run");
    steps.add(setup.holds_reference(), setting, remark, |run| run.algorithm.reference_kl = None);
}
