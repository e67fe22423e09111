//! The entropy bonus, as a value and a gradient.

/// Entropy bonus `-coefficient · Σ_t w_t H_t`, to be added to a loss, and its derivative with
/// respect to each `H_t`.
///
/// `entropy` (nats) and `weights` are `[tokens]`; with the weights of the
/// [`StepPlan`](crate::StepPlan) the bonus is averaged as the policy loss is. The bonus of a split
/// batch is the sum over its parts.
///
/// # Panics
///
/// If the two slices differ in length.
pub fn entropy_bonus(coefficient: f64, entropy: &[f64], weights: &[f64]) -> (f64, Vec<f64>) {
    assert_eq!(entropy.len(), weights.len(), "one weight per token");
    let gradient: Vec<f64> = weights.iter().map(|weight| -coefficient * weight).collect();
    let value = std::iter::zip(entropy, &gradient).map(|(entropy, slope)| slope * entropy).sum();
    (value, gradient)
}
