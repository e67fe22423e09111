//! Between what some numbers lie.

use crate::Real;

/// Numbers whose ends are found in vectors, a power of two; of others one by one.
pub(crate) const RUN: usize = 256;
/// Numbers among which the ends are found by integers.
const LANES: usize = 16;

/// Least and largest number of some.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Ends<R> {
    pub(crate) least: R,
    pub(crate) largest: R,
}

impl<R: Real> Ends<R> {
    /// Those of `numbers`, of which there is at least one.
    ///
    /// A quarter against the others, which is done in vectors, as going through them in order is not; the last few by integers
    /// that are in the same order, which is done in vectors in any case.
    #[inline(always)]
    pub(crate) fn of(numbers: &[R]) -> Self {
        let Some(numbers) = numbers.first_chunk::<RUN>().filter(|_| numbers.len() == RUN) else {
            let one = |number: R| Self { least: number, largest: number };
            return numbers[1..]
                .iter()
                .fold(one(numbers[0]), |ends, &number| ends.and(one(number)));
        };
        let (least, largest) = quartered::<R, RUN, { RUN / 4 }>(numbers, numbers);
        let (least, largest) = quartered::<R, { RUN / 4 }, LANES>(&least, &largest);
        let (least, largest) = (least.map(R::to_ordered), largest.map(R::to_ordered));
        let least = least.into_iter().fold(least[0], R::Ordered::min);
        let largest = largest.into_iter().fold(largest[0], R::Ordered::max);
        Self { least: R::from_ordered(least), largest: R::from_ordered(largest) }
    }

    /// Those of `numbers` of which most are the same, as the advantages of a sequence are.
    #[inline(always)]
    pub(crate) fn of_alike(numbers: &[R]) -> Self {
        let first = numbers[0];
        let differing = numbers
            .iter()
            .fold(first.differing(first), |all, number| all | number.differing(first));
        if differing == first.differing(first) {
            return Self { least: first, largest: first };
        }
        Self::of(numbers)
    }

    /// Those of these numbers and others.
    #[inline(always)]
    pub(crate) fn and(self, other: Self) -> Self {
        Self { least: self.least.lesser(other.least), largest: self.largest.greater(other.largest) }
    }

    /// Whether all are the same.
    #[inline(always)]
    pub(crate) fn meet(self) -> bool {
        self.least == self.largest
    }
}

/// The least and the largest of each four numbers, a quarter of all apart.
#[inline(always)]
fn quartered<R: Real, const N: usize, const QUARTER: usize>(
    least: &[R; N],
    largest: &[R; N],
) -> ([R; QUARTER], [R; QUARTER]) {
    let mut ends = ([R::default(); QUARTER], [R::default(); QUARTER]);
    for at in 0..QUARTER {
        let of_four = |numbers: &[R; N], end: fn(R, R) -> R| {
            let quarter = |quarter: usize| numbers[quarter * QUARTER + at];
            end(end(quarter(0), quarter(1)), end(quarter(2), quarter(3)))
        };
        ends.0[at] = of_four(least, R::lesser);
        ends.1[at] = of_four(largest, R::greater);
    }
    ends
}
