//! Tokens drawn at random: each has a number that depends on nothing but the seed and its position.

/// Numbers are below `2^BITS`.
const BITS: u32 = 53;
/// Low bits of a number, which decide only between tokens whose [`first_bits`] are the same.
const LAST: u32 = BITS - u32::BITS;
/// Positions between the counters that are mixed.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// A uniform number below `2^53`: the order it gives the tokens is a uniform draw without replacement,
/// whichever rank holds them.
///
/// Source of the last bits: Steele, Lea and Flood 2014, [`SplitMix`](https://doi.org/10.1145/2660193.2660195), whose
/// output is a function of a counter.
#[inline(always)]
pub(crate) fn of(seed: u64, token: u64) -> u64 {
    let last = mixed(seed.wrapping_add(token.wrapping_add(1).wrapping_mul(STEP)));
    let [first] = first_bits(seed, token);
    u64::from(first) << LAST | last >> (u64::BITS - LAST)
}

#[inline(always)]
fn mixed(counter: u64) -> u64 {
    let mut bits = counter;
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

/// Bound that the numbers of eight times `keep` of `tokens` tokens are expected to exceed, if those are few.
pub(crate) fn floor(keep: usize, tokens: usize) -> Option<u64> {
    let few = keep.checked_mul(64).is_some_and(|most| 0 < most && most < tokens);
    few.then(|| (1 << BITS) - (8 * keep as u64) * ((1 << BITS) / tokens as u64))
}

/// The least first bits that a number above `floor` has.
pub(crate) fn first_bits_of_those_above(floor: u64) -> u32 {
    u32::try_from(floor >> LAST).unwrap_or(u32::MAX)
}

/// The 32 highest bits of the numbers of `N` tokens from `token` on.
///
/// In 32 bits, as vectors of many processors do not multiply 64.
///
/// Source: the finaliser of Appleby's [`MurmurHash3`](https://github.com/aappleby/smhasher), with a second word of the seed
/// between its halves.
#[inline(always)]
pub(crate) fn first_bits<const N: usize>(seed: u64, token: u64) -> [u32; N] {
    let mut bits = [0; N];
    let (high, low) = halves(token);
    if halves(token.wrapping_add(N as u64 - 1)).0 != high {
        // The high half changes on the way.
        return std::array::from_fn(|index| {
            first_bits::<1>(seed, token.wrapping_add(index as u64))[0]
        });
    }
    let (second, first) = halves(mixed(seed.wrapping_add(u64::from(high).wrapping_mul(STEP))));
    let mut counter = first.wrapping_add(low);
    for bits in &mut bits {
        let mut half = (counter ^ (counter >> 16)).wrapping_mul(0x85eb_ca6b);
        half = (half ^ (half >> 13) ^ second).wrapping_mul(0xc2b2_ae35);
        *bits = half ^ (half >> 16);
        counter = counter.wrapping_add(1);
    }
    bits
}

/// The high and the low half of 64 bits.
#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "halves are what is asked for")]
fn halves(bits: u64) -> (u32, u32) {
    ((bits >> u32::BITS) as u32, bits as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_of_tokens_has_the_first_bits_of_each() {
        for first in [0, 64, (1 << 32) - 5, 1 << 40, u64::MAX - 5] {
            let all_bits = first_bits::<9>(7, first);
            for (index, bits) in (0..).zip(all_bits) {
                let number = of(7, first.wrapping_add(index));
                assert_eq!(u64::from(bits), number >> 21);
                assert_eq!(first_bits_of_those_above(number), bits);
            }
        }
    }

    /// Counts every bit, for tokens in order and for seeds in order, and compares neighbours in both.
    #[test]
    fn bits_are_as_often_set_as_not_and_neighbours_differ_in_half_of_them() {
        let count = 100_000u64;
        // Binomial: five standard deviations.
        let near = |found: u64| found.abs_diff(count / 2) < 5 * 158;
        for (seeds, tokens) in [(0, 1), (1, 0)] {
            let numbers: Vec<u64> =
                (0..=count).map(|at| of(9 + at * seeds, 3 + at * tokens)).collect();
            for bit in 0..BITS {
                let set =
                    numbers[1..].iter().filter(|number| *number >> bit & 1 == 1).count() as u64;
                let changed = numbers.windows(2).filter(|two| (two[0] ^ two[1]) >> bit & 1 == 1);
                let changed = changed.count() as u64;
                assert!(near(set) && near(changed), "bit {bit}: {set} set, {changed} changed");
            }
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
