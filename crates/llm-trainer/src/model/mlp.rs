//! The gated feed-forward half of a block.

use tch::Tensor;
use torch_ext::own_operation;

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
    pub(super) fn raise(&self, x: &Tensor) -> Tensor {
        gated(&Projection::forward_all(&[&self.gate, &self.up], x))
    }
}

/// `silu(gate) · up` of gate and up one after another, `[.., 2 · intermediate]`, which alone is kept for the backward pass.
fn gated(both: &Tensor) -> Tensor {
    let kept = both.detach();
    let forward = || {
        let [gate, up] = halves(both);
        gate.silu().g_mul_(&up)
    };
    let pull_back = move |cotangent: &Tensor| {
        let [gate, up] = halves(&kept);
        let gradient = kept.empty_like();
        let [of_gate, of_up] = halves(&gradient);
        let _written = gate.silu_backward_grad_input(&of_gate, &(cotangent * up));
        let _written = gate.silu().mul_out(&of_up, cotangent);
        vec![gradient]
    };
    own_operation(&[both], forward, pull_back).expect("of its own kind and device")
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
