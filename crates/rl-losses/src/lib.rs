//! Policy losses as value and gradient with respect to token log-probabilities; advantages and
//! aggregation.
//!
//! A loss never sees a tensor: it reads slices and returns numbers, so the same function drives the
//! simulator (chained through the softmax analytically) and libtorch (as the cotangent of a
//! vector-Jacobian product).
//!
//! One optimiser step is two passes over its mini-batch. [`PolicyLoss::plan`] looks at all of it
//! and fixes which tokens are treated specially and what each weighs; [`PolicyLoss::evaluate`] then
//! takes any run of its tokens, and values, gradients and sums of the runs add up to those of the
//! whole.
//!
//! ```
//! use rand::SeedableRng;
//! use rl_losses::{Aggregation, KlCov, PolicyLoss, TokenBatch, TokenColumns};
//!
//! let columns = TokenColumns {
//!     log_prob: &[-0.1, -2.0, -0.5],
//!     old_log_prob: &[-0.3, -2.0, -0.4],
//!     advantage: &[1.0, 1.0, -1.0],
//! };
//! let batch = TokenBatch::new(columns, &[2, 1])?;
//! let loss = PolicyLoss::KlCov(KlCov::new(2e-3, 1.0)?);
//!
//! let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(0);
//! let plan = loss.plan(&batch, &Aggregation::TokenMean, &mut rng)?;
//! let whole = loss.evaluate(&batch, plan.part(0..3));
//! let parts = [0..1, 1..3].map(|run| loss.evaluate(&batch.part(run.clone()), plan.part(run)));
//! assert!((parts[0].value + parts[1].value - whole.value).abs() < 1e-15);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Diagnostics of a step from its columns:
//!
//! | question | answer |
//! |---|---|
//! | covariance: quantiles, means of the top shares (paper, Table 1) | [`entropy_core::CovarianceSummary`] of [`entropy_core::token_covariances`] |
//! | covariance of whole responses within their group (paper, Sec. 3) | [`group_covariances`] |
//! | predicted change of entropy, Theorems 1 and 2, batch- and state-centred | [`EntropyChangeSums`] |
//! | signs of advantage and likelihood | [`quadrants()`] |
//! | divergence from the old policy: k1, k3, mean and largest move | [`DivergenceSums`] |
//! | clip fractions, share selected, share with another gradient | [`LossSums`] |
//!
//! Departures from the paper and from the published codes are numbered in `docs/paper-vs-code.md`.

#![expect(clippy::inline_always, reason = "inlined, a loss takes on the instructions of its loop")]
#![expect(clippy::needless_bitwise_bool, reason = "without a branch, a loop runs in vectors")]

mod advantage;
mod aggregation;
mod batch;
mod column;
mod control;
mod custom_loss;
mod diagnostics;
mod entropy_bonus;
mod evaluate;
mod fast;
mod groups;
mod kl;
mod method;
mod outcome_reward_model;
mod output;
mod overlong;
mod parameter;
mod plan;
mod plan_summary;
mod rollout_correction;
mod selection;
mod semantics;
mod surrogate;
mod term;

pub use advantage::*;
pub use aggregation::{Aggregation, Divisor};
pub use batch::{BatchError, Column, TokenBatch, TokenColumns};
pub use column::ColumnError;
pub use control::*;
pub use custom_loss::CustomLoss;
pub use diagnostics::*;
pub use entropy_bonus::entropy_bonus;
pub use evaluate::evaluate_loss;
pub use fast::{candidates::Candidates, exact_sum::ExactSum, real::Real, threads::Threads};
pub use groups::informative_groups;
pub use kl::*;
pub use method::*;
pub use outcome_reward_model::{
    OutcomeAgreement, OutcomeLoss, outcome_agreement, outcome_cross_entropy,
};
pub use output::{Evaluation, LossOutput, LossSums};
pub use overlong::OverlongPenalty;
pub use parameter::ParameterError;
pub use plan::{PlanError, PlanPart, Share, StepPlan};
pub use plan_summary::PlanSummary;
pub use rollout_correction::*;
pub use semantics::{Centering, Scope, Semantics};
pub use surrogate::ClipRange;
pub use term::{Scored, Shared, Sources, Term, Token, TokenLoss};

#[cfg(test)]
extern crate self as rl_losses;
#[cfg(test)]
mod tests;

// The example of the page that a registry shows.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
