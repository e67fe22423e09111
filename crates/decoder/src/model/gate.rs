//! The gated activation of the MLP, and its gradient.

use model_files::model_config::Activation;
use tch::Tensor;
use torch_ext::autograd_function;

/// Returns `activation(gate) · up` for the concatenation of gate and up, `[.., 2 · intermediate]`, the only tensor saved for the backward
/// pass.
pub(super) fn gated(both: &Tensor, activation: Activation) -> Tensor {
    let kept = both.detach();
    let forward = || {
        let [gate, up] = halves(both);
        activated(&gate, activation).g_mul_(&up)
    };
    let vjp = move |cotangent: &Tensor| vec![vjp_gated(&kept, activation, cotangent)];
    autograd_function(&[both], forward, vjp).expect("of its own kind and device")
}

/// Returns the gradient of the concatenated gate and up, for a cotangent of the result of [`gated`].
pub(super) fn vjp_gated(both: &Tensor, activation: Activation, cotangent: &Tensor) -> Tensor {
    let [gate, up] = halves(both);
    let gradient = both.empty_like();
    let [of_gate, of_up] = halves(&gradient);
    let _written = match (activation, cotangent * up) {
        (Activation::Silu, inner) => gate.silu_backward_grad_input(&of_gate, &inner),
        (Activation::GeluTanh, inner) => gate.gelu_backward_grad_input(&of_gate, &inner, TANH),
    };
    let _written = activated(&gate, activation).mul_out(&of_up, cotangent);
    gradient
}

/// libtorch's name of the approximation.
const TANH: &str = "tanh";

fn activated(gate: &Tensor, activation: Activation) -> Tensor {
    match activation {
        Activation::Silu => gate.silu(),
        Activation::GeluTanh => gate.gelu(TANH),
    }
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
            let gradients = vector_jacobian_product(&[value], &[&cotangent], &[&both]).unwrap();
            gradients.into_iter().next().flatten().unwrap()
        };
        let [gate, up] = halves(&both);
        for (activation, plain) in
            [(Activation::Silu, gate.silu()), (Activation::GeluTanh, gate.gelu("tanh"))]
        {
            let (exact, computed) = (plain * &up, gated(&both, activation));
            assert!(computed.detach().equal(&exact.detach()));
            assert!(gradient(&computed).equal(&gradient(&exact)));
        }
    }
}
