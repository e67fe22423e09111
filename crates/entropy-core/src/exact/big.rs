//! Numbers of any precision.

use dashu::float::{FBig, round::mode::HalfEven};

/// A binary number that is rounded to even, at its own precision; exact at precision 0.
pub(super) type Big = FBig<HalfEven, 2>;

/// The number with nothing rounded: sums, differences and products of such are exact.
pub(super) fn exactly(value: f64) -> Big {
    at(value, 0)
}

/// The number, with so many bits for what is computed from it.
pub(super) fn at(value: f64, precision: usize) -> Big {
    Big::try_from(value).expect("inputs are finite").with_precision(precision).value()
}
