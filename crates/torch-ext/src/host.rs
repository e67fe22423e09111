//! Access to a tensor's numbers in libtorch's memory, without a copy.
//!
//! Every handle of a tensor can write its memory, or free it by a resize. Slices of that memory are therefore lent to closures
//! only. The closures must be `Sync`: no handle, nor a reference to one, is captured, because [`Tensor`] is not `Sync`. A handle
//! behind a lock or of another thread races with the closure, as it does with libtorch's own operators.

use std::ops::Range;
use std::slice::{from_raw_parts, from_raw_parts_mut};

use tch::{Device, Kind, Tensor};

use crate::byte_count;

/// The numbers of tensors in the CPU's memory, row by row. It keeps that memory alive and sees writes to the tensors.
#[derive(Debug)]
pub struct HostNumbers {
    /// Contiguous, on the CPU, in f32 or bf16; nothing else has these handles.
    tensors: Vec<Tensor>,
}

// SAFETY: through a shared reference the handles are only asked for address, kind and number of elements, which no other
// handle can change, and never cloned; reading memory from several threads is sound.
unsafe impl Sync for HostNumbers {}

/// The numbers of one tensor in order.
#[derive(Debug, Clone, Copy)]
pub enum Numbers<'a> {
    /// In f32.
    F32(&'a [f32]),
    /// In bf16, as bits.
    Bf16(&'a [u16]),
}

/// The numbers of one tensor in order, for changes in place.
#[derive(Debug)]
pub enum NumbersMut<'a> {
    /// In f32.
    F32(&'a mut [f32]),
    /// In bf16, as bits, or in integers of 16 bits.
    Halves(&'a mut [u16]),
}

impl HostNumbers {
    /// The numbers of `tensors`; `None` unless each is f32 or bf16, on the CPU, and contiguous.
    pub fn of(tensors: &[Tensor]) -> Option<Self> {
        // Separate handles: the memory stays even if a tensor gets other data.
        let held = |tensor: &Tensor| is_readable(tensor).then(|| tensor.detach());
        let tensors = tensors.iter().map(held).collect::<Option<_>>()?;
        Some(Self { tensors })
    }

    /// Lends the numbers of each tensor, in order, to `read`.
    ///
    /// A handle cannot be used meanwhile, as it could free the slices:
    ///
    /// ```compile_fail,E0277
    /// # use {tch::Tensor, torch_ext::{HostNumbers, Numbers}};
    /// let mut tensor = Tensor::from_slice(&[1.0_f32]);
    /// let first = HostNumbers::of(&[tensor.shallow_clone()]).unwrap().read(|numbers| {
    ///     let Numbers::F32(slice) = numbers[0] else { return 0.0 };
    ///     let _same = tensor.resize_([1 << 26]);
    ///     slice[0]
    /// });
    /// ```
    pub fn read<T>(&self, read: impl FnOnce(&[Numbers<'_>]) -> T + Sync) -> T {
        // SAFETY: `of` saw that they are readable, and they are kept; while `read` runs it has no handle that could write.
        let numbers = self.tensors.iter().map(|tensor| unsafe { numbers(tensor) });
        read(&numbers.collect::<Vec<_>>())
    }
}

impl<'a> Numbers<'a> {
    /// All numbers in order, two per word, if they are bf16 and can be read in pairs. On a little-endian machine the earlier
    /// number is in the low half.
    pub fn bf16_pairs(self) -> Option<&'a [i32]> {
        let Self::Bf16(bits) = self else { return None };
        // SAFETY: any bits of two numbers are a word.
        let (before, words, after) = unsafe { bits.align_to() };
        (before.is_empty() && after.is_empty()).then_some(words)
    }
}

/// Lends the numbers of `read` and of each of `written` to `change`, for changes in place. Returns `None`, without a call, unless
/// all are on the CPU and contiguous, and no number lies in two of them. `read` is f32 or bf16; each of `written` may be of 16-bit
/// integers, too.
///
/// Nothing else may write meanwhile, as for [`HostNumbers::read`]: `change` captures no handle.
///
/// ```compile_fail,E0277
/// # use {tch::Tensor, torch_ext::change_numbers};
/// let mut tensor = Tensor::from_slice(&[1.0_f32]);
/// let mut same = tensor.shallow_clone();
/// change_numbers(&Tensor::zeros_like(&tensor), &mut [&mut tensor], |_, _| same.resize_([1 << 26]));
/// ```
pub fn change_numbers<T>(
    read: &Tensor,
    written: &mut [&mut Tensor],
    change: impl FnOnce(Numbers<'_>, Vec<NumbersMut<'_>>) -> T + Sync,
) -> Option<T> {
    if !is_readable(read) || !written.iter().all(|tensor| is_writable(tensor)) {
        return None;
    }
    let mut places: Vec<_> =
        written.iter().map(|tensor| place(tensor)).chain([place(read)]).collect();
    places.retain(|place| !place.is_empty());
    places.sort_unstable_by_key(|place| place.start);
    if places.windows(2).any(|pair| pair[1].start < pair[0].end) {
        return None;
    }
    // SAFETY: they have the kinds and the layout, and share no memory; while `change` runs it has no other handle.
    let parts =
        unsafe { (numbers(read), written.iter_mut().map(|tensor| numbers_mut(tensor)).collect()) };
    Some(change(parts.0, parts.1))
}

fn is_readable(tensor: &Tensor) -> bool {
    is_writable(tensor) && tensor.kind() != Kind::Int16
}

fn is_writable(tensor: &Tensor) -> bool {
    tensor.device() == Device::Cpu
        && matches!(tensor.kind(), Kind::Float | Kind::BFloat16 | Kind::Int16)
        && tensor.is_contiguous()
}

/// Addresses of a contiguous tensor's bytes.
fn place(tensor: &Tensor) -> Range<usize> {
    let start = tensor.data_ptr().addr();
    start..start + byte_count(tensor)
}

/// # Safety
///
/// The tensor [is readable](is_readable), and nothing writes or frees its memory for the lifetime of the result.
unsafe fn numbers(tensor: &Tensor) -> Numbers<'_> {
    let count = tensor.numel();
    // SAFETY: by the contract; any bits are a number.
    unsafe {
        match tensor.kind() {
            Kind::Float => Numbers::F32(from_raw_parts(first(tensor), count)),
            _ => Numbers::Bf16(from_raw_parts(first(tensor), count)),
        }
    }
}

/// # Safety
///
/// The tensor [is writable](is_writable), and nothing else uses or frees its memory for the lifetime of the result.
unsafe fn numbers_mut(tensor: &mut Tensor) -> NumbersMut<'_> {
    let count = tensor.numel();
    // SAFETY: by the contract; any bits are a number.
    unsafe {
        match tensor.kind() {
            Kind::Float => NumbersMut::F32(from_raw_parts_mut(first(tensor), count)),
            _ => NumbersMut::Halves(from_raw_parts_mut(first(tensor), count)),
        }
    }
}

/// Address of the first number; without any, one that an empty slice may have.
fn first<T>(tensor: &Tensor) -> *mut T {
    if tensor.numel() == 0 { std::ptr::dangling_mut() } else { tensor.data_ptr().cast() }
}

/// Asks the processor to prefetch the memory `ahead` elements after the start of `numbers`, which may be past their end. The
/// hint only affects time, and does nothing on processors other than x86-64.
#[inline]
pub fn prefetch<T>(numbers: &[T], ahead: usize) {
    #[cfg(target_arch = "x86_64")]
    {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        let place = numbers.as_ptr().wrapping_add(ahead).cast();
        // SAFETY: the instruction is part of every x86-64 processor, and does nothing where the address is none.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(place) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = (numbers, ahead);
}

#[cfg(test)]
mod tests {
    use super::*;

    const F32: (Kind, Device) = (Kind::Float, Device::Cpu);

    fn bf16(numbers: &[f32]) -> Tensor {
        Tensor::from_slice(numbers).to_kind(Kind::BFloat16)
    }

    fn copied(numbers: &HostNumbers) -> Vec<f32> {
        numbers.read(|parts| match parts {
            [Numbers::F32(numbers)] => numbers.to_vec(),
            _ => panic!("{parts:?}"),
        })
    }

    fn pairs(tensor: Tensor) -> Option<Vec<i32>> {
        HostNumbers::of(&[tensor])?.read(|parts| parts[0].bf16_pairs().map(<[i32]>::to_vec))
    }

    #[test]
    fn numbers_are_those_of_the_tensor_whatever_becomes_of_its_handle() {
        let mut tensor = Tensor::arange(6, F32).view([2, 3]);
        let numbers = HostNumbers::of(std::slice::from_ref(&tensor)).unwrap();
        assert_eq!(copied(&numbers), [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
        let _same = tensor.g_add_scalar_(1.0);
        assert!(copied(&numbers)[5] > 5.5, "no copy");
        let _same = tensor.resize_([1 << 16]);
        assert_eq!(
            copied(&numbers),
            [1.0, 2.0, 3.0, 4.0, 5.0, 6.0],
            "where the resize has moved them"
        );
        tensor.set_data(&Tensor::zeros([1], F32));
        drop(tensor);
        assert_eq!(copied(&numbers), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    }

    #[test]
    fn pairs_of_bf16_are_the_upper_halves_of_f32() {
        let tensor = bf16(&[1.0, -2.5, 0.0, 3.0]);
        let bits = |low: f32, high: f32| (low.to_bits() >> 16 | high.to_bits()).cast_signed();
        assert_eq!(pairs(tensor.shallow_clone()).unwrap(), [bits(1.0, -2.5), bits(0.0, 3.0)]);
        assert_eq!(pairs(Tensor::zeros([2], F32)), None);
        assert_eq!(pairs(tensor.narrow(0, 1, 2)), None, "not aligned");
        assert_eq!(pairs(tensor.narrow(0, 0, 3)), None);
    }

    #[test]
    fn numbers_are_changed_where_they_lie() {
        let mut wide = Tensor::arange(4, F32);
        let mut narrow = wide.to_kind(Kind::BFloat16);
        // A view of a larger tensor, which sees the change.
        let mut part = narrow.narrow(0, 1, 2);
        let mut integers = Tensor::from_slice(&[1_i16, -1]);
        let read = bf16(&[-1.0]);
        let written = &mut [&mut wide, &mut part, &mut integers];
        let changed = change_numbers(&read, written, |read, written| {
            let (
                Numbers::Bf16(read),
                [NumbersMut::F32(wide), NumbersMut::Halves(part), NumbersMut::Halves(integers)],
            ) = (read, <[_; 3]>::try_from(written).unwrap())
            else {
                return false;
            };
            wide[2] = 7.5;
            part[0] = read[0];
            integers == [1, 0xffff]
        });
        assert_eq!(changed, Some(true));
        assert_eq!(Vec::<f32>::try_from(&wide).unwrap(), [0.0, 1.0, 7.5, 3.0]);
        narrow = narrow.to_kind(Kind::Float);
        assert_eq!(Vec::<f32>::try_from(narrow).unwrap(), [0.0, -1.0, 2.0, 3.0]);
    }

    /// Two mutable slices of one number would be undefined behaviour.
    #[test]
    fn no_number_is_lent_twice() {
        let may_change = |read: &Tensor, written: &mut [&mut Tensor]| {
            change_numbers(read, written, |_, _| ()).is_some()
        };
        let mut tensor = Tensor::zeros([8], F32);
        let other = Tensor::zeros([8], F32);
        let mut same = tensor.shallow_clone();
        assert!(!may_change(&other, &mut [&mut tensor, &mut same]));
        assert!(!may_change(&same, &mut [&mut tensor]));
        let mut parts =
            [(0, 4), (3, 2), (4, 4), (5, 0)].map(|(first, count)| tensor.narrow(0, first, count));
        let [left, middle, right, nothing] = &mut parts;
        assert!(!may_change(&other, &mut [left, middle]));
        assert!(!may_change(middle, &mut [right]));
        assert!(may_change(&other, &mut [right, nothing, left]));
    }

    #[test]
    fn only_numbers_in_order_are_lent() {
        let matrix = Tensor::zeros([3, 4], F32);
        for odd in [matrix.tr(), matrix.to_kind(Kind::Double), matrix.to_kind(Kind::Int16)] {
            assert!(HostNumbers::of(&[matrix.shallow_clone(), odd]).is_none());
        }
        for mut odd in [matrix.tr(), matrix.to_kind(Kind::Double)] {
            assert!(change_numbers(&bf16(&[1.0]), &mut [&mut odd], |_, _| ()).is_none());
        }
        assert!(copied(&HostNumbers::of(&[Tensor::zeros([0, 4], F32)]).unwrap()).is_empty());
    }

    #[test]
    fn fetching_past_the_end_does_no_harm() {
        let numbers = [1.0_f32; 4];
        prefetch(&numbers, 0);
        prefetch(&numbers, usize::MAX / 2);
        prefetch::<f32>(&[], 1 << 40);
    }
}
