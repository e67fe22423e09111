//! Planning where a rank's sequences lie scattered over the mini-batch.

use std::ops::Range;

use rand::Rng;

use crate::{
    Aggregation, Candidates, Executor, PlanError, PlanSummary, PolicyLoss, Real, Scope, StepPlan,
    TokenBatch,
};

/// Where the tokens that one rank holds stand in the mini-batch: whole sequences, any of them, in their order.
///
/// ```
/// use rl_losses::Share;
/// let share = Share::of(&[2, 3, 1, 4], &[0, 2, 3]);
/// assert_eq!(share.len(), 7);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Share {
    /// Runs of tokens that follow each other in the mini-batch too.
    runs: Vec<Run>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Run {
    /// Position of the first token in the mini-batch.
    first: usize,
    /// Positions within the share.
    tokens: Range<usize>,
}

impl Share {
    /// The tokens of `sequences`, ascending indices into the sequences of a mini-batch of these lengths, `[sequences]` in
    /// tokens.
    ///
    /// # Panics
    ///
    /// If the indices do not ascend, or name no sequence.
    pub fn of(sequence_lengths: &[usize], sequences: &[usize]) -> Self {
        assert!(sequences.is_sorted_by(|a, b| a < b), "sequences in their order");
        let mut runs: Vec<Run> = Vec::new();
        let (mut position, mut next, mut held) = (0, 0, 0);
        for &sequence in sequences {
            position += sequence_lengths[next..sequence].iter().sum::<usize>();
            next = sequence + 1;
            let length = sequence_lengths[sequence];
            match runs.last_mut() {
                Some(run) if run.first + run.tokens.len() == position => run.tokens.end += length,
                _ => runs.push(Run { first: position, tokens: held..held + length }),
            }
            position += length;
            held += length;
        }
        Self { runs }
    }

    /// Number of tokens.
    pub fn len(&self) -> usize {
        self.runs.last().map_or(0, |run| run.tokens.end)
    }

    /// Whether it has no tokens.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Ascending positions in the mini-batch as ascending positions in the share; others are left out.
    fn positions(&self, selected: &[u64]) -> Vec<usize> {
        let of_run = |run: &Run| {
            let first = run.first as u64;
            let from = selected.partition_point(|&token| token < first);
            let count =
                selected[from..].partition_point(|&token| token < first + run.tokens.len() as u64);
            let start = run.tokens.start;
            selected[from..from + count].iter().map(move |&token| {
                start + usize::try_from(token - first).expect("within the share")
            })
        };
        self.runs.iter().flat_map(of_run).collect()
    }
}

/// Planning over ranks whose sequences were dealt out, in place of runs of the mini-batch one after another. Every rank gets
/// its part of the plan that one process would make, to the bit:
///
/// ```text
/// summarise -> merge -> candidates_of_share -> merge -> finish_share
/// ```
impl PolicyLoss {
    /// The seed of what is drawn at random; as in [`plan`](Self::plan), one number of `rng` for the methods that draw
    /// tokens, none for the others. Every rank needs the same.
    pub fn draw_seed(&self, rng: &mut (impl Rng + ?Sized)) -> u64 {
        if self.ranking().is_some_and(|ranking| ranking.draws()) { rng.random() } else { 0 }
    }

    /// The tokens of a share that may be selected, given the summary of all ranks. `batch` holds the tokens of the share;
    /// `seed` is the same on all ranks.
    ///
    /// # Errors
    ///
    /// As [`check`](Self::check). [`PlanError::MissingMicroBatches`] for methods that select within micro-batches: a share
    /// does not know them.
    ///
    /// # Panics
    ///
    /// If `batch` is not as long as the share.
    pub fn candidates_of_share<R: Real>(
        &self,
        executor: &impl Executor,
        batch: &TokenBatch<'_, R>,
        share: &Share,
        summary: &PlanSummary,
        seed: u64,
    ) -> Result<Candidates, PlanError> {
        assert_eq!(batch.len(), share.len(), "one position for each token");
        if self.scope() == Some(Scope::MicroBatch) {
            return Err(PlanError::MissingMicroBatches { method: self.name() });
        }
        // A rank without tokens still says how many are selected.
        let mut all = self.candidates(executor, &batch.part(0..0), summary, (0, seed))?;
        for Run { first, tokens } in &share.runs {
            let part = batch.part(tokens.clone());
            all.merge(self.candidates(executor, &part, summary, (*first as u64, seed))?);
        }
        Ok(all)
    }

    /// The plan of a share, given the summary and the candidates of all ranks.
    ///
    /// # Errors
    ///
    /// As [`check`](Self::check).
    pub fn finish_share<R: Real>(
        &self,
        batch: &TokenBatch<'_, R>,
        share: &Share,
        summary: &PlanSummary,
        candidates: Candidates,
        aggregation: &Aggregation,
    ) -> Result<StepPlan, PlanError> {
        let ranked = self.ranking().is_some();
        // Methods without a ranking select by themselves, token by token.
        let plan = self.finish(batch, summary, &Candidates::new(0), 0, aggregation)?;
        Ok(if ranked { plan.with_selected(share.positions(&candidates.selected())) } else { plan })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_are_one_run_and_empty_sequences_none_of_their_own() {
        let share = Share::of(&[2, 3, 0, 1, 4], &[0, 1, 2, 4]);
        let run = |first, tokens| Run { first, tokens };
        assert_eq!(share.runs, [run(0, 0..5), run(6, 5..9)]);
        assert_eq!(share.positions(&[1, 4, 5, 6, 9]), [1, 4, 5, 8]);
        assert!(Share::of(&[2, 3], &[]).is_empty());
    }
}
