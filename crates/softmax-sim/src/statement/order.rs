//! The order of convergence of a prediction: the slope of its error against the step size, both in
//! logarithms.

use super::vectors::span;
use crate::report::Row;
use entropy_core::LineFit;

/// Step sizes that an order is read from, in units of the range of the step: small enough for the
/// leading term of the error to rule, large enough for the exact change to have digits beyond it.
const SIZES: [f64; 7] = [1e-3, 5e-4, 2.5e-4, 1.25e-4, 6.25e-5, 3.125e-5, 1.5625e-5];

/// Larger step sizes, for errors of fourth order, which would sink into the rounding of the exact change.
const SIZES_OF_FOURTH_ORDER: [f64; 7] = [1e-3, 8.5e-4, 7e-4, 6e-4, 5e-4, 4e-4, 3e-4];

/// Largest deviation of one measured order.
pub(super) const ORDER_TOLERANCE: f64 = 0.1;

/// Largest bend of a readable line: how far the slopes between neighbouring sizes lie apart. Where the
/// leading term of the error cancels, the next one shows through and the line bends.
const BEND_TOLERANCE: f64 = 0.05;

/// Largest share of policies whose order may be left unread.
const UNREAD_TOLERANCE: f64 = 0.5;

/// Order of a prediction, read from one policy.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Reading {
    /// A line of this slope.
    Slope(f64),
    /// No line, or an error that ends in rounding.
    Bent,
    /// A line of a higher order, or no step at all.
    Vanishing,
    /// The prediction is not a number.
    Unmeasurable,
}

impl Reading {
    /// The reading where the step is 0, and so must be the prediction.
    pub(super) fn of_no_step(predicted: f64) -> Self {
        if predicted == 0.0 { Self::Vanishing } else { Self::Unmeasurable }
    }

    /// Reads `error`, the error of a prediction at a step of given size, that should be of `order`.
    pub(super) fn of(order: u32, error: impl Fn(f64) -> f64) -> Self {
        let sizes = if order >= 4 { SIZES_OF_FOURTH_ORDER } else { SIZES };
        let errors: Vec<f64> = sizes.iter().map(|size| error(*size).abs()).collect();
        if !errors.iter().all(|error| error.is_finite()) {
            return Self::Unmeasurable;
        }
        if errors.contains(&0.0) {
            return Self::Bent; // sunk into the rounding of the exact change
        }
        let errors: Vec<f64> = errors.into_iter().map(f64::ln).collect();
        let sizes = sizes.map(f64::ln);
        let local = |at: usize| (errors[at] - errors[at + 1]) / (sizes[at] - sizes[at + 1]);
        if span((0..sizes.len() - 1).map(local)) > BEND_TOLERANCE {
            return Self::Bent;
        }
        let slope = LineFit::through(&sizes, &errors).map_or(f64::NAN, |line| line.slope);
        // By symmetry the leading term can be exactly 0: an error smaller than claimed.
        if slope > f64::from(order) + 1.0 - ORDER_TOLERANCE {
            Self::Vanishing
        } else {
            Self::Slope(slope)
        }
    }
}

/// The rows of an order: the slopes read, and how many were not.
pub(super) fn rows(statement: &str, what: &str, order: u32, readings: &[Reading]) -> Vec<Row> {
    let slopes = readings.iter().filter_map(|reading| match reading {
        Reading::Slope(slope) => Some(*slope),
        Reading::Unmeasurable => Some(f64::NAN),
        Reading::Bent | Reading::Vanishing => None,
    });
    let unread = |reading: &&Reading| matches!(reading, Reading::Bent | Reading::Vanishing);
    let unread = readings.iter().filter(unread).count() as f64;
    vec![
        Row::near(
            statement,
            &format!("order of the {what}, distance from {order}"),
            f64::from(order),
            ORDER_TOLERANCE,
            slopes,
        )
        .by("log-log slope of the error against steps of range 1e-3 and below, policy by policy"),
        Row::of(
            statement,
            &format!("share of cases with no order {order} to read"),
            UNREAD_TOLERANCE,
            [unread / readings.len() as f64],
        )
        .over(readings.len())
        .by("slopes between neighbouring steps differ by more than 0.05, or a higher order: the leading term cancels"),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slope(order: u32, error: impl Fn(f64) -> f64) -> f64 {
        match Reading::of(order, error) {
            Reading::Slope(slope) => slope,
            reading => panic!("{reading:?}"),
        }
    }

    #[test]
    fn a_power_is_read_as_its_exponent() {
        assert!((slope(2, |size| -3.0 * size * size) - 2.0).abs() < 1e-12);
        assert!((slope(4, |size| 1e-6 * size.powi(4)) - 4.0).abs() < 1e-12);
    }

    #[test]
    fn two_powers_that_change_places_are_not_read() {
        assert_eq!(Reading::of(2, |size| size * size + 1e-4 * size), Reading::Bent);
    }

    #[test]
    fn an_order_higher_than_claimed_is_not_read() {
        assert_eq!(Reading::of(3, |size| size.powi(4)), Reading::Vanishing);
    }

    #[test]
    fn an_error_that_is_no_number_fails_and_so_does_a_wrong_order() {
        for reading in [Reading::of(2, |_| f64::NAN), Reading::of(2, |size| size)] {
            assert!(!rows("Lemma 1", "error", 2, &[reading])[0].passed, "{reading:?}");
        }
        assert!(!rows("Lemma 1", "error", 2, &[Reading::Bent]).iter().all(|row| row.passed));
    }
}
