//! The sequences of a batch that this rank works on.

use std::borrow::Cow;
use std::ops::Range;

use rl_losses::{
    Aggregation, Candidates, PlanError, PlanSummary, PolicyLoss, Share, StepPlan, TokenBatch,
};
use trainer_core::dealing::{deal, sequence_cost};

use super::policy_pass::{Sequence, Statistics, column_of_sequences};
use super::update::UpdateError;
use crate::model::Decoder;
use crate::ranks::Ranks;

/// This rank's part of a batch: all of it where there is one process.
#[derive(Debug)]
pub(super) struct Held<'a> {
    /// Its sequences, in the order of the batch.
    pub(super) sequences: Vec<&'a Sequence>,
    /// Which of the batch they are, where there are other ranks.
    chosen: Option<Chosen<'a>>,
}

#[derive(Debug)]
struct Chosen<'a> {
    batch: &'a [&'a Sequence],
    /// Of each rank, ascending.
    hands: Vec<Vec<usize>>,
    rank: usize,
}

impl<'a> Held<'a> {
    /// Deals `batch` out by what a pass of `model` over each sequence costs.
    pub(super) fn of(model: &Decoder, batch: &'a [&'a Sequence], ranks: &Ranks) -> Self {
        if ranks.count() == 1 {
            return Self { sequences: batch.to_vec(), chosen: None };
        }
        let costs: Vec<u128> = batch.iter().map(|sequence| cost(model, sequence)).collect();
        let (hands, rank) = (deal(&costs, ranks.count()), ranks.rank());
        let sequences = hands[rank].iter().map(|&index| batch[index]).collect();
        Self { sequences, chosen: Some(Chosen { batch, hands, rank }) }
    }

    /// Tokens of each response.
    pub(super) fn lengths(&self) -> Vec<usize> {
        self.sequences.iter().map(|sequence| sequence.response.len()).collect()
    }

    /// This rank's part of a column; `tokens` of it are the batch's response tokens.
    pub(super) fn column<'c>(&self, column: &'c [f64], tokens: &Range<usize>) -> Cow<'c, [f64]> {
        let whole = &column[tokens.clone()];
        match &self.chosen {
            None => Cow::Borrowed(whole),
            Some(Chosen { batch, hands, rank }) => {
                Cow::Owned(column_of_sequences(whole, batch, &hands[*rank]))
            }
        }
    }

    /// The same of statistics.
    pub(super) fn statistics(&self, whole: Statistics) -> Statistics {
        match &self.chosen {
            None => whole,
            Some(Chosen { batch, hands, rank }) => whole.of_sequences(batch, &hands[*rank]),
        }
    }

    /// Where tokens that this rank holds stand, counted from `first`, the place of the batch's first token; `held` ascending.
    pub(super) fn positions(&self, held: &[usize], first: usize) -> Vec<usize> {
        let Some(Chosen { batch, hands, rank }) = &self.chosen else {
            return held.iter().map(|position| first + position).collect();
        };
        let mut starts = Vec::with_capacity(batch.len());
        let mut next = first;
        for sequence in *batch {
            starts.push(next);
            next += sequence.response.len();
        }
        let (mut found, mut rest, mut passed) = (Vec::with_capacity(held.len()), held, 0);
        for &index in &hands[*rank] {
            let end = passed + batch[index].response.len();
            let (own, after) = rest.split_at(rest.partition_point(|&position| position < end));
            found.extend(own.iter().map(|position| starts[index] + position - passed));
            (rest, passed) = (after, end);
        }
        found
    }

    /// The column of the whole batch, from each rank's part of it.
    pub(super) fn whole_column(&self, parts: Vec<Vec<f64>>) -> Vec<f64> {
        let Some(Chosen { batch, hands, .. }) = &self.chosen else {
            return parts.into_iter().next().unwrap_or_default();
        };
        let lengths: Vec<usize> = batch.iter().map(|sequence| sequence.response.len()).collect();
        let mut runs: Vec<Vec<f64>> = vec![Vec::new(); batch.len()];
        for (hand, part) in hands.iter().zip(parts) {
            let mut rest = part.as_slice();
            for &index in hand {
                let (own, after) = rest.split_at(lengths[index].min(rest.len()));
                runs[index] = own.to_vec();
                rest = after;
            }
        }
        runs.concat()
    }

    /// The plan of this rank's tokens within that of the whole batch, with the tokens, as this rank holds them; where they do
    /// not form a batch, all ranks fail.
    pub(super) fn plan<'t>(
        &self,
        loss: &PolicyLoss,
        tokens: Result<TokenBatch<'t>, UpdateError>,
        aggregation: &Aggregation,
        selection: &mut impl rand::Rng,
        (ranks, at): (&Ranks, impl Fn(PlanError) -> UpdateError),
    ) -> Result<(TokenBatch<'t>, StepPlan), UpdateError> {
        let Some(Chosen { batch, hands, rank }) = &self.chosen else {
            let tokens = tokens?;
            let plan = loss.plan(&tokens, aggregation, selection).map_err(at)?;
            return Ok((tokens, plan));
        };
        let all_lengths: Vec<usize> = batch.iter().map(|s| s.response.len()).collect();
        let share = Share::of(&all_lengths, &hands[*rank]);
        let seed = loss.draw_seed(selection);
        let own = tokens.and_then(|tokens| {
            let summary = loss.summarise(&tokens).map_err(&at)?;
            Ok((tokens, summary))
        });
        let mut formed = None;
        let own = own.map(|(tokens, summary)| {
            formed = Some(tokens);
            summary
        });
        let summaries = ranks.gather_ok("sums of the plan", own)?;
        let tokens = formed.expect("formed a batch, as all ranks have gone on");
        let summary = summaries.iter().fold(PlanSummary::default(), |mut all, one| {
            all.merge(one);
            all
        });
        let own = loss.candidates(&tokens, &share, &summary, seed).map_err(&at);
        let mut all = ranks.gather_ok("candidates for selection", own)?.into_iter();
        let first = all.next().expect("one of each rank");
        let merged = all.fold(first, |mut all: Candidates, one| {
            all.merge(one);
            all
        });
        let plan = loss.finish(&tokens, &share, &summary, merged, aggregation).map_err(at)?;
        Ok((tokens, plan))
    }
}

/// Multiply-adds of one block for a sequence, with the head's share of them; nothing for one that is not trained.
fn cost(model: &Decoder, sequence: &Sequence) -> u128 {
    if sequence.response.is_empty() {
        return 0;
    }
    let config = model.config();
    let (hidden, heads) = (config.hidden_size, config.num_attention_heads * config.head_dim);
    let projections = 2 * heads + 2 * config.num_key_value_heads * config.head_dim;
    let block = hidden * (projections + 3 * config.intermediate_size);
    let head = sequence.response.len() as u128 * (config.vocab_size * hidden) as u128;
    sequence_cost(sequence.len(), block, heads) + head / config.num_hidden_layers.max(1) as u128
}
