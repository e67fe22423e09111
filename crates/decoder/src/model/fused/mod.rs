//! Decoding operations between the matrix products: by the project's own kernels if they passed their tests, else by libtorch's operators.

mod self_test;

use std::sync::Arc;

pub(crate) use self_test::{test_norm, test_rotation};
use tch::Tensor;
use torch_ext::{CudaKernels, KernelError};

use super::attention::Heads;
use super::rope::Angles;

/// An operation that has a kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KernelOperation {
    /// Rotary positions of queries and keys, and storing keys and values in the cache.
    Rotation,
    /// An addition to the residual stream, and the norm of the sum.
    Norm,
    /// Drawing a token from logits.
    Drawing,
}

impl KernelOperation {
    /// All operations.
    pub const ALL: [Self; 3] = [Self::Rotation, Self::Norm, Self::Drawing];

    /// Name for users.
    pub fn name(self) -> &'static str {
        match self {
            Self::Rotation => "rotary positions and the cache",
            Self::Norm => "residual and norm",
            Self::Drawing => "drawing a token",
        }
    }
}

/// Kernels used in place of libtorch's operators, by default none. An operation that has none, or whose kernel does not support the
/// tensors, is libtorch's.
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

    /// The kernels, if that of the operation is among them.
    pub(crate) fn kernels(&self, operation: KernelOperation) -> Option<&CudaKernels> {
        self.kernels.as_deref().filter(|_| self.right.contains(&operation))
    }
}

/// Rotates queries, `[rows, heads, 1, head_dim]`, of one position per row. Keys and values are stored at `places`, i64 `[rows]`, of a
/// block's cache, `[places, kv_heads, head_dim]` each.
pub(crate) fn rotate_and_store(
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
