//! Advantages of mean 0 and variance 1 over a batch.

use entropy_core::PairedMoments;

use crate::groups::all_equal;

/// Added to the variance, as in verl.
const VARIANCE_FLOOR: f64 = 1e-8;

/// `(x - mean) / √(variance + 1e-8)` with the unbiased variance, over exactly the values given: pass the tokens of the whole
/// rollout batch.
///
/// Values that are all equal, one value alone among them, become exactly 0; verl raises an error
/// for a single one (row 33 of `docs/paper-vs-code.md`).
///
/// Source: verl `torch_functional.masked_whiten`, without its `+ 1e-8` in the mean.
pub fn whitened(values: &[f64]) -> Vec<f64> {
    if all_equal(values) {
        return vec![0.0; values.len()];
    }
    let moments = PairedMoments::of(values, values);
    let variance = moments.sum_xx / (moments.count - 1) as f64;
    let scale = (variance + VARIANCE_FLOOR).sqrt().recip();
    values.iter().map(|value| (value - moments.mean_x) * scale).collect()
}
