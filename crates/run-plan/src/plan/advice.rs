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
#[derive(Clone)]
struct Step {
    change: String,
    remark: &'static str,
    setup: Setup,
}

impl Step {
    /// A change of `setup` by `change`, written as `setting`.
    fn new(
        setup: &Setup,
        setting: impl Into<String>,
        remark: &'static str,
        change: impl FnOnce(&mut RunConfig),
    ) -> Self {
        Self { change: setting.into(), remark, setup: setup.with(change) }
    }

    /// A change that leaves the result of the run as it is but for rounding.
    fn neutral(
        setup: &Setup,
        setting: impl Into<String>,
        change: impl FnOnce(&mut RunConfig),
    ) -> Self {
        Self::new(setup, setting, "", change)
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
        Alternative {
            change: step.change.clone(),
            remark: step.remark.to_owned(),
            peak_bytes,
            fits: hardware.holds(&step.setup, &memory),
            host_bytes: memory.host_bytes(),
            host_seconds: StepTime::new(&step.setup, hardware, assumptions).host_seconds,
        }
    };
    let mut alone: Vec<Alternative> = single_steps(setup).iter().map(evaluate).collect();
    let host_holds = hardware.host_holds(setup, &now);
    alone.retain(|alternative| {
        alternative.peak_bytes < now.peak_bytes()
            || (!host_holds && alternative.host_bytes < now.host_bytes())
    });
    alone.sort_by_key(|alternative| alternative.peak_bytes);
    let wide = [neutral_steps(setup, hardware), more_devices(setup, hardware)];
    wide.iter().flatten().map(evaluate).chain(alone).collect()
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
        for zero in [Zero::Optimizer, Zero::Gradients, Zero::Parameters] {
            let stage = u8::from(zero);
            if stage > u8::from(parallel.zero) {
                let setting = format!("parallel.zero = {stage}");
                steps.push(Step::neutral(setup, setting, |run| run.parallel.zero = zero));
            }
        }
    }
    for tensor in [2, 4, 8].into_iter().filter(|&tensor| tensor > parallel.tensor) {
        let setting = format!("parallel.tensor = {tensor}");
        let step = Step::neutral(setup, setting, |run| run.parallel.tensor = tensor);
        if let Ok(wider) = step.setup.with_ranks(setup.nodes, setup.gpus_per_node) {
            steps.push(Step { setup: wider, ..step });
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
        let setting = format!("rollout.rows = {rows}");
        steps.push(Step::neutral(setup, setting, |run| run.rollout.rows = rows));
    }
    let tokens = run.training.micro_batch_tokens;
    let fewer = (tokens / 2).max(setup.longest().sequence_tokens());
    if fewer < tokens {
        let setting = format!("training.micro_batch_tokens = {fewer}");
        steps.push(Step::neutral(setup, setting, |run| run.training.micro_batch_tokens = fewer));
    }
    if run.training.activation_bytes > 0 {
        let setting = "training.activation_bytes = 0";
        steps.push(Step::neutral(setup, setting, |run| run.training.activation_bytes = 0));
    }
    if !setup.on_cpu {
        let offload = !run.parallel.offload_optimizer;
        let setting = format!("parallel.offload_optimizer = {offload}");
        steps.push(Step::neutral(setup, setting, |run| run.parallel.offload_optimizer = offload));
        let offload = !run.parallel.offload_block_inputs;
        let setting = format!("parallel.offload_block_inputs = {offload}");
        let change = |run: &mut RunConfig| run.parallel.offload_block_inputs = offload;
        steps.push(Step::neutral(setup, setting, change));
    }
    if run.metrics.probe_tokens > 0 {
        let (setting, remark) =
            ("metrics.probe_tokens = 0", "the change of entropy is not measured");
        steps.push(Step::new(setup, setting, remark, |run| run.metrics.probe_tokens = 0));
    }
    steps
}

/// Lists settings that store narrower numbers.
fn number_formats(setup: &Setup) -> Vec<Step> {
    let run = &setup.run;
    let is_narrow = run.model.dtype == Dtype::Bf16;
    let master = run.optimizer.master;
    let mut steps = Vec::new();
    let mut add = |fits: bool, setting: &str, remark, change: fn(&mut RunConfig)| {
        steps.extend(fits.then(|| Step::new(setup, setting, remark, change)));
    };
    let fits = run.optimizer.moments != Dtype::Bf16;
    let change: fn(&mut RunConfig) = |run| run.optimizer.moments = Dtype::Bf16;
    add(fits, "optimizer.moments = \"bf16\"", "rounded stochastically", change);
    let fits = is_narrow && master == MasterWeights::F32;
    add(fits, "optimizer.master = \"split\"", "", |run| {
        run.optimizer.master = MasterWeights::Split;
    });
    let fits = is_narrow && master != MasterWeights::None;
    add(fits, "optimizer.master = \"none\"", "weights are rounded stochastically", |run| {
        run.optimizer.master = MasterWeights::None;
    });
    add(!is_narrow, "model.dtype = \"bf16\"", "master weights stay in f32", |run| {
        run.model.dtype = Dtype::Bf16;
    });
    steps
}

/// Lists settings that change the result of the run.
fn other_results(setup: &Setup) -> Vec<Step> {
    let run = &setup.run;
    let mut steps = Vec::new();
    let prompts = run.algorithm.mini_batch_prompts;
    if prompts > 1 && prompts.is_multiple_of(2) {
        let half = prompts / 2;
        let setting = format!("algorithm.mini_batch_prompts = {half}");
        let remark = "twice as many optimiser steps, each over half as much";
        let change = |run: &mut RunConfig| run.algorithm.mini_batch_prompts = half;
        steps.push(Step::new(setup, setting, remark, change));
    }
    let shorter = run.rollout.max_response_tokens / 2;
    if shorter > 0 {
        let mean_response_tokens = setup.mean_response_tokens.min(shorter);
        let setup = Setup { mean_response_tokens, ..setup.clone() };
        let setting = format!("rollout.max_response_tokens = {shorter}");
        let change = |run: &mut RunConfig| run.rollout.max_response_tokens = shorter;
        steps.push(Step::new(&setup, setting, "longer responses are cut", change));
    }
    if run.lora.is_none() {
        let remark = "low-rank corrections are trained in place of the weights";
        steps.push(Step::new(setup, "lora = {}", remark, |run| {
            run.lora = Some(LoraSection::default());
            if run.parallel.zero.shards_parameters() {
                run.parallel.zero = Zero::Optimizer;
            }
        }));
    }
    if setup.holds_reference() {
        let (setting, remark) =
            ("algorithm.reference_kl absent", "no pull to the policy before the run");
        steps.push(Step::new(setup, setting, remark, |run| run.algorithm.reference_kl = None));
    }
    steps
}
