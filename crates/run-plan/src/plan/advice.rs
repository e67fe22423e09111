//! What to change where a setup does not fit, and where it leaves memory that would save time.

use serde::Serialize;
use training_run::config::{Dtype, LoraSection, MasterWeights, Zero};

use super::memory::MemoryPlan;
use super::setup::Setup;
use super::time::{Assumptions, Hardware, StepTime};
use super::traffic::Traffic;

/// One change, or several together.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Alternative {
    /// What to set.
    pub change: String,
    /// What comes of it, where that is more than memory and time.
    pub remark: String,
    /// The most that one rank then needs, in bytes.
    pub peak_bytes: u64,
    /// Whether that fits.
    pub fits: bool,
    /// What each rank then has in the host's memory, in bytes.
    pub host_bytes: u64,
    /// What of a training step is then spent on the host and on the way there, in seconds, by the model of [`StepTime`].
    pub host_seconds: f64,
}

/// A setting, and the setup with it.
struct Step {
    change: String,
    remark: &'static str,
    setup: Setup,
}

impl Step {
    fn memory(&self) -> MemoryPlan {
        MemoryPlan::new(&self.setup, self.setup.longest())
    }

    /// Whether it costs time at most.
    fn is_neutral(&self) -> bool {
        self.remark.is_empty()
    }

    /// Whether it takes the host's memory beyond what that has already: the last resort of those that are neutral.
    fn offloads_more_than(&self, before: &MemoryPlan) -> bool {
        self.memory().host_bytes() > before.host_bytes()
    }
}

/// What could be changed: first all that leave the result as it is, together; then each change alone, the best first.
pub fn alternatives(
    setup: &Setup,
    hardware: &Hardware,
    assumptions: &Assumptions,
) -> Vec<Alternative> {
    let device_memory_bytes = hardware.memory_bytes;
    let now = MemoryPlan::new(setup, setup.longest()).peak_bytes();
    let of = |step: &Step| {
        let memory = step.memory();
        let peak_bytes = memory.peak_bytes();
        let traffic = Traffic::new(&step.setup);
        let time = StepTime::new(&step.setup, hardware, assumptions, &traffic);
        Alternative {
            change: step.change.clone(),
            remark: step.remark.to_owned(),
            peak_bytes,
            fits: peak_bytes <= device_memory_bytes,
            host_bytes: memory.host_bytes(),
            host_seconds: time.host_seconds,
        }
    };
    let mut alone: Vec<Alternative> = single_steps(setup).iter().map(of).collect();
    alone.retain(|alternative| alternative.peak_bytes < now);
    alone.sort_by_key(|alternative| alternative.peak_bytes);
    let together = neutral_steps(setup, device_memory_bytes);
    together
        .iter()
        .map(of)
        .chain(more_devices(setup, device_memory_bytes).iter().map(of))
        .chain(alone)
        .collect()
}

/// What more memory for activations saves.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MoreKept {
    /// `training.activation_bytes`: whole gigabytes, the fewest that save this much.
    pub activation_bytes: usize,
    /// The most that one rank then needs, in bytes.
    pub peak_bytes: u64,
    /// What a training step is shorter by, in seconds, by the model of [`StepTime`].
    pub saved_seconds: f64,
}

/// As much room for what blocks computed as the device has left at the longest lengths, if it saves a hundredth of a training step;
/// with it fewer blocks are computed again in the backward pass.
pub fn more_kept(
    setup: &Setup,
    hardware: &Hardware,
    assumptions: &Assumptions,
) -> Option<MoreKept> {
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
    (!setup.on_cpu && saved_seconds >= 0.01 * now).then(|| MoreKept {
        activation_bytes: best.run.training.activation_bytes,
        peak_bytes: peak(&best),
        saved_seconds,
    })
}

/// Changes that cost time at most, one on top of the other until the setup fits or nothing is left. The host's memory is used
/// once nothing else helps.
fn neutral_steps(setup: &Setup, device_memory_bytes: u64) -> Option<Step> {
    let mut setup = setup.clone();
    let mut changes = Vec::new();
    loop {
        let plan = MemoryPlan::new(&setup, setup.longest());
        if plan.peak_bytes() <= device_memory_bytes {
            break;
        }
        let better = single_steps(&setup)
            .into_iter()
            .filter(Step::is_neutral)
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
fn more_devices(setup: &Setup, device_memory_bytes: u64) -> Option<Step> {
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
        if plan.peak_bytes() <= device_memory_bytes {
            let cut = if setup.run.lora.is_none() { ", parallel.zero = 3" } else { "" };
            let (nodes, gpus) = (wider.nodes, wider.gpus_per_node);
            let change = format!("--nodes {nodes} --gpus {gpus}{cut}");
            return Some(Step { change, remark: "more devices", setup: wider });
        }
    }
    None
}

/// Every setting that takes memory, one step further. Those without a remark leave the result of the run as it is but for
/// rounding.
fn single_steps(setup: &Setup) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut add = |change: String, remark: &'static str, setup: Setup| {
        steps.push(Step { change, remark, setup });
    };
    if setup.data_ranks() > 1 && setup.run.lora.is_none() {
        for stage in 1..=3u8 {
            if let Ok(zero) = Zero::try_from(stage)
                && stage > u8::from(setup.run.parallel.zero)
            {
                add(
                    format!("parallel.zero = {stage}"),
                    "",
                    setup.with(|run| run.parallel.zero = zero),
                );
            }
        }
    }
    for tensor in [2, 4, 8].into_iter().filter(|&tensor| tensor > setup.run.parallel.tensor) {
        let wider = setup.with(|run| run.parallel.tensor = tensor);
        if let Ok(wider) = wider.with_ranks(setup.nodes, setup.gpus_per_node) {
            add(format!("parallel.tensor = {tensor}"), "", wider);
        }
    }
    if setup.run.rollout.rows > 1 {
        let rows = setup.run.rollout.rows.div_ceil(2);
        add(format!("rollout.rows = {rows}"), "", setup.with(|run| run.rollout.rows = rows));
    }
    let longest = setup.longest().sequence_tokens();
    let fewer = (setup.run.training.micro_batch_tokens / 2).max(longest);
    if fewer < setup.run.training.micro_batch_tokens {
        let change = format!("training.micro_batch_tokens = {fewer}");
        add(change, "", setup.with(|run| run.training.micro_batch_tokens = fewer));
    }
    if setup.run.training.activation_bytes > 0 {
        let change = "training.activation_bytes = 0".to_owned();
        add(change, "", setup.with(|run| run.training.activation_bytes = 0));
    }
    if !setup.on_cpu && !setup.run.parallel.offload_optimizer {
        let change = "parallel.offload_optimizer = true".to_owned();
        add(change, "", setup.with(|run| run.parallel.offload_optimizer = true));
    }
    if !setup.on_cpu && !setup.run.parallel.offload_block_inputs {
        let change = "parallel.offload_block_inputs = true".to_owned();
        add(change, "", setup.with(|run| run.parallel.offload_block_inputs = true));
    }
    if setup.run.metrics.probe_bytes > 0 {
        let change = "metrics.probe_bytes = 0".to_owned();
        let remark = "the change of entropy is not measured";
        add(change, remark, setup.with(|run| run.metrics.probe_bytes = 0));
    }
    if setup.run.optimizer.moments != Dtype::Bf16 {
        let remark = "rounded stochastically";
        let narrow = setup.with(|run| run.optimizer.moments = Dtype::Bf16);
        add("optimizer.moments = \"bf16\"".to_owned(), remark, narrow);
    }
    if setup.run.model.dtype == Dtype::Bf16 && setup.run.optimizer.master == MasterWeights::F32 {
        let split = setup.with(|run| run.optimizer.master = MasterWeights::Split);
        add("optimizer.master = \"split\"".to_owned(), "", split);
    }
    if setup.run.model.dtype == Dtype::Bf16 && setup.run.optimizer.master != MasterWeights::None {
        let remark = "weights are rounded stochastically";
        let none = setup.with(|run| run.optimizer.master = MasterWeights::None);
        add("optimizer.master = \"none\"".to_owned(), remark, none);
    }
    if setup.run.model.dtype != Dtype::Bf16 {
        let remark = "master weights stay in f32";
        let narrow = setup.with(|run| run.model.dtype = Dtype::Bf16);
        add("model.dtype = \"bf16\"".to_owned(), remark, narrow);
    }
    if setup.run.algorithm.mini_batch_prompts > 1
        && setup.run.algorithm.mini_batch_prompts.is_multiple_of(2)
    {
        let mini_batch_prompts = setup.run.algorithm.mini_batch_prompts / 2;
        let change = format!("algorithm.mini_batch_prompts = {mini_batch_prompts}");
        let remark = "twice as many optimiser steps, each over half as much";
        add(
            change,
            remark,
            setup.with(|run| run.algorithm.mini_batch_prompts = mini_batch_prompts),
        );
    }
    let shorter = setup.run.rollout.max_response_tokens / 2;
    if shorter > 0 {
        let mean = setup.mean_response_tokens.min(shorter);
        let change = format!("rollout.max_response_tokens = {shorter}");
        let remark = "longer responses are cut";
        let setup = setup.with(|run| run.rollout.max_response_tokens = shorter);
        add(change, remark, Setup { mean_response_tokens: mean, ..setup });
    }
    if setup.run.lora.is_none() {
        let zero = if setup.run.parallel.zero.shards_parameters() {
            Zero::Optimizer
        } else {
            setup.run.parallel.zero
        };
        let remark = "low-rank corrections are trained in place of the weights";
        add(
            "lora = {}".to_owned(),
            remark,
            setup.with(|run| (run.parallel.zero, run.lora) = (zero, Some(LoraSection::default()))),
        );
    }
    if setup.has_reference() && setup.run.lora.is_none() {
        let remark = "no pull to the policy before the run";
        let change = "algorithm.reference_kl absent".to_owned();
        add(change, remark, setup.with(|run| run.algorithm.reference_kl = None));
    }
    steps
}
