//! The exponential of a non-positive number, without branches.

#![expect(clippy::inline_always, reason = "inlined, the code takes on its caller's instructions")]

use super::lanes::Lanes;

/// Below this, `e^x` rounds to 0: half the smallest positive `f64` is `e^-745.13`.
pub(super) const FLOOR: f64 = -746.0;

/// Added to a number of moderate size, it leaves the nearest integer in the low bits of the sum; the
/// [`LIFT`] comes on top.
const ROUNDING: f64 = 6_755_399_441_055_744.0 + LIFT;
/// Powers of two by which a result is lifted out of the subnormal range, to be rounded only once.
const LIFT: f64 = 64.0;
/// `2^-LIFT`.
const LOWERING: f64 = 1.0 / 18_446_744_073_709_551_616.0;

/// `ln 2`, its leading 32 bits and the rest: the product of the first with a power of two below 2^11
/// is exact.
const LN_2_HIGH: f64 = 6.931_471_803_691_238e-1;
const LN_2_LOW: f64 = 1.908_214_929_270_587_7e-10;

/// Polynomial `q` with `e^r ≈ 1 + r + r² q(r)` to 4e-18 of `e^r` on `|r| ≤ ln(2)/2`, lowest power
/// first: the minimax polynomial of that form, by Remez's exchange in 50 digits.
const MINIMAX: [f64; 10] = [
    0.500_000_000_000_001_1,
    0.166_666_666_666_664_13,
    0.041_666_666_666_530_155,
    0.008_333_333_333_494_461,
    0.001_388_888_894_363_011_4,
    0.000_198_412_695_065_786_88,
    2.480_149_309_890_655e-5,
    2.755_758_637_384_016_5e-6,
    2.763_024_837_921_144e-7,
    2.500_006_160_283_566_8e-8,
];

impl Lanes {
    /// Raised to [`FLOOR`], where the exponential is 0 already, so that `-∞` becomes finite.
    #[inline(always)]
    pub(super) fn floored(self) -> Self {
        Self::splat(FLOOR).max(self)
    }
}

/// `e^x` of each lane, to within 1 unit in the last place, for `x` from [`FLOOR`] to 0.
///
/// Exactly 1 at 0 and exactly 0 from -745.14 down; subnormal results are rounded once. NaN stays NaN. For
/// numbers far above 0 the result is meaningless.
///
/// `x = n ln 2 + r` with `|r| ≤ ln(2)/2`, a polynomial of degree 11 in `r`, and `n` added to the exponent.
#[inline(always)]
pub(super) fn exp_lanes(x: Lanes) -> Lanes {
    let shifted = x.fused(Lanes::splat(std::f64::consts::LOG2_E), Lanes::splat(ROUNDING));
    let power = shifted.minus(Lanes::splat(ROUNDING));
    let rest = power.fused(Lanes::splat(-LN_2_HIGH), x);
    let rest = power.fused(Lanes::splat(-LN_2_LOW), rest);
    let mut sum = Lanes::splat(MINIMAX[9]);
    for coefficient in MINIMAX[..9].iter().rev() {
        sum = sum.fused(rest, Lanes::splat(*coefficient));
    }
    let one = Lanes::splat(1.0);
    let sum = sum.fused(rest, one).fused(rest, one);
    // The low twelve bits of `shifted` are power + LIFT: shifted left they are an exponent to add.
    let lifted = std::array::from_fn(|lane| {
        let exponent = shifted.0[lane].to_bits() << 52;
        f64::from_bits(sum.0[lane].to_bits().wrapping_add(exponent))
    });
    Lanes(lifted).times(Lanes::splat(LOWERING))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exp(x: f64) -> f64 {
        exp_lanes(Lanes::splat(x).floored()).0[0]
    }

    /// Dense around 0 and in the subnormal range, even in between, and a pseudo-random walk.
    fn arguments() -> Vec<f64> {
        let mut arguments: Vec<f64> = (0..40_000).map(|i| -f64::from(i) * 0.018_651).collect();
        arguments.extend((0..20_000).map(|i| -708.0 - f64::from(i) * 0.001_9));
        arguments.extend((0..20_000).map(|i| -f64::from(i) * 1e-4));
        arguments.extend((0..2_000).map(|i| -(0.5f64).powi(i % 1_000) * f64::from(1 + i / 1_000)));
        // Halfway between two multiples of ln 2, where the reduced argument is largest.
        arguments.extend((0..1_080).map(|i| -(f64::from(i) + 0.5) * std::f64::consts::LN_2));
        let mut state = 1u64;
        arguments.extend((0..100_000).map(|_| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            -745.2 * ((state >> 11) as f64 / (1u64 << 53) as f64)
        }));
        arguments
    }

    #[test]
    fn it_is_within_one_unit_in_the_last_place_of_the_standard_library() {
        let mut exact = 0;
        let arguments = arguments();
        for x in &arguments {
            // For positive numbers the order of the bits is the order of the numbers.
            let units = exp(*x).to_bits().abs_diff(x.exp().to_bits());
            assert!(units <= 1, "exp({x}) = {:e}, expected {:e}", exp(*x), x.exp());
            exact += u32::from(units == 0);
        }
        let share = f64::from(exact) / arguments.len() as f64;
        assert!(share > 0.85, "only {share} agree in every bit");
    }

    #[test]
    fn the_ends_of_the_range_are_exact() {
        let bits = |x: f64| exp(x).to_bits();
        assert_eq!(bits(0.0), 1f64.to_bits());
        assert_eq!(bits(-0.0), 1f64.to_bits());
        // The last argument above half the smallest positive number, and the one below it.
        assert_eq!(bits(-745.133_219_101_941_1), 1);
        assert_eq!(bits(-745.133_219_101_941_3), 0);
        assert_eq!(bits(-1e300), 0);
        assert_eq!(bits(f64::NEG_INFINITY), 0);
        assert!(exp(f64::NAN).is_nan());
    }
}
