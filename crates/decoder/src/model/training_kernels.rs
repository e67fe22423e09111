//! The project's kernels of training passes, where libtorch takes several operators: the MLP's gate and rotary positions.

use std::sync::Arc;

use tch::{Device, Kind, Tensor};
use torch_ext::{CudaKernels, KernelError};

use crate::kernel_self_test::{OutcomeCache, largest_error, tested_kernels, wave};

/// The kernels for `x`, if they passed their test on its device: on CUDA, in bf16.
pub(super) fn training_kernels(x: &Tensor) -> Option<Arc<CudaKernels>> {
    static OUTCOMES: OutcomeCache<Device, bool> = OutcomeCache::new();
    tested_kernels(x, &OUTCOMES, test_training_kernels)
}

/// Tests the kernels of training passes on a CUDA device against the closed form in f64. Returns the largest relative error.
///
/// # Errors
///
/// The reason that they are not used: they are missing, or an error exceeds rounding.
pub fn test_training_kernels(device: Device) -> Result<f64, String> {
    test_kernels(&*CudaKernels::on(device)?, device)
}

fn test_kernels(kernels: &CudaKernels, device: Device) -> Result<f64, String> {
    let _no_grad = tch::no_grad_guard();
    let of_gate = test_gate(kernels, device, |both| kernels.gate(both))?;
    Ok(of_gate.max(test_rotation(kernels, device)?))
}

const TOKENS: i64 = 5;

fn test_gate(
    kernels: &CudaKernels,
    device: Device,
    gate: impl FnOnce(&Tensor) -> Result<Tensor, KernelError>,
) -> Result<f64, String> {
    const WIDTH: i64 = 326;
    let (both, cotangent) = (wave(&[TOKENS, 2 * WIDTH], 0.37) * 4, wave(&[TOKENS, WIDTH], 0.73));
    let halves = both.to_kind(Kind::Double).chunk(2, -1);
    let ([gated, up], slope) = ([&halves[0], &halves[1]], cotangent.to_kind(Kind::Double));
    let sigmoid = gated.sigmoid();
    let silu = gated * &sigmoid;
    let of_gate = &slope * up * &sigmoid * ((-&sigmoid + 1.0) * gated + 1.0);
    let exact = Tensor::cat(&[of_gate, &slope * &silu], -1);

    let [both, cotangent] = [both, cotangent].map(|x| x.to_device(device));
    let of_value = largest_error(&gate(&both)?, &(silu * up), 2.0)?;
    let gradient = kernels.gate_backward(&both, &cotangent)?;
    Ok(of_value.max(largest_error(&gradient, &exact, 1.0)?))
}

fn test_rotation(kernels: &CudaKernels, device: Device) -> Result<f64, String> {
    const HEADS: [i64; 2] = [6, 4];
    const WIDTH: i64 = 16;
    let [all, rotated] = HEADS;
    // As attention leaves its gradients: head by head.
    let x = wave(&[all, TOKENS, WIDTH], 0.37).transpose(0, 1);
    let angle = wave(&[TOKENS, WIDTH / 2], 0.73).to_kind(Kind::Float) * 3;
    let angles = [angle.cos(), angle.sin()];
    let [cosine, sine] = angles.each_ref().map(|x| x.to_kind(Kind::Double).unsqueeze(1));
    let wide = x.to_kind(Kind::Double);
    let halves = wide.narrow(1, 0, rotated).chunk(2, -1);

    let (x, angles) = (x.to_device(device), angles.map(|x| x.to_device(device)));
    let mut largest = 0_f64;
    for (is_back, sine) in [(false, sine.shallow_clone()), (true, -&sine)] {
        let turned =
            [&halves[0] * &cosine - &halves[1] * &sine, &halves[1] * &cosine + &halves[0] * &sine];
        let rest = wide.narrow(1, rotated, all - rotated);
        let exact = Tensor::cat(&[Tensor::cat(&turned, -1), rest], 1);
        let computed = kernels.rotate(&x, rotated, angles.each_ref(), is_back)?;
        largest = largest.max(largest_error(&computed, &exact, 1.0)?);
    }
    Ok(largest)
}

#[cfg(test)]
mod tests {
    use super::*;

    const CPU: Device = Device::Cpu;

    #[test]
    fn right_kernels_pass() {
        let error = test_kernels(&CudaKernels::emulated().unwrap(), CPU).unwrap();
        assert!(error > 1e-4 && error < 0.008, "bf16 rounds: {error}");
        assert!(test_training_kernels(CPU).unwrap_err().contains("Cpu"));
        assert!(training_kernels(&wave(&[2], 0.3)).is_none());
    }

    #[test]
    fn a_gate_that_is_wrong_is_not_used() {
        let kernels = CudaKernels::emulated().unwrap();
        let swapped = |both: &Tensor| {
            let halves = both.chunk(2, -1);
            kernels.gate(&Tensor::cat(&[&halves[1], &halves[0]], -1))
        };
        assert!(test_gate(&kernels, CPU, swapped).unwrap_err().starts_with("differs by"));
    }
}
