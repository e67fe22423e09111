//! Making a plan: by one process, or by ranks that each have a shard of the mini-batch.

use rand::Rng;

use crate::{
    Aggregation, Candidates, ParameterError, PlanError, PlanSummary, PolicyLoss, Real, Scope,
    Share, StepPlan, TokenBatch,
    fast::{
        candidates::Best,
        scan::{self, Run},
    },
    parameter::{Settings, check_fraction},
    plan::share::Bucket,
    selection::Selection,
};

/// All ranks plan a mini-batch together; each has a shard of its sequences, a [`Share`]:
///
/// ```text
/// summarise -> merge -> candidates -> merge -> finish
/// ```
///
/// Summaries and candidates are small, and merging them gives the same bits in any order; so does the
/// plan, whatever the ranks. [`plan`](Self::plan) is all of it for one process.
impl PolicyLoss {
    /// The tokens this method selects from, if it selects.
    pub fn scope(&self) -> Option<Scope> {
        self.selection().map(|selection| selection.scope)
    }

    /// Checks that this method can be planned over `batch`.
    ///
    /// # Errors
    ///
    /// [`PlanError`] naming the method, and the column it misses or the number out of range.
    pub fn check<R: Real>(&self, batch: &TokenBatch<'_, R>) -> Result<(), PlanError> {
        let method = self.name();
        Settings::check(self).map_err(|number| PlanError::of(method, &number))?;
        for column in self.requirements() {
            if batch.column(column).is_none() {
                return Err(PlanError::MissingColumn { method, column });
            }
        }
        if self.scope() == Some(Scope::MicroBatch) && batch.micro_batches().is_none() {
            return Err(PlanError::Unfit(format!(
                "`{method}` has scope `micro-batch`, but the batch does not say what its micro-batches are"
            )));
        }
        Ok(())
    }

    /// Fixes selection and weights over `batch`, the whole mini-batch of one optimiser step.
    ///
    /// One number is drawn from `rng` by the methods that draw tokens, none by the others.
    ///
    /// # Errors
    ///
    /// [`PlanError`], for the same reasons as [`check`](Self::check).
    pub fn plan<R: Real>(
        &self,
        batch: &TokenBatch<'_, R>,
        aggregation: &Aggregation,
        rng: &mut (impl Rng + ?Sized),
    ) -> Result<StepPlan, PlanError> {
        let seed = self.draw_seed(rng);
        self.plan_of_share(batch, &Share::whole(batch.len()), aggregation, seed)
    }

    /// Plans like [`plan`](Self::plan), with `fractions[b]` of the tokens of bucket `b` selected in place of the
    /// method's own fraction of all tokens. `buckets` is `[sequences]`.
    ///
    /// Covariances are centred over the whole mini-batch, and the weights are those of the whole: only
    /// the selection is taken bucket by bucket. [`DifficultyThermostat`](crate::DifficultyThermostat) holds the entropy of hard and
    /// of easy prompts apart by it.
    ///
    /// # Errors
    ///
    /// [`PlanError`], for the same reasons as [`check`](Self::check), and if the method selects no share of the
    /// mini-batch, a fraction is out of range, or a sequence has no bucket with a fraction.
    pub fn plan_by_bucket<R: Real>(
        &self,
        batch: &TokenBatch<'_, R>,
        buckets: &[usize],
        fractions: &[f64],
        aggregation: &Aggregation,
        rng: &mut (impl Rng + ?Sized),
    ) -> Result<StepPlan, PlanError> {
        self.check(batch)?;
        let all: Vec<usize> = (0..batch.sequence_lengths().len()).collect();
        let share = Share::of_buckets(batch.sequence_lengths(), &all, buckets, fractions)?;
        self.plan_of_share(batch, &share, aggregation, self.draw_seed(rng))
    }

    fn plan_of_share<R: Real>(
        &self,
        batch: &TokenBatch<'_, R>,
        share: &Share,
        aggregation: &Aggregation,
        seed: u64,
    ) -> Result<StepPlan, PlanError> {
        let summary = self.summarise(batch)?;
        let candidates = self.candidates(batch, share, &summary, seed)?;
        self.finish(batch, share, &summary, candidates, aggregation)
    }

    /// The seed of what is drawn at random; as in [`plan`](Self::plan), one number of `rng` for the methods that draw
    /// tokens, none for the others. Every rank needs the same.
    pub fn draw_seed(&self, rng: &mut (impl Rng + ?Sized)) -> u64 {
        if self.selection().is_some_and(|selection| selection.draws()) { rng.random() } else { 0 }
    }

    /// Counts and sums that this rank sends to the others first.
    ///
    /// # Errors
    ///
    /// [`PlanError`], for the same reasons as [`check`](Self::check).
    pub fn summarise<R: Real>(&self, batch: &TokenBatch<'_, R>) -> Result<PlanSummary, PlanError> {
        self.check(batch)?;
        let mut summary = match self.selection() {
            Some(selection) if selection.scope == Scope::MiniBatch => {
                scan::summary(&selection, batch, 0..batch.len())
            }
            _ => PlanSummary { tokens: batch.len(), ..PlanSummary::default() },
        };
        summary.sequences = batch.sequence_lengths().iter().filter(|&&length| length > 0).count();
        summary.largest = self.method().largest(batch);
        summary.sums = self.method().sums(batch);
        Ok(summary)
    }

    /// The tokens of a share that may be selected, given the summary of all ranks. `batch` holds the tokens of the share;
    /// `seed` is the same on all ranks.
    ///
    /// # Errors
    ///
    /// [`PlanError`], for the same reasons as [`check`](Self::check); with buckets, also if the method selects no share of
    /// the mini-batch, or a fraction is out of range.
    ///
    /// # Panics
    ///
    /// If `batch` is not as long as the share.
    pub fn candidates<R: Real>(
        &self,
        batch: &TokenBatch<'_, R>,
        share: &Share,
        summary: &PlanSummary,
        seed: u64,
    ) -> Result<Candidates, PlanError> {
        assert_eq!(batch.len(), share.len(), "one position for each token");
        self.check(batch)?;
        let has_buckets = share.pools.iter().any(|pool| pool.bucket.is_some());
        if has_buckets && self.scope() != Some(Scope::MiniBatch) {
            let problem =
                "selects no share of the mini-batch's tokens that buckets could each have";
            return Err(PlanError::Unfit(format!("`{}` {problem}", self.name())));
        }
        let best = match self.selection() {
            None => vec![Best::new(0)],
            Some(selection) => first_of_share(&selection, batch, share, summary, seed)
                .map_err(|number| PlanError::of(self.name(), &number))?,
        };
        Ok(Candidates { best, sums: self.method().later_sums(batch, summary) })
    }

    /// The plan of a share, given the summary and the candidates of all ranks.
    ///
    /// # Errors
    ///
    /// [`PlanError`], for the same reasons as [`check`](Self::check).
    pub fn finish<R: Real>(
        &self,
        batch: &TokenBatch<'_, R>,
        share: &Share,
        summary: &PlanSummary,
        candidates: Candidates,
        aggregation: &Aggregation,
    ) -> Result<StepPlan, PlanError> {
        self.check(batch)?;
        let method = self.method::<R>();
        let selected = match method.selection() {
            Some(_) => share.selected(candidates.best),
            None => method.select(batch, summary),
        };
        let lengths = batch.sequence_lengths();
        Ok(StepPlan {
            tokens: batch.len(),
            selected,
            weights: aggregation.spread(lengths, summary.tokens, summary.sequences),
            constants: method.constants(batch, summary),
            shared: method.shared(summary, &candidates.sums),
            column: method.column(),
        })
    }

    /// Positions of the tokens of a whole mini-batch that may be selected, ascending: Clip-Cov's are those inside the band that
    /// the surrogate does not clip already.
    ///
    /// # Errors
    ///
    /// [`PlanError`], for the same reasons as [`check`](Self::check).
    pub fn eligible<R: Real>(&self, batch: &TokenBatch<'_, R>) -> Result<Vec<usize>, PlanError> {
        let (summary, share) = (self.summarise(batch)?, Share::whole(batch.len()));
        let Some(selection) = self.selection() else { return Ok(Vec::new()) };
        let everyone = Selection { fraction: 1.0, ..selection };
        first_of_share(&everyone, batch, &share, &summary, 0)
            .map(|best| share.selected(best))
            .map_err(|number| PlanError::of(self.name(), &number))
    }
}

/// The tokens of a share that come first, in each of its pools.
fn first_of_share<R: Real>(
    selection: &Selection,
    batch: &TokenBatch<'_, R>,
    share: &Share,
    summary: &PlanSummary,
    seed: u64,
) -> Result<Vec<Best>, ParameterError> {
    if selection.scope == Scope::MicroBatch {
        return Ok(vec![within_micro_batches(selection, batch, share, seed)]);
    }
    let centre = selection.centre(summary);
    let best = share.pools.iter().map(|pool| {
        let selection = match pool.bucket {
            None => *selection,
            Some(Bucket { fraction, .. }) => {
                Selection { fraction: check_fraction("fraction", fraction)?, ..*selection }
            }
        };
        let tokens = pool.bucket.map_or(summary.tokens, |bucket| bucket.tokens);
        let keep = selection.count(tokens);
        Ok(scan::first(&selection, batch, (centre, seed), &pool.runs, keep))
    });
    best.collect()
}

/// The selections of each micro-batch, centred and shared over itself alone.
fn within_micro_batches<R: Real>(
    selection: &Selection,
    batch: &TokenBatch<'_, R>,
    share: &Share,
    seed: u64,
) -> Best {
    // No candidate competes with selections that are final.
    let (mut all, mut sequence) = (Best::new(usize::MAX), 0);
    for &count in batch.micro_batches().unwrap_or_default() {
        let tokens = batch.token_range(sequence..sequence + count);
        sequence += count;
        let summary = scan::summary(selection, batch, tokens.clone());
        let (centre, keep) = (selection.centre(&summary), selection.count(tokens.len()));
        let runs: Vec<Run> = share.runs_within(&tokens).collect();
        all.merge(scan::first(selection, batch, (centre, seed), &runs, keep));
    }
    all
}
