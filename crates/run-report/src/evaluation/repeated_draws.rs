//! The best and the worst of several draws of recorded values, as verl reports them: `best@k`, `worst@k`.
//!
//! verl draws 1000 sets of `k` values with replacement by a fixed seed and averages their maxima. This module computes the mean
//! that this estimates, in closed form, for comparison with its logs. It is below the chance that one of `k` fresh responses is
//! right, most where few are (one of four right: 0.684, where pass@4 is 1). An evaluation therefore reports
//! [`pass_at_k`](super::measures::pass_at_k).

/// Mean and standard deviation of a random number.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Moments {
    /// Its expected value.
    pub mean: f64,
    /// Its standard deviation.
    pub standard_deviation: f64,
}

/// Moments of the largest of `k` draws from `values`, uniform and with replacement.
///
/// ```text
/// P(max ≤ v_(i)) = (i/n)^k,    v_(1) ≤ … ≤ v_(n)
/// ```
///
/// # Panics
///
/// If `values` is empty, a value is no number, or `k` is 0.
///
/// ```
/// use run_report::evaluation::repeated_draws::best_of_draws;
/// let best = best_of_draws(&[1.0, 0.0, 0.0, 0.0], 4);
/// assert!((best.mean - (1.0 - 0.75_f64.powi(4))).abs() < 1e-15);
/// ```
pub fn best_of_draws(values: &[f64], k: usize) -> Moments {
    assert!(!values.is_empty() && k > 0, "{k} draws from {} values", values.len());
    assert!(values.iter().all(|value| !value.is_nan()), "values are numbers");
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let (count, draws) = (values.len() as f64, k as f64);
    let at_most = |rank: usize| (rank as f64 / count).powf(draws);
    let moment = |of: &dyn Fn(f64) -> f64| -> f64 {
        sorted
            .iter()
            .enumerate()
            .map(|(below, &value)| of(value) * (at_most(below + 1) - at_most(below)))
            .sum()
    };
    let mean = moment(&|value| value);
    let variance = moment(&|value| (value - mean).powi(2));
    Moments { mean, standard_deviation: variance.sqrt() }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Enumerates every set of draws.
    #[test]
    fn the_moments_are_those_over_all_sets_of_draws() {
        let values = [0.25, -1.5, 3.0, 0.25, 2.0];
        for k in 1..=4_u32 {
            let sets = 5_usize.pow(k);
            let draws = |set: usize| (0..k).map(move |at| values[set / 5_usize.pow(at) % 5]);
            let best: Vec<f64> = (0..sets).map(|set| draws(set).fold(f64::MIN, f64::max)).collect();
            let moments = best_of_draws(&values, k as usize);
            let mean = best.iter().sum::<f64>() / sets as f64;
            let variance = best.iter().map(|one| (one - mean).powi(2)).sum::<f64>() / sets as f64;
            assert!((moments.mean - mean).abs() < 1e-14, "{k}");
            assert!((moments.standard_deviation - variance.sqrt()).abs() < 1e-14, "{k}");
        }
    }
}
