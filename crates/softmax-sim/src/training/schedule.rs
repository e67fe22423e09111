//! How much is sampled and how it is divided into updates.

use super::trust_region::TrustRegion;
use crate::settings::settings;
use serde::{Deserialize, Serialize};

/// Quantity that the learning rate multiplies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StepSize {
    /// The gradient of the loss averaged over the tokens of the mini-batch: for shared parameters.
    TokenMean,
    /// The gradient of the mean over the samples of one state, `z += η (1/G) Σ_i A_i (e_{a_i} -
    /// π)`, whatever the number of states in the mini-batch: for one logit per state.
    PerState,
}

/// Policy whose log-probabilities the ratios of a stale rollout are taken to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RatioTo {
    /// The policy before the first update of the rollout.
    #[default]
    Old,
    /// The policy that sampled: ratio and clip count its age too.
    Rollout,
}

settings! {
    /// The plan of a run; defaults: [`Schedule::tabular`] at 0.5.
    pub struct Schedule {
        /// Rollout batches of the run.
        pub rollouts: usize = 300, check_at_least(1.0);
        /// Evaluations are this many rollouts apart; the start and the end are always evaluated.
        pub evaluate_every: usize = 4, check_at_least(1.0);
        /// Prompts of a rollout batch, drawn anew each time; all prompts if they are fewer.
        pub prompts: usize = ALL_PROMPTS, check_at_least(1.0);
        /// Samples for each prompt.
        pub group_size: usize = 8, check_at_least(1.0);
        /// Optimiser steps for one pass over a rollout batch.
        pub mini_batches: usize = 4, check_at_least(1.0);
        /// Passes over a rollout batch.
        pub epochs: usize = 2, check_at_least(1.0);
        /// Learning rate.
        pub learning_rate: f64 = 0.5, check_positive;
        /// Quantity that the learning rate multiplies.
        pub step_size: StepSize = StepSize::PerState;
        /// True to leave out groups of equal rewards before mini-batches are made. The choice
        /// matters: left in, they feel no reward but every regulariser, and count among the tokens that
        /// a method takes its fraction of.
        pub drop_uninformative: bool = true;
        /// Age of the policy that samples, in rollouts: 0 is the present one. The first rollouts have the starting policy.
        pub staleness: usize = 0;
        /// Policy that the ratios of a stale rollout are taken to.
        pub ratio_to: RatioTo = RatioTo::Old;
        /// Natural-gradient steps of a bounded divergence in place of the learning rate.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub trust_region: Option<TrustRegion> = None;
        /// Share of the way to the mean return that the critic's value of a state goes in a rollout; it serves an estimator that
        /// needs a critic.
        pub critic_rate: f64 = 0.5, check_share;
    } also |schedule| schedule.trust_region.as_ref().map_or(Ok(()), TrustRegion::check)
}

/// Prompts of a rollout batch unless told otherwise: more than an environment has.
const ALL_PROMPTS: usize = 1 << 32;

impl Schedule {
    /// The plan of the tabular environments: all prompts, groups of 8 (those of equal rewards
    /// dropped, as the paper does), 4 mini-batches, 2 epochs.
    pub fn tabular(learning_rate: f64) -> Self {
        Self { learning_rate, ..Self::DEFAULT }
    }

    /// The plan of shared parameters: 256 prompts, groups of 8, 8 mini-batches, one
    /// epoch.
    pub fn shared(learning_rate: f64) -> Self {
        Self {
            prompts: 256,
            mini_batches: 8,
            epochs: 1,
            step_size: StepSize::TokenMean,
            ..Self::tabular(learning_rate)
        }
    }

    /// One on-policy update for each rollout, over all of it, as the theorems assume.
    pub fn on_policy(learning_rate: f64) -> Self {
        let tabular = Self::tabular(learning_rate);
        Self { mini_batches: 1, epochs: 1, drop_uninformative: false, ..tabular }
    }

    /// True if the policy is evaluated after `rollouts` of them.
    pub fn evaluates_after(&self, rollouts: usize) -> bool {
        rollouts.is_multiple_of(self.evaluate_every) || rollouts == self.rollouts
    }

    /// The factor on the gradient of the loss of a mini-batch of `tokens` tokens.
    pub(crate) fn factor(&self, tokens: usize) -> f64 {
        match self.step_size {
            StepSize::TokenMean => self.learning_rate,
            StepSize::PerState => self.learning_rate * (tokens as f64 / self.group_size as f64),
        }
    }
}
