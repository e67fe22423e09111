//! Smoothing of a noisy curve.

/// Window for a curve of `steps` points: a twentieth of it, odd, at least 1.
pub fn window(steps: usize) -> usize {
    (steps / 20) | 1
}

/// Centred moving average, one value per input value.
///
/// At the ends the window is cut off at the first and the last value.
/// A window of 0 or 1 returns the values; an even window acts as the next odd one.
pub fn moving_average(values: &[f64], window: usize) -> Vec<f64> {
    let reach = window / 2;
    (0..values.len())
        .map(|index| {
            let end = (index + reach + 1).min(values.len());
            mean(&values[index.saturating_sub(reach)..end])
        })
        .collect()
}

/// Points `(x, y)` with `y` averaged over the [`window`] of their number.
pub fn smoothed(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let (x, y): (Vec<f64>, Vec<f64>) = points.iter().copied().unzip();
    x.into_iter().zip(moving_average(&y, window(points.len()))).collect()
}

/// Arithmetic mean; NaN of nothing.
pub fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Means over the first and the last tenth of the values (at least one value each); NaN of nothing.
pub fn first_and_last_tenth(values: &[f64]) -> (f64, f64) {
    let tenth = (values.len() / 10).max(1).min(values.len());
    (mean(&values[..tenth]), mean(&values[values.len() - tenth..]))
}
