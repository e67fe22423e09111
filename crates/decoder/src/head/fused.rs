//! The head on CUDA in bf16: one kernel computes the statistics of each row of logits, and turns the logits into their gradient.
//!
//! Without f32 copies of the logits, chunks of [`WAITING_LOGITS`](model_files::buffer_limits::WAITING_LOGITS) take less memory than
//! those of plain operators.

use std::sync::Arc;

use tch::{Device, Kind, Tensor};
use torch_ext::CudaKernels;

use crate::bf16_matmul::matmul;
use crate::kernel_self_test::{OutcomeCache, largest_error, on_host, tested_kernels};

/// The head of some tokens, computed by the kernel.
#[derive(Debug)]
pub(super) struct FusedHead<'a> {
    pub(super) kernels: Arc<CudaKernels>,
    /// `[tokens, hidden]`.
    pub(super) hidden: &'a Tensor,
    /// `[vocab, hidden]`.
    pub(super) weight: &'a Tensor,
    /// Token ids, i64 `[tokens]`.
    pub(super) ids: &'a Tensor,
    pub(super) temperature: f64,
}

impl<'a> FusedHead<'a> {
    /// The kernel for the head of `hidden`, if there is one: on CUDA, in bf16, for an even vocabulary.
    pub(super) fn new(
        hidden: &'a Tensor,
        weight: &'a Tensor,
        ids: &'a Tensor,
        temperature: f64,
    ) -> Option<Self> {
        static OUTCOMES: OutcomeCache<Device, bool> = OutcomeCache::new();
        if weight.size()[0] % 2 != 0 {
            return None;
        }
        let kernels = tested_kernels(hidden, &OUTCOMES, test_fused_head)?;
        Some(Self { kernels, hidden, weight, ids, temperature })
    }

    /// Gradient of the logits, bf16 `[length, vocab]`, and the log-probability, f32 `[length]`, from cotangents of log-probability and
    /// entropy of all tokens.
    pub(super) fn backward(
        &self,
        (start, length): (i64, i64),
        log_prob: &Tensor,
        entropy: Option<&Tensor>,
    ) -> Option<(Tensor, Tensor)> {
        let column =
            |values: &Tensor| values.narrow(0, start, length).to_kind(Kind::Float).contiguous();
        let (log_prob, entropy) = (column(log_prob), entropy.map(column));
        let (d_logits, [log_prob, ..]) =
            self.compute(start, length, Some((&log_prob, entropy.as_ref())))?;
        Some((d_logits, log_prob))
    }

    /// Logits of `length` tokens from `start` on, or their gradient for cotangents of these tokens, bf16 `[length, vocab]`. Then
    /// log-probability, entropy and squared score, each f32 `[length]`. `None` if the kernel does not take them.
    pub(super) fn compute(
        &self,
        start: i64,
        length: i64,
        cotangent: Option<(&Tensor, Option<&Tensor>)>,
    ) -> Option<(Tensor, [Tensor; 3])> {
        let mut logits = matmul(&self.hidden.narrow(0, start, length), &self.weight.tr());
        let ids = self.ids.narrow(0, start, length).contiguous();
        let statistics = self.kernels.head(&mut logits, &ids, self.temperature, cotangent).ok()?;
        Some((logits, statistics))
    }
}

/// Tests the head's kernel on a CUDA device against the closed form in f64; returns the largest relative error of the gradient.
///
/// # Errors
///
/// The reason that it is not used: it is missing, or an error exceeds rounding.
pub fn test_fused_head(device: Device) -> Result<f64, String> {
    test_kernel(&*CudaKernels::on(device)?, device)
}

fn test_kernel(kernels: &CudaKernels, device: Device) -> Result<f64, String> {
    /// Tolerance, of nats and of squared scores, for sums of a thousand numbers in f32.
    const TOLERANCE: f64 = 1e-4;
    const VOCABULARY: i64 = 1998;
    let _no_grad = tch::no_grad_guard();
    let options = (Kind::Double, Device::Cpu);
    let ids = Tensor::from_slice(&[3i64, 1996, 401]);
    let sharpness = Tensor::from_slice(&[0.3, 3.0, 9.0]).unsqueeze(1);
    let waves = (Tensor::arange(3 * VOCABULARY, options) * 0.37).sin().view([3, VOCABULARY]);
    let logits = (waves * sharpness).to_kind(Kind::BFloat16);
    let cotangents =
        [[0.7f32, -1.3, 0.2], [0.1, 0.4, -0.6]].map(|numbers| Tensor::from_slice(&numbers));
    let mut largest = 0_f64;
    for (temperature, with_entropy) in [(1.0, false), (0.6, true)] {
        let wide = cotangents.each_ref().map(|x| x.to_kind(Kind::Double).unsqueeze(1));
        let log_prob = (logits.to_kind(Kind::Double) / temperature).log_softmax(-1, Kind::Double);
        let prob = log_prob.exp();
        let entropy = -(&prob * &log_prob).sum_dim_intlist(-1, true, Kind::Double);
        let mut d_logits = &wide[0] * -&prob;
        let _same = d_logits.scatter_add_(1, &ids.unsqueeze(1), &wide[0]);
        if with_entropy {
            d_logits -= &prob * (&log_prob + &entropy) * &wide[1];
        }
        let target = log_prob.gather(1, &ids.unsqueeze(1), false);
        let squares = prob.square().sum_dim_intlist(-1, true, Kind::Double);
        let squared_score: Tensor = target.exp() * -2.0 + squares + 1.0;
        let exact = [target, entropy, squared_score];

        let mut gradient = logits.copy().to_device(device);
        let there = cotangents.each_ref().map(|x| x.to_device(device));
        let cotangent = (&there[0], with_entropy.then_some(&there[1]));
        let statistics =
            kernels.head(&mut gradient, &ids.to_device(device), temperature, Some(cotangent))?;
        for (computed, exact) in statistics.iter().zip(&exact) {
            let off = on_host(computed)?.to_kind(Kind::Double) - exact.squeeze_dim(1);
            let off = off.abs().max().double_value(&[]);
            if off.is_nan() || off >= TOLERANCE {
                return Err(format!("a statistic is off by {off:.1e}, expected {TOLERANCE:.1e}"));
            }
        }
        largest = largest.max(largest_error(&gradient, &(d_logits / temperature), 1.0)?);
    }
    Ok(largest)
}

#[cfg(test)]
mod tests {
    use super::*;

    const CPU: Device = Device::Cpu;

    fn kernels() -> Arc<CudaKernels> {
        CudaKernels::emulated().expect("a C++ compiler, which built torch-ext")
    }

    #[test]
    fn a_right_kernel_passes() {
        let error = test_kernel(&kernels(), CPU).unwrap();
        assert!(error > 0.0 && error < 0.004, "{error}");
        assert!(test_fused_head(CPU).unwrap_err().contains("Cpu"));
    }

    /// A probability of 0 has no logarithm, yet a gradient; a target that is no token shows.
    #[test]
    fn impossible_tokens_are_no_nan() {
        let mut logits =
            Tensor::from_slice(&[0f32, 0.0, f32::NEG_INFINITY, f32::NEG_INFINITY]).view([1, 4]);
        logits = Tensor::cat(&[&logits, &logits], 0).to_kind(Kind::BFloat16);
        let ones = Tensor::ones([2], (Kind::Float, CPU));
        let targets = Tensor::from_slice(&[1i64, 4]);
        let [log_prob, entropy, squared_score] =
            kernels().head(&mut logits, &targets, 1.0, Some((&ones, Some(&ones)))).unwrap();
        assert!((squared_score.double_value(&[0]) - 0.5).abs() < 1e-6);
        assert!((entropy.double_value(&[0]) - 2f64.ln()).abs() < 1e-6);
        assert!((log_prob.double_value(&[0]) + 2f64.ln()).abs() < 1e-6);
        assert!(log_prob.double_value(&[1]).is_nan());
        let gradient = Vec::<f32>::try_from(&logits.get(0).to_kind(Kind::Float)).unwrap();
        assert_eq!(gradient, [-0.5, 0.5, 0.0, 0.0]);
    }
}
