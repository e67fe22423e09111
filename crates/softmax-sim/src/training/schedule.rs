//! How much is sampled and how it is divided into updates.

use serde::Serialize;

/// Factor on the gradient of the mini-batch's loss.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub enum StepSize {
    /// A learning rate of the loss averaged over the tokens of the mini-batch: for shared
    /// parameters.
    TokenMean(f64),
    /// A learning rate of the mean over the samples of one state, `z += η (1/G) Σ_i A_i (e_{a_i} -
    /// π)`, whatever the number of states in the mini-batch: for one logit per state.
    PerState(f64),
}

impl StepSize {
    /// The factor for a mini-batch of `tokens` tokens in groups of `group_size`.
    pub(crate) fn factor(self, tokens: usize, group_size: usize) -> f64 {
        match self {
            Self::TokenMean(rate) => rate,
            Self::PerState(rate) => rate * (tokens as f64 / group_size as f64),
        }
    }
}

/// The plan of a run.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Schedule {
    /// Rollout batches of the run.
    pub rollouts: usize,
    /// Evaluations are this many rollouts apart; the start and the end are always evaluated.
    pub evaluate_every: usize,
    /// Prompts of a rollout batch, drawn anew each time; all prompts if they are fewer.
    pub prompts: usize,
    /// Samples for each prompt.
    pub group_size: usize,
    /// Optimiser steps for one pass over a rollout batch.
    pub mini_batches: usize,
    /// Passes over a rollout batch.
    pub epochs: usize,
    /// Learning rate and what it multiplies.
    pub step_size: StepSize,
    /// True to leave out groups of equal rewards before mini-batches are made. The choice
    /// matters: left in, they feel no reward but every regulariser, and count among the tokens that
    /// a method takes its fraction of.
    pub drop_uninformative: bool,
}

impl Schedule {
    /// The plan of the tabular environments: all prompts, groups of 8 (those of equal rewards
    /// dropped, as the paper does), 4 mini-batches, 2 epochs.
    pub fn tabular(learning_rate: f64) -> Self {
        Self {
            rollouts: 300,
            evaluate_every: 4,
            prompts: usize::MAX,
            group_size: 8,
            mini_batches: 4,
            epochs: 2,
            step_size: StepSize::PerState(learning_rate),
            drop_uninformative: true,
        }
    }

    /// The plan of shared parameters: 256 prompts, groups of 8, 8 mini-batches, one
    /// epoch.
    pub fn shared(learning_rate: f64) -> Self {
        Self {
            prompts: 256,
            mini_batches: 8,
            epochs: 1,
            step_size: StepSize::TokenMean(learning_rate),
            ..Self::tabular(0.0)
        }
    }

    /// One on-policy update for each rollout, over all of it, as the theorems assume.
    pub fn on_policy(learning_rate: f64) -> Self {
        let tabular = Self::tabular(learning_rate);
        Self { mini_batches: 1, epochs: 1, drop_uninformative: false, ..tabular }
    }
}
