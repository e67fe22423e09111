//! Choices in which the paper, its two codes and the theory differ.

use serde::{Deserialize, Serialize};

/// Version whose arithmetic a method follows where the published versions differ; the rows are those of
/// `docs/paper-vs-code.md`.
///
/// The tokens it runs over are [`Scope`]'s matter: to reproduce a run of either code, say
/// `scope = "micro-batch"` too.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Semantics {
    /// Choices of this project: at least one token treated (a method that is on acts), exact
    /// means (no `1e-8`, so that a shift of the advantages changes nothing), an open band (as both codes,
    /// whose bounds were tuned with it), log-ratios of PPO clamped to ±20 (a ratio that overflowed would end
    /// the run), the earlier of equal tokens (so that the batch alone decides, not a sort or a split into
    /// ranks), shares as fractions (a percentage read as one is a hundred times the treatment, and nothing
    /// says so), dropped tokens in the denominator (or dropping some would be a larger step for the rest), no token of advantage 0
    /// among the selected (row 58: a group of equal rewards teaches nothing, so nothing holds it back).
    #[default]
    Exact,
    /// The formulas of arXiv:2505.22617 as printed: the share may round to no token (row 3), the band
    /// is closed (row 4), Clip-Cov has no clip besides (row 6), PPO no limit and no dual clip (row
    /// 15).
    Paper,
    /// The authors' fork of verl: KL-Cov's share passes through a percentage that the number of
    /// tokens caps (row 2), Clip-Cov's means divide by `N + 1e-8` (row 10), PPO has no limit and no
    /// dual clip (row 15).
    Prime,
    /// verl: Clip-Cov's means divide by `N + 1e-8` (row 10), tokens of advantage 0 may be selected (row 58); else as
    /// [`Exact`](Self::Exact).
    Verl,
}

/// The tokens that a share is taken of and covariances are centred over.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Scope {
    /// All tokens of one optimiser step, on all ranks: the batch the gradient is of, so that memory
    /// decides nothing.
    #[default]
    MiniBatch,
    /// Each micro-batch by itself, as both codes do: the algorithm changes with the memory (row 1).
    MicroBatch,
}

/// Centre of the covariance of a token.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Centering {
    /// The means over the batch, `(A - mean A)(log π - mean log π)`: the published methods, whose
    /// thresholds and shares were tuned with it.
    #[default]
    Batch,
    /// The token's own state, `A (log π + H)`: the theory, whose baseline of `log π` is `-H`. Needs
    /// the column `entropy`.
    State,
}
