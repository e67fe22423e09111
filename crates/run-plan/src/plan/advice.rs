//! Suggests changes where a setup does not fit, and uses for memory that is left.

use serde::Serialize;
use training_run::config::{Dtype, LoraSection, MasterWeights, Zero};

use super::memory::MemoryPlan;
use super::setup::Setup;
use super::time::{Assumptions, Hardware, StepTime};
use super::traffic::Traffic;

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
#[derive(Clone)]
struct Step {
    change: String,
    remark: &'static str,
    setup: Setup,
}

impl Step {
    fn new(change: impl Into<String>, remark: &'static str, setup: Setup) -> Self {
        Self { change: change.into(), remark, setup }
    }

    /// A change that leaves the result of the run as it is but for rounding.
    fn neutral(change: impl Into<String>, setup: Setup) -> Self {
        Self::new(change, "", setup)
    }

    fn memory(&self) -> MemoryPlan {
        MemoryPlan::new(&self.setup, self.setup.longest())
    }

    /// True if the change leaves the result of the run as it is but for rounding.
    fn is_neutral(&self) -> bool {
        self.remark.is_empty()
    }

    /// True if the change needs more host memory than `before`: among neutral changes, the last resort.
    fn offloads_more_than(&self, before: &MemoryPlan) -> bool {
        self.memory().host_bytes() > before.host_bytes()
    }
}

/// Lists changes that could help: all neutral ones together, then more devices, then each change alone, the lowest peak first.
pub fn alternatives(
    setup: &Setup,
    hardware: &Hardware,
    assumptions: &Assumptions,
) -> Vec<Alternative> {
    let now = MemoryPlan::new(setup, setup.longest());
    let evaluate = |step: &Step| {
        let memory = step.memory();
        let peak_bytes = memory.peak_bytes();
        let traffic = Traffic::new(&step.setup);
        let time = StepTime::new(&step.setup, hardware, assumptions, &traffic);
        Alternative {
            change: step.change.clone(),
            remark: step.remark.to_owned(),
            peak_bytes,
            fits: hardware.holds(&step.setup, &memory),
            host_bytes: memory.host_bytes(),
            host_seconds: time.host_seconds,
        }
    };
    let mut alone: Vec<Alternative> = single_steps(setup).iter().map(evaluate).collect();
    let host_holds = hardware.host_holds(setup, &now);
    alone.retain(|alternative| {
        alternative.peak_bytes < now.peak_bytes()
            || (!host_holds && alternative.host_bytes < now.host_bytes())
    });
    alone.sort_by_key(|alternative| alternative.peak_bytes);
    let together = neutral_steps(setup, hardware);
    together
        .iter()
        .map(evaluate)
        .chain(more_devices(setup, hardware).iter().map(evaluate))
        .chain(alone)
        .collect()
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
    let seconds = |setup: &Setup| {
        StepTime::new(setup, hardware, assumptions, &Traffic::new(setup)).step_seconds
    };
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
    let mut setup = setup.clone();
    let mut changes = Vec::new();
    loop {
        let plan = MemoryPlan::new(&setup, setup.longest());
        if hardware.holds(&setup, &plan) {
            break;
        }
        let better = single_steps(&setup)
            .into_iter()
            .filter(Step::is_neutral)
            .filter(|step| hardware.host_holds(&step.setup, &step.memory()))
            .map(|step| (step.offloads_more_than(&plan), step.memory().peak_bytes(), step))
            .filter(|(_, peak, _)| *peak < plan.peak_bytes())
            .min_by_key(|(offloads, peak, _)| (*offloads, *peak));
        let Some((.., step)) = better else { break };
        let field = |change: &str| change.split(' ').next().unwrap_or_default().to_owned();
        changes.retain(|earlier: &String| field(earlier) != field(&step.change));
        changes.push(step.change);
        setup = step.setup;
    }
    let several = changes.len() > 1;
    several.then(|| Step { change: changes.join(", "), remark: "together", setup })
}

/// The fewest machines, up to 64 times as many, on which the setup fits at stage 3.
fn more_devices(setup: &Setup, hardware: &Hardware) -> Option<Step> {
    let mut wider = setup.clone();
    if setup.run.lora.is_none() {
        wider.run.parallel.zero = Zero::Parameters;
    }
    for _ in 0..6 {
        if wider.gpus_per_node < 8 {
            wider.gpus_per_node *= 2;
        } else {
            wider.nodes *= 2;
        }
        let plan = MemoryPlan::new(&wider, wider.longest());
        if hardware.holds(&wider, &plan) {
            let cut = if setup.run.lora.is_none() { ", parallel.zero = 3" } else { "" };
            let (nodes, gpus) = (wider.nodes, wider.gpus_per_node);
            let change = format!("--nodes {nodes} --gpus {gpus}{cut}");
            return Some(Step { change, remark: "more devices", setup: wider });
        }
    }
    None
}

/// Lists every setting that takes memory, changed by one step. Those without a remark leave the result of the run as it is but
/// for rounding.
fn single_steps(setup: &Setup) -> Vec<Step> {
    [cuts(setup), budgets(setup), number_formats(setup), other_results(setup)].concat()
}

/// Lists settings that shard more of the model over the ranks.
fn cuts(setup: &Setup) -> Vec<Step> {
    let parallel = setup.run.parallel;
    let mut steps = Vec::new();
    if setup.data_ranks() > 1 && setup.run.lora.is_none() {
        for stage in 1..=3u8 {
            if let Ok(zero) = Zero::try_from(stage)
                && stage > u8::from(parallel.zero)
            {
                let cut = setup.with(|run| run.parallel.zero = zero);
                steps.push(Step::neutral(format!("parallel.zero = {stage}"), cut));
            }
        }
    }
    for tensor in [2, 4, 8].into_iter().filter(|&tensor| tensor > parallel.tensor) {
        let wider = setup.with(|run| run.parallel.tensor = tensor);
        if let Ok(wider) = wider.with_ranks(setup.nodes, setup.gpus_per_node) {
            steps.push(Step::neutral(format!("parallel.tensor = {tensor}"), wider));
        }
    }
    steps
}

/// Lists settings that process less at a time or keep less on the device.
fn budgets(setup: &Setup) -> Vec<Step> {
    let run = &setup.run;
    let mut steps = Vec::new();
    if run.rollout.rows > 1 {
        let rows = run.rollout.rows.div_ceil(2);
        let fewer = setup.with(|run| run.rollout.rows = rows);
        steps.push(Step::neutral(format!("rollout.rows = {rows}"), fewer));
    }
    let tokens = run.training.micro_batch_tokens;
    let fewer = (tokens / 2).max(setup.longest().sequence_tokens());
    if fewer < tokens {
        let change = format!("training.micro_batch_tokens = {fewer}");
        let smaller = setup.with(|run| run.training.micro_batch_tokens = fewer);
        steps.push(Step::neutral(change, smaller));
    }
    if run.training.activation_bytes > 0 {
        let none = setup.with(|run| run.training.activation_bytes = 0);
        steps.push(Step::neutral("training.activation_bytes = 0", none));
    }
    if !setup.on_cpu {
        let offload = !run.parallel.offload_optimizer;
        let other = setup.with(|run| run.parallel.offload_optimizer = offload);
        steps.push(Step::neutral(format!("parallel.offload_optimizer = {offload}"), other));
        let offload = !run.parallel.offload_block_inputs;
        let other = setup.with(|run| run.parallel.offload_block_inputs = offload);
        steps.push(Step::neutral(format!("parallel.offload_block_inputs = {offload}"), other));
    }
    if run.metrics.probe_tokens > 0 {
        let remark = "the change of entropy is not measured";
        let none = setup.with(|run| run.metrics.probe_tokens = 0);
        steps.push(Step::new("metrics.probe_tokens = 0", remark, none));
    }
    steps
}

/// Lists settings that store narrower numbers.
fn number_formats(setup: &Setup) -> Vec<Step> {
    let run = &setup.run;
    let master = run.optimizer.master;
    let mut steps = Vec::new();
    if run.optimizer.moments != Dtype::Bf16 {
        let narrow = setup.with(|run| run.optimizer.moments = Dtype::Bf16);
        let change = "optimizer.moments = \"bf16\"";
        steps.push(Step::new(change, "rounded stochastically", narrow));
    }
    if run.model.dtype == Dtype::Bf16 && master == MasterWeights::F32 {
        let split = setup.with(|run| run.optimizer.master = MasterWeights::Split);
        steps.push(Step::neutral("optimizer.master = \"split\"", split));
    }
    if run.model.dtype == Dtype::Bf16 && master != MasterWeights::None {
        let remark = "weights are rounded stochastically";
        let none = setup.with(|run| run.optimizer.master = MasterWeights::None);
        steps.push(Step::new("optimizer.master = \"none\"", remark, none));
    }
    if run.model.dtype != Dtype::Bf16 {
        let narrow = setup.with(|run| run.model.dtype = Dtype::Bf16);
        steps.push(Step::new("model.dtype = \"bf16\"", "master weights stay in f32", narrow));
    }
    steps
}

/// Lists settings that change the result of the run.
fn other_results(setup: &Setup) -> Vec<Step> {
    let run = &setup.run;
    let mut steps = Vec::new();
    let prompts = run.algorithm.mini_batch_prompts;
    if prompts > 1 && prompts.is_multiple_of(2) {
        let half = prompts / 2;
        let remark = "twice as many optimiser steps, each over half as much";
        let smaller = setup.with(|run| run.algorithm.mini_batch_prompts = half);
        let change = format!("algorithm.mini_batch_prompts = {half}");
        steps.push(Step::new(change, remark, smaller));
    }
    let shorter = run.rollout.max_response_tokens / 2;
    if shorter > 0 {
        let mean_response_tokens = setup.mean_response_tokens.min(shorter);
        let change = format!("rollout.max_response_tokens = {shorter}");
        let cut = setup.with(|run| run.rollout.max_response_tokens = shorter);
        let cut = Setup { mean_response_tokens, ..cut };
        steps.push(Step::new(change, "longer responses are cut", cut));
    }
    if run.lora.is_none() {
        let adapted = setup.with(|run| {
            run.lora = Some(LoraSection::default());
            if run.parallel.zero.shards_parameters() {
                run.parallel.zero = Zero::Optimizer;
            }
        });
        let remark = "low-rank corrections are trained in place of the weights";
        steps.push(Step::new("lora = {}", remark, adapted));
    }
    if setup.holds_reference() {
        let free = setup.with(|run| run.algorithm.reference_kl = None);
        let remark = "no pull to the policy before the run";
        steps.push(Step::new("algorithm.reference_kl absent", remark, free));
    }
    steps
}
