//! Decoding operations between the matrix products: by the project's own kernels if they passed their tests, else by libtorch's operators.

mod self_test;

use std::sync::Arc;

use model_files::model_config::{Activation, ModelConfig};
use self_test::{test_gate, test_norm, test_rotation};
use tch::{Device, Tensor};
use torch_ext::{CudaKernels, KernelError};

use super::attention::Heads;
use super::rms_norm::RmsNorm;
use super::rope::Angles;

/// An operation that has a kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KernelOperation {
    /// Rotary positions of queries and keys, and storing keys and values in the cache.
    Rotation,
    /// An addition to the residual stream, and the norm of the sum.
    Norm,
    /// The gated activation of the MLP.
    Gate,
    /// Drawing a token from logits.
    Drawing,
}

impl KernelOperation {
    /// All operations.
    pub const ALL: [Self; 4] = [Self::Rotation, Self::Norm, Self::Gate, Self::Drawing];

    /// Name for users.
    pub fn name(self) -> &'static str {
        match self {
            Self::Rotation => "rotary positions and the cache",
            Self::Norm => "residual and norm",
            Self::Gate => "the MLP's gate",
            Self::Drawing => "drawing a token",
        }
    }
}

/// Kernels used in place of libtorch's operators, by default none. If an operation has none, or its kernel does not support the tensors,
/// the result is `None` and nothing was changed.
#[derive(Debug, Default)]
pub(crate) struct FusedOperations {
    kernels: Option<Arc<CudaKernels>>,
    right: Vec<KernelOperation>,
}

impl FusedOperations {
    /// Takes those `kernels` that passed their test.
    pub(crate) fn new(kernels: Arc<CudaKernels>, right: Vec<KernelOperation>) -> Self {
        Self { kernels: Some(kernels), right }
    }

    fn kernels(&self, operation: KernelOperation) -> Option<&CudaKernels> {
        self.kernels.as_deref().filter(|_| self.right.contains(&operation))
    }

    /// Rotates queries, `[rows, heads, 1, head_dim]`, of one position per row. Keys and values are stored at `places`, i64 `[rows]`, of a
    /// block's cache, `[places, kv_heads, head_dim]` each.
    pub(crate) fn rotate_and_store(
        &self,
        heads: &Heads,
        angles: &Angles,
        places: &Tensor,
        cache: [&mut Tensor; 2],
    ) -> Option<Tensor> {
        rotate_and_store(self.kernels(KernelOperation::Rotation)?, heads, angles, places, cache)
            .ok()
    }

    /// Adds `y`, if given, to `x` in place, and returns the norm of the sum; all `[.., hidden]`.
    pub(super) fn add_and_normalise(
        &self,
        x: &mut Tensor,
        y: Option<&Tensor>,
        norm: &RmsNorm,
    ) -> Option<Tensor> {
        let kernels = self.kernels(KernelOperation::Norm).filter(|_| !norm.from_one)?;
        kernels.add_and_normalise(x, y, (&norm.weight, norm.eps)).ok()
    }

    /// Returns `activation(gate) · up` for the concatenation of gate and up, `[.., 2 · intermediate]`.
    pub(super) fn gate(&self, both: &Tensor, activation: Activation) -> Option<Tensor> {
        let kernels = self.kernels(KernelOperation::Gate)?;
        if activation == Activation::Silu { kernels.gate(both).ok() } else { None }
    }

    /// Draws tokens from `softmax(logits / temperature)`, i64 `[rows]`, with their log-probabilities, f64 `[rows]`, as
    /// [`CudaKernels::draw`] does.
    pub(crate) fn draw(
        &self,
        logits: &Tensor,
        uniforms: &[f64],
        temperature: f64,
    ) -> Option<[Tensor; 2]> {
        let kernels = self.kernels(KernelOperation::Drawing)?;
        let uniforms = Tensor::from_slice(uniforms).to_device(logits.device());
        kernels.draw(logits, &uniforms, temperature).ok()
    }
}

/// Tests a block operation's kernel on `device` against plain operators in f64, with the sizes of such a model. Returns the largest
/// relative error; `None` for an operation outside the blocks.
///
/// # Errors
///
/// The reason that it cannot be used: the kernel's message, or an error beyond rounding.
pub(crate) fn test_block_kernel(
    kernels: &CudaKernels,
    operation: KernelOperation,
    device: Device,
    config: &ModelConfig,
) -> Option<Result<f64, String>> {
    match operation {
        KernelOperation::Rotation => {
            Some(test_rotation(device, config, |heads, angles, places, cache| {
                rotate_and_store(kernels, heads, angles, places, cache)
            }))
        }
        KernelOperation::Norm => Some(test_norm(device, config, |x, y, norm| {
            kernels.add_and_normalise(x, y, (&norm.weight, norm.eps))
        })),
        KernelOperation::Gate => Some(test_gate(device, config, |both| kernels.gate(both))),
        KernelOperation::Drawing => None,
    }
}

fn rotate_and_store(
    kernels: &CudaKernels,
    heads: &Heads,
    angles: &Angles,
    places: &Tensor,
    [keys, values]: [&mut Tensor; 2],
) -> Result<Tensor, KernelError> {
    let [cosine, sine] = angles.of_rows(heads.window);
    let product = heads.all.flatten(0, 1);
    let query = kernels.rotate_and_store(&product, [&cosine, &sine], places, [keys, values])?;
    Ok(query.unsqueeze(2))
}
