//! Counts from fractions.

/// The next integer, at least `count`; a rounding error adds none.
pub(super) fn at_least(count: usize, number: f64) -> usize {
    const HAIR: f64 = 1e-9;
    let number = (number - HAIR).ceil().max(count as f64);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "at least `count`, and a float too large for an integer becomes its largest"
    )]
    let number = number as usize;
    number
}
