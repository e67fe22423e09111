//! The gated MLP of a block.

use model_files::model_config::Activation;

use super::fused::{FusedOperations, KernelOperation};
use super::operand::Operand;
use super::projection::Projection;

/// The gated MLP `down(activation(gate(x)) · up(x))`, without biases.
#[derive(Debug)]
pub(crate) struct Mlp {
    /// Weight `[intermediate, hidden]`.
    pub(crate) gate: Projection,
    /// Weight `[intermediate, hidden]`.
    pub(crate) up: Projection,
    /// Weight `[hidden, intermediate]`.
    pub(crate) down: Projection,
    pub(super) activation: Activation,
}

impl Mlp {
    /// Gate-up projection and activation, the input of the down projection: `[.., hidden]` to `[.., intermediate]`.
    pub(super) fn gate_up(&self, x: &Operand, fused: &FusedOperations) -> Operand {
        let both = Projection::forward_all(&[&self.gate, &self.up], x);
        let kernels = fused.kernels(KernelOperation::Gate);
        let kernels = kernels.filter(|_| self.activation == Activation::Silu);
        let by_kernel = kernels.and_then(|kernels| kernels.gate(&both).ok());
        by_kernel.map_or_else(|| Operand::gated(both, self.activation), Operand::plain)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel_self_test::wave;

    #[test]
    fn a_kernel_takes_gate_and_up_as_their_product_leaves_them() {
        let projection = |rows, columns, step| Projection::new(wave(&[rows, columns], step), None);
        let mlp = Mlp {
            gate: projection(6, 8, 0.3),
            up: projection(6, 8, 0.7),
            down: projection(8, 6, 0.2),
            activation: Activation::Silu,
        };
        let x = Operand::plain(wave(&[3, 1, 8], 1.1));
        let kernels = torch_ext::CudaKernels::emulated().unwrap();
        let both = Projection::forward_all(&[&mlp.gate, &mlp.up], &x);
        assert!(kernels.gate(&both).is_ok());
        let fused = FusedOperations::new(kernels, vec![KernelOperation::Gate]);
        let gate_up = |fused| mlp.gate_up(&x, fused).into_value();
        assert!(gate_up(&fused).equal(&gate_up(&FusedOperations::default())));
    }
}
