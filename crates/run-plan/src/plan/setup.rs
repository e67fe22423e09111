use model_files::buffer_limits::{PROBE_LOGITS, READ_TOKENS_PER_PROBED};
use model_files::model_config::BlockOptions;
use serde::Serialize;
use thiserror::Error;
use training_run::config::{Device, Dtype, LoraSection, Run, RunConfig};

use super::sizes::ModelSizes;

/// Length of every prompt and every response, in tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Lengths {
    /// Length of a prompt.
    pub prompt_tokens: usize,
    /// Length of a response.
    pub response_tokens: usize,
}

impl Lengths {
    /// Length of prompt and response together.
    pub fn sequence_tokens(self) -> usize {
        self.prompt_tokens + self.response_tokens
    }
}

/// A run and its model, and the machines that it would run on.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Setup {
    /// The run's configuration.
    pub run: RunConfig,
    /// The model.
    pub model: ModelSizes,
    /// The reference of `algorithm.reference_kl` where it is another model.
    pub reference: Option<ModelSizes>,
    /// Number of machines.
    pub nodes: usize,
    /// Ranks on each machine, one per device.
    pub gpus_per_node: usize,
    /// True if the ranks run on CPUs.
    pub on_cpu: bool,
    /// True if products of bf16 are taken in f32, as on CPUs that libtorch has no bf16 kernels for; the engine knows these.
    pub widens_products: bool,
    /// Expected length of a prompt, in tokens.
    pub mean_prompt_tokens: usize,
    /// Expected length of a response, in tokens.
    pub mean_response_tokens: usize,
}

/// Why a setup cannot be planned: a count is 0 or does not divide another, or the model or its adapter cannot be split so.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct SetupError(String);

impl Setup {
    /// The setup of a checked run for a model; one rank, unless [`with_ranks`](Self::with_ranks) says otherwise.
    ///
    /// Prompts are expected to be a quarter of their longest, as those of mathematics are, responses as long as allowed:
    /// change `mean_prompt_tokens` and `mean_response_tokens` where more is known.
    pub fn of_run(run: &Run, model: ModelSizes) -> Self {
        let config = run.config();
        Self {
            run: config.clone(),
            model,
            reference: None,
            nodes: 1,
            gpus_per_node: 1,
            on_cpu: config.model.device == Device::Cpu,
            widens_products: false,
            mean_prompt_tokens: config.data.max_prompt_tokens.div_ceil(4),
            mean_response_tokens: config.rollout.max_response_tokens,
        }
    }

    /// Returns this setup with other settings of the run.
    #[must_use]
    pub fn with(&self, change: impl FnOnce(&mut RunConfig)) -> Self {
        let mut changed = self.clone();
        change(&mut changed.run);
        changed
    }

    /// Returns this setup on so many machines with so many devices each.
    ///
    /// # Errors
    ///
    /// [`SetupError`] if a count is out of range, `parallel.tensor` does not divide the devices of a machine, the model cannot be
    /// split over so many ranks, or a target of the adapter takes none.
    pub fn with_ranks(self, nodes: usize, gpus_per_node: usize) -> Result<Self, SetupError> {
        let tensor = self.run.parallel.tensor;
        let counts = [("nodes", nodes), ("gpus", gpus_per_node), ("parallel.tensor", tensor)];
        let is_out = |(_, count): &(_, usize)| !(1..=1 << 20).contains(count);
        if let Some((what, count)) = counts.into_iter().find(is_out) {
            return Err(SetupError(format!("{what} is {count}, expected 1 to 1048576")));
        }
        if !gpus_per_node.is_multiple_of(tensor) {
            return Err(SetupError(format!(
                "parallel.tensor is {tensor}, expected a divisor of the {gpus_per_node} devices of a node"
            )));
        }
        let divides = self.model.config.check_shards(tensor);
        divides.map_err(|error| SetupError(error.to_string()))?;
        let experts = self.model.config.experts.as_ref();
        if let Some(problem) = self.run.lora.as_ref().and_then(|lora| lora.problem_with(experts)) {
            return Err(SetupError(problem.to_string()));
        }
        Ok(Self { nodes, gpus_per_node, ..self })
    }

    /// True if the run's own CPU kernels decode.
    pub(super) fn decodes_by_cpu_kernels(&self) -> bool {
        let config = &self.model.config;
        let has_kernels = self.run.model.dtype != Dtype::F64
            && config.experts.is_none()
            && config.architecture.block() == BlockOptions::PLAIN;
        self.on_cpu && self.run.rollout.cpu_kernels && has_kernels
    }

    /// True if a frozen policy is kept as the reference.
    pub(super) fn has_reference(&self) -> bool {
        self.run.algorithm.reference_kl.is_some()
    }

    /// True if the reference has weights of its own.
    pub(super) fn holds_reference(&self) -> bool {
        self.has_reference() && (self.run.lora.is_none() || self.reference.is_some())
    }

    /// Weights of the reference as a multiple of the policy's.
    pub(super) fn reference_scale(&self) -> f64 {
        let of_reference = self.reference.as_ref().unwrap_or(&self.model);
        of_reference.parameters() as f64 / self.model.parameters() as f64
    }

    /// True if sampling leaves out a part of the vocabulary.
    pub(super) fn truncates(&self) -> bool {
        self.run.rollout.sampling().truncates()
    }

    /// True if entropy at temperature 1 takes a forward pass of its own.
    pub(super) fn scores_twice(&self) -> bool {
        (self.run.rollout.temperature - 1.0).abs() > 0.0
    }

    /// True if the loss has an entropy term, which has a gradient of its own.
    pub(super) fn has_entropy_gradient(&self) -> bool {
        let algorithm = &self.run.algorithm;
        algorithm.entropy_coefficient.abs() > 0.0 || algorithm.adaptive_entropy.is_some()
    }

    /// Number of processes.
    pub fn ranks(&self) -> usize {
        self.nodes * self.gpus_per_node
    }

    /// Data-parallel ranks: groups of tensor-parallel ranks that hold one copy of the model and work on their own sequences.
    pub fn data_ranks(&self) -> usize {
        self.ranks() / self.run.parallel.tensor
    }

    /// Lengths with every prompt and response as long as allowed.
    pub fn longest(&self) -> Lengths {
        Lengths {
            prompt_tokens: self.run.data.max_prompt_tokens,
            response_tokens: self.run.rollout.max_response_tokens,
        }
    }

    /// Lengths with every prompt and response as long as expected.
    pub fn expected(&self) -> Lengths {
        Lengths {
            prompt_tokens: self.mean_prompt_tokens,
            response_tokens: self.mean_response_tokens,
        }
    }

    /// Sequences of one optimiser step on the rank that has most.
    pub fn mini_batch_sequences_per_rank(&self) -> usize {
        (self.run.algorithm.mini_batch_prompts * self.run.rollout.group_size)
            .div_ceil(self.data_ranks())
    }

    /// Sequences of one training step on the rank that has most.
    pub fn sequences_per_rank(&self) -> usize {
        (self.run.rollout.prompts_per_step * self.run.rollout.group_size)
            .div_ceil(self.data_ranks())
    }

    /// Prompts of one training step that the rank with most of them samples responses to.
    pub fn prompts_per_rank(&self) -> usize {
        self.run.rollout.prompts_per_step.div_ceil(self.data_ranks())
    }

    /// Number of optimiser steps in one training step.
    pub fn optimizer_steps(&self) -> usize {
        self.run.rollout.prompts_per_step.div_ceil(self.run.algorithm.mini_batch_prompts)
            * self.run.algorithm.epochs
    }

    /// Micro-batches of one rank in an optimiser step.
    pub fn micro_batches(&self, lengths: Lengths) -> usize {
        self.mini_batch_sequences_per_rank().div_ceil(self.micro_batch_sequences(lengths))
    }

    /// Sequences of a full micro-batch.
    pub(super) fn micro_batch_sequences(&self, lengths: Lengths) -> usize {
        (self.run.training.micro_batch_tokens / lengths.sequence_tokens().max(1)).max(1)
    }

    /// Trained parameters of one copy of the model, on all its tensor-parallel ranks together.
    pub fn trained_parameters(&self) -> usize {
        match &self.run.lora {
            Some(lora) => self.model.adapter_parameters(lora),
            None => self.model.parameters(),
        }
    }

    /// Tensor-parallel shards of keys and values; with fewer heads than ranks, some ranks hold the same shard.
    pub(super) fn key_shards(&self) -> usize {
        self.run.parallel.tensor.min(self.model.key_width / self.model.head_dim).max(1)
    }

    /// Weights of keys and values in one block of the unsharded model.
    fn key_parameters(&self) -> usize {
        2 * self.model.hidden * self.model.key_width
    }

    /// Parameters of `blocks` blocks on one tensor-parallel rank.
    pub(super) fn block_parameters_held(&self, blocks: usize) -> usize {
        let keys = blocks * self.key_parameters();
        let twice = keys / self.key_shards() - keys / self.run.parallel.tensor;
        (blocks * self.model.block_parameters).div_ceil(self.run.parallel.tensor) + twice
    }

    /// Adapter parameters on one tensor-parallel rank: of the factors that every rank has whole, and of its shards.
    fn adapter_factors(&self, lora: &LoraSection) -> (usize, usize) {
        self.model.adapter_factors(lora, (self.run.parallel.tensor, self.key_shards()))
    }

    pub(super) fn trained_parameters_held(&self) -> usize {
        match &self.run.lora {
            Some(lora) => {
                let (replicated, cut) = self.adapter_factors(lora);
                replicated + cut
            }
            None => {
                self.block_parameters_held(self.model.blocks)
                    + self.model.outer_parameters.div_ceil(self.run.parallel.tensor)
            }
        }
    }

    /// Trained parameters whose gradient is summed over tensor-parallel ranks, and how many ranks share each.
    pub(super) fn shared_gradient(&self) -> (usize, usize) {
        let copies = self.run.parallel.tensor / self.key_shards();
        match &self.run.lora {
            _ if self.run.parallel.tensor == 1 => (0, 1),
            Some(lora) => (self.adapter_factors(lora).0, self.run.parallel.tensor),
            None if copies == 1 => (0, 1),
            None => (self.model.blocks * self.key_parameters() / self.key_shards(), copies),
        }
    }

    /// True if gradients are sharded over the data-parallel ranks during backward.
    pub fn cuts_gradients(&self) -> bool {
        self.data_ranks() > 1 && self.run.parallel.zero.shards_gradients()
    }

    /// True if the blocks' parameters are sharded over the data-parallel ranks.
    pub fn cuts_blocks(&self) -> bool {
        self.data_ranks() > 1 && self.run.parallel.zero.shards_parameters()
    }

    /// True if the optimiser's state is sharded over the data-parallel ranks.
    pub fn cuts_optimizer(&self) -> bool {
        self.data_ranks() > 1 && self.run.parallel.zero.shards_optimizer()
    }
}

/// Bytes of a master weight, a gradient that is summed over ranks, or a statistic.
pub(super) fn wide_size_of(dtype: Dtype) -> u64 {
    size_of(dtype).max(4)
}

/// Bytes of a number.
pub(super) fn size_of(dtype: Dtype) -> u64 {
    match dtype {
        Dtype::Bf16 => 2,
        Dtype::F32 => 4,
        Dtype::F64 => 8,
    }
}

/// States at which one step measures the change of entropy; every rank measures all of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Probe {
    /// Response tokens that are probed.
    pub(super) states: u64,
    /// Tokens of prompts and responses that are read for it, before the update and again after it.
    pub(super) read: u64,
}

impl Probe {
    pub(super) fn of(setup: &Setup, lengths: Lengths) -> Self {
        let run = &setup.run;
        let sequences = (run.rollout.prompts_per_step * run.rollout.group_size) as u64;
        let responses = sequences * lengths.response_tokens as u64;
        let states = (run.metrics.probe_tokens as u64).min(responses);
        let bound = states.saturating_mul(READ_TOKENS_PER_PROBED.into());
        Self { states, read: bound.min(sequences * lengths.sequence_tokens() as u64) }
    }

    /// Logits of one chunk, over the full vocabulary.
    pub(super) fn chunk(self, vocabulary: u64) -> u64 {
        let rows = (u64::from(PROBE_LOGITS) / vocabulary).max(1);
        rows.min(self.states) * vocabulary
    }

    pub(super) fn chunks(self, vocabulary: u64) -> u64 {
        (self.states * vocabulary).div_ceil(self.chunk(vocabulary).max(1))
    }
}
