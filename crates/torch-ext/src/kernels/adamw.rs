//! `AdamW`'s step and the sum of squares of gradients, one launch a tensor.

use tch::{Kind, Tensor};

use super::operations::bits;
use super::{CudaKernels, Kernel, KernelError};

const THREADS: u32 = 256;
/// Numbers that a block steps: `ELEMENTS` of `adamw.cu` a thread.
const NUMBERS: i64 = 4 * THREADS as i64;
/// Most blocks that sum the squares of a tensor.
const SUMS: i64 = 1024;

/// A parameter with its gradient and state, all of one shape, each in one piece.
#[derive(Debug)]
pub struct AdamwTensors<'a> {
    /// In bf16 or f32.
    pub gradient: &'a Tensor,
    /// In bf16 or f32.
    pub parameter: &'a mut Tensor,
    /// For a parameter in bf16: the f32 master weight, or its lower half as i16. None: the parameter is rounded at random.
    pub copy: Option<&'a mut Tensor>,
    /// Both in bf16, rounded at random, or in f32.
    pub moments: [&'a mut Tensor; 2],
    /// Index of the first number in its parameter; it keys the noise.
    pub start: i64,
}

/// Constant factors of a step; the kernel computes with the f32 nearest to each.
#[derive(Debug, Clone, Copy)]
pub struct AdamwFactors {
    /// Factor of the gradient, `η λ`, `1 - β₁`, `β₂`, `1 - β₂`, `√(1 - β₂ᵗ)`, `ε`, `η / (1 - β₁ᵗ)`.
    pub numbers: [f32; 8],
    /// Keys of the noise that rounds moments and the parameter.
    pub keys: [[u32; 2]; 2],
}

impl CudaKernels {
    /// Takes a step of `AdamW` in place:
    ///
    /// ```text
    /// g ← c g,  θ ← θ - η λ θ,  m ← m + (1 - β₁) (g - m),  v ← β₂ v + (1 - β₂) g²
    /// θ ← θ - η / (1 - β₁ᵗ) · m / (√v / √(1 - β₂ᵗ) + ε)
    /// ```
    ///
    /// # Errors
    ///
    /// [`KernelError`] if a tensor is not as described, or the kernel cannot be launched; nothing is then changed.
    pub fn adamw(
        &self,
        tensors: AdamwTensors<'_>,
        factors: &AdamwFactors,
    ) -> Result<(), KernelError> {
        let AdamwTensors { gradient, parameter, copy, moments: [first, second], start } = tensors;
        let shape = gradient.size();
        let wide = |tensor: &Tensor| tensor.kind() == Kind::Float;
        let kind = |tensor: &Tensor| if wide(tensor) { Kind::Float } else { Kind::BFloat16 };
        let (weight, copy) = match (wide(parameter), copy) {
            (true, _) => (0, 0),
            (false, Some(copy)) if wide(copy) => {
                (1, self.address("master weight", copy, Kind::Float, &shape)?)
            }
            (false, Some(copy)) => (2, self.address("lower half", copy, Kind::Int16, &shape)?),
            (false, None) => (3, 0),
        };
        let formats = i64::from(wide(gradient)) + 2 * i64::from(wide(first)) + 4 * weight;
        let count = shape.iter().product();
        let mut arguments = vec![
            self.address("gradient", gradient, kind(gradient), &shape)?,
            self.address("parameter", parameter, kind(parameter), &shape)?,
            copy,
            self.address("first moment", first, kind(first), &shape)?,
            self.address("second moment", second, kind(first), &shape)?,
            bits(count),
            bits(start),
            bits(formats),
        ];
        arguments.extend(factors.keys.map(|[low, high]| u64::from(low) | u64::from(high) << 32));
        arguments.extend(factors.numbers.map(|number| f64::from(number).to_bits()));
        let blocks = [(count + NUMBERS - 1) / NUMBERS, 1];
        // SAFETY: the arguments are the kernel's, of the formats that it is told; it writes `count` numbers of each tensor.
        unsafe { self.on_grid(Kernel::Adamw, blocks, THREADS, &arguments) }
    }

    /// Sums of squares in f64, several a tensor: their sum is the square of the gradients' norm. All are in bf16 or f32.
    ///
    /// # Errors
    ///
    /// [`KernelError`] if a tensor is not as described, or the kernel cannot be launched.
    pub fn sums_of_squares(&self, gradients: &[Tensor]) -> Result<Tensor, KernelError> {
        let blocks = |gradient: &Tensor| {
            let count = i64::try_from(gradient.numel()).unwrap_or(i64::MAX);
            ((count + NUMBERS - 1) / NUMBERS).min(SUMS)
        };
        let all = gradients.iter().map(blocks).sum::<i64>();
        let sums = Tensor::empty([all], (Kind::Double, self.device));
        let mut start = 0;
        for gradient in gradients {
            let (shape, blocks) = (gradient.size(), blocks(gradient));
            let is_wide = gradient.kind() == Kind::Float;
            let kind = if is_wide { Kind::Float } else { Kind::BFloat16 };
            let part = sums.narrow(0, start, blocks);
            let arguments = [
                self.address("gradient", gradient, kind, &shape)?,
                self.address("sums", &part, Kind::Double, &[blocks])?,
                bits(shape.iter().product()),
                bits(is_wide.into()),
                bits(blocks),
            ];
            // SAFETY: the arguments are the kernel's; it writes a number for each of `blocks` blocks.
            unsafe { self.on_grid(Kernel::Squares, [blocks, 1], THREADS, &arguments)? };
            start += blocks;
        }
        Ok(sums)
    }
}
