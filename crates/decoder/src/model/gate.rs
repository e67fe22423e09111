//! The gated activation of the MLP, and its gradient.

use std::sync::Arc;

use model_files::model_config::Activation;
use tch::Tensor;
use torch_ext::{CudaKernels, autograd_function};

use super::training_kernels::training_kernels;

/// Returns `activation(gate) · up` for the concatenation of gate and up, `[.., 2 · intermediate]`, the only tensor saved for the backward
/// pass.
pub(super) fn gated(both: &Tensor, activation: Activation) -> Tensor {
    gated_by(kernels_for(both, activation), both, activation)
}

/// The kernels, if they have this activation.
fn kernels_for(both: &Tensor, activation: Activation) -> Option<Arc<CudaKernels>> {
    (activation == Activation::Silu).then(|| training_kernels(both)).flatten()
}

fn gated_by(kernels: Option<Arc<CudaKernels>>, both: &Tensor, activation: Activation) -> Tensor {
    let by_kernel = kernels.as_ref().and_then(|kernels| tch::no_grad(|| kernels.gate(both)).ok());
    let forward = || {
        by_kernel.unwrap_or_else(|| {
            let [gate, up] = halves(both);
            let mut activated = match activation {
                Activation::Silu => gate.silu(),
                Activation::GeluTanh => gate.gelu(TANH),
            };
            activated.g_mul_(&up)
        })
    };
    if !both.requires_grad() {
        return forward();
    }
    let kept = both.detach();
    let vjp = move |cotangent: &Tensor| {
        vec![vjp_gated_by(kernels.as_deref(), &kept, activation, cotangent)]
    };
    autograd_function(&[both], forward, vjp).expect("of its own kind and device")
}

/// Returns the gradient of the concatenated gate and up, for a cotangent of the result of [`gated`].
pub(super) fn vjp_gated(both: &Tensor, activation: Activation, cotangent: &Tensor) -> Tensor {
    vjp_gated_by(kernels_for(both, activation).as_deref(), both, activation, cotangent)
}

fn vjp_gated_by(
    kernels: Option<&CudaKernels>,
    both: &Tensor,
    activation: Activation,
    cotangent: &Tensor,
) -> Tensor {
    let by_kernel = kernels.and_then(|kernels| kernels.gate_backward(both, cotangent).ok());
    if let Some(gradient) = by_kernel {
        return gradient;
    }
    let [gate, up] = halves(both);
    let gradient = both.empty_like();
    let [of_gate, mut of_up] = halves(&gradient);
    // In place, so that nothing of this width is beside the cotangent and the gradient.
    let _inner = cotangent.mul_out(&of_gate, &up);
    let _both = match activation {
        Activation::Silu => {
            [gate.silu_backward_grad_input(&of_gate, &of_gate), gate.silu_out(&of_up)]
        }
        Activation::GeluTanh => {
            [gate.gelu_backward_grad_input(&of_gate, &of_gate, TANH), gate.gelu_out(&of_up, TANH)]
        }
    };
    let _product = of_up.g_mul_(cotangent);
    gradient
}

/// libtorch's name of the approximation.
const TANH: &str = "tanh";

fn halves(both: &Tensor) -> [Tensor; 2] {
    let width = both.size().last().expect("a matrix has columns") / 2;
    [both.narrow(-1, 0, width), both.narrow(-1, width, width)]
}

#[cfg(test)]
mod tests {
    use tch::Kind;

    use super::*;
    use crate::kernel_self_test::{value_and_gradients, wide_wave};

    /// The value has the operators' bits; the gradient is that of the same numbers in f64, rounded once.
    #[test]
    fn kernels_gate_as_autograd_does() {
        let wave = |columns: i64, step: f64| {
            (wide_wave(&[3, 5, columns], step) * 3).to_kind(Kind::BFloat16)
        };
        let cotangent = wave(70, 0.7);
        let pulled = |both: Tensor, kernels: Option<Arc<CudaKernels>>| {
            let both = both.set_requires_grad(true);
            let value = gated_by(kernels, &both, Activation::Silu);
            value_and_gradients(&value, &cotangent.to_kind(both.kind()), &[&both])
        };
        let both = wave(140, 0.3);
        let kernels = CudaKernels::emulated().expect("a C++ compiler, which built torch-ext");
        let computed = pulled(both.copy(), Some(kernels));
        let plain = pulled(both.copy(), None);
        assert!(computed[0].equal(&plain[0]));
        let exact = pulled(both.to_kind(Kind::Double), None);
        let off = (computed[1].to_kind(Kind::Double) - &exact[1]).abs();
        let relative = (off / (exact[1].abs() + 1e-6)).max().double_value(&[]);
        assert!(relative <= 1.0 / 256.0, "{relative}");
        assert!(!computed[1].equal(&plain[1]), "operators round four times");
    }
}
