//! Buffers that the trainer keeps on the busiest rank, in bytes.
//!
//! Every item explains its size; the sum of a phase is its peak. The trainer's test `plan::peaks_are_those_of_the_plan` compares
//! the sums with measured peaks.

mod host;
mod phases;
mod update;

use model_files::model_config::ModelConfig;
use serde::Serialize;
use training_run::config::Dtype;

pub(super) use self::host::offloaded_bytes;
use super::setup::{Lengths, Setup, size_of, wide_size_of};
use super::sizes::ModelSizes;

/// Memory assumed for driver and libtorch on a GPU, in bytes: context, kernels, workspaces and communication buffers.
pub const DRIVER_BYTES: u64 = 3 << 29;

/// One buffer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Item {
    /// Name of its contents.
    pub name: &'static str,
    /// Size in bytes.
    pub bytes: u64,
    /// Explanation of the size.
    pub because: String,
}

/// Buffers alive during one phase of a training step, beside the resident ones.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Phase {
    /// Name of the phase.
    pub name: &'static str,
    /// Buffers of the phase.
    pub items: Vec<Item>,
}

impl Phase {
    /// Size of the phase's buffers together, in bytes, without the resident ones.
    pub fn bytes(&self) -> u64 {
        total(&self.items)
    }
}

/// The memory of one rank.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MemoryPlan {
    /// Lengths that the plan assumes.
    pub lengths: Lengths,
    /// True if the rank runs on a CPU.
    pub on_cpu: bool,
    /// Buffers on the device from the first step to the last.
    pub resident: Vec<Item>,
    /// Buffers in host memory: the optimiser's, and the block inputs of an optimiser step.
    pub host: Vec<Item>,
    /// Each phase of a training step.
    pub phases: Vec<Phase>,
    /// Size of the largest tensor, in bytes.
    pub largest_tensor_bytes: u64,
}

fn total(items: &[Item]) -> u64 {
    items.iter().map(|item| item.bytes).sum()
}

fn item(name: &'static str, bytes: u64, because: impl Into<String>) -> Item {
    Item { name, bytes, because: because.into() }
}

/// Elements that autograd keeps of a block for one token on one of `tensor` ranks, approximately: the residual between its halves;
/// rotated queries, keys and values, and attention's output; gate and up. Outputs of norms and gate are recomputed. Experts keep
/// their inputs and results, and these once more in the tokens' order, and the norm of the tokens. Elements of less than four bytes
/// are narrow.
fn kept_elements(
    model: &ModelSizes,
    is_narrow: bool,
    (tensor, key_shards): (usize, usize),
) -> usize {
    let (hidden, config) = (model.hidden, &model.config);
    let (query, key) = (model.query_width.div_ceil(tensor), model.key_width.div_ceil(key_shards));
    let copies = match model.routed_copies() {
        0 => 0,
        routed => (3 * routed + 1) * hidden,
    };
    let results = 2 * (query + key + 2 * hidden);
    let read_by_norms =
        match (config.architecture.block().output_norms, config.attention.query_key_norm) {
            // Gemma's norms keep what they read and its quotient by the root, in four bytes at least; where elements are
            // narrower, the view of the projection is freed.
            (true, _) if is_narrow => 2 * results,
            (true, _) => results + key,
            // Queries and keys pass norms, whose inputs are views of the whole projection.
            (false, true) => query + 2 * key,
            (false, false) => 0,
        };
    let gate_and_up = 2 * model.intermediate.div_ceil(tensor);
    hidden + 2 * (query + key) + read_by_norms + gate_and_up + copies
}

/// Bytes that autograd keeps of an unsharded block for one token, at `element_bytes` per element.
pub fn activation_bytes_per_token(config: &ModelConfig, element_bytes: usize) -> usize {
    element_bytes * kept_elements(&ModelSizes::of("", config), element_bytes < 4, (1, 1))
}

fn bytes_per_token(setup: &Setup) -> u64 {
    let (element, tensor) = (size_of(setup.run.model.dtype), setup.run.parallel.tensor);
    // With tensor parallelism, autograd also keeps the graphs of the two norms, whose intermediates are f32 where elements
    // are narrower.
    let vectors = match tensor {
        1 => 0,
        _ if element < 4 => 9,
        _ => 4,
    };
    let kept = kept_elements(&setup.model, element < 4, (tensor, setup.key_shards()));
    element * (kept + vectors * setup.model.hidden) as u64
}

/// Activation bytes that one rank keeps for backward in an optimiser step, and the bytes with which nothing is recomputed.
pub(super) fn kept_activation_bytes(setup: &Setup, lengths: Lengths) -> (u64, u64) {
    let sequences = setup.mini_batch_sequences_per_rank();
    let tokens_of = |sequences: usize| (sequences * lengths.sequence_tokens()) as u64;
    let tokens = tokens_of(sequences);
    let per_token = bytes_per_token(setup);
    let wanted = tokens * per_token * setup.model.blocks as u64;
    // A kept graph would keep its gathered block, and tensor-parallel collectives are outside of autograd's graphs.
    let is_split = setup.cuts_blocks() || setup.run.parallel.tensor > 1;
    let room = if is_split { 0 } else { setup.run.training.activation_bytes as u64 };
    // The graph of a block on a micro-batch is kept entirely or not at all.
    let graph = tokens_of(sequences.min(setup.micro_batch_sequences(lengths))) * per_token;
    ((room / graph.max(1) * graph).min(wanted), wanted)
}

impl MemoryPlan {
    /// Plans a setup whose prompts and responses have these lengths.
    pub fn new(setup: &Setup, lengths: Lengths) -> Self {
        let count = Counts::new(setup, lengths);
        let mut phases = vec![count.rollout(), count.scoring(), count.update(), count.optimizer()];
        if setup.run.metrics.probe_tokens > 0 {
            phases.push(count.probe());
        }
        let (mut resident, mut host) = (count.resident(), count.host());
        let lists = phases.iter_mut().map(|phase| &mut phase.items);
        for items in lists.chain([&mut resident, &mut host]) {
            items.retain(|item| item.bytes > 0);
        }
        let largest_tensor_bytes = count.largest_tensor_bytes();
        Self { lengths, on_cpu: setup.on_cpu, resident, host, phases, largest_tensor_bytes }
    }

    /// Size of the resident buffers in bytes.
    pub fn resident_bytes(&self) -> u64 {
        total(&self.resident)
    }

    /// Most host memory that one rank of a machine uses, in bytes; on a CPU it is device memory too.
    pub fn host_bytes(&self) -> u64 {
        total(&self.host)
    }

    pub(super) fn worst_phase(&self) -> &Phase {
        self.phases.iter().max_by_key(|phase| phase.bytes()).expect("every plan has phases")
    }

    /// Peak memory of all tensors in bytes, without the overhead of libtorch and driver.
    pub fn tensor_bytes(&self) -> u64 {
        let host = if self.on_cpu { self.host_bytes() } else { 0 };
        self.resident_bytes() + self.worst_phase().bytes() + host
    }

    /// Peak memory of tensors and overhead, in bytes.
    pub fn peak_bytes(&self) -> u64 {
        self.tensor_bytes() + self.overhead_bytes()
    }

    /// Overhead in bytes: context, kernels, workspaces and communication buffers, 1.5 GiB (300 MiB on a CPU), assumed, not measured; and
    /// the allocator's fragmentation.
    ///
    /// The largest tensor finds no room among freed ones, so a GPU's allocator holds about its size besides; a CPU's a twentieth of the
    /// largest phase. `tests/cuda/test_null.py` compares the former with libtorch's allocator.
    pub fn overhead_bytes(&self) -> u64 {
        if self.on_cpu {
            return (300 << 20) + self.worst_phase().bytes() / 20;
        }
        DRIVER_BYTES + self.largest_tensor_bytes
    }
}

/// Quantities that several items share: bytes of an element, and counts of parameters.
struct Counts<'a> {
    setup: &'a Setup,
    lengths: Lengths,
    /// Bytes of a weight or activation.
    element: u64,
    /// Bytes of a master weight, a gradient that is summed over ranks, or a statistic.
    wide: u64,
    /// True if weights are in bf16, so that master weights can stand beside them.
    narrow: bool,
    data_ranks: u64,
    /// Tensor-parallel ranks of one copy of the model.
    tensor: usize,
    /// Parameters on one rank before data-parallel sharding: of all blocks, of one, outside of blocks, of the head, and the trained
    /// ones.
    blocks: u64,
    block: u64,
    outer: u64,
    head: u64,
    trained: u64,
}

impl<'a> Counts<'a> {
    fn new(setup: &'a Setup, lengths: Lengths) -> Self {
        let ModelSizes { blocks, outer_parameters, .. } = setup.model;
        let held = |blocks: usize| setup.block_parameters_held(blocks) as u64;
        let tensor = setup.run.parallel.tensor;
        let shared = |count: usize| count.div_ceil(tensor) as u64;
        Self {
            lengths,
            element: size_of(setup.run.model.dtype),
            wide: wide_size_of(setup.run.model.dtype),
            narrow: setup.run.model.dtype == Dtype::Bf16,
            data_ranks: setup.data_ranks() as u64,
            tensor,
            blocks: held(blocks),
            block: held(1),
            outer: shared(outer_parameters),
            head: shared(setup.model.head_parameters()),
            trained: setup.trained_parameters_held() as u64,
            setup,
        }
    }

    /// Numbers that one rank keeps of `count` that are sharded over the data-parallel ranks.
    fn shard(&self, count: u64) -> u64 {
        count.div_ceil(self.data_ranks)
    }

    fn parameters(&self) -> Item {
        let all = self.blocks + self.outer;
        if self.setup.cuts_blocks() {
            return item("parameters", self.element * self.shard(all), "the rank's shard");
        }
        let adapter = if self.setup.run.lora.is_some() { self.trained } else { 0 };
        item("parameters", self.element * (all + adapter), "whole")
    }

    fn master(&self) -> Item {
        let run = &self.setup.run;
        let (cuts, count) = (self.setup.cuts_optimizer(), self.shard_of(self.trained));
        if run.parallel.offload_optimizer {
            let because = "beside the parameters on the device";
            return item("master weights", self.wide * count, because);
        }
        let beside = run.optimizer.master.bytes_beside(run.model.dtype);
        let is_whole = beside >= self.wide;
        // Where the blocks are sharded too, the optimiser steps their shards.
        let copied = if cuts && !is_whole && !self.setup.cuts_blocks() { self.element } else { 0 };
        let because = match (is_whole, beside > 0, copied > 0) {
            (true, ..) => "f32, beside narrower parameters",
            (false, true, false) => "the lower halves of f32, beside parameters that are the upper",
            (false, true, true) => {
                "the lower halves of f32, and a copy of the rank's shard, the upper"
            }
            (false, false, true) => "the rank's shard, a copy of a part of the parameters",
            (false, false, false) => "the parameters themselves",
        };
        item("master weights", count * (beside + copied), because)
    }

    fn moments(&self) -> Item {
        let is_narrow = self.setup.run.optimizer.moments == Dtype::Bf16;
        let size = if is_narrow { 2 } else { self.wide };
        let cuts = self.setup.cuts_optimizer();
        let because = if cuts { "two, of the rank's shard" } else { "two, of all that is trained" };
        item("optimiser moments", 2 * size * self.shard_of(self.trained), because)
    }

    /// Gradients that are not sharded: allocated as backward leaves each block, freed by the optimiser.
    fn whole_gradients(&self) -> Item {
        let count = if self.setup.cuts_gradients() { 0 } else { self.trained };
        let because = "of all that is trained, until the optimiser has stepped";
        item("gradients", self.element * count, because)
    }

    fn gradient_shards(&self) -> Item {
        let shard = if self.setup.cuts_optimizer() { self.shard(self.trained) } else { 0 };
        item("gradient shards", self.wide * shard, "summed over the ranks, for the optimiser")
    }

    fn resident(&self) -> Vec<Item> {
        let mut items = vec![self.parameters()];
        if !self.setup.run.parallel.offload_optimizer {
            items.extend([self.master(), self.moments()]);
        }
        if self.setup.holds_reference() {
            let share = |model: &ModelSizes| model.parameters().div_ceil(self.tensor) as u64;
            let all = self.setup.reference.as_ref().map_or(self.blocks + self.outer, share);
            let held = if self.setup.cuts_blocks() { self.shard(all) } else { all };
            items.push(item(
                "reference model",
                self.element * held,
                "frozen, cut as the policy is",
            ));
        }
        items.extend(self.reward_model());
        items
    }

    /// Buffers of the reward model, which is never sharded.
    fn reward_model(&self) -> Vec<Item> {
        let Some(reward_model) = &self.setup.run.reward_model else { return Vec::new() };
        let all = self.setup.model.parameters() as u64;
        let trained = self.setup.trained_parameters() as u64;
        let lora = self.setup.run.lora.is_some();
        let is_whole = !self.setup.cuts_blocks() && self.tensor == 1;
        let is_policy = self.setup.has_reference() && self.setup.reference.is_none();
        let shares_reference = (is_policy || lora) && is_whole;
        let reference = if shares_reference { 0 } else { self.element * all };
        let stored = if lora { trained } else { all };
        let mut items = vec![
            item("reward model", self.element * stored, "whole on each rank"),
            item("its reference", reference, "whole on each rank; the policy's where there is one"),
        ];
        if reward_model.learns() {
            if !self.setup.run.parallel.offload_optimizer {
                items.extend(self.reward_optimizer());
            }
            items.push(item("its gradients", trained * self.element, "whole on each rank"));
        }
        items
    }
}
