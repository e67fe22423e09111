//! Access to a tensor's numbers in libtorch's memory, without a copy.

use tch::{Device, Kind, Tensor};

/// The numbers of a tensor in the CPU's memory, row by row. It keeps that memory alive and sees writes to the tensor.
#[derive(Debug)]
pub struct HostNumbers {
    /// Contiguous, on the CPU, of a kind that [`HostNumbers::of`] takes; nothing else has this handle.
    tensor: Tensor,
}

// SAFETY: through a shared reference the handle is only asked for the address and the number of its elements, which no
// other handle can change, and never cloned; reading memory from several threads is sound.
unsafe impl Sync for HostNumbers {}

impl HostNumbers {
    /// The numbers of `tensor`; `None` unless it is f32 or bf16, on the CPU, and contiguous.
    ///
    /// Like for libtorch's own operators, nothing may write to the tensor while its numbers are read: the reader must keep the
    /// model borrowed.
    pub fn of(tensor: &Tensor) -> Option<Self> {
        let readable = tensor.device() == Device::Cpu
            && matches!(tensor.kind(), Kind::Float | Kind::BFloat16)
            && tensor.is_contiguous();
        // A separate handle: the memory stays even if the tensor gets other data.
        readable.then(|| Self { tensor: tensor.detach() })
    }

    /// All numbers in order, if they are f32.
    pub fn f32s(&self) -> Option<&[f32]> {
        (self.tensor.kind() == Kind::Float).then(|| {
            let numbers = self.tensor.data_ptr().cast::<f32>().cast_const();
            // SAFETY: `of` saw a contiguous tensor of this kind on the CPU.
            unsafe { slice(numbers, self.tensor.numel()) }
        })
    }

    /// The bits of all numbers in order, if they are bf16.
    pub fn bf16_bits(&self) -> Option<&[u16]> {
        (self.tensor.kind() == Kind::BFloat16).then(|| {
            let numbers = self.tensor.data_ptr().cast::<u16>().cast_const();
            // SAFETY: `of` saw a contiguous tensor of this kind on the CPU; any bits are a number.
            unsafe { slice(numbers, self.tensor.numel()) }
        })
    }

    /// All numbers in order, two per word, if they are bf16 and can be read in pairs. On a little-endian machine the earlier
    /// number is in the low half.
    pub fn bf16_pairs(&self) -> Option<&[i32]> {
        let words = self.tensor.data_ptr().cast::<i32>().cast_const();
        let in_pairs = self.tensor.numel().is_multiple_of(2) && words.is_aligned();
        (self.tensor.kind() == Kind::BFloat16 && in_pairs).then(|| {
            // SAFETY: `of` saw a contiguous tensor of this kind on the CPU; two numbers are a word, and any bits are one.
            unsafe { slice(words, self.tensor.numel() / 2) }
        })
    }
}

/// The numbers of a tensor in the CPU's memory, for changes in place.
#[derive(Debug)]
pub struct HostNumbersMut<'a> {
    /// Contiguous, on the CPU, of a kind that [`HostNumbersMut::of`] takes.
    tensor: &'a mut Tensor,
}

impl<'a> HostNumbersMut<'a> {
    /// The numbers of `tensor`; `None` unless it is f32, bf16 or 16-bit integers, on the CPU, and contiguous.
    ///
    /// Like for libtorch's operators in place, nothing may use the same memory through another handle meanwhile.
    pub fn of(tensor: &'a mut Tensor) -> Option<Self> {
        let writable = tensor.device() == Device::Cpu
            && matches!(tensor.kind(), Kind::Float | Kind::BFloat16 | Kind::Int16)
            && tensor.is_contiguous();
        writable.then_some(Self { tensor })
    }

    /// All numbers in order, if they are f32.
    pub fn into_f32s(self) -> Option<&'a mut [f32]> {
        (self.tensor.kind() == Kind::Float).then(|| {
            let numbers = self.tensor.data_ptr().cast::<f32>();
            // SAFETY: `of` saw a contiguous tensor of this kind on the CPU, which is borrowed for as long.
            unsafe { slice_mut(numbers, self.tensor.numel()) }
        })
    }

    /// The bits of all numbers in order, if they have 16 bits.
    pub fn into_halves(self) -> Option<&'a mut [u16]> {
        matches!(self.tensor.kind(), Kind::BFloat16 | Kind::Int16).then(|| {
            let numbers = self.tensor.data_ptr().cast::<u16>();
            // SAFETY: `of` saw a contiguous tensor of this kind on the CPU, which is borrowed for as long; any bits are a number.
            unsafe { slice_mut(numbers, self.tensor.numel()) }
        })
    }
}

/// # Safety
///
/// The conditions of [`slice`]; in addition nothing else may use the numbers.
unsafe fn slice_mut<'a, T>(first: *mut T, count: usize) -> &'a mut [T] {
    if count == 0 {
        return &mut [];
    }
    // SAFETY: by the contract.
    unsafe { std::slice::from_raw_parts_mut(first, count) }
}

/// # Safety
///
/// `first` is aligned, and `count` numbers behind it are initialised for the lifetime of the result, unless `count` is 0.
unsafe fn slice<'a, T>(first: *const T, count: usize) -> &'a [T] {
    if count == 0 {
        return &[];
    }
    // SAFETY: by the contract.
    unsafe { std::slice::from_raw_parts(first, count) }
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

    #[test]
    fn numbers_are_those_of_the_tensor_whatever_becomes_of_its_handle() {
        let options = (Kind::Float, Device::Cpu);
        let mut tensor = Tensor::arange(6, options).view([2, 3]);
        let numbers = HostNumbers::of(&tensor).unwrap();
        assert_eq!(numbers.f32s().unwrap(), [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]);
        assert!(numbers.bf16_pairs().is_none());
        let _same = tensor.g_add_scalar_(1.0);
        assert!(numbers.f32s().unwrap()[5] > 5.5, "no copy");
        tensor.set_data(&Tensor::zeros([1], options));
        drop(tensor);
        assert_eq!(numbers.f32s().unwrap(), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    }

    #[test]
    fn pairs_of_bf16_are_the_upper_halves_of_f32() {
        let tensor = Tensor::from_slice(&[1.0_f32, -2.5, 0.0, 3.0]).to_kind(Kind::BFloat16);
        let numbers = HostNumbers::of(&tensor).unwrap();
        let bits = |low: f32, high: f32| (low.to_bits() >> 16 | high.to_bits()).cast_signed();
        assert_eq!(numbers.bf16_pairs().unwrap(), [bits(1.0, -2.5), bits(0.0, 3.0)]);
        assert!(numbers.f32s().is_none());
        let odd_start = tensor.narrow(0, 1, 2);
        assert!(HostNumbers::of(&odd_start).unwrap().bf16_pairs().is_none(), "not aligned");
        let odd_count = tensor.narrow(0, 0, 3);
        assert!(HostNumbers::of(&odd_count).unwrap().bf16_pairs().is_none());
    }

    #[test]
    fn numbers_are_changed_where_they_lie() {
        let mut tensor = Tensor::arange(4, (Kind::Float, Device::Cpu));
        HostNumbersMut::of(&mut tensor).unwrap().into_f32s().unwrap()[2] = 7.5;
        assert_eq!(Vec::<f32>::try_from(&tensor).unwrap(), [0.0, 1.0, 7.5, 3.0]);
        let mut narrow = tensor.to_kind(Kind::BFloat16);
        assert!(HostNumbersMut::of(&mut narrow).unwrap().into_f32s().is_none());
        assert_eq!(HostNumbers::of(&narrow).unwrap().bf16_bits().unwrap()[2], 0x40f0);
        // A view of a larger tensor, which sees the change.
        let mut part = narrow.narrow(0, 1, 2);
        HostNumbersMut::of(&mut part).unwrap().into_halves().unwrap()[0] = 0xbf80;
        assert_eq!(
            Vec::<f32>::try_from(narrow.to_kind(Kind::Float)).unwrap(),
            [0.0, -1.0, 7.5, 3.0]
        );
        let mut integers = Tensor::from_slice(&[1_i16, -1]);
        assert_eq!(HostNumbersMut::of(&mut integers).unwrap().into_halves().unwrap(), [1, 0xffff]);
        assert!(
            HostNumbersMut::of(&mut Tensor::zeros([2, 3], (Kind::Float, Device::Cpu)).tr())
                .is_none()
        );
        assert!(HostNumbersMut::of(&mut Tensor::from_slice(&[1.0_f64])).is_none());
    }

    #[test]
    fn what_cannot_be_read_in_order_is_not_read() {
        let matrix = Tensor::zeros([3, 4], (Kind::Float, Device::Cpu));
        assert!(HostNumbers::of(&matrix.tr()).is_none());
        assert!(HostNumbers::of(&matrix.to_kind(Kind::Double)).is_none());
        let empty = Tensor::zeros([0, 4], (Kind::Float, Device::Cpu));
        assert!(HostNumbers::of(&empty).unwrap().f32s().unwrap().is_empty());
    }

    #[test]
    fn fetching_past_the_end_does_no_harm() {
        let numbers = [1.0_f32; 4];
        prefetch(&numbers, 0);
        prefetch(&numbers, usize::MAX / 2);
        prefetch::<f32>(&[], 1 << 40);
    }
}
