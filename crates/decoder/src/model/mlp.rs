//! The gated MLP of a block.

use model_files::model_config::Activation;
use tch::Tensor;

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
    /// Maps `[.., hidden]` to the same shape; a rank's columns of `down` give its addend.
    pub(super) fn forward(&self, x: &Operand) -> Tensor {
        let both = Projection::forward_all(&[&self.gate, &self.up], x);
        self.down.forward(&Operand::gated(both, self.activation))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel_self_test::wave;

    #[test]
    fn a_kernel_takes_gate_and_up_as_their_product_leaves_them() {
        let [gate, up] = [0.3, 0.7].map(|step| Projection::new(wave(&[6, 8], step), None));
        let both = Projection::forward_all(&[&gate, &up], &Operand::plain(wave(&[3, 1, 8], 1.1)));
        let by_kernel = torch_ext::CudaKernels::emulated().unwrap().gate(&both).unwrap();
        assert!(by_kernel.equal(&Operand::gated(both, Activation::Silu).into_value()));
    }
}
