//! Kinds of weights, and an `f32` split in two halves: the `bf16` nearest to it, and the remaining 16 bits.
//!
//! ```text
//! upper = (bits + 2^15) >> 16          the nearest bf16; of two equally near the one farther from zero
//! lower = bits mod 2^16                as a signed number, -2^15 .. 2^15
//! bits  = (upper << 16) + lower
//! ```
//!
//! The two halves lose nothing: every `f32`, except some NaNs, comes back bit-identical. Ties therefore round away from zero:
//! two values that round to the same even `bf16` could not be told apart by 16 bits. A model computes with the upper halves, an
//! optimiser steps the joined value. So master weights take two bytes a parameter instead of four.

#![expect(clippy::inline_always, reason = "inlined, the code takes on its caller's instructions")]

use tch::{Kind, Tensor};

/// Splits `f32` values into the upper half `bf16` and the lower half `i16`, each of their shape.
pub(super) fn split(values: &Tensor) -> (Tensor, Tensor) {
    let bits = values.view_dtype(Kind::Int);
    // Shifting up and down again fills the upper half with the sign of the lower.
    let lower = bits.bitwise_left_shift_tensor_scalar(16).bitwise_right_shift_tensor_scalar(16);
    (upper(&bits), lower.to_kind(Kind::Int16))
}

/// The nearest `bf16` of `f32` values; ties away from zero.
pub(super) fn nearest(values: &Tensor) -> Tensor {
    upper(&values.view_dtype(Kind::Int))
}

fn upper(bits: &Tensor) -> Tensor {
    let bits = (bits + 0x8000_i64).bitwise_right_shift_tensor_scalar(16);
    bits.to_kind(Kind::Int16).view_dtype(Kind::BFloat16)
}

/// Joins the halves that [`split`] returned, to `f32`.
pub(super) fn joined(upper: &Tensor, lower: &Tensor) -> Tensor {
    let upper = upper.view_dtype(Kind::Int16).to_kind(Kind::Int);
    let mut bits = upper.bitwise_left_shift_tensor_scalar(16);
    bits += lower.to_kind(Kind::Int);
    bits.view_dtype(Kind::Float)
}

/// [`split`] of one value.
#[inline(always)]
#[expect(clippy::cast_possible_truncation, reason = "each half of 32 bits")]
pub(super) fn split_bits(value: f32) -> (u16, u16) {
    let bits = value.to_bits();
    ((bits.wrapping_add(0x8000) >> 16) as u16, bits as u16)
}

/// [`joined`] of one value.
#[inline(always)]
pub(super) fn joined_bits(upper: u16, lower: u16) -> f32 {
    let lower = i32::from(lower.cast_signed()).cast_unsigned();
    f32::from_bits((u32::from(upper) << 16).wrapping_add(lower))
}

/// Returns true for kinds too coarse for small steps.
pub(super) fn is_narrow(tensor: &Tensor) -> bool {
    tensor.kind() == Kind::BFloat16
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values of every sign and exponent (subnormal, infinite) and the first fraction bits, with lower halves around the tie.
    fn all() -> Vec<f32> {
        let lower = [0_u32, 1, 0x7fff, 0x8000, 0x8001, 0xffff];
        (0..=0xffff_u32)
            .flat_map(|upper| lower.map(|lower| f32::from_bits(upper << 16 | lower)))
            .filter(|value| !value.is_nan())
            .collect()
    }

    fn bits(values: &Tensor) -> Vec<u32> {
        Vec::<f32>::try_from(values).unwrap().into_iter().map(f32::to_bits).collect()
    }

    #[test]
    fn halves_make_the_whole_again_and_tensors_are_split_as_single_values_are() {
        let values = all();
        let tensor = Tensor::from_slice(&values);
        let (upper, lower) = split(&tensor);
        assert_eq!((upper.kind(), lower.kind()), (Kind::BFloat16, Kind::Int16));
        let joined = bits(&joined(&upper, &lower));
        let [upper, near] = [upper, nearest(&tensor)].map(|half| bits(&half.to_kind(Kind::Float)));
        let lower = Vec::<i16>::try_from(&lower).unwrap();
        for (index, value) in values.iter().enumerate() {
            let (high, low) = split_bits(*value);
            assert_eq!(joined_bits(high, low).to_bits(), value.to_bits(), "{value:e}");
            assert_eq!(joined[index], value.to_bits(), "{value:e}");
            assert_eq!([upper[index], near[index]], [u32::from(high) << 16; 2], "{value:e}");
            assert_eq!(lower[index].cast_unsigned(), low, "{value:e}");
        }
    }

    /// Compares distances in f64.
    #[test]
    fn the_upper_half_is_the_nearest_and_of_two_the_one_farther_from_zero() {
        let narrow = |bits: u16| f64::from(f32::from_bits(u32::from(bits) << 16));
        for value in all().into_iter().filter(|value| value.abs() < 3.38e38) {
            let exact = f64::from(value);
            let (upper, _) = split_bits(value);
            let rounded = narrow(upper);
            let off = (rounded - exact).abs();
            for other in [upper.wrapping_sub(1), upper.wrapping_add(1)].map(narrow) {
                if other.is_nan() || other.is_sign_negative() != value.is_sign_negative() {
                    continue;
                }
                let other_off = (other - exact).abs();
                assert!(
                    off < other_off
                        || (off - other_off).abs() == 0.0 && rounded.abs() > other.abs(),
                    "{value:e}"
                );
            }
            assert_eq!(rounded.is_sign_negative(), value.is_sign_negative(), "{value:e}");
        }
    }
}
