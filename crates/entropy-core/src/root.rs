//! Roots of increasing functions.

/// Root of an increasing function, given with its derivative, within `low..=high`.
///
/// Newton's method while it halves the value, a bisection otherwise, so that it always ends. Far from
/// the root, where Newton may crawl, every fourth step is a bisection, too.
pub(crate) fn increasing(
    value_and_slope: impl Fn(f64) -> (f64, f64),
    mut low: f64,
    mut high: f64,
) -> f64 {
    let mut x = low + 0.5 * (high - low);
    let (mut best, mut smallest) = (x, f64::INFINITY);
    for step in 1..=300 {
        let (value, slope) = value_and_slope(x);
        if value > 0.0 {
            high = x;
        } else {
            low = x;
        }
        let improved = value.abs() <= 0.5 * smallest;
        if value.abs() < smallest {
            (best, smallest) = (x, value.abs());
        }
        let newton = x - value / slope;
        if (newton - x).abs() <= 2.0 * f64::EPSILON * x.abs() {
            return newton;
        }
        let inside = newton > low && newton < high;
        let crawls = step % 4 == 0 && (newton - x).abs() > 1e-3 * x.abs();
        let next = if improved && inside && !crawls { newton } else { low + 0.5 * (high - low) };
        if next <= low || next >= high {
            break; // the bracket holds no other number
        }
        x = next;
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steep_and_flat_functions_are_solved_to_rounding() {
        let cube = increasing(|x| (x * x * x - 27.0, 3.0 * x * x), -100.0, 1e6);
        assert!((cube - 3.0).abs() < 1e-14, "{cube}");
        let log = increasing(|x| (x.exp() - 1e200, x.exp()), 0.0, 700.0);
        assert!((log - 200.0 * 10f64.ln()).abs() < 1e-12, "{log}");
        let tiny = increasing(|x| (x - 1e-200, 1.0), -1.0, 1.0);
        assert!((tiny / 1e-200 - 1.0).abs() < 1e-12, "{tiny}");
        // An end of the bracket that overflows does no harm.
        let root = increasing(|x| (x.exp() - 2.0, x.exp()), 0.0, 1e5);
        assert!((root - 2f64.ln()).abs() < 1e-15, "{root}");
    }
}
