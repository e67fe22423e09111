//! Between what some numbers lie.

use crate::Real;

/// Numbers whose ends are found in vectors, a power of two; of others one by one.
pub(crate) const RUN: usize = 256;
/// Numbers among which the ends are found one by one.
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
    /// Half against half, which is done in vectors, as going through them in order is not.
    #[inline(always)]
    pub(crate) fn of(numbers: &[R]) -> Self {
        let Some(numbers) = numbers.first_chunk::<RUN>().filter(|_| numbers.len() == RUN) else {
            let one = |number: R| Self { least: number, largest: number };
            return numbers[1..]
                .iter()
                .fold(one(numbers[0]), |ends, &number| ends.and(one(number)));
        };
        let (mut least, mut largest) = ([R::default(); RUN / 2], [R::default(); RUN / 2]);
        let (first, second) = numbers.split_at(RUN / 2);
        for lane in 0..RUN / 2 {
            least[lane] = first[lane].lesser(second[lane]);
            largest[lane] = first[lane].greater(second[lane]);
        }
        let mut width = RUN / 2;
        while width > LANES {
            width /= 2;
            for lane in 0..width {
                least[lane] = least[lane].lesser(least[lane + width]);
                largest[lane] = largest[lane].greater(largest[lane + width]);
            }
        }
        let lane = |lane: usize| Self { least: least[lane], largest: largest[lane] };
        (1..LANES).fold(lane(0), |ends, other| ends.and(lane(other)))
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
