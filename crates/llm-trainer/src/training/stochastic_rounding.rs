//! Rounding `f32` to `bf16` up or down at random, so that the mean is exact.
//!
//! ```text
//! round(x) = ⌊bits(x) + u⌋ to the upper 16 bits,    u uniform on 0..2^16
//! ```
//!
//! `bf16` is the upper half of an `f32`. Adding a random lower half and truncating rounds the magnitude up with a probability
//! equal to the truncated fraction. So the expected value is `x`, while rounding to nearest would lose every change below one
//! part in 512. The noise is a pure function of (key, element): threads, shards and piece sizes do not change a bit.
//!
//! Source: Gupta et al. 2015, *Deep learning with limited numerical precision*, [arXiv:1502.02551](https://arxiv.org/abs/1502.02551).

#![expect(clippy::inline_always, reason = "inlined, the code takes on its caller's instructions")]

use tch::{Device, Kind, Tensor};

/// The largest finite `bf16`; larger finite values round to it.
const LARGEST_F32: f32 = f32::from_bits(0x7f7f_0000);
const LARGEST: f64 = LARGEST_F32 as f64;

/// 32 random bits for each element `first..first + count` of the parameter to which `key` belongs
/// ([`rounding_key`](counter_rng::rounding_key)), i32 `[elements]`. Elements `2^32` apart share their bits.
///
/// ```text
/// bits_i = mix(mix(i ⊕ key_0) ⊕ key_1)
/// ```
///
/// with the 32-bit finaliser "lowbias32" of Wellons 2018 (*Prospecting for hash functions*).
pub(super) fn rounding_noise(key: [u32; 2], first: i64, count: i64, device: Device) -> Tensor {
    let mut bits =
        Tensor::arange_start(first, first + count, (Kind::Int64, device)).to_kind(Kind::Int);
    for word in key {
        let _same = bits.bitwise_xor_(i64::from(word.cast_signed()));
        bits = mix(bits);
    }
    bits
}

/// Rounds a tensor `[elements]` by 16 bits of each element's noise, starting at bit `shift`: 0 or 16, which are independent.
pub(super) fn round_up(values: &Tensor, noise: &Tensor, shift: i64) -> Tensor {
    let noise = noise.bitwise_right_shift_tensor_scalar(shift).bitwise_and_(0xffff);
    let bits = values.to_kind(Kind::Float).clamp(-LARGEST, LARGEST).view_dtype(Kind::Int);
    // The mask truncates, so the conversion that follows is exact.
    (bits + noise).bitwise_and_(!0xffff_i64).view_dtype(Kind::Float).to_kind(Kind::BFloat16)
}

/// The bits that [`rounding_noise`] gives one element.
#[inline(always)]
pub(super) fn noise_bits(key: [u32; 2], element: u32) -> u32 {
    let mix = |mut x: u32| {
        x ^= x >> 16;
        x = x.wrapping_mul(0x7feb_352d);
        x ^= x >> 15;
        x = x.wrapping_mul(0x846c_a68b);
        x ^ (x >> 16)
    };
    mix(mix(element ^ key[0]) ^ key[1])
}

/// Rounds `value` to the bits of a `bf16`; `noise` is in `0..2^16`.
#[inline(always)]
pub(super) fn round_bits_up_at(value: f32, noise: u32) -> u16 {
    let value = value.clamp(-LARGEST_F32, LARGEST_F32);
    (value.to_bits().wrapping_add(noise) >> 16) as u16
}

/// A bijection of 32 bits in which every bit of the input flips every bit of the output half of the time.
fn mix(mut x: Tensor) -> Tensor {
    for (shift, kept, factor) in [(16, 0xffff, 0x7feb_352d_u32), (15, 0x1_ffff, 0x846c_a68b)] {
        // The shift copies the sign; the mask removes the copies.
        let shifted = x.bitwise_right_shift_tensor_scalar(shift).bitwise_and_(kept);
        let _same = x.bitwise_xor_tensor_(&shifted);
        x = x.g_mul_scalar_(i64::from(factor.cast_signed()));
    }
    let shifted = x.bitwise_right_shift_tensor_scalar(16).bitwise_and_(0xffff);
    x.bitwise_xor_tensor_(&shifted)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noise(key: [u32; 2], first: i64, count: i64) -> Tensor {
        rounding_noise(key, first, count, Device::Cpu)
    }

    fn to_u32(bits: &Tensor) -> Vec<u32> {
        Vec::<i32>::try_from(bits).unwrap().into_iter().map(i32::cast_unsigned).collect()
    }

    /// Rounds one value a million times: the share rounded up is the truncated fraction, within 6 standard errors.
    #[test]
    fn the_mean_of_rounded_values_is_the_value() {
        let draws = 1_000_000;
        let noise = noise([1, 2], 0, draws);
        // Values slightly above 1 and below 2; a tiny, a negative and a subnormal one.
        for value in [1.0 + 1e-4, 1.996, 3.3e-30, -0.123_456_7, 1e-40] {
            let values = Tensor::full([draws], value, (Kind::Float, Device::Cpu));
            let exact = values.get(0).double_value(&[]);
            for rounded in [0, 16].map(|shift| round_up(&values, &noise, shift)) {
                assert_eq!(rounded.kind(), Kind::BFloat16);
                let rounded = rounded.to_kind(Kind::Double);
                let (low, high) =
                    (rounded.min().double_value(&[]), rounded.max().double_value(&[]));
                assert!(low < exact && exact < high, "{value}: {low} {high}");
                let mean = rounded.mean(Kind::Double).double_value(&[]);
                let up = (exact - low) / (high - low);
                let error = (high - low) * (up * (1.0 - up) / draws as f64).sqrt();
                assert!((mean - exact).abs() < 6.0 * error, "{value}: {mean}, {error}");
            }
        }
    }

    #[test]
    fn what_bf16_holds_stays_and_the_largest_stays_finite() {
        let exact = [0.0, -0.0, 1.0, -2.5, 1.5 * 2f64.powi(-126), LARGEST];
        let values = Tensor::from_slice(&exact).to_kind(Kind::Float);
        let rounded = round_up(&values, &noise([3, 4], 0, 6), 0);
        assert!(rounded.to_kind(Kind::Float).equal(&values));
        let huge = Tensor::from_slice(&[f32::MAX; 1000]);
        for (values, shift) in [(&huge, 0), (&-&huge, 16)] {
            let rounded = round_up(values, &noise([3, 4], 0, 1000), shift);
            assert!(rounded.isfinite().all().int64_value(&[]) == 1);
        }
    }

    /// The noise and the rounding have a version for one value and one for tensors; the two must not drift apart, whatever the
    /// threads and the pieces.
    #[test]
    fn one_element_at_a_time_is_rounded_as_all_are() {
        assert_eq!(noise_bits([0, 0], 0), 0, "the finaliser keeps 0");
        let key = [0xdead_beef, 0x0123_4567];
        let values: Vec<f32> = (0..300_000_u32)
            .map(|index| f32::from_bits(index.wrapping_mul(1_073_123) ^ (index << 31)))
            .filter(|value| !value.is_nan())
            .collect();
        let count = i64::try_from(values.len()).unwrap();
        let tensor = Tensor::from_slice(&values);
        for (threads, piece) in [(1, count), (2, count), (2, 1993)] {
            tch::set_num_threads(threads);
            let pieces = (0..count).step_by(usize::try_from(piece).unwrap());
            let noise: Vec<Tensor> =
                pieces.map(|first| noise(key, first, piece.min(count - first))).collect();
            let noise = Tensor::cat(&noise, 0);
            let rounded = [0, 16].map(|shift| round_up(&tensor, &noise, shift));
            tch::set_num_threads(1);
            let noise = to_u32(&noise);
            let [low, high] =
                rounded.map(|rounded| Vec::<f32>::try_from(rounded.to_kind(Kind::Float)).unwrap());
            for (index, value) in (0..).zip(&values) {
                let (place, bits) = (index as usize, noise_bits(key, index));
                assert_eq!(noise[place], bits, "{index}");
                let rounded = [bits & 0xffff, bits >> 16].map(|noise| {
                    f32::from_bits(u32::from(round_bits_up_at(*value, noise)) << 16).to_bits()
                });
                assert_eq!([low[place], high[place]].map(f32::to_bits), rounded, "{value}");
            }
        }
        let far = to_u32(&noise(key, 4_000_000_000, 3));
        assert_eq!(far[2], noise_bits(key, 4_000_000_002));
    }
}
