//! The order of convergence of a prediction: the slope of its error against the step size, both in
//! logarithms.

use super::vectors::{range, scaled, span};
use crate::report::Row;
use entropy_core::{Categorical, LineFit};

/// Step sizes that an order is read from, in units of the range of the step: small enough for the
/// leading term of the error to rule, large enough for the exact change to have digits beyond it.
const SIZES: [f64; 7] = [1e-3, 5e-4, 2.5e-4, 1.25e-4, 6.25e-5, 3.125e-5, 1.5625e-5];

/// Larger step sizes, for errors of fourth order, which would sink into the rounding of the exact change.
const SIZES_OF_FOURTH_ORDER: [f64; 7] = [1e-3, 8.5e-4, 7e-4, 6e-4, 5e-4, 4e-4, 3e-4];

/// Largest deviation of one measured order.
const ORDER_TOLERANCE: f64 = 0.1;

/// Largest bend of a readable line: how far the slopes between neighbouring sizes lie apart. Where the
/// leading term of the error cancels, the next one shows through and the line bends.
const BEND_TOLERANCE: f64 = 0.05;

/// Largest share of policies whose order may be left unread.
const UNREAD_TOLERANCE: f64 = 0.5;

/// Slope of `error`, the error of a prediction at a step of given size, that should be of `order`: NaN if it is not a number,
/// none where there is no line, the error ends in rounding, or the line is of a higher order.
pub(super) fn slope(order: u32, error: impl Fn(f64) -> f64) -> Option<f64> {
    let sizes = if order >= 4 { SIZES_OF_FOURTH_ORDER } else { SIZES };
    let errors: Vec<f64> = sizes.iter().map(|size| error(*size).abs()).collect();
    if !errors.iter().all(|error| error.is_finite()) {
        return Some(f64::NAN);
    }
    if errors.contains(&0.0) {
        return None; // sunk into the rounding of the exact change
    }
    let errors: Vec<f64> = errors.into_iter().map(f64::ln).collect();
    let sizes = sizes.map(f64::ln);
    let local = |at: usize| (errors[at] - errors[at + 1]) / (sizes[at] - sizes[at + 1]);
    if span((0..sizes.len() - 1).map(local)) > BEND_TOLERANCE {
        return None;
    }
    let slope = LineFit::through(&sizes, &errors).map_or(f64::NAN, |line| line.slope);
    // By symmetry the leading term can be exactly 0: an error smaller than claimed.
    let is_higher = slope > f64::from(order) + 1.0 - ORDER_TOLERANCE;
    (!is_higher).then_some(slope)
}

/// [`slope`] of the error of `predicted`, the change of entropy per unit of `step`; where the step is 0, so must it be.
pub(super) fn slope_along(policy: &Categorical, step: &[f64], predicted: f64) -> Option<f64> {
    let width = range(policy, step);
    if width == 0.0 {
        return (predicted != 0.0).then_some(f64::NAN);
    }
    slope(2, |size| {
        let eta = size / width;
        policy.entropy_change(&scaled(step, eta)) - eta * predicted
    })
}

/// Gap of `predicted`, the first-order change of entropy by the step `with` less that by `without`, per unit of both, and [`slope`]
/// of its error.
pub(super) fn effect(
    policy: &Categorical,
    with: &[f64],
    without: &[f64],
    predicted: f64,
) -> (f64, Option<f64>) {
    let first_order =
        policy.entropy_change_first_order(with) - policy.entropy_change_first_order(without);
    let unit = 1.0 / range(policy, with).max(range(policy, without));
    let slope = slope(2, |size| {
        let eta = size * unit;
        let change = |step: &[f64]| policy.entropy_change(&scaled(step, eta));
        change(with) - change(without) - eta * predicted
    });
    ((first_order - predicted).abs(), slope)
}

/// The rows of an order: the slopes read, and how many were not.
pub(super) fn rows(
    what: &str,
    order: u32,
    slopes: impl IntoIterator<Item = Option<f64>>,
) -> Vec<Row> {
    let all: Vec<Option<f64>> = slopes.into_iter().collect();
    let slopes = all.iter().flatten().copied();
    let unread = all.iter().filter(|slope| slope.is_none()).count() as f64;
    let slope_check = format!("order of the {what}, distance from {order}");
    let unread_check = format!("share of cases with no order {order} to read");
    let unread_share = unread / all.len() as f64;
    vec![
        Row::near(&slope_check, f64::from(order), ORDER_TOLERANCE, slopes)
            .by("log-log slope of the error against steps of range 1e-3 and below, policy by policy"),
        Row::of(&unread_check, UNREAD_TOLERANCE, [unread_share]).over(all.len()).by(
            "slopes between neighbouring steps differ by more than 0.05, or a higher order: the leading term cancels",
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_powers_that_change_places_and_a_higher_order_are_not_read() {
        assert_eq!(slope(2, |size| size * size + 1e-4 * size), None);
        assert_eq!(slope(3, |size| size.powi(4)), None);
        assert!(!rows("error", 2, [None]).iter().all(|row| row.passed));
    }
}
