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

#[cfg(test)]
mod tests {
    use super::*;

    fn curve(points: &[(usize, f64, f64)]) -> Curve {
        let point = |&(rollouts, entropy, reward): &(usize, f64, f64)| CurvePoint {
            rollouts,
            entropy,
            reward,
            cool_reward: reward,
            greedy_reward: reward,
        };
        Curve { points: points.iter().map(point).collect() }
    }

    #[test]
    fn shares_are_parts_of_the_whole_change_at_the_last_evaluation_before() {
        let run = curve(&[(0, 2.0, 0.2), (10, 1.0, 0.6), (50, 0.5, 0.9), (100, 0.0, 1.0)]);
        let (entropy, reward) = run.shares_spent(0.4);
        assert!((entropy - 0.5).abs() < 1e-15 && (reward - 0.5).abs() < 1e-15);
        assert_eq!(run.shares_spent(1.0), (1.0, 1.0));
    }

    #[test]
    fn the_law_of_a_run_without_change_is_refused() {
        assert!(curve(&[(0, 1.0, 0.2), (1, 1.0, 0.3)]).law().is_err());
        let law = curve(&[(0, 1.0, 0.2), (1, 0.5, 0.3), (2, 0.0, 0.4)]).law().unwrap();
        assert!(law.a > 0.0 && law.points == 3);
    }
}
