//! The sequences of a batch that this rank works on.

use std::ops::Range;

use rl_losses::{Aggregation, PlanError, PlanSummary, PolicyLoss, Share, StepPlan, TokenBatch};
use training_run::partition::{balanced_partition, sequence_cost};

use super::sequence::Sequence;
use super::token_layout::TokenLayout;
use super::update_error::UpdateError;
use super::used_routes::UsedRoutes;
use decoder::model::Decoder;
use ranks::{RankError, Ranks};

/// Difficulty buckets of the sequences.
#[derive(Debug, Clone)]
pub struct Buckets {
    /// Bucket of each sequence, `[sequences]`.
    pub buckets: Vec<usize>,
    /// Fraction of each bucket's tokens that the loss selects.
    pub fractions: Vec<f64>,
}

impl Buckets {
    /// The buckets of a range of the sequences.
    pub(super) fn within(&self, sequences: Range<usize>) -> Self {
        Self { buckets: self.buckets[sequences].to_vec(), fractions: self.fractions.clone() }
    }
}

/// This rank's sequences of a batch: all of them where there is one process.
#[derive(Debug)]
pub(super) struct LocalShard<'a> {
    /// This rank's sequences, in the order of the batch.
    pub(super) sequences: Vec<&'a Sequence>,
    /// Maps these sequences to ranges of this rank's columns.
    pub(super) layout: TokenLayout,
    ranks: &'a Ranks,
    /// Partition of the batch over ranks; `None` with a single process.
    partition: Option<Partition>,
}

/// Partition of a batch's sequences over ranks.
#[derive(Debug)]
struct Partition {
    /// Maps the batch's sequences to ranges of its columns.
    batch: TokenLayout,
    /// Sequences of each rank, ascending.
    shards: Vec<Vec<usize>>,
}

impl<'a> LocalShard<'a> {
    /// Partitions `batch` so that a pass of `model` costs each rank about the same.
    pub(super) fn of(model: &Decoder, batch: &[&'a Sequence], ranks: &'a Ranks) -> Self {
        let layout = TokenLayout::of(batch.iter().copied());
        if ranks.count() == 1 {
            return Self { sequences: batch.to_vec(), layout, ranks, partition: None };
        }
        let costs: Vec<u128> = batch.iter().map(|sequence| cost(model, sequence)).collect();
        let shards = balanced_partition(&costs, ranks.count());
        let sequences: Vec<&Sequence> =
            shards[ranks.rank()].iter().map(|&index| batch[index]).collect();
        let local = TokenLayout::of(sequences.iter().copied());
        let partition = Some(Partition { batch: layout, shards });
        Self { sequences, layout: local, ranks, partition }
    }

    /// This rank's part of a column of the batch.
    pub(super) fn column(&self, column: &[f64]) -> Vec<f64> {
        match &self.partition {
            None => column.to_vec(),
            Some(Partition { batch, shards }) => batch.select(column, &shards[self.ranks.rank()]),
        }
    }

    /// Maps this rank's tokens, ascending, to those of the batch.
    pub(super) fn positions(&self, local: &[usize]) -> Vec<usize> {
        let Some(Partition { batch, shards }) = &self.partition else { return local.to_vec() };
        let shard = &shards[self.ranks.rank()];
        let position = |&token: &usize| {
            let sequence = self.layout.sequence_of(token);
            batch.range(shard[sequence]).start + token - self.layout.range(sequence).start
        };
        local.iter().map(position).collect()
    }

    /// Gathers the column of the whole batch from every rank's part; the same on every rank.
    pub(super) fn gather(
        &self,
        what: &'static str,
        local: Vec<f64>,
    ) -> Result<Vec<f64>, RankError> {
        let Some(Partition { batch, shards }) = &self.partition else { return Ok(local) };
        let mut column = vec![0.0; batch.tokens()];
        for (part, shard) in self.ranks.gather_column(what, &local)?.iter().zip(shards) {
            batch.scatter(part, shard, &mut column);
        }
        Ok(column)
    }

    /// Gathers the experts of the whole batch from every rank's part; the same on every rank.
    pub(super) fn gather_routes(&self, local: UsedRoutes) -> Result<UsedRoutes, RankError> {
        let Some(Partition { batch, shards }) = &self.partition else { return Ok(local) };
        let parts = self.ranks.gather("experts", local)?;
        Ok(UsedRoutes::joined(parts, shards, batch.lengths().len()))
    }

    /// Plans the loss over the whole batch and returns this rank's tokens with their part of the plan. If the tokens of any
    /// rank do not form a batch, all ranks fail. `by_difficulty` covers all sequences of the batch.
    pub(super) fn plan<'t>(
        &self,
        loss: &PolicyLoss,
        tokens: Result<TokenBatch<'t>, UpdateError>,
        aggregation: &Aggregation,
        by_difficulty: Option<&Buckets>,
        selection: &mut impl rand::Rng,
        plan_error: impl Fn(PlanError) -> UpdateError,
    ) -> Result<(TokenBatch<'t>, StepPlan), UpdateError> {
        let Some(Partition { batch, shards }) = &self.partition else {
            let tokens = tokens?;
            let plan = match by_difficulty {
                None => loss.plan(&tokens, aggregation, selection),
                Some(Buckets { buckets, fractions }) => {
                    loss.plan_by_bucket(&tokens, buckets, fractions, aggregation, selection)
                }
            };
            let plan = plan.map_err(plan_error)?;
            return Ok((tokens, plan));
        };
        let ranks = self.ranks;
        let local = &shards[ranks.rank()];
        let share = match by_difficulty {
            None => Share::of(batch.lengths(), local),
            Some(Buckets { buckets, fractions }) => {
                Share::of_buckets(batch.lengths(), local, buckets, fractions)
                    .map_err(&plan_error)?
            }
        };
        let seed = loss.draw_seed(selection);
        let mut formed = None;
        let summarised = tokens.and_then(|tokens| {
            let summary = loss.summarise(&tokens).map_err(&plan_error)?;
            formed = Some(tokens);
            Ok(summary)
        });
        let summaries = ranks.gather_ok("sums of the plan", summarised)?;
        let tokens = formed.expect("formed a batch, as all ranks have gone on");
        let summary = summaries.iter().fold(PlanSummary::default(), |mut all, one| {
            all.merge(one);
            all
        });
        let candidates = loss.candidates(&tokens, &share, &summary, seed).map_err(&plan_error);
        let candidates = ranks.gather_ok("candidates for selection", candidates)?.into_iter();
        let merged = candidates.reduce(|mut all, one| {
            all.merge(one);
            all
        });
        let merged = merged.expect("one of each rank");
        let plan =
            loss.finish(&tokens, &share, &summary, merged, aggregation).map_err(plan_error)?;
        Ok((tokens, plan))
    }
}

/// Cost of a sequence: multiply-adds of one block plus the head's share per block; 0 for a sequence without a response.
fn cost(model: &Decoder, sequence: &Sequence) -> u128 {
    if sequence.response.is_empty() {
        return 0;
    }
    let config = model.config();
    let (hidden, heads) = (config.hidden_size, config.num_attention_heads * config.head_dim);
    let projections = 2 * heads + 2 * config.num_key_value_heads * config.head_dim;
    let block = hidden * (projections + 3 * config.active_intermediate_size());
    let head = sequence.response.len() as u128 * (config.vocab_size * hidden) as u128;
    sequence_cost(sequence.len(), block, heads) + head / config.num_hidden_layers.max(1) as u128
}
