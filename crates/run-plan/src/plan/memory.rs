//! Which buffers the trainer keeps, in bytes, on the rank that has most to do.
//!
//! Every item names where it comes from; the sum of a phase is what is alive at its worst moment. The trainer's test
//! `plan::peaks_are_those_of_the_plan` compares the sums with measured peaks.

mod host;
mod phases;

use model_files::model_config::ModelConfig;
use serde::Serialize;
use training_run::config::Dtype;

pub(super) use self::host::BLOCK_INPUTS;
use super::lengths::Lengths;
use super::setup::{Setup, size_of};
use super::sizes::ModelSizes;

/// Assumed for the driver and libtorch on a GPU: context, kernels, workspaces and communication buffers.
pub const DRIVER_BYTES: u64 = 3 << 29;

/// One buffer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Item {
    /// What it holds.
    pub name: &'static str,
    /// Its size.
    pub bytes: u64,
    /// How that comes about.
    pub because: String,
}

/// What is alive beside the resident buffers while one thing is done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Phase {
    /// What is done.
    pub name: &'static str,
    /// Its buffers.
    pub items: Vec<Item>,
}

impl Phase {
    /// All its buffers together, without the resident ones.
    pub fn bytes(&self) -> u64 {
        total(&self.items)
    }
}

/// The memory of one rank.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MemoryPlan {
    /// Lengths that it is for.
    pub lengths: Lengths,
    /// Whether it is that of a CPU.
    pub on_cpu: bool,
    /// What is on the device from the first step to the last.
    pub resident: Vec<Item>,
    /// What lies in the host's memory: all the time, and the block inputs of an optimiser step.
    pub host: Vec<Item>,
    /// Each phase of a training step.
    pub phases: Vec<Phase>,
}

fn total(items: &[Item]) -> u64 {
    items.iter().map(|item| item.bytes).sum()
}

fn item(name: &'static str, bytes: u64, because: impl Into<String>) -> Item {
    Item { name, bytes, because: because.into() }
}

/// Widths of one block, in elements of one token.
struct Widths {
    hidden: usize,
    query: usize,
    /// Of keys, and of values.
    key: usize,
    intermediate: usize,
}

impl Widths {
    /// About what autograd keeps of the block for one token, in elements: the residual between its halves; rotated queries, keys and
    /// values, and the mix of values; gate and up. What norms and gate make of them is made again.
    fn kept_elements(&self) -> usize {
        let Self { hidden, query, key, intermediate } = self;
        hidden + 2 * (query + key) + 2 * intermediate
    }
}

/// What autograd keeps of a whole model's block for one token, in bytes; elements are of `element_bytes`.
pub fn activation_bytes_per_token(config: &ModelConfig, element_bytes: usize) -> usize {
    let widths = Widths {
        hidden: config.hidden_size,
        query: config.num_attention_heads * config.head_dim,
        key: config.num_key_value_heads * config.head_dim,
        intermediate: config.intermediate_size,
    };
    element_bytes * widths.kept_elements()
}

fn bytes_per_token(setup: &Setup) -> u64 {
    let ModelSizes { hidden, query_width, key_width, intermediate, .. } = setup.model;
    let shared = |width: usize| width.div_ceil(setup.run.parallel.tensor);
    let widths = Widths {
        hidden,
        query: shared(query_width),
        key: key_width.div_ceil(setup.key_parts()),
        intermediate: shared(intermediate),
    };
    let element = size_of(setup.run.model.dtype);
    // Ranks that hold a block together sum behind its norms, whose graphs are autograd's: what two of them make, in f32 where elements
    // are narrower.
    let vectors = match setup.run.parallel.tensor {
        1 => 0,
        _ if element < 4 => 9,
        _ => 4,
    };
    element * (widths.kept_elements() + vectors * hidden) as u64
}

/// What blocks keep for the backward pass of one rank's part of an optimiser step, and what nothing computed twice would take.
pub(super) fn kept_activation_bytes(setup: &Setup, lengths: Lengths) -> (u64, u64) {
    let sequences = setup.mini_batch_sequences_per_rank();
    let tokens_of = |sequences: usize| (sequences * lengths.sequence_tokens()) as u64;
    let tokens = tokens_of(sequences);
    let per_token = bytes_per_token(setup);
    let wanted = tokens * per_token * setup.model.blocks as u64;
    // A graph that is kept would keep its block whole, and what the ranks of a model exchange is outside of it.
    let is_cut = setup.cuts_blocks() || setup.run.parallel.tensor > 1;
    let room = if is_cut { 0 } else { setup.run.training.activation_bytes as u64 };
    // That of a block on a micro-batch is kept whole or not at all.
    let graph = tokens_of(sequences.min(setup.micro_batch_sequences(lengths))) * per_token;
    ((room / graph.max(1) * graph).min(wanted), wanted)
}

impl MemoryPlan {
    /// Plans a setup whose prompts and responses have these lengths.
    pub fn new(setup: &Setup, lengths: Lengths) -> Self {
        let count = Counts::new(setup, lengths);
        let mut phases = vec![count.rollout(), count.scoring(), count.update(), count.optimizer()];
        if setup.run.metrics.probe_bytes > 0 {
            phases.push(count.probe());
        }
        for phase in &mut phases {
            phase.items.retain(|item| item.bytes > 0);
        }
        let mut resident = count.resident();
        resident.retain(|item| item.bytes > 0);
        let mut host = count.host();
        host.retain(|item| item.bytes > 0);
        Self { lengths, on_cpu: setup.on_cpu, resident, host, phases }
    }

    /// What is there all the time.
    pub fn resident_bytes(&self) -> u64 {
        total(&self.resident)
    }

    /// What lies in the host's memory at most, where that is not the device's; what one rank puts there, of the many of a machine.
    pub fn host_bytes(&self) -> u64 {
        total(&self.host)
    }

    /// The phase that takes most.
    ///
    /// # Panics
    ///
    /// Never: every plan has phases.
    pub fn worst_phase(&self) -> &Phase {
        self.phases.iter().max_by_key(|phase| phase.bytes()).expect("every plan has phases")
    }

    /// The most that is alive at any time, without what libtorch and the driver take for themselves.
    pub fn tensor_bytes(&self) -> u64 {
        let host = if self.on_cpu { self.host_bytes() } else { 0 };
        self.resident_bytes() + self.worst_phase().bytes() + host
    }

    /// The same with that.
    pub fn peak_bytes(&self) -> u64 {
        self.tensor_bytes() + self.overhead_bytes()
    }

    /// Context, kernels, workspaces and communication buffers, and what the allocator cannot use for being in pieces: 1.5 GiB
    /// (300 MiB on a CPU) and a twentieth of what comes and goes.
    ///
    /// Assumed, not measured.
    pub fn overhead_bytes(&self) -> u64 {
        let own = if self.on_cpu { 300 << 20 } else { DRIVER_BYTES };
        own + self.worst_phase().bytes() / 20
    }
}

/// Numbers that several items share; bytes unless said.
struct Counts<'a> {
    setup: &'a Setup,
    lengths: Lengths,
    /// Of a weight or activation.
    element: u64,
    /// Of a master weight, a gradient that is summed over ranks, and a statistic.
    wide: u64,
    /// Whether there are master weights beside the weights.
    narrow: bool,
    data_ranks: u64,
    /// Parameters of all blocks on one rank, where they are whole.
    blocks: u64,
    /// Parameters of one block.
    block: u64,
    /// Parameters outside of blocks.
    outer: u64,
    /// Parameters of the head.
    head: u64,
    /// Parameters that are trained.
    trained: u64,
}

impl<'a> Counts<'a> {
    fn new(setup: &'a Setup, lengths: Lengths) -> Self {
        let ModelSizes { blocks, outer_parameters, .. } = setup.model;
        let held = |blocks: usize| setup.block_parameters_held(blocks) as u64;
        let tensor = setup.run.parallel.tensor as u64;
        let shared = |count: usize| (count as u64).div_ceil(tensor);
        Self {
            lengths,
            element: size_of(setup.run.model.dtype),
            wide: if setup.run.model.dtype == Dtype::F64 { 8 } else { 4 },
            narrow: setup.run.model.dtype == Dtype::Bf16,
            data_ranks: setup.data_ranks() as u64,
            blocks: held(blocks),
            block: held(1),
            outer: shared(outer_parameters),
            head: shared(setup.model.head_parameters()),
            trained: setup.trained_parameters_held() as u64,
            setup,
        }
    }

    /// What one rank keeps of so many numbers that are cut over the ranks.
    fn shard(&self, count: u64) -> u64 {
        count.div_ceil(self.data_ranks)
    }

    fn parameters(&self) -> Item {
        let Self { element, blocks, outer, .. } = *self;
        if self.setup.cuts_blocks() {
            let bytes = element * self.shard(blocks + outer);
            return item("parameters", bytes, "the rank's shard");
        }
        let adapter = if self.setup.run.lora.is_some() { self.trained } else { 0 };
        item("parameters", element * (blocks + outer + adapter), "whole")
    }

    fn master(&self) -> Item {
        let run = &self.setup.run;
        let (master, dtype) = (run.optimizer.master, run.model.dtype);
        let cuts = self.setup.cuts_optimizer();
        let count = if cuts { self.shard(self.trained) } else { self.trained };
        if self.setup.run.parallel.offload_optimizer {
            let because = "beside the parameters on the device";
            return item("master weights", self.wide * count, because);
        }
        let beside = master.bytes_beside(dtype);
        let is_whole = beside >= self.wide;
        // Where the blocks are cut too, their shards are what is stepped.
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
        let size = match self.setup.run.optimizer.moments {
            Dtype::Bf16 => 2,
            Dtype::F32 | Dtype::F64 => self.wide,
        };
        let cuts = self.setup.cuts_optimizer();
        let count = if cuts { self.shard(self.trained) } else { self.trained };
        let because = if cuts { "two, of the rank's shard" } else { "two, of all that is trained" };
        item("optimiser moments", 2 * size * count, because)
    }

    /// Gradients that no rank cuts: made as blocks are left, and given back by the optimiser.
    fn whole_gradients(&self) -> Item {
        let whole = if self.setup.cuts_gradients() { 0 } else { self.trained };
        item(
            "gradients",
            self.element * whole,
            "of all that is trained, until the optimiser has stepped",
        )
    }

    fn gradient_shards(&self) -> Item {
        let shard = if self.setup.cuts_optimizer() { self.shard(self.trained) } else { 0 };
        item("gradient shards", self.wide * shard, "summed over the ranks, for the optimiser")
    }

    /// What the optimiser keeps and takes.
    fn optimizer_state(&self) -> [Item; 3] {
        [self.master(), self.moments(), self.gradient_shards()]
    }

    fn resident(&self) -> Vec<Item> {
        let mut items = vec![self.parameters()];
        if !self.setup.run.parallel.offload_optimizer {
            items.extend(self.optimizer_state());
        }
        let whole = self.blocks + self.outer;
        if self.setup.has_reference() && self.setup.run.lora.is_none() {
            let mut bytes = self.element * whole;
            if self.setup.cuts_blocks() {
                bytes = self.element * self.shard(whole);
            }
            items.push(item("reference model", bytes, "a frozen copy, cut as the policy is"));
        }
        items.extend(self.reward_model());
        items
    }

    /// Never cut over the ranks.
    fn reward_model(&self) -> Vec<Item> {
        let Some(reward_model) = &self.setup.run.reward_model else { return Vec::new() };
        let whole = self.setup.model.parameters() as u64;
        let trained = self.setup.trained_parameters() as u64;
        let lora = self.setup.run.lora.is_some();
        let is_whole = !self.setup.cuts_blocks() && self.setup.run.parallel.tensor == 1;
        let shares_reference = (self.setup.has_reference() || lora) && is_whole;
        let reference = if shares_reference { 0 } else { self.element * whole };
        let own = if lora { trained } else { whole };
        let mut items = vec![
            item("reward model", self.element * own, "whole on each rank"),
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
