//! How a plan is made: by one process, or by many that each hold a part of the mini-batch.

use rand::Rng;
use thiserror::Error;

use crate::{
    Aggregation, Candidates, Column, Executor, Gspo, ParameterError, PlanSummary, PolicyLoss, Real,
    Scope, Serial, Steer, StepPlan, TokenBatch, Treatment,
    constants::Constants,
    ranking::{Bounds, Ranking, positions},
    settings::Settings,
    spread::Spread,
};

/// Why a loss cannot be planned over a batch.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum PlanError {
    /// The method reads a column that the batch does not have.
    #[error("`{method}` needs the column `{column}`, which the batch does not have")]
    MissingColumn {
        /// The method, as the configuration spells it.
        method: &'static str,
        /// The column.
        column: Column,
    },
    /// The method selects within micro-batches, and the batch does not know them.
    #[error(
        "`{method}` has scope `micro-batch`, but the batch does not say what its micro-batches are"
    )]
    MissingMicroBatches {
        /// The method, as the configuration spells it.
        method: &'static str,
    },
    /// The method takes no share of the tokens, or one of each micro-batch.
    #[error("`{method}` selects no share of the mini-batch's tokens that buckets could each have")]
    NoShare {
        /// The method, as the configuration spells it.
        method: &'static str,
    },
    /// There is not one bucket for each sequence.
    #[error("`buckets` has {found} sequences, the batch has {expected}")]
    BucketLength {
        /// Buckets given.
        found: usize,
        /// Sequences of the batch.
        expected: usize,
    },
    /// A sequence is in a bucket that has no share.
    #[error(
        "`buckets` is {bucket} at sequence {index}, expected below {shares}, as there are shares"
    )]
    Bucket {
        /// The sequence.
        index: usize,
        /// Its bucket.
        bucket: usize,
        /// Number of shares.
        shares: usize,
    },
    /// A number of the method's is out of range.
    #[error("`{method}`: {source}")]
    Parameter {
        /// The method, as the configuration spells it.
        method: &'static str,
        /// Which number.
        source: ParameterError,
    },
}

/// Planning over ranks, each of which holds whole sequences of the mini-batch:
///
/// ```text
/// summarise -> merge -> candidates -> merge -> finish
/// ```
///
/// Summaries and candidates are small, and merging them gives the same bits in any order; so does the
/// plan, whatever the ranks. [`plan`](Self::plan) is all of it for one process; a rank whose sequences do not follow each
/// other in the mini-batch says so by a [`Share`](crate::Share).
impl PolicyLoss {
    /// The columns this method reads besides the three.
    pub fn requirements(&self) -> Vec<Column> {
        let ranking = self.ranking().and_then(|ranking| ranking.column());
        let own: &[Column] = match self {
            Self::Steer(_) => &[Column::Entropy],
            Self::EntropyRatioClip(_) => &[Column::Entropy, Column::OldEntropy],
            _ => &[],
        };
        let treatment = self.treatment().and_then(Treatment::column);
        own.iter().copied().chain(ranking).chain(treatment).collect()
    }

    /// The tokens this method selects from, if it selects.
    pub fn scope(&self) -> Option<Scope> {
        self.ranking().map(|ranking| ranking.scope())
    }

    /// Whether this method can be planned over `batch`.
    ///
    /// # Errors
    ///
    /// [`PlanError`] naming the method, and the column it misses or the number out of range.
    pub fn check<R: Real>(&self, batch: &TokenBatch<'_, R>) -> Result<(), PlanError> {
        let method = self.name();
        self.settings().check().map_err(|source| PlanError::Parameter { method, source })?;
        for column in self.requirements() {
            if batch.column(column).is_none() {
                return Err(PlanError::MissingColumn { method, column });
            }
        }
        if self.scope() == Some(Scope::MicroBatch) && batch.micro_batches().is_none() {
            return Err(PlanError::MissingMicroBatches { method });
        }
        Ok(())
    }

    /// Fixes selection and weights over `batch`, the whole mini-batch of one optimiser step.
    ///
    /// One number is drawn from `rng` by the methods that draw tokens, none by the others.
    ///
    /// # Errors
    ///
    /// As [`check`](Self::check).
    pub fn plan<R: Real>(
        &self,
        batch: &TokenBatch<'_, R>,
        aggregation: &Aggregation,
        rng: &mut (impl Rng + ?Sized),
    ) -> Result<StepPlan, PlanError> {
        self.plan_on(&Serial, batch, aggregation, rng)
    }

    /// The same, in pieces that `executor` runs. No bit depends on the executor.
    ///
    /// # Errors
    ///
    /// As [`check`](Self::check).
    pub fn plan_on<R: Real>(
        &self,
        executor: &impl Executor,
        batch: &TokenBatch<'_, R>,
        aggregation: &Aggregation,
        rng: &mut (impl Rng + ?Sized),
    ) -> Result<StepPlan, PlanError> {
        let seed = self.draw_seed(rng);
        self.check(batch)?;
        let (summary, bounds) = self.survey(executor, batch);
        let candidates = self.best(executor, batch, (&summary, &bounds), (0, seed));
        self.finish(batch, &summary, &candidates, 0, aggregation)
    }

    /// What this rank tells the others first.
    ///
    /// # Errors
    ///
    /// As [`check`](Self::check).
    pub fn summarise<R: Real>(
        &self,
        executor: &impl Executor,
        batch: &TokenBatch<'_, R>,
    ) -> Result<PlanSummary, PlanError> {
        self.check(batch)?;
        Ok(self.survey(executor, batch).0)
    }

    /// The summary, and what the same pass over the tokens tells of where those lie that rank highest.
    fn survey<R: Real>(
        &self,
        executor: &impl Executor,
        batch: &TokenBatch<'_, R>,
    ) -> (PlanSummary, Bounds<R>) {
        let counts = PlanSummary { tokens: batch.len(), ..PlanSummary::default() };
        let global = self.ranking().filter(|ranking| ranking.scope() == Scope::MiniBatch);
        let (mut summary, bounds) = match global {
            Some(ranking) => ranking.survey(executor, batch, 0..batch.len()),
            None => (counts, Bounds::none()),
        };
        summary.sequences = batch.sequence_lengths().iter().filter(|&&length| length > 0).count();
        if let Self::Steer(_) = self {
            summary.largest = Steer::largest(batch);
        }
        (summary, bounds)
    }

    /// The tokens of this rank that may be selected, given the summary of all ranks. `first` is the
    /// position of the rank's first token in the mini-batch; `seed` is the same on all ranks.
    ///
    /// # Errors
    ///
    /// As [`check`](Self::check).
    pub fn candidates<R: Real>(
        &self,
        executor: &impl Executor,
        batch: &TokenBatch<'_, R>,
        summary: &PlanSummary,
        (first, seed): (u64, u64),
    ) -> Result<Candidates, PlanError> {
        self.check(batch)?;
        Ok(self.best(executor, batch, (summary, &Bounds::none()), (first, seed)))
    }

    fn best<R: Real>(
        &self,
        executor: &impl Executor,
        batch: &TokenBatch<'_, R>,
        known: (&PlanSummary, &Bounds<R>),
        numbered: (u64, u64),
    ) -> Candidates {
        self.ranking().map_or_else(
            || Candidates::new(0),
            |ranking| ranking.candidates(executor, batch, known, numbered),
        )
    }

    /// The plan of this rank's tokens, given the summary and the candidates of all ranks.
    ///
    /// # Errors
    ///
    /// As [`check`](Self::check).
    pub fn finish<R: Real>(
        &self,
        batch: &TokenBatch<'_, R>,
        summary: &PlanSummary,
        candidates: &Candidates,
        first: u64,
        aggregation: &Aggregation,
    ) -> Result<StepPlan, PlanError> {
        self.check(batch)?;
        let selected = match self {
            Self::EntropyRatioClip(loss) => loss.select(batch),
            _ => positions(candidates.clone().selected(), first, batch.len()),
        };
        let constants = match self {
            Self::Gspo(_) => Constants::Known(Gspo::constants(batch)),
            Self::Gmpo(loss) => Constants::Known(loss.constants(batch)),
            Self::Steer(loss) => loss.constants(summary),
            _ => self
                .treatment()
                .and_then(Treatment::column)
                .map_or(Constants::Known(Spread::Uniform(0.0)), Constants::AnchorShift),
        };
        let weights =
            aggregation.spread(batch.sequence_lengths(), summary.tokens, summary.sequences);
        Ok(StepPlan::assemble(batch.len(), selected, weights, constants))
    }

    pub(crate) fn ranking(&self) -> Option<Ranking> {
        match self {
            Self::ClipCov(loss) => Some(Ranking::of_covariance(loss.control())),
            Self::KlCov(loss) => Some(Ranking::of_covariance(loss.control())),
            Self::CovarianceControl(loss) => Some(Ranking::of_covariance(*loss)),
            Self::HighEntropy(loss) => Some(Ranking::of_entropy(loss.fraction, loss.scope)),
            _ => None,
        }
    }

    /// What is done to selected tokens, if they are selected by covariance.
    pub(crate) fn treatment(&self) -> Option<Treatment> {
        match self {
            Self::ClipCov(loss) => Some(loss.control().treatment),
            Self::KlCov(loss) => Some(loss.control().treatment),
            Self::CovarianceControl(loss) => Some(loss.treatment),
            _ => None,
        }
    }

    fn settings(&self) -> &dyn Settings {
        match self {
            Self::PpoClip(loss) => loss,
            Self::ClipCov(loss) => loss,
            Self::KlCov(loss) => loss,
            Self::CovarianceControl(loss) => loss,
            Self::Cispo(loss) => loss,
            Self::Gspo(loss) => loss,
            Self::Gmpo(loss) => loss,
            Self::Sapo(loss) => loss,
            Self::DppoTv(loss) => loss,
            Self::DppoKl(loss) => loss,
            Self::Reinforce(loss) => loss,
            Self::Dro(loss) => loss,
            Self::HighEntropy(loss) => loss,
            Self::Steer(loss) => loss,
            Self::CeGppo(loss) => loss,
            Self::SignWeight(loss) => loss,
            Self::EntropyRatioClip(loss) => loss,
            Self::DynamicClip(loss) => loss,
        }
    }
}
