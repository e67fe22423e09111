//! Forward and backward passes of the policy over sequences: per-token statistics and their gradients.

use decoder::head::{Targets, TokenStatistics, token_statistics};
use decoder::model::{Decoder, Routing};
use decoder::routes::{Routes, count_rerouted};
use serde::{Deserialize, Serialize};
use tch::{Device, Kind, Tensor};
use training_run::config::RunConfig;

use super::packed::PackedSequences;
use super::sequence::TokenLayout;
pub use super::sequence::{Given, Sequence};
use crate::host_memory::Memory;

/// Statistics of every response token, concatenated in the order of the sequences.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Statistics {
    /// `log π(y_t)` at the sampling temperature, in nats; over the sampling mask [`Sequence::mask`] if there is one.
    pub log_prob: Vec<f64>,
    /// Exact entropy at the sampling temperature over the whole vocabulary, in nats.
    pub entropy: Vec<f64>,
    /// Squared norm of the derivative of `log_prob` by the logits over the temperature, if the pass computes it.
    pub squared_score: Option<Vec<f64>>,
}

impl Statistics {
    /// Mean entropy of the tokens, in nats.
    pub fn mean_entropy(&self) -> f64 {
        self.entropy.iter().sum::<f64>() / self.entropy.len() as f64
    }

    /// The `part` of each column.
    pub(super) fn map(&self, part: impl Fn(&[f64]) -> Vec<f64>) -> Self {
        Self {
            log_prob: part(&self.log_prob),
            entropy: part(&self.entropy),
            squared_score: self.squared_score.as_deref().map(part),
        }
    }
}

/// `∂L/∂(statistic)` of every response token, laid out like [`Statistics`].
#[derive(Debug, Clone, PartialEq)]
pub struct Cotangent {
    /// `∂L/∂ log π(y_t)`.
    pub log_prob: Vec<f64>,
    /// `∂L/∂H_t`, if the loss has an entropy term.
    pub entropy: Option<Vec<f64>>,
}

/// Settings for evaluating a policy: the model, its temperature, and memory limits.
#[derive(Debug, Clone, Copy)]
pub struct PolicyPass<'a> {
    /// The policy.
    pub model: &'a Decoder,
    /// Sampling temperature that log-probabilities and entropies refer to.
    pub temperature: f64,
    /// Most tokens that pass through a block at once.
    pub micro_batch_tokens: usize,
    /// Memory, in bytes, for activations kept for the backward pass; the rest are recomputed.
    pub activation_bytes: usize,
    /// Memory that holds the blocks' inputs until the backward pass.
    pub block_inputs: Memory,
    /// True to compute [`Statistics::squared_score`] too.
    pub with_squared_scores: bool,
}

impl<'a> PolicyPass<'a> {
    /// The pass of a model with a run's configuration.
    pub(super) fn of_run(model: &'a Decoder, config: &RunConfig) -> Self {
        Self {
            model,
            temperature: config.rollout.temperature,
            micro_batch_tokens: config.training.micro_batch_tokens,
            activation_bytes: config.training.activation_bytes,
            block_inputs: Memory::offloaded(config.parallel.offload_block_inputs),
            with_squared_scores: false,
        }
    }

    /// Statistics of every response token, without autograd.
    pub fn statistics(&self, sequences: &[&Sequence]) -> Statistics {
        let (micro_batches, last) = self.last_hidden(sequences, None);
        let layout = TokenLayout::of(sequences.iter().copied());
        statistics_of(self, &micro_batches, &last, &layout)
    }

    /// Computes [`statistics`](Self::statistics); also returns the experts used.
    pub(super) fn statistics_and_routes(
        &self,
        sequences: &[&Sequence],
    ) -> (Statistics, UsedRoutes) {
        let mut record = RouteRecord::default();
        let (micro_batches, last) = self.last_hidden(sequences, Some(&mut record));
        let layout = TokenLayout::of(sequences.iter().copied());
        let statistics = statistics_of(self, &micro_batches, &last, &layout);
        (statistics, record.finish(&micro_batches, sequences))
    }

    /// Passes the final-normed states that predict the `chosen` response tokens, `[chosen, hidden]`, to `use_head`, while the head
    /// is gathered; without autograd.
    ///
    /// Rows are in the order of the micro-batches, which depends only on the sequences' lengths.
    ///
    /// # Panics
    ///
    /// If a chosen token is not in the layout of the sequences, or none is chosen.
    pub(super) fn predicting_states<T>(
        &self,
        sequences: &[&Sequence],
        chosen: &[usize],
        use_head: impl FnOnce(Tensor) -> T,
    ) -> T {
        let _no_grad = tch::no_grad_guard();
        let (micro_batches, last) = self.last_hidden(sequences, None);
        let layout = TokenLayout::of(sequences.iter().copied());
        let mut is_chosen = vec![0.0; layout.tokens()];
        for &token in chosen {
            is_chosen[token] = 1.0;
        }
        let _open = self.model.open_head(false);
        let states = micro_batches.iter().zip(&last).map(|(part, x)| {
            let of_part = Tensor::from_slice(&layout.select(&is_chosen, &part.rows));
            let places = of_part.nonzero().squeeze_dim(1).to_device(x.device());
            part.predicting_states(self.model, x).index_select(0, &places)
        });
        use_head(Tensor::cat(&states.collect::<Vec<_>>(), 0))
    }

    /// Micro-batches and the last block's output of each, without autograd. `record` takes the choice of experts.
    fn last_hidden(
        &self,
        sequences: &[&Sequence],
        mut record: Option<&mut RouteRecord>,
    ) -> (Vec<PackedSequences>, Vec<Tensor>) {
        let _no_grad = tch::no_grad_guard();
        self.through_blocks(sequences, |index, number, part, x| {
            let (output, routing) = part.block_with_routing(self.model, index, x);
            if let Some(record) = &mut record {
                record.add(number, part.lacks_routes, routing);
            }
            output
        })
    }

    /// Micro-batches and the last block's output of each. `apply` is given the index of the block, and the number of the
    /// micro-batch, itself and its input; it returns the output.
    pub(super) fn through_blocks(
        &self,
        sequences: &[&Sequence],
        mut apply: impl FnMut(usize, usize, &PackedSequences, &Tensor) -> Tensor,
    ) -> (Vec<PackedSequences>, Vec<Tensor>) {
        let micro_batches = PackedSequences::split(self.model, sequences, self.micro_batch_tokens);
        let mut states: Vec<Tensor> = {
            let (_open, _no_grad) = (self.model.open_embedding(), tch::no_grad_guard());
            micro_batches.iter().map(|part| self.model.embed(&part.token_ids)).collect()
        };
        for index in 0..self.model.block_count() {
            let _open = self.model.open_block(index, Some(self.model.after_block(index)));
            for (number, (part, x)) in micro_batches.iter().zip(&mut states).enumerate() {
                *x = apply(index, number, part, x);
            }
        }
        (micro_batches, states)
    }
}

/// Statistics of every response token, from the last block's output of each micro-batch.
pub(super) fn statistics_of(
    pass: &PolicyPass<'_>,
    micro_batches: &[PackedSequences],
    last: &[Tensor],
    layout: &TokenLayout,
) -> Statistics {
    let _no_grad = tch::no_grad_guard();
    let _open = pass.model.open_head(false);
    let empty = || vec![0.0; layout.tokens()];
    let squared_score = pass.with_squared_scores.then(empty);
    let mut all = Statistics { log_prob: empty(), entropy: empty(), squared_score };
    for (part, x) in micro_batches.iter().zip(last) {
        let hidden = part.predicting_states(pass.model, x);
        let targets = Targets { with_squared_scores: pass.with_squared_scores, ..part.targets() };
        let TokenStatistics { log_prob, entropy, squared_score } =
            token_statistics(&hidden, pass.model.full_head(), targets, pass.temperature);
        layout.scatter(&to_f64(&log_prob), &part.rows, &mut all.log_prob);
        layout.scatter(&to_f64(&entropy), &part.rows, &mut all.entropy);
        if let (Some(part_scores), Some(scores)) = (squared_score, &mut all.squared_score) {
            layout.scatter(&to_f64(&part_scores), &part.rows, scores);
        }
    }
    all
}

pub(super) fn to_f64(column: &Tensor) -> Vec<f64> {
    Vec::try_from(column.to_kind(Kind::Double).to_device(Device::Cpu))
        .expect("a one-dimensional tensor of f64")
}

/// Experts of every block of a pass, in the making.
#[derive(Debug, Default)]
struct RouteRecord {
    /// Experts of each micro-batch in each block that has some, i32 `[tokens, per token]`; none where all are recorded before.
    used: Vec<Vec<Tensor>>,
    /// Sums of [`count_rerouted`], `[2]`.
    counts: Option<Tensor>,
}

/// The experts that a pass used.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct UsedRoutes {
    /// For each sequence: its experts, where none were recorded before.
    pub(super) added: Vec<Option<Routes>>,
    /// Number of recorded experts that the router would not have chosen.
    other: i64,
    /// Number of recorded experts.
    recorded: i64,
}

impl RouteRecord {
    /// Adds the choice of experts in the next block that micro-batch `number` has passed; `lacks` if some of its sequences come without.
    pub(super) fn add(&mut self, number: usize, lacks: bool, routing: Routing) {
        let Routing { replayed, taken: Some(taken) } = routing else { return };
        if let Some(replayed) = replayed {
            let counts = count_rerouted(&replayed, &taken);
            self.counts = Some(match self.counts.take() {
                None => counts,
                Some(before) => before + counts,
            });
        }
        let [_, used] = taken;
        if self.used.len() <= number {
            self.used.resize_with(number + 1, Vec::new);
        }
        if lacks {
            self.used[number].push(used.to_kind(Kind::Int));
        }
    }

    /// The experts of each sequence, whose tokens are in `micro_batches`.
    pub(super) fn finish(
        self,
        micro_batches: &[PackedSequences],
        sequences: &[&Sequence],
    ) -> UsedRoutes {
        let mut added = vec![None; sequences.len()];
        for (part, used) in micro_batches.iter().zip(&self.used) {
            let Some(routes) = Routes::of_blocks(used) else { continue };
            let lengths: Vec<usize> = part.rows.iter().map(|&row| sequences[row].len()).collect();
            for (&row, routes) in part.rows.iter().zip(routes.split(&lengths)) {
                added[row] = sequences[row].routes.is_none().then_some(routes);
            }
        }
        let counts = self.counts.map(|counts| counts.to_device(Device::Cpu));
        let counts = counts.and_then(|counts| Vec::<i64>::try_from(counts).ok());
        let [other, recorded] = counts.and_then(|two| two.try_into().ok()).unwrap_or_default();
        UsedRoutes { added, other, recorded }
    }
}

impl UsedRoutes {
    /// Joins the parts of all ranks, of which each has the sequences of its `shards`, of `count` in all.
    pub(super) fn joined(parts: Vec<Self>, shards: &[Vec<usize>], count: usize) -> Self {
        let mut all = Self { added: vec![None; count], ..Self::default() };
        for (part, shard) in parts.into_iter().zip(shards) {
            all.other += part.other;
            all.recorded += part.recorded;
            for (routes, &sequence) in part.added.into_iter().zip(shard) {
                all.added[sequence] = routes;
            }
        }
        all
    }

    /// Fraction of the recorded experts that the router would not have chosen; `None` if none were recorded.
    pub(super) fn rerouted_fraction(&self) -> Option<f64> {
        (self.recorded > 0).then(|| self.other as f64 / self.recorded as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The second rank has the first sequence.
    #[test]
    fn parts_of_ranks_come_back_in_the_order_of_the_batch() {
        let routes = |expert: i64| Routes::of_blocks(&[Tensor::from_slice(&[expert]).view([1, 1])]);
        let first = UsedRoutes { added: vec![routes(2), None], other: 1, recorded: 3 };
        let second = UsedRoutes { added: vec![routes(1)], other: 0, recorded: 5 };
        let all = UsedRoutes::joined(vec![first, second], &[vec![1, 2], vec![0]], 3);
        assert_eq!(all.added, [routes(1), routes(2), None]);
        assert_eq!(all.rerouted_fraction(), Some(0.125));
        assert_eq!(UsedRoutes::default().rerouted_fraction(), None);
    }
}
