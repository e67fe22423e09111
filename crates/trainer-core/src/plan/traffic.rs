//! What one rank sends, in bytes.
//!
//! An all-gather or reduce-scatter of `S` bytes over `N` ranks makes each send `S (N - 1) / N`, an all-reduce twice that: no
//! algorithm sends less (Patarasuk and Yuan 2009, *Bandwidth optimal all-reduce algorithms*). Numbers and words that ranks
//! agree on are a few kilobytes and left out.

use serde::Serialize;

use super::BUCKET_BYTES;
use super::setup::{Setup, size_of};
use crate::config::Dtype;

/// One kind of operation of one training step.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Collective {
    /// What is sent.
    pub name: &'static str,
    /// Ranks that take part.
    pub ranks: usize,
    /// Operations in one training step.
    pub operations: u64,
    /// Bytes that each rank sends in one training step.
    pub bytes_sent: u64,
    /// Whether it goes on while the rank computes.
    pub overlapped: bool,
}

/// The traffic of one rank.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Traffic {
    /// Every kind of operation.
    pub collectives: Vec<Collective>,
    /// Bytes sent in one optimiser step, scoring and sampling apart.
    pub bytes_sent_per_optimizer_step: u64,
    /// What an implementation that has micro-batches outside and blocks inside sends in one optimiser step at `ZeRO` stage 3:
    /// parameters gathered twice and gradients scattered once for every micro-batch, all in the parameters' kind.
    pub usual_bytes_sent_per_optimizer_step: u64,
    /// Micro-batches of an optimiser step on one rank.
    pub micro_batches: usize,
}

/// Apart from what belongs to an optimiser step.
const SCORING: &str = "parameters, for sampling and scoring";

impl Traffic {
    /// The traffic of a setup at its expected lengths.
    pub fn new(setup: &Setup) -> Self {
        let data_ranks = setup.data_ranks() as u64;
        let tensor = setup.tensor as u64;
        let element = size_of(setup.dtype);
        let wide = if setup.dtype == Dtype::F64 { 8 } else { 4 };
        let model = &setup.model;
        let blocks = setup.block_parameters_held(model.blocks) as u64;
        let outer = model.outer_parameters as u64 / tensor;
        let trained = setup.trained_parameters_held() as u64;
        let sent = |bytes: u64| bytes * (data_ranks - 1) / data_ranks;
        let count = model.blocks as u64;
        let updates = setup.optimizer_steps() as u64;
        let micro_batches = setup.micro_batches(setup.expected());
        let mut collectives = Vec::new();
        let mut add = |name, ranks: u64, operations, bytes_sent, overlapped| {
            let ranks = usize::try_from(ranks).unwrap_or(usize::MAX);
            if ranks > 1 {
                collectives.push(Collective { name, ranks, operations, bytes_sent, overlapped });
            }
        };
        // Blocks, and embedding and head as if they were blocks.
        let units = count + 1 + u64::from(!model.tied);
        if setup.cuts_blocks() {
            // All together for sampling. A pass opens embedding and head one after the other, be they tied or not: for scoring,
            // and one before and after the update for the probe.
            let passes =
                1 + u64::from(setup.second_scoring_pass) + 2 * u64::from(setup.probe_bytes > 0);
            let passes = passes + u64::from(setup.reference && setup.lora.is_none());
            let head = model.head_parameters() as u64 / tensor;
            let bytes =
                sent(element * (blocks + outer)) + passes * sent(element * (blocks + 2 * head));
            add(SCORING, data_ranks, units + passes * (count + 2), bytes, true);
            // Embedding and blocks, the head for the statistics and again for their gradient, and the blocks backwards. Before the
            // first update of a step the statistics are known.
            let heads = 2 * updates - 1;
            let bytes =
                updates * sent(element * (2 * blocks + head)) + heads * sent(element * head);
            let operations = updates * (2 * count + 1) + heads;
            add("parameters, for updates", data_ranks, operations, bytes, true);
            let bytes = sent(wide * trained);
            add("gradients to shards", data_ranks, updates * units, updates * bytes, true);
        } else if setup.cuts_optimizer() {
            let overlapped = setup.cuts_gradients();
            add(
                "gradients to shards",
                data_ranks,
                updates * units,
                updates * sent(wide * trained),
                overlapped,
            );
            add(
                "parameters from shards",
                data_ranks,
                updates * units,
                updates * sent(element * trained),
                false,
            );
        } else {
            let buckets = (element * trained).div_ceil(BUCKET_BYTES.into()).max(1);
            add(
                "sum of gradients",
                data_ranks,
                updates * buckets,
                updates * 2 * sent(wide * trained),
                false,
            );
        }
        let within: u64 =
            collectives.iter().filter(|c| c.name != SCORING).map(|c| c.bytes_sent).sum();
        if setup.tensor > 1 {
            let (operations, bytes) = tensor_traffic(setup);
            let ranks = setup.tensor;
            let name = "activations of tensor parallelism";
            collectives.push(Collective {
                name,
                ranks,
                operations,
                bytes_sent: bytes,
                overlapped: false,
            });
        }
        let (shared, ranks) = setup.shared_gradient();
        if shared > 0 {
            let own = if setup.cuts_optimizer() { data_ranks } else { 1 };
            let bytes = wide * (shared as u64).div_ceil(own);
            collectives.push(Collective {
                name: "gradients of tensor parallelism",
                ranks,
                operations: updates * bytes.div_ceil(BUCKET_BYTES.into()),
                bytes_sent: updates * 2 * bytes * (ranks as u64 - 1) / ranks as u64,
                overlapped: false,
            });
        }
        Self {
            collectives,
            bytes_sent_per_optimizer_step: within / updates.max(1),
            usual_bytes_sent_per_optimizer_step: 3
                * sent(element * (blocks + outer))
                * micro_batches as u64,
            micro_batches,
        }
    }

    /// Bytes that each rank sends in one training step.
    pub fn bytes_sent_per_step(&self) -> u64 {
        self.collectives.iter().map(|collective| collective.bytes_sent).sum()
    }
}

/// Two all-reduces of the residual stream a block and direction (Shoeybi et al. 2019, *Megatron-LM*, arXiv:1909.08053, Sec. 3):
/// scoring once, updates forwards, again and backwards, and sampling token by token.
fn tensor_traffic(setup: &Setup) -> (u64, u64) {
    let lengths = setup.expected();
    let of_tokens = |tokens: u64| {
        let bytes = tokens * setup.model.hidden as u64 * size_of(setup.dtype);
        2 * bytes * (setup.tensor as u64 - 1) / setup.tensor as u64
    };
    let blocks = setup.model.blocks as u64;
    let sequences = setup.sequences_per_rank() as u64;
    let tokens = sequences * lengths.sequence_tokens() as u64;
    let passes = 1 + u64::from(setup.second_scoring_pass) + 3 * setup.epochs as u64;
    let drawn = sequences * lengths.response_tokens as u64;
    let bytes = 2 * blocks * (passes * of_tokens(tokens) + of_tokens(drawn));
    let micro = tokens.div_ceil(setup.micro_batch_tokens as u64);
    let rows = (setup.rows as u64).min(sequences).max(1);
    (2 * blocks * (passes * micro + drawn / rows), bytes)
}
