//! Tokens by the sign of their advantage and by whether they were likely.

use std::iter::zip;

use entropy_core::{PairedMoments, Quadrants, state_token_covariances, token_covariances};

use crate::column::{ColumnError, check_columns};

/// [`Quadrants`] of tokens, centred in the state of each by its `entropy`, in nats.
///
/// Without `entropy`, both means run over exactly the tokens given, as in Eq. 10: pass the mini-batch, never a micro-batch.
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
    entropy: Option<&[f64]>,
) -> Result<Quadrants, ColumnError> {
    let columns = [("log_prob", log_prob), ("advantage", advantage)];
    check_columns(&columns)?;
    let (centred, covariance): (Vec<f64>, Vec<f64>) = match entropy {
        None => {
            let mean = PairedMoments::of(log_prob, advantage).mean_x;
            let centred = log_prob.iter().map(|log_prob| log_prob - mean);
            (centred.collect(), token_covariances(advantage, log_prob))
        }
        Some(entropy) => {
            check_columns(&[columns[0], ("entropy", entropy)])?;
            let centred = zip(log_prob, entropy).map(|(log_prob, h)| log_prob + h);
            (centred.collect(), state_token_covariances(advantage, log_prob, entropy))
        }
    };
    Ok(Quadrants::of(advantage, &centred, &covariance))
}
