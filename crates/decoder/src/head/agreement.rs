//! Compares the head's kernel with plain operators.

use std::sync::Arc;

use tch::{Device, Kind, Tensor};
use torch_ext::CudaKernels;

use super::fused::FusedHead;
use super::{Targets, TokenCotangent, WeightGradient, token_statistics, token_statistics_backward};
use crate::bf16_matmul::matmul;
use crate::kernel_self_test::{largest_off, wide_wave};

const CPU: Device = Device::Cpu;

fn wave(rows: i64, columns: i64, step: f64) -> Tensor {
    (wide_wave(&[rows, columns], step) * 2).to_kind(Kind::BFloat16)
}

/// The two paths round the same logits to bf16; the rest agrees to the rounding of the gradient.
#[test]
fn the_kernel_computes_what_plain_operators_do() {
    let kernels = CudaKernels::emulated().expect("a C++ compiler, which built torch-ext");
    let (hidden, weight) = (wave(7, 16, 0.7), wave(600, 16, 0.13));
    let ids = Tensor::from_slice(&[0i64, 599, 17, 17, 256, 255, 1]);
    let cotangent = [0.37, 1.1].map(|step| wave(7, 1, step).squeeze_dim(1));
    for (temperature, with_entropy) in [(1.0, false), (1.0, true), (0.6, true)] {
        let kernels = Arc::clone(&kernels);
        let head = FusedHead { kernels, hidden: &hidden, weight: &weight, ids: &ids, temperature };
        let cotangent = TokenCotangent {
            log_prob: &cotangent[0],
            entropy: with_entropy.then_some(&cotangent[1]),
        };
        let targets = Targets { with_squared_scores: true, ..Targets::from(&ids) };
        let plain = token_statistics(&hidden, &weight, targets, temperature);
        let squared_score = plain.squared_score.unwrap();
        let sum = Tensor::zeros([600, 16], (Kind::Float, CPU));
        let mut d_weight = WeightGradient::over(&sum);
        let gradient = token_statistics_backward(
            &hidden,
            &weight,
            &ids,
            temperature,
            cotangent,
            Some(&mut d_weight),
        );
        for (start, length) in [(0, 7), (2, 3)] {
            let part = |x: &Tensor| x.narrow(0, start, length);
            let near = |computed: &Tensor, exact: &Tensor, bound: f64| {
                let off = largest_off(computed, exact);
                assert!(off < bound, "{off}");
            };
            let (_, [log_prob, entropy, own_score]) = head.compute(start, length, None).unwrap();
            near(&log_prob, &part(&plain.log_prob), 1e-5);
            near(&entropy, &part(&plain.entropy), 1e-5);
            near(&own_score, &part(&squared_score), 1e-6);
            let (d_logits, log_prob) =
                head.backward((start, length), cotangent.log_prob, cotangent.entropy).unwrap();
            assert_eq!(d_logits.kind(), Kind::BFloat16);
            near(&log_prob, &part(&plain.log_prob), 1e-5);
            near(&matmul(&d_logits, &weight), &part(&gradient.hidden), 0.02);
            if length == 7 {
                near(&matmul(&d_logits.tr(), &hidden), &sum, 0.02);
            }
        }
        assert!(sum.abs().max().double_value(&[]) > 1.0, "there is something to compare");
    }
}
