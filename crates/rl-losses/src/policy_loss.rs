//! The closed set of policy losses and how one is evaluated.

use rand::Rng;
use serde::{Deserialize, Serialize};

use crate::{
    Aggregation, ClipCov, KlCov, LossOutput, LossSums, PlanPart, PpoClip, StepPlan, Term,
    TokenBatch, ppo_clip::limited, surrogate::Branch,
};

/// A policy loss: the configuration is the algorithm.
///
/// In TOML the table names the loss, and a key that is left out has the default of its struct:
///
/// ```toml
/// [policy_loss.clip-cov]
/// fraction = 2e-4
/// covariance_low = 1.0
/// covariance_high = 5.0
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum PolicyLoss {
    /// Clipped surrogate (PPO; GRPO with group advantages).
    PpoClip(PpoClip),
    /// Clip-Cov.
    ClipCov(ClipCov),
    /// KL-Cov.
    KlCov(KlCov),
}

impl PolicyLoss {
    /// Fixes selection and weights over `batch`, the whole mini-batch of one optimiser step.
    ///
    /// Only Clip-Cov draws from `rng`.
    pub fn plan(
        &self,
        batch: &TokenBatch<'_>,
        aggregation: &Aggregation,
        rng: &mut (impl Rng + ?Sized),
    ) -> StepPlan {
        let selected = match self {
            Self::PpoClip(_) => vec![false; batch.len()],
            Self::ClipCov(loss) => loss.select(batch, rng),
            Self::KlCov(loss) => loss.select(batch),
        };
        StepPlan::new(selected, aggregation.token_weights(batch.sequence_lengths()))
    }

    /// Evaluates the loss on the mini-batch or on any run of its tokens.
    ///
    /// Values, gradients and sums of the parts of a split mini-batch add up to those of the whole.
    ///
    /// # Panics
    ///
    /// If `plan` is not as long as `batch`.
    pub fn evaluate(&self, batch: &TokenBatch<'_>, plan: PlanPart<'_>) -> LossOutput {
        assert_eq!(plan.weights().len(), batch.len(), "one weight per token");
        let mut value = 0.0;
        let mut sums = LossSums { tokens: batch.len(), ..LossSums::default() };
        let grad_log_prob = batch
            .log_ratios()
            .zip(batch.advantage())
            .zip(std::iter::zip(plan.selected(), plan.weights()))
            .map(|((log_ratio, &advantage), (&selected, &weight))| {
                let (term, branch, reported) = self.term(log_ratio, advantage, selected);
                sums.clipped += usize::from(branch == Branch::Clipped);
                sums.clipped_lower += usize::from(branch == Branch::Ceiling);
                sums.selected += usize::from(selected);
                sums.neg_log_ratio -= reported;
                sums.abs_log_ratio += reported.abs();
                value += weight * term.value;
                weight * term.d_log_prob
            })
            .collect();
        LossOutput { value, grad_log_prob, sums }
    }

    /// One token's loss, the branch it lies on, and its log-ratio as reported.
    fn term(&self, log_ratio: f64, advantage: f64, selected: bool) -> (Term, Branch, f64) {
        match self {
            Self::PpoClip(loss) => {
                let (term, branch) = loss.term_and_branch(log_ratio, advantage);
                (term, branch, limited(log_ratio))
            }
            Self::ClipCov(loss) => {
                let (term, branch) = loss.term_and_branch(log_ratio, advantage, selected);
                (term, branch, log_ratio)
            }
            Self::KlCov(loss) => {
                (loss.term(log_ratio, advantage, selected), Branch::Open, log_ratio)
            }
        }
    }
}
