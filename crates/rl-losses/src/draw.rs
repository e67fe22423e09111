//! Tokens drawn at random: each has a number that depends on nothing but the seed and its position.

/// Numbers are below `2^BITS`.
const BITS: u32 = 53;
/// Positions between the numbers' counters.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// A uniform number below `2^53`: the order it gives the tokens is a uniform draw without replacement,
/// whichever rank holds them.
///
/// Source: Steele, Lea and Flood 2014, [`SplitMix`](https://doi.org/10.1145/2660193.2660195), whose
/// output is a function of a counter.
#[inline(always)]
pub(crate) fn of(seed: u64, token: u64) -> u64 {
    mixed(seed.wrapping_add(token.wrapping_add(1).wrapping_mul(STEP)))
}

#[inline(always)]
fn mixed(counter: u64) -> u64 {
    let mut bits = counter;
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (bits ^ (bits >> 31)) >> (u64::BITS - BITS)
}

/// What the numbers of eight times `keep` of `tokens` tokens are expected to lie above, if those are few.
pub(crate) fn floor(keep: usize, tokens: usize) -> Option<u64> {
    let few = keep.checked_mul(64).is_some_and(|most| 0 < most && most < tokens);
    few.then(|| (1 << BITS) - (8 * keep as u64) * ((1 << BITS) / tokens as u64))
}

/// The numbers of the tokens from `first` on.
#[inline(always)]
pub(crate) fn all<const N: usize>(seed: u64, first: u64) -> [u64; N] {
    let mut numbers = [0; N];
    each::<N>(seed, first, |index, number| numbers[index] = number);
    numbers
}

/// Whether any of the numbers of `N` tokens from `first` on lies above `floor`, which is below `2^53` too.
#[inline(always)]
pub(crate) fn any_above<const N: usize>(seed: u64, first: u64, floor: u64) -> bool {
    // The highest bit of a difference is set where it is negative.
    let mut differences = 0;
    each::<N>(seed, first, |_, number| differences |= floor.wrapping_sub(number));
    differences >> (u64::BITS - 1) == 1
}

#[inline(always)]
fn each<const N: usize>(seed: u64, first: u64, mut take: impl FnMut(usize, u64)) {
    let start = seed.wrapping_add(first.wrapping_add(1).wrapping_mul(STEP));
    let mut step = 0u64;
    for index in 0..N {
        take(index, mixed(start.wrapping_add(step)));
        step = step.wrapping_add(STEP);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_of_tokens_has_the_number_of_each() {
        for first in [0, 64, 1 << 40, u64::MAX - 5] {
            let each = |index: usize| of(7, first.wrapping_add(index as u64));
            let numbers = all::<9>(7, first);
            assert_eq!(numbers, std::array::from_fn(each));
            let largest = numbers.into_iter().max().expect("nine numbers");
            assert!(any_above::<9>(7, first, largest - 1) && !any_above::<9>(7, first, largest));
        }
    }

    #[test]
    fn eight_times_as_many_as_are_kept_lie_above_the_floor() {
        let tokens = 100_000;
        let floor = floor(100, tokens).unwrap();
        let above = (0..tokens as u64).filter(|&token| of(3, token) > floor).count();
        // Binomial with mean 800 and standard deviation 28.
        assert!(above.abs_diff(800) < 5 * 28, "{above}");
        assert_eq!(super::floor(100, 6400), None);
        assert_eq!(super::floor(0, 6400), None);
    }
}
