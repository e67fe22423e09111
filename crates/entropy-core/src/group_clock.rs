//! How fast group-normalised advantages run: GRPO is the policy gradient on another clock.

use crate::input_error::{InputError, check_parameter};
use crate::summation::Accumulator;

/// Expected factor by which GRPO's step exceeds that of the policy gradient, `m_G(μ)`, for binary
/// rewards of success probability `success` and groups of `group_size` samples.
///
/// ```text
/// E[δ] = η m_G(μ) π (q - μ)
/// m_G(μ) = √((G-1)/G) / (μ (1-μ)) · Σ_{k=1}^{G-1} C(G,k) μ^k (1-μ)^(G-k) √(k (G-k)) / G
/// ```
///
/// Advantages are divided by the standard deviation with `G - 1` in its denominator; groups that
/// agree contribute nothing. With `G` in the denominator the factor is `√(G/(G-1))` times this one.
/// Leave-one-out baselines (RLOO) have factor 1, a group mean without division (Dr.GRPO) `1 - 1/G`.
/// At `μ` 0 and 1 it is the limit, `(G - 1)/√G`; for large groups it tends to `1/√(μ(1-μ))`.
///
/// Derivation: `docs/theory.md#group-clock`.
///
/// # Errors
///
/// [`InputError`] if `success` is not within `0..=1` or the group holds fewer than 2.
pub fn grpo_clock(success: f64, group_size: usize) -> Result<f64, InputError> {
    check_parameter(
        "success",
        success,
        (0.0..=1.0).contains(&success),
        "a probability within 0..=1",
    )?;
    let size = group_size as f64;
    check_parameter("group_size", size, group_size >= 2, "at least 2")?;
    // The factor is symmetric in success and failure.
    let rare = success.min(1.0 - success);
    let odds = rare / (1.0 - rare);
    if rare < f64::MIN_POSITIVE {
        return Ok((size - 1.0) / size.sqrt());
    }
    // Binomial weights relative to that of the mode, so that large groups do not underflow.
    let mode = ((size + 1.0) * rare).floor().min(size - 1.0);
    let (mut all, mut mixed) = (Accumulator::default(), Accumulator::default());
    let mut add = |successes: f64, weight: f64| {
        all.add(weight);
        mixed.add(weight * (successes * (size - successes)).sqrt() / size);
    };
    let (mut successes, mut weight) = (mode, 1.0);
    add(successes, weight);
    while successes < size && weight > 0.0 {
        weight *= (size - successes) / (successes + 1.0) * odds;
        successes += 1.0;
        add(successes, weight);
    }
    (successes, weight) = (mode, 1.0);
    while successes > 0.0 && weight > 0.0 {
        weight *= successes / ((size - successes + 1.0) * odds);
        successes -= 1.0;
        add(successes, weight);
    }
    let share = mixed.total() / all.total();
    Ok(((size - 1.0) / size).sqrt() * share / (rare * (1.0 - rare)))
}
