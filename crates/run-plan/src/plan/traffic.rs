//! Bytes that one rank sends.
//!
//! An all-gather or reduce-scatter of `S` bytes over `N` ranks makes each send `S (N - 1) / N`, an all-reduce twice that: no
//! algorithm sends less (Patarasuk and Yuan 2009, *Bandwidth optimal all-reduce algorithms*). Control messages between ranks
//! are a few kilobytes and left out.

use serde::Serialize;

use super::setup::{Probe, Setup, size_of, wide_size_of};
use model_files::buffer_limits::BUCKET_BYTES;

/// One kind of collective operation in a training step.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Collective {
    /// Name of the data that is sent.
    pub name: &'static str,
    /// Ranks that take part.
    pub ranks: usize,
    /// Operations in one training step.
    pub operations: u64,
    /// Bytes that each rank sends in one training step.
    pub bytes_sent: u64,
    /// True if the rank computes meanwhile.
    pub overlapped: bool,
}

/// The traffic of one rank.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Traffic {
    /// Every kind of operation.
    pub collectives: Vec<Collective>,
    /// Bytes sent in one optimiser step, without scoring and sampling.
    pub bytes_sent_per_optimizer_step: u64,
    /// Bytes sent in one optimiser step at `ZeRO` stage 3 by an implementation that loops over micro-batches outside and over
    /// blocks inside. It gathers parameters twice and scatters gradients once per micro-batch, all in the parameters' dtype.
    pub usual_bytes_sent_per_optimizer_step: u64,
    /// Micro-batches of an optimiser step on one rank.
    pub micro_batches: usize,
}

/// Name of the traffic that belongs to no optimiser step.
const SCORING: &str = "parameters, for sampling and scoring";

impl Traffic {
    /// The traffic of a setup at its expected lengths.
    pub fn new(setup: &Setup) -> Self {
        let updates = setup.optimizer_steps() as u64;
        let micro_batches = setup.micro_batches(setup.expected());
        let (mut collectives, gathered) = between_copies(setup);
        let within: u64 =
            collectives.iter().filter(|c| c.name != SCORING).map(|c| c.bytes_sent).sum();
        collectives.extend(within_model(setup));
        Self {
            collectives,
            bytes_sent_per_optimizer_step: within / updates.max(1),
            usual_bytes_sent_per_optimizer_step: 3 * gathered * micro_batches as u64,
            micro_batches,
        }
    }

    /// Bytes that each rank sends in one training step.
    pub fn bytes_sent_per_step(&self) -> u64 {
        self.collectives.iter().map(|collective| collective.bytes_sent).sum()
    }
}

/// Collectives between the copies of the model: parameters, gradients and scoring. The number is the bytes that a rank sends when all
/// parameters are gathered once.
fn between_copies(setup: &Setup) -> (Vec<Collective>, u64) {
    let data_ranks = setup.data_ranks() as u64;
    let tensor = setup.run.parallel.tensor as u64;
    let element = size_of(setup.run.model.dtype);
    let wide = wide_size_of(setup.run.model.dtype);
    let model = &setup.model;
    let blocks = setup.block_parameters_held(model.blocks) as u64;
    let outer = model.outer_parameters as u64 / tensor;
    let trained = setup.trained_parameters_held() as u64;
    let sent = |bytes: u64| bytes * (data_ranks - 1) / data_ranks;
    let gathered = sent(element * (blocks + outer));
    let count = model.blocks as u64;
    let updates = setup.optimizer_steps() as u64;
    let mut collectives = Vec::new();
    let mut add = |name, operations, bytes_sent, overlapped| {
        let ranks = setup.data_ranks();
        if ranks > 1 {
            collectives.push(Collective { name, ranks, operations, bytes_sent, overlapped });
        }
    };
    // Blocks, and embedding and head as if they were blocks.
    let units = count + 1 + u64::from(!model.tied);
    if setup.cuts_blocks() {
        // For sampling all are gathered together. A pass gathers embedding and head one after the other, tied or not: once for
        // scoring, and once before and once after the update for the probe.
        let passes =
            1 + u64::from(setup.scores_twice()) + 2 * u64::from(setup.run.metrics.probe_tokens > 0);
        let passes = passes + u64::from(setup.has_reference());
        let head = model.head_parameters() as u64 / tensor;
        let bytes = gathered + passes * sent(element * (blocks + 2 * head));
        add(SCORING, units + passes * (count + 2), bytes, true);
        // Embedding and blocks, the head for the statistics and again for their gradient, and the blocks backwards. Before the
        // first update of a step the statistics are known.
        let heads = 2 * updates - 1;
        let bytes = updates * sent(element * (2 * blocks + head)) + heads * sent(element * head);
        let operations = updates * (2 * count + 1) + heads;
        add("parameters, for updates", operations, bytes, true);
        let bytes = sent(wide * trained);
        add("gradients to shards", updates * units, updates * bytes, true);
        if setup.run.lora.is_some() {
            // The base model's blocks are sharded; the adapter is whole.
            let bytes = updates * sent(element * trained);
            add("parameters from shards", updates * units, bytes, false);
        }
    } else if setup.cuts_optimizer() {
        let (to_shards, from_shards) = (sent(wide * trained), sent(element * trained));
        let (operations, overlapped) = (updates * units, setup.cuts_gradients());
        add("gradients to shards", operations, updates * to_shards, overlapped);
        add("parameters from shards", operations, updates * from_shards, false);
    } else {
        let buckets = (element * trained).div_ceil(BUCKET_BYTES.into()).max(1);
        let bytes = updates * 2 * sent(wide * trained);
        add("sum of gradients", updates * buckets, bytes, false);
    }
    (collectives, gathered)
}

/// Collectives between the tensor-parallel ranks of one copy of the model.
fn within_model(setup: &Setup) -> Vec<Collective> {
    let ranks = setup.run.parallel.tensor;
    if ranks == 1 {
        return Vec::new();
    }
    let (shared, holders) = setup.shared_gradient();
    let shards = if setup.cuts_optimizer() { setup.data_ranks() } else { 1 };
    let bytes = wide_size_of(setup.run.model.dtype) * shared.div_ceil(shards) as u64;
    let updates = setup.optimizer_steps() as u64;
    let gradients = (
        updates * bytes.div_ceil(BUCKET_BYTES.into()),
        updates * 2 * bytes * (holders as u64 - 1) / holders as u64,
    );
    let kinds = [
        ("activations of tensor parallelism", ranks, tensor_traffic(setup)),
        ("statistics of tensor parallelism", ranks, vocabulary_traffic(setup)),
        ("gradients of tensor parallelism", holders, gradients),
    ];
    let collective = |(name, ranks, (operations, bytes_sent))| {
        let overlapped = false;
        (bytes_sent > 0).then_some(Collective { name, ranks, operations, bytes_sent, overlapped })
    };
    kinds.into_iter().filter_map(collective).collect()
}

/// Operations and bytes of all-reduces of the residual stream (Shoeybi et al. 2019, *Megatron-LM*, arXiv:1909.08053, Sec. 3).
///
/// Counted in vectors of one token: the embedding's and two per block forward, one per block in recomputation, or two where results pass
/// norms, two per block backward, and the head's for sampled tokens.
fn tensor_traffic(setup: &Setup) -> (u64, u64) {
    let lengths = setup.expected();
    let blocks = setup.model.blocks as u64;
    let sequences = setup.sequences_per_rank() as u64;
    let tokens = sequences * lengths.sequence_tokens() as u64;
    let drawn = sequences * lengths.response_tokens as u64;
    let prompts = setup.prompts_per_rank() as u64;
    let epochs = setup.run.algorithm.epochs as u64;
    let again = if setup.model.config.architecture.block().output_norms { 2 } else { 1 };
    let (forward, update) = (2 * blocks + 1, (4 + again) * blocks + 1);
    let passes = 1 + u64::from(setup.scores_twice()) + u64::from(setup.has_reference());
    // A prompt is read once for all its responses, and the last token of each is not read again.
    let sampled = prompts * lengths.prompt_tokens as u64 + drawn - sequences;
    let read = passes * tokens + 2 * Probe::of(setup, lengths).read + sampled;
    let vectors = read * forward + epochs * (tokens * update + drawn);
    let bytes = vectors * setup.model.hidden as u64 * size_of(setup.run.model.dtype);
    let micro = tokens.div_ceil(setup.run.training.micro_batch_tokens as u64);
    let rows = (setup.run.rollout.rows as u64).min(sequences).max(1);
    let operations = (passes * micro + drawn / rows + prompts) * forward;
    let ranks = setup.run.parallel.tensor as u64;
    (operations + epochs * micro * (update + 1), 2 * bytes * (ranks - 1) / ranks)
}

/// Operations and bytes of gathering over the shards of the vocabulary: distributions before and after an update, which
/// measure the change of entropy, and in truncated sampling the f64 logits of each sampled token.
fn vocabulary_traffic(setup: &Setup) -> (u64, u64) {
    let (sequences, vocabulary) =
        (setup.sequences_per_rank() as u64, setup.model.vocabulary as u64);
    let tokens = sequences * setup.expected().response_tokens as u64;
    let drawn = if setup.truncates() { 8 * tokens * vocabulary } else { 0 };
    let probe = Probe::of(setup, setup.expected());
    let probed = 4 * probe.states * vocabulary;
    let rows = (setup.run.rollout.rows as u64).min(sequences).max(1);
    let operations = 2 * probe.chunks(vocabulary) + if drawn > 0 { tokens / rows } else { 0 };
    let ranks = setup.run.parallel.tensor as u64;
    (operations, (2 * probed + drawn) * (ranks - 1) / ranks)
}
