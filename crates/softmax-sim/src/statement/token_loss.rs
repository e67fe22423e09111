//! The policy losses that train the model, on tokens of one state: how a step down their gradient moves
//! the logits.

use entropy_core::Categorical;
use rand_chacha::ChaCha8Rng;
use rl_losses::{
    Aggregation, ClipCov, ClipRange, CovarianceBand, KlCov, PolicyLoss, StepPlan, TokenBatch,
    TokenColumns,
};

pub(super) fn clip() -> ClipRange {
    ClipRange::new(0.2, 0.2).expect("both are positive")
}

/// Clip-Cov on a `fraction` of the tokens of covariance above 0.05.
pub(super) fn clip_cov(fraction: f64) -> PolicyLoss {
    let band = CovarianceBand::new(0.05, 1e3).expect("the bounds are in order");
    PolicyLoss::ClipCov(ClipCov::new(fraction, band, clip()).expect("a fraction"))
}

pub(super) fn kl_cov(fraction: f64, coefficient: f64) -> PolicyLoss {
    PolicyLoss::KlCov(KlCov::new(fraction, coefficient).expect("a fraction"))
}

/// Tokens of one state: the action of each, before any selection.
pub(super) struct Tokens<'a> {
    pub(super) policy: &'a Categorical,
    pub(super) actions: Vec<usize>,
    log_prob: Vec<f64>,
    old_log_prob: Vec<f64>,
    advantage: Vec<f64>,
    lengths: Vec<usize>,
}

impl<'a> Tokens<'a> {
    /// One token for each of `actions`, drawn from `old`, with the advantage of its action.
    pub(super) fn new(
        policy: &'a Categorical,
        old: &Categorical,
        advantage: &[f64],
        actions: Vec<usize>,
    ) -> Self {
        let column = |values: &[f64]| actions.iter().map(|action| values[*action]).collect();
        Self {
            policy,
            log_prob: column(policy.log_probs()),
            old_log_prob: column(old.log_probs()),
            advantage: column(advantage),
            lengths: vec![1; actions.len()],
            actions,
        }
    }

    pub(super) fn enumerated(
        policy: &'a Categorical,
        old: &Categorical,
        advantage: &[f64],
    ) -> Self {
        let possible = |action: &usize| old.probs()[*action] > 0.0 && policy.probs()[*action] > 0.0;
        let actions = (0..policy.actions()).filter(possible).collect();
        Self::new(policy, old, advantage, actions)
    }

    pub(super) fn batch(&self) -> TokenBatch<'_> {
        let columns = TokenColumns {
            log_prob: &self.log_prob,
            old_log_prob: &self.old_log_prob,
            advantage: &self.advantage,
        };
        TokenBatch::new(columns, &self.lengths).expect("finite columns of one length")
    }

    pub(super) fn plan(&self, loss: &PolicyLoss, rng: &mut ChaCha8Rng) -> StepPlan {
        loss.plan(&self.batch(), &Aggregation::TokenMean, rng)
            .expect("a loss that needs no further column")
    }

    /// Step of the logits down the gradient of the loss, `[actions]`, for a step size of 1.
    pub(super) fn step(&self, loss: &PolicyLoss, plan: &StepPlan) -> Vec<f64> {
        let output = loss.evaluate(&self.batch(), plan.part(0..self.actions.len()));
        let mut step = vec![0.0; self.policy.actions()];
        for (action, slope) in std::iter::zip(&self.actions, output.grad_log_prob) {
            self.policy.vjp_log_prob(*action, -slope, &mut step);
        }
        step
    }

    /// Expected step under `old`: every action weighs what it is likely, and nothing is selected
    /// but what `selected` says.
    pub(super) fn expected_step(
        &self,
        loss: &PolicyLoss,
        old: &Categorical,
        selected: Vec<bool>,
    ) -> Vec<f64> {
        let weights = self.actions.iter().map(|action| old.probs()[*action]).collect();
        self.step(loss, &StepPlan::new(selected, weights))
    }
}
