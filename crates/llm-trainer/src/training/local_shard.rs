//! The sequences of a batch that this rank works on, and passes over those of all ranks.

use rl_losses::{Aggregation, PlanError, PlanSummary, PolicyLoss, Share, StepPlan, TokenBatch};
use training_run::partition::{balanced_partition, sequence_cost};

use super::policy_pass::{PolicyPass, Statistics, UsedRoutes};
use super::sequence::{Sequence, TokenLayout};
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

#[derive(Debug)]
pub(super) struct LocalShard<'a> {
    /// This rank's sequences, in the order of the batch.
    pub(super) sequences: Vec<&'a Sequence>,
    /// Maps these sequences to ranges of this rank's columns.
    pub(super) layout: TokenLayout,
    /// Maps the batch's sequences to ranges of its columns.
    batch: TokenLayout,
    /// Sequences of each rank, ascending.
    shards: Vec<Vec<usize>>,
    ranks: Ranks,
}

impl<'a> LocalShard<'a> {
    /// Partitions `batch` so that a pass of `model` costs each rank about the same.
    pub(super) fn of(model: &Decoder, batch: &[&'a Sequence], ranks: &Ranks) -> Self {
        let costs: Vec<u128> = batch.iter().map(|sequence| cost(model, sequence)).collect();
        let shards = balanced_partition(&costs, ranks.count());
        let sequences: Vec<&Sequence> =
            shards[ranks.rank()].iter().map(|&index| batch[index]).collect();
        let layout = TokenLayout::of(sequences.iter().copied());
        let batch = TokenLayout::of(batch.iter().copied());
        Self { sequences, layout, batch, shards, ranks: ranks.clone() }
    }

    /// Indices of this rank's sequences in the batch, ascending.
    fn rows(&self) -> &[usize] {
        &self.shards[self.ranks.rank()]
    }

    /// This rank's part of a column of the batch.
    pub(super) fn column(&self, column: &[f64]) -> Vec<f64> {
        self.batch.select(column, self.rows())
    }

    /// Maps this rank's tokens, ascending, to those of the batch.
    pub(super) fn positions(&self, local: &[usize]) -> Vec<usize> {
        let rows = self.rows();
        let position = |&token: &usize| {
            let sequence = self.layout.sequence_of(token);
            self.batch.range(rows[sequence]).start + token - self.layout.range(sequence).start
        };
        local.iter().map(position).collect()
    }

    /// Gathers the column of the whole batch from every rank's part; the same on every rank.
    pub(super) fn gather(&self, what: &'static str, local: &[f64]) -> Result<Vec<f64>, RankError> {
        let mut column = vec![0.0; self.batch.tokens()];
        for (part, shard) in self.ranks.gather_column(what, local)?.iter().zip(&self.shards) {
            self.batch.scatter(part, shard, &mut column);
        }
        Ok(column)
    }

    /// Gathers the statistics of the whole batch, by `model`; the same on every rank.
    fn gathered(&self, model: &Decoder, local: &Statistics) -> Result<Statistics, RankError> {
        model.check_blocks()?;
        let squared_score = local.squared_score.as_deref();
        let squared_score =
            squared_score.map(|column| self.gather("squared scores", column)).transpose()?;
        Ok(Statistics {
            log_prob: self.gather("log-probabilities", &local.log_prob)?,
            entropy: self.gather("entropies", &local.entropy)?,
            squared_score,
        })
    }

    /// Plans the loss over the whole batch and returns this rank's tokens with their part of the plan. If the tokens of any
    /// rank do not form a batch, all ranks fail. `by_difficulty` covers all sequences of the batch.
    pub(super) fn plan<'t>(
        &self,
        loss: &PolicyLoss,
        tokens: anyhow::Result<TokenBatch<'t>>,
        aggregation: &Aggregation,
        by_difficulty: Option<&Buckets>,
        selection: &mut impl rand::Rng,
        plan_error: impl Fn(PlanError) -> anyhow::Error,
    ) -> anyhow::Result<(TokenBatch<'t>, StepPlan)> {
        let (lengths, rows) = (self.batch.lengths(), self.rows());
        let share = match by_difficulty {
            None => Share::of(lengths, rows),
            Some(Buckets { buckets, fractions }) => {
                Share::of_buckets(lengths, rows, buckets, fractions).map_err(&plan_error)?
            }
        };
        let seed = loss.draw_seed(selection);
        let mut formed = None;
        let summarised = tokens.and_then(|tokens| {
            let summary = loss.summarise(&tokens).map_err(&plan_error)?;
            formed = Some(tokens);
            Ok(summary)
        });
        let summaries = self.ranks.gather_ok("sums of the plan", summarised)?;
        let tokens = formed.expect("formed a batch, as all ranks have gone on");
        let summary = summaries.iter().fold(PlanSummary::default(), |mut all, one| {
            all.merge(one);
            all
        });
        let candidates = loss.candidates(&tokens, &share, &summary, seed).map_err(&plan_error);
        let candidates = self.ranks.gather_ok("candidates for selection", candidates)?.into_iter();
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

impl PolicyPass<'_> {
    /// Computes [`statistics`](Self::statistics) over all ranks; every rank gets those of a single process.
    pub(super) fn statistics_over(
        &self,
        ranks: &Ranks,
        sequences: &[&Sequence],
    ) -> Result<Statistics, RankError> {
        let shard = LocalShard::of(self.model, sequences, ranks);
        shard.gathered(self.model, &self.statistics(&shard.sequences))
    }

    /// Computes [`statistics_over`](Self::statistics_over) all ranks; also returns the experts used.
    pub(super) fn statistics_and_routes_over(
        &self,
        ranks: &Ranks,
        sequences: &[&Sequence],
    ) -> Result<(Statistics, UsedRoutes), RankError> {
        let shard = LocalShard::of(self.model, sequences, ranks);
        let (local, routes) = self.statistics_and_routes(&shard.sequences);
        let statistics = shard.gathered(self.model, &local)?;
        let parts = ranks.gather("experts", routes)?;
        Ok((statistics, UsedRoutes::joined(parts, &shard.shards, sequences.len())))
    }
}
