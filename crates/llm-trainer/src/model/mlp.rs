//! The gated feed-forward half of a block.

use tch::Tensor;
use torch_ext::own_operation;

use super::fused::FusedOperations;
use super::operand::Operand;
use super::projection::Projection;

/// `down(silu(gate(x)) · up(x))`, without biases.
#[derive(Debug)]
pub(super) struct Mlp {
    /// Weight `[intermediate, hidden]`.
    pub(super) gate: Projection,
    /// Weight `[intermediate, hidden]`.
    pub(super) up: Projection,
    /// Weight `[hidden, intermediate]`.
    pub(super) down: Projection,
}

impl Mlp {
    /// What the downward projection is applied to: `[.., hidden]` to `[.., intermediate]`.
    pub(super) fn raise(&self, x: &Operand, fused: &FusedOperations) -> Operand {
        let both = Projection::forward_all(&[&self.gate, &self.up], x);
        fused.gate(&both).map_or_else(|| Operand::gated(both), Operand::plain)
    }
}

/// `silu(gate) · up` of gate and up one after another, `[.., 2 · intermediate]`, which alone is kept for the backward pass.
pub(super) fn gated(both: &Tensor) -> Tensor {
    let kept = both.detach();
    let forward = || {
        let [gate, up] = halves(both);
        gate.silu().g_mul_(&up)
    };
    let pull_back = move |cotangent: &Tensor| vec![pull_back_gated(&kept, cotangent)];
    own_operation(&[both], forward, pull_back).expect("of its own kind and device")
}

/// The gradient of gate and up, one after another, of a cotangent of what [`gated`] makes of them.
pub(super) fn pull_back_gated(both: &Tensor, cotangent: &Tensor) -> Tensor {
    let [gate, up] = halves(both);
    let gradient = both.empty_like();
    let [of_gate, of_up] = halves(&gradient);
    let _written = gate.silu_backward_grad_input(&of_gate, &(cotangent * up));
    let _written = gate.silu().mul_out(&of_up, cotangent);
    gradient
}

fn halves(both: &Tensor) -> [Tensor; 2] {
    let width = both.size().last().expect("a matrix has columns") / 2;
    [both.narrow(-1, 0, width), both.narrow(-1, width, width)]
}

#[cfg(test)]
mod tests {
    use tch::{Device, Kind};
    use torch_ext::vector_jacobian_product;

    use super::*;

    #[test]
    fn a_kernel_takes_gate_and_up_as_their_product_leaves_them() {
        let wave = |rows: i64, columns: i64, step: f64| {
            let numbers =
                (Tensor::arange(rows * columns, (Kind::Double, Device::Cpu)) * step).sin();
            numbers.view([rows, columns]).to_kind(Kind::BFloat16)
        };
        let projection = |rows, columns, step| Projection::new(wave(rows, columns, step), None);
        let mlp = Mlp {
            gate: projection(6, 8, 0.3),
            up: projection(6, 8, 0.7),
            down: projection(8, 6, 0.2),
        };
        let x = Operand::plain(wave(3, 8, 1.1).unsqueeze(1));
        let kernels = torch_ext::DecodingKernels::emulated().unwrap();
        let fused = FusedOperations::new(kernels, vec![crate::model::Operation::Gate]);
        let both = Projection::forward_all(&[&mlp.gate, &mlp.up], &x);
        assert!(fused.gate(&both).is_some());
        let raised = |fused| mlp.raise(&x, fused).into_value();
        assert!(raised(&fused).equal(&raised(&FusedOperations::default())));
    }

    #[test]
    fn gating_and_its_gradient_are_those_of_autograd() {
        let wave = |columns: i64, step: f64| {
            (Tensor::arange(3 * 5 * columns, (Kind::Double, Device::Cpu)) * step).sin() * 3
        };
        let cotangent = wave(4, 0.7).view([3, 5, 4]);
        let both = wave(8, 0.3).view([3, 5, 8]).set_requires_grad(true);
        let gradient = |value: &Tensor| {
            let found = vector_jacobian_product(&[value], &[&cotangent], &[&both]).unwrap();
            found.into_iter().next().flatten().unwrap()
        };
        let [gate, up] = halves(&both);
        let (exact, found) = (gate.silu() * up, gated(&both));
        assert!(found.detach().equal(&exact.detach()));
        assert!(gradient(&found).equal(&gradient(&exact)));
    }
}
