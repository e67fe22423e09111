//! Time of a training step, from floating-point operations, bytes read and bytes sent.
//!
//! ```text
//! forward pass of a token = 2 · W + 2 · L · d · blocks        W weights of the blocks, L tokens of its sequence, d width of the
//!                                                             query heads; causal attention looks at half of L on average,
//!                                                             a window of w tokens at w (1 - w / 2 L)
//! head, response token    = 2 · V · h                         V tokens of the vocabulary, h width of the model
//! decoding one token of B = max(weight bytes / memory, 2 · B · W / matrix) + cached bytes · B / memory
//! a collective            = bytes sent / bandwidth + (ranks - 1) · hop + start
//! ```
//!
//! The backward pass is twice the forward pass, and one more where blocks are recomputed, at stage 3 all. Overlapped
//! communication hides behind a fraction of the computation. Offloaded data goes over the link to the host. The optimiser there
//! reads and writes its state at the speed of the host's memory, which all devices of a machine share.

use serde::Serialize;

use super::memory::{MemoryPlan, kept_activation_bytes, offloaded_bytes};
use super::setup::{Probe, Setup, size_of, wide_size_of};
use super::traffic::{Collective, Traffic};

/// A kind of device and how its machines are wired.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Hardware {
    /// Name of the device.
    pub name: String,
    /// Device memory available to a process, in bytes.
    pub memory_bytes: u64,
    /// Host memory of a machine, for all its ranks together, in bytes; `None` where it is unknown or is the device's own.
    pub host_bytes: Option<u64>,
    /// Dense matrix products in bf16, floating-point operations per second, as the maker states them.
    pub matrix_flops_per_second: f64,
    /// Memory bandwidth, bytes per second, as the maker states it.
    pub memory_bytes_per_second: f64,
    /// Bandwidth from each device to others of its machine in a collective, in bytes per second.
    pub link_bytes_per_second: f64,
    /// Bandwidth from a machine to others, in bytes per second.
    pub network_bytes_per_second: f64,
    /// Latency from device to device of a machine, in seconds.
    pub link_hop_seconds: f64,
    /// Latency from machine to machine, in seconds.
    pub network_hop_seconds: f64,
    /// Latency of starting a collective, in seconds.
    pub start_seconds: f64,
    /// Bandwidth between a device and its host, each way, in bytes per second.
    pub host_link_bytes_per_second: f64,
    /// Bandwidth of host memory that the optimisers of all devices of a machine reach together, in bytes per second.
    pub host_memory_bytes_per_second: f64,
}

/// Known devices: name, memory, matrix operations, memory bandwidth, bandwidth to others of the machine, and the stated
/// bandwidths of PCI Express (each way) and of host memory.
///
/// Sources: NVIDIA data sheets of H200, H100 SXM and A100 SXM for operations and memory (nvidia-smi for what of it a process
/// can have); 370 and 230 GB/s are what nccl-tests calls bus bandwidth on machines of eight with `NVLink` 4 and 3.
/// Sixteen lanes of PCI Express 5 and 4. Hosts are those of NVIDIA's own machines: two sockets of eight channels, DDR5-4800 or
/// DDR4-3200.
type Row = (&'static str, u64, f64, f64, f64, f64, f64);

/// Known devices.
pub const HARDWARE: [Row; 3] = [
    ("h200", 139 << 30, 989e12, 4.8e12, 370e9, 64e9, 614e9),
    ("h100", 79 << 30, 989e12, 3.35e12, 370e9, 64e9, 614e9),
    ("a100", 79 << 30, 312e12, 2.04e12, 230e9, 32e9, 410e9),
];

/// Fraction of its nominal bandwidth that a network gives a collective.
const NETWORK_FRACTION: f64 = 0.9;

/// Fraction of PCI Express that a copy from or to pinned memory reaches: 55 of 64 GB/s is usual.
const HOST_LINK_FRACTION: f64 = 0.85;

/// Fraction of host memory bandwidth that the optimiser reaches: a guess.
const HOST_MEMORY_FRACTION: f64 = 0.5;

impl Hardware {
    /// Returns the device of that name, in machines with `network_gigabits` per second to others; `None` for an unknown name.
    ///
    /// Latencies are those of NCCL's own model for rings of its `Simple` protocol: 3.4 µs over `NVLink`, 14 µs over the network,
    /// 8.4 µs at the start (`src/graph/tuning.cc`).
    pub fn named(name: &str, network_gigabits: f64) -> Option<Self> {
        let wanted = name.to_ascii_lowercase();
        let (name, memory_bytes, matrix, memory, link, host_link, host_memory) =
            HARDWARE.into_iter().find(|row| row.0 == wanted)?;
        Some(Self {
            name: name.to_owned(),
            memory_bytes,
            host_bytes: None,
            matrix_flops_per_second: matrix,
            memory_bytes_per_second: memory,
            link_bytes_per_second: link,
            network_bytes_per_second: NETWORK_FRACTION * network_gigabits * 1e9 / 8.0,
            link_hop_seconds: 3.4e-6,
            network_hop_seconds: 14e-6,
            start_seconds: 8.4e-6,
            host_link_bytes_per_second: HOST_LINK_FRACTION * host_link,
            host_memory_bytes_per_second: HOST_MEMORY_FRACTION * host_memory,
        })
    }

    /// Describes one of `ranks` equal shares of this machine's processors. The two rates are those measured on all processors
    /// together: products in `flops_per_second`, and `memory_bytes_per_second`.
    ///
    /// Ranks send each other 1.2 GB/s, what Gloo reached on loopback in `docs/distributed.md`, and wait 0.1 ms: a guess.
    pub fn of_cpu(
        memory_bytes: u64,
        [flops_per_second, memory_bytes_per_second]: [f64; 2],
        ranks: usize,
    ) -> Self {
        let share = |whole: f64| whole / ranks as f64;
        Self {
            name: "cpu".to_owned(),
            memory_bytes: memory_bytes / ranks as u64,
            host_bytes: None,
            matrix_flops_per_second: share(flops_per_second),
            memory_bytes_per_second: share(memory_bytes_per_second),
            link_bytes_per_second: 1.2e9,
            network_bytes_per_second: 1.2e9,
            link_hop_seconds: 1e-4,
            network_hop_seconds: 1e-4,
            start_seconds: 1e-4,
            host_link_bytes_per_second: share(memory_bytes_per_second),
            host_memory_bytes_per_second: memory_bytes_per_second,
        }
    }

    /// True if one rank's plan fits into its device and, with the other ranks of its machine, into host memory.
    pub fn holds(&self, setup: &Setup, memory: &MemoryPlan) -> bool {
        memory.peak_bytes() <= self.memory_bytes && self.host_holds(setup, memory)
    }

    /// True if the ranks of a machine fit into its host memory.
    pub fn host_holds(&self, setup: &Setup, memory: &MemoryPlan) -> bool {
        let needed = memory.host_bytes() * setup.gpus_per_node as u64;
        self.host_bytes.is_none_or(|host_bytes| needed <= host_bytes)
    }

    /// Seconds that all operations of one collective take in a training step.
    fn seconds(&self, setup: &Setup, collective: &Collective) -> f64 {
        // Ranks that share a copy of the model are on one machine.
        let stays = setup.nodes == 1 || collective.name.ends_with("tensor parallelism");
        let (bandwidth, hops) = if stays {
            (self.link_bytes_per_second, (collective.ranks as f64 - 1.0) * self.link_hop_seconds)
        } else {
            // Rings, one through each network card, cross every boundary between machines once.
            let nodes = setup.nodes as f64;
            let within = collective.ranks as f64 - nodes;
            let hops = nodes * self.network_hop_seconds + within.max(0.0) * self.link_hop_seconds;
            (self.link_bytes_per_second.min(self.network_bytes_per_second), hops)
        };
        collective.bytes_sent as f64 / bandwidth
            + collective.operations as f64 * (self.start_seconds + hops)
    }
}

/// Assumptions behind the times beside the hardware, as fractions.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Assumptions {
    /// Fraction of the stated matrix operations that passes over many tokens reach; recomputation counts as work.
    pub matrix_fraction: f64,
    /// Fraction of its roofline that decoding reaches.
    pub decode_fraction: f64,
    /// Fraction of the computation beside it that can hide communication.
    pub overlap_fraction: f64,
    /// Fraction of the groups that dynamic sampling keeps.
    pub kept_fraction: f64,
}

impl Default for Assumptions {
    /// 0.57 and 0.52: this program on one H100 at 7B reached 0.52 to 0.60 and 0.50 to 0.54 (`docs/hardware.md#on-one-h100`). On eight
    /// H100, communication included, 0.39 (torchtitan, Llama-3.1-8B) and 0.41 to 0.48 (Megatron-LM's README) are published. 0.8: a
    /// guess. 1: nothing is sampled in vain.
    fn default() -> Self {
        Self {
            matrix_fraction: 0.57,
            decode_fraction: 0.52,
            overlap_fraction: 0.8,
            kept_fraction: 1.0,
        }
    }
}

/// Seconds of one training step, and rates that follow from them.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StepTime {
    /// Sampling the responses.
    pub sampling_seconds: f64,
    /// Log-probabilities before the update.
    pub scoring_seconds: f64,
    /// Forward passes, recomputation and backward passes of all optimiser steps.
    pub update_seconds: f64,
    /// Forward passes that measure the entropy's change, before and after the update.
    pub probing_seconds: f64,
    /// Reading and writing the optimiser's state, where that is on the device.
    pub optimizer_seconds: f64,
    /// Offloaded work: the optimiser's step on the host, copies of gradients and parameters, and copies of block inputs that
    /// computation does not hide.
    pub host_seconds: f64,
    /// All communication.
    pub communication_seconds: f64,
    /// Communication that computation does not hide.
    pub exposed_communication_seconds: f64,
    /// The whole step; with `rollout.staleness`, servers on devices like these sample while it updates.
    pub step_seconds: f64,
    /// Response tokens per second, of all ranks.
    pub response_tokens_per_second: f64,
    /// Model FLOPs utilisation of the update: six operations per weight and token, and attention, over the stated rate.
    /// Recomputation does not count.
    pub update_mfu: f64,
}

impl StepTime {
    /// The time of a training step at its expected lengths.
    pub fn new(setup: &Setup, hardware: &Hardware, assumptions: &Assumptions) -> Self {
        let work = Work::of(setup);
        let rate = hardware.matrix_flops_per_second
            * assumptions.matrix_fraction
            * setup.run.parallel.tensor as f64;
        let (share, rounds) = asked(setup, assumptions);
        let sampling_seconds = share * work.prompts / rate
            + decode_seconds(setup, hardware, (share, rounds)) / assumptions.decode_fraction;
        let scoring_seconds = work.scoring / rate;
        let update_seconds = work.update / rate;
        let probing_seconds = work.probing / rate;
        let away = Offloaded::of(setup);
        let on_device =
            if setup.run.parallel.offload_optimizer { 0.0 } else { optimizer_bytes(setup) };
        let optimizer_seconds =
            on_device / (hardware.memory_bytes_per_second * assumptions.decode_fraction);
        let (mut communication_seconds, mut exposed) = (0.0, 0.0);
        let mut room = assumptions.overlap_fraction * (scoring_seconds + update_seconds);
        for collective in &Traffic::new(setup).collectives {
            let seconds = hardware.seconds(setup, collective);
            communication_seconds += seconds;
            let hidden = if collective.overlapped { seconds.min(room) } else { 0.0 };
            room -= hidden;
            exposed += seconds - hidden;
        }
        // Copies of block inputs hide behind what communication has left of the computation.
        let inputs = away.block_inputs / hardware.host_link_bytes_per_second;
        let host_seconds = away.copies / hardware.host_link_bytes_per_second
            + away.optimizer_memory / hardware.host_memory_bytes_per_second
            + (inputs - room).max(0.0);
        let responses = (setup.run.rollout.prompts_per_step
            * setup.run.rollout.group_size
            * setup.mean_response_tokens) as f64;
        let computing = scoring_seconds + update_seconds + probing_seconds + optimizer_seconds;
        let after_sampling = computing + host_seconds + exposed;
        let step_seconds = if setup.run.rollout.staleness > 0 {
            sampling_seconds.max(after_sampling)
        } else {
            sampling_seconds + after_sampling
        };
        let updating = update_seconds.max(f64::MIN_POSITIVE);
        Self {
            sampling_seconds,
            scoring_seconds,
            update_seconds,
            probing_seconds,
            optimizer_seconds,
            host_seconds,
            communication_seconds,
            exposed_communication_seconds: exposed,
            step_seconds,
            response_tokens_per_second: responses / step_seconds,
            update_mfu: work.update_once
                / (updating * hardware.matrix_flops_per_second * setup.run.parallel.tensor as f64),
        }
    }

    /// Everything after the sampling but copies and communication, in seconds.
    pub(super) fn computing_seconds(&self) -> f64 {
        self.scoring_seconds + self.update_seconds + self.probing_seconds + self.optimizer_seconds
    }
}

/// Floating-point operations of one data rank in one training step.
struct Work {
    prompts: f64,
    scoring: f64,
    update: f64,
    /// Operations of the probe, which every rank measures in whole.
    probing: f64,
    /// Operations of the update without recomputation.
    update_once: f64,
}

impl Work {
    fn of(setup: &Setup) -> Self {
        let model = &setup.model;
        let lengths = setup.expected();
        let sequences = setup.sequences_per_rank() as f64;
        let (prompt, response) = (lengths.prompt_tokens as f64, lengths.response_tokens as f64);
        let block_weights = (model.blocks * model.block_matrix_parameters) as f64;
        let attention = 2.0 * model.query_width as f64;
        // One token's forward pass through the blocks, in a sequence of so many.
        let blocks = |length: f64| 2.0 * block_weights + attention * model.attended_tokens(length);
        let head = 2.0 * model.head_parameters() as f64;
        let tokens = sequences * (prompt + response);
        let of_blocks = tokens * blocks(prompt + response);
        let of_head = sequences * response * head;
        let passes = 1.0
            + f64::from(u8::from(setup.scores_twice()))
            + f64::from(u8::from(setup.has_reference())) * setup.reference_scale();
        let epochs = setup.run.algorithm.epochs as f64;
        let probe = Probe::of(setup, lengths);
        let [read, probed] = [probe.read, probe.states].map(|tokens| tokens as f64);
        let (kept, wanted) = kept_activation_bytes(setup, lengths);
        let again = 1.0 - kept as f64 / wanted.max(1) as f64;
        // The head's logits are computed once for the statistics and again for the gradient.
        let first = 1.0 / setup.optimizer_steps().max(1) as f64;
        let head_passes = 4.0 - first;
        Self {
            prompts: setup.prompts_per_rank() as f64 * prompt * blocks(prompt),
            scoring: passes * (of_blocks + of_head),
            update: epochs * ((3.0 + again) * of_blocks + head_passes * of_head),
            probing: 2.0 * (read * blocks(prompt + response) + probed * head),
            update_once: epochs * 3.0 * (of_blocks + of_head),
        }
    }
}

/// Seconds of decoding a rank's responses at the roofline. Slots are full until the last response begins; the longest goes on alone.
fn decode_seconds(setup: &Setup, hardware: &Hardware, (share, rounds): (f64, f64)) -> f64 {
    let model = &setup.model;
    let element = size_of(setup.run.model.dtype) as f64;
    let sequences = share * setup.sequences_per_rank() as f64;
    let rows = (setup.run.rollout.rows as f64).min(sequences).max(1.0);
    let (prompt, response) = (setup.mean_prompt_tokens as f64, setup.mean_response_tokens as f64);
    let tensor = setup.run.parallel.tensor as f64;
    let weights = model.matrix_parameters() as f64 / tensor;
    let cached = model.cached_elements_per_token() as f64 * element / setup.key_shards() as f64;
    let step = |rows: f64, context: f64| {
        let read =
            model.read_parameters(rows) / tensor * element / hardware.memory_bytes_per_second;
        let multiplied = 2.0 * rows * weights / hardware.matrix_flops_per_second;
        read.max(multiplied) + rows * context * cached / hardware.memory_bytes_per_second
    };
    let tail = (setup.run.rollout.max_response_tokens as f64 - response).max(0.0);
    sequences * response / rows * step(rows, prompt + response / 2.0)
        + rounds * tail * step(1.0, prompt + response + tail / 2.0)
}

/// Groups that a step asks for, for each group that is trained on, and rounds of asking, each of which waits for its longest response.
fn asked(setup: &Setup, assumptions: &Assumptions) -> (f64, f64) {
    if !setup.run.dynamic_sampling.enabled || assumptions.kept_fraction >= 1.0 {
        return (1.0, 1.0);
    }
    // A step asks for one standard deviation of kept groups more than it lacks, which is too few in 0.16 of the steps.
    (1.0 / assumptions.kept_fraction, 1.16)
}

/// Bytes of one training step that offloading moves.
struct Offloaded {
    /// Copies of one rank that nothing hides: gradients to the host, and parameters back; the head that the probe keeps, there and
    /// back. Gradients have the dtype of their sum where it is sharded over the ranks, else the parameters' dtype.
    copies: f64,
    /// Host memory read and written by the optimisers of all ranks of a machine: gradient in f32, master weight, moments, and
    /// the parameters sent back.
    optimizer_memory: f64,
    /// Block inputs of one rank, to the host and back.
    block_inputs: f64,
}

impl Offloaded {
    fn of(setup: &Setup) -> Self {
        let (mut copies, mut optimizer_memory) = (0.0, 0.0);
        let steps = setup.optimizer_steps() as f64;
        if setup.run.parallel.offload_optimizer {
            let element = size_of(setup.run.model.dtype) as f64;
            let wide = wide_size_of(setup.run.model.dtype) as f64;
            let (ranks, gradient) =
                if setup.cuts_optimizer() { (setup.data_ranks(), wide) } else { (1, element) };
            let stepped = steps * (setup.trained_parameters_held() as f64 / ranks as f64).ceil();
            let moments = 4.0 * size_of(setup.run.optimizer.moments) as f64;
            copies = stepped * (gradient + element);
            let of_one = stepped * (wide + 2.0 * wide + moments + element);
            optimizer_memory = setup.gpus_per_node as f64 * of_one;
        }
        let (block_inputs, head) = offloaded_bytes(setup, setup.expected());
        let block_inputs = 2.0 * steps * block_inputs as f64;
        copies += 2.0 * head as f64;
        Self { copies, optimizer_memory, block_inputs }
    }
}

/// Bytes that all optimiser steps of a training step read and write on one rank: gradient, master weight and moments, and the
/// parameter.
fn optimizer_bytes(setup: &Setup) -> f64 {
    let element = size_of(setup.run.model.dtype) as f64;
    let moment = size_of(setup.run.optimizer.moments) as f64;
    let beside = setup.run.optimizer.master.bytes_beside(setup.run.model.dtype) as f64;
    // A full master weight is read in place of the parameter; a lower half, or none, beside it.
    let weight = 2.0 * beside + if beside > element { element } else { 2.0 * element };
    let per_parameter = 4.0 + weight + 4.0 * moment;
    let ranks =
        if setup.cuts_optimizer() { setup.data_ranks() } else { 1 } * setup.run.parallel.tensor;
    let trained = setup.trained_parameters() as f64 / ranks as f64;
    setup.optimizer_steps() as f64 * trained * per_parameter
}
