//! A straight line through points, and how well it fits.

use entropy_core::PairedMoments;

/// Least-squares line `y = intercept + slope · x`, with the Pearson correlation of the points.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LineFit {
    /// Change of `y` per unit of `x`.
    pub slope: f64,
    /// `y` at `x = 0`.
    pub intercept: f64,
    /// Pearson correlation, −1..1; NaN if all `y` are equal.
    pub correlation: f64,
}

impl LineFit {
    /// Fits `(x, y)` points; `None` with fewer than three points or if all `x` are equal.
    pub fn new(points: &[(f64, f64)]) -> Option<Self> {
        if points.len() < 3 {
            return None;
        }
        let (x, y): (Vec<f64>, Vec<f64>) = points.iter().copied().unzip();
        let moments = PairedMoments::of(&x, &y);
        let slope = moments.sum_xy / moments.sum_xx;
        let intercept = moments.mean_y - slope * moments.mean_x;
        let correlation = moments.correlation().unwrap_or(f64::NAN);
        (slope.is_finite() && intercept.is_finite()).then_some(Self {
            slope,
            intercept,
            correlation,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fits_by_hand() {
        // Means 2 and 3; xx = 2, xy = 3, yy = 6.
        let fit = LineFit::new(&[(1.0, 2.0), (2.0, 2.0), (3.0, 5.0)]).unwrap();
        assert!((fit.slope - 1.5).abs() < 1e-12);
        assert!(fit.intercept.abs() < 1e-12);
        assert!((fit.correlation - 3.0 / 12.0_f64.sqrt()).abs() < 1e-12);
    }

    #[test]
    fn a_falling_line_correlates_with_minus_one() {
        let points: Vec<_> = (0..5).map(|x| (f64::from(x), 1.0 - 2.0 * f64::from(x))).collect();
        let fit = LineFit::new(&points).unwrap();
        assert!((fit.correlation + 1.0).abs() < 1e-12);
        assert!((fit.slope + 2.0).abs() < 1e-12);
    }

    #[test]
    fn no_line_where_there_is_none() {
        assert_eq!(LineFit::new(&[(0.0, 1.0), (1.0, 2.0)]), None);
        assert_eq!(LineFit::new(&[(1.0, 1.0), (1.0, 2.0), (1.0, 3.0)]), None);
        let flat = LineFit::new(&[(0.0, 1.0), (1.0, 1.0), (2.0, 1.0)]).unwrap();
        assert!(flat.correlation.is_nan());
    }
}
