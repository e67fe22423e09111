//! The course of a run.

use entropy_core::{FitError, PerformanceLaw};
use serde::{Deserialize, Serialize};

/// One evaluation of a run.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct CurvePoint {
    /// Rollout batches trained on so far.
    pub rollouts: usize,
    /// Mean entropy of a token on the training questions, in nats.
    pub entropy: f64,
    /// Expected reward of a response sampled at temperature 1, `0..=1`.
    pub reward: f64,
    /// Expected reward of a response sampled at [`COOL_TEMPERATURE`](super::COOL_TEMPERATURE), `0..=1`.
    pub cool_reward: f64,
    /// Expected reward of the response of most probable tokens.
    pub greedy_reward: f64,
}

/// The evaluations of a run, from before its first update to after its last.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Curve {
    /// In the order of training; at least one.
    pub points: Vec<CurvePoint>,
}

impl Curve {
    /// Before training.
    pub fn first(&self) -> &CurvePoint {
        &self.points[0]
    }

    /// After training.
    pub fn last(&self) -> &CurvePoint {
        &self.points[self.points.len() - 1]
    }

    /// Entropy at each point, in nats.
    pub fn entropies(&self) -> Vec<f64> {
        self.points.iter().map(|point| point.entropy).collect()
    }

    /// Reward at temperature 1 at each point.
    pub fn rewards(&self) -> Vec<f64> {
        self.points.iter().map(|point| point.reward).collect()
    }

    /// The law `R = -a e^H + b` fitted to all points.
    ///
    /// # Errors
    ///
    /// [`FitError`] if the entropy never changed.
    pub fn law(&self) -> Result<PerformanceLaw, FitError> {
        PerformanceLaw::fit(&self.entropies(), &self.rewards())
    }

    /// Shares of the whole fall of entropy and of the whole rise of reward that the first
    /// `fraction` of the rollouts brought.
    ///
    /// NaN where nothing changed over the run.
    pub fn shares_spent(&self, fraction: f64) -> (f64, f64) {
        let until = fraction * self.last().rollouts as f64;
        let before = self.points.iter().rev().find(|point| point.rollouts as f64 <= until);
        let (first, last) = (self.first(), self.last());
        let early = before.unwrap_or(first);
        let share = |of: fn(&CurvePoint) -> f64| (of(early) - of(first)) / (of(last) - of(first));
        (share(|point| point.entropy), share(|point| point.reward))
    }
}
