//! Tokens by the sign of their advantage and by whether they were likely.

use entropy_core::{Quadrants, state_token_covariances};

use crate::{
    column::{ColumnError, check_columns},
    diagnostics::entropy_change::EntropyChangeSums,
};

/// Centre that log-probability and advantage are measured from.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum QuadrantCentre<'a> {
    /// The means over the mini-batch, as in Eq. 10.
    Batch {
        /// Mean log-probability, in nats.
        mean_log_prob: f64,
        /// Mean advantage.
        mean_advantage: f64,
    },
    /// The token's own state: `-H_t` and 0. Entropies `[tokens]`, in nats.
    State(&'a [f64]),
}

impl QuadrantCentre<'_> {
    /// The means of a mini-batch, its parts added up.
    pub fn batch(sums: &EntropyChangeSums) -> Self {
        Self::Batch { mean_log_prob: sums.mean_log_prob(), mean_advantage: sums.mean_advantage() }
    }
}

/// [`Quadrants`] of a run of tokens, to be merged with those of the others.
///
/// | | likely | unlikely |
/// |---|---|---|
/// | **A > 0** | entropy falls | entropy rises |
/// | **A < 0** | entropy rises | entropy falls |
///
/// That is the reading of Theorem 2; Theorem 1 may differ in sign (`docs/theory.md#theorem-1`).
///
/// # Errors
///
/// [`ColumnError`] if the columns, all `[tokens]`, differ in length or a value is not finite.
pub fn quadrants(
    log_prob: &[f64],
    advantage: &[f64],
    centre: QuadrantCentre<'_>,
) -> Result<Quadrants, ColumnError> {
    let columns = [("log_prob", log_prob), ("advantage", advantage)];
    check_columns(&columns)?;
    let (centred, covariance): (Vec<f64>, Vec<f64>) = match centre {
        QuadrantCentre::Batch { mean_log_prob, mean_advantage } => {
            check_columns(&[("mean_log_prob", &[mean_log_prob])])?;
            check_columns(&[("mean_advantage", &[mean_advantage])])?;
            let centred = |(log_prob, a): (&f64, &f64)| {
                (log_prob - mean_log_prob, (a - mean_advantage) * (log_prob - mean_log_prob))
            };
            std::iter::zip(log_prob, advantage).map(centred).unzip()
        }
        QuadrantCentre::State(entropy) => {
            check_columns(&[columns[0], ("entropy", entropy)])?;
            let centred = std::iter::zip(log_prob, entropy).map(|(log_prob, h)| log_prob + h);
            (centred.collect(), state_token_covariances(advantage, log_prob, entropy))
        }
    };
    Ok(Quadrants::of(advantage, &centred, &covariance))
}
