//! The questions about a step.

/// A figure of a step, in nats.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Figure {
    /// `-Cov(log π, δ)`.
    FirstOrder,
    /// `-E[(1 + log π + H)(δ - E δ)²]`.
    Curvature,
    /// `ΔH`.
    Change,
    /// `ΔH + Cov(log π, δ)`.
    Remainder,
}
