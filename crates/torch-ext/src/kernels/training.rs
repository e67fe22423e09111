//! Operations of training passes between the matrix products, in bf16.

use tch::{Kind, Tensor};

use super::operations::{argument, bits, heads, matrix};
use super::{CudaKernels, Kernel, KernelError};

impl CudaKernels {
    /// Gradient of concatenated gate and up for a cotangent of `silu(gate) · up`, in one launch, computed in f32 and rounded once.
    ///
    /// `both` is bf16 `[.., 2 · width]` with `width` even, `cotangent` bf16 `[.., width]`; the result has the shape of `both`.
    ///
    /// # Errors
    ///
    /// [`KernelError`] if a tensor is not as described, or the kernel cannot be launched.
    pub fn gate_backward(&self, both: &Tensor, cotangent: &Tensor) -> Result<Tensor, KernelError> {
        let (size, [rows, columns]) = matrix("gate and up", both, 4)?;
        let narrow = [&size[..size.len() - 1], &[columns / 2]].concat();
        let gradient = Tensor::empty(size.as_slice(), (Kind::BFloat16, self.device));
        let arguments = [
            self.words("gate and up", both, &size)?,
            self.words("cotangent", cotangent, &narrow)?,
            self.words("gradient", &gradient, &size)?,
            bits(columns / 4),
        ];
        // SAFETY: the arguments are the kernel's, looked at above.
        unsafe { self.by_word(Kernel::GateBackward, [rows, columns / 4], &arguments)? };
        Ok(gradient)
    }

    /// Rotates the first `rotated` heads of each position and copies the others, in one launch; back if `is_back`.
    ///
    /// `x` is bf16 `[positions, heads, head_dim]`, with `head_dim` a multiple of 4 in one piece; the result is in one piece. `cosine`
    /// and `sine` are f32 `[positions, head_dim / 2]`. Number `i` of a head is rotated with number `i + head_dim / 2`; each product
    /// and sum is rounded to f32 and the result to bf16.
    ///
    /// # Errors
    ///
    /// [`KernelError`] if a tensor is not as described, or the kernel cannot be launched.
    pub fn rotate(
        &self,
        x: &Tensor,
        rotated: i64,
        [cosine, sine]: [&Tensor; 2],
        is_back: bool,
    ) -> Result<Tensor, KernelError> {
        let ([positions, heads, width], steps) = (heads("x", x)?, x.stride());
        let address = x.data_ptr().expose_provenance() as u64;
        let fits = x.device() == self.device
            && x.kind() == Kind::BFloat16
            && width % 4 == 0
            && steps[2] == 1
            // Two numbers are read at a time.
            && steps[..2].iter().all(|step| step % 2 == 0)
            && address.is_multiple_of(4)
            && (0..=heads).contains(&rotated);
        if !fits {
            let expected = format!(
                "BFloat16 on {:?}, at least {rotated} heads of a multiple of 4 numbers, each in one piece at an even place",
                self.device
            );
            return Err(argument("x", x, &expected));
        }
        let turned = Tensor::empty([positions, heads, width], (Kind::BFloat16, self.device));
        let arguments = [
            address,
            self.address("cosine", cosine, Kind::Float, &[positions, width / 2])?,
            self.address("sine", sine, Kind::Float, &[positions, width / 2])?,
            self.words("the rotated", &turned, &[positions, heads, width])?,
            bits(heads),
            bits(rotated),
            bits(width / 4),
            bits(steps[0] / 2),
            bits(steps[1] / 2),
            if is_back { -1_f64 } else { 1.0 }.to_bits(),
        ];
        // SAFETY: the arguments are the kernel's, looked at above; it reads `x` by its own strides.
        unsafe { self.by_word(Kernel::Rotate, [positions, heads * width / 4], &arguments)? };
        Ok(turned)
    }
}
