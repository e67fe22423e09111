//! Detection of a method that changes no gradient.

use thiserror::Error;

use crate::{method::PolicyLoss, output::LossSums};

/// A method that has changed no gradient: it is configured, and does nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error(
    "`{method}` is inert: none of {tokens} tokens has another gradient than the plain policy \
     gradient; it acts from the second update of a rollout batch on"
)]
pub struct Inert {
    /// The method.
    pub method: &'static str,
    /// Tokens it has seen.
    pub tokens: usize,
}

impl PolicyLoss {
    /// Returns a warning if the method has changed the gradient of no token so far, as KL-Cov does if it
    /// is strictly on-policy. Pass the sums of a whole run of updates.
    pub fn inertness(&self, sums: &LossSums) -> Option<Inert> {
        let inert = sums.tokens > 0 && sums.altered == 0;
        inert.then(|| Inert { method: self.name(), tokens: sums.tokens })
    }
}
