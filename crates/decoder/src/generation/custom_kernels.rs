//! Selection of the project's own CUDA kernels for decoding.

use std::sync::Arc;

use model_files::model_config::ModelConfig;
use tch::{Device, Kind, Tensor};
use torch_ext::{CudaKernels, KernelError};

use super::request::GenerationOptions;
use super::sampler::draw;
use crate::kernel_self_test::OutcomeCache;
use crate::model::{
    Decoder, FusedOperations, KernelOperation, rotate_and_store, test_norm, test_rotation,
};

/// Tests every kernel on `device` against plain operators, with the sizes of such a model. Returns the largest relative error, or for
/// log-probabilities the largest error in nats.
///
/// # Errors
///
/// For each kernel the reason that it is not used: it is missing, or its error exceeds rounding.
pub fn test_custom_kernels(device: Device, config: &ModelConfig) -> Outcomes {
    outcomes(&CudaKernels::on(device), device, config)
}

fn outcomes(
    kernels: &Result<Arc<CudaKernels>, KernelError>,
    device: Device,
    config: &ModelConfig,
) -> Outcomes {
    let _no_grad = tch::no_grad_guard();
    let outcome = |operation| {
        let kernels = kernels.as_ref().map_err(ToString::to_string)?;
        match operation {
            KernelOperation::Rotation => {
                test_rotation(device, config, |heads, angles, places, cache| {
                    rotate_and_store(kernels, heads, angles, places, cache)
                })
            }
            KernelOperation::Norm => {
                test_norm(device, config, |x, y, norm| kernels.add_and_normalise(x, y, norm))
            }
            KernelOperation::Drawing => {
                test_drawing(device, config, |z, u, t| kernels.draw(z, u, t))
            }
        }
    };
    KernelOperation::ALL.map(|operation| (operation, outcome(operation)))
}

type Outcomes = [(KernelOperation, Result<f64, String>); KernelOperation::ALL.len()];

/// Tests the kernels for such a model once per process; `None` where there are none: on the CPU, and for other kinds than bf16.
fn cached_outcomes(device: Device, kind: Kind, config: &ModelConfig) -> Option<Outcomes> {
    static OUTCOMES: OutcomeCache<(Device, ModelConfig), Outcomes> = OutcomeCache::new();
    let tested = |(device, config): &(Device, ModelConfig)| {
        outcomes(&CudaKernels::on(*device), *device, config)
    };
    OUTCOMES.on_cuda((device, kind), (device, config.clone()), tested)
}

/// Names the decoding operations whose kernels failed their test, and the reason; `None` if there are none.
pub fn kernels_left_out(decoder: &Decoder) -> Option<String> {
    left_out(&cached_outcomes(decoder.device(), decoder.kind(), decoder.config())?)
}

fn left_out(outcomes: &Outcomes) -> Option<String> {
    let wrong = |(operation, outcome): &(KernelOperation, Result<f64, String>)| {
        Some((operation.name(), outcome.as_ref().err()?.clone()))
    };
    let (names, reasons): (Vec<_>, Vec<_>) = outcomes.iter().filter_map(wrong).unzip();
    let reason = reasons.first()?.lines().next().unwrap_or_default();
    Some(format!(
        "decoding is slower than it could be: plain operators do {}, as {reason}",
        names.join(", ")
    ))
}

/// The kernels that passed their test: on CUDA, in bf16.
pub(super) fn custom_kernels(device: Device, kind: Kind, config: &ModelConfig) -> FusedOperations {
    match (cached_outcomes(device, kind, config), CudaKernels::on(device)) {
        (Some(outcomes), Ok(kernels)) => FusedOperations::new(kernels, right(outcomes)),
        _ => FusedOperations::default(),
    }
}

fn right(outcomes: Outcomes) -> Vec<KernelOperation> {
    let tested = outcomes.into_iter();
    tested.filter_map(|(operation, outcome)| outcome.is_ok().then_some(operation)).collect()
}

/// Compares `kernel`, called as [`CudaKernels::draw`], with plain operators.
fn test_drawing(
    device: Device,
    config: &ModelConfig,
    kernel: impl Fn(&Tensor, &Tensor, f64) -> Result<[Tensor; 2], KernelError>,
) -> Result<f64, String> {
    /// Tolerance for sums of some hundred thousand numbers in f64, in another order.
    const TOLERANCE: f64 = 1e-9;
    const ROWS: i32 = 8;
    let vocabulary = i64::try_from(config.vocab_size).map_err(|error| error.to_string())?;
    // What is expected comes from the host: a device that computes nothing would agree with itself.
    let options = (Kind::Double, Device::Cpu);
    // From nearly even odds to a few tokens that are likely, and some that are impossible.
    let sharpness = Tensor::arange(i64::from(ROWS), options).unsqueeze(1) * 2.5 + 0.1;
    let waves = (Tensor::arange(vocabulary * i64::from(ROWS), options) * 0.37).sin();
    let logits = (waves.view([i64::from(ROWS), vocabulary]) * sharpness).to_kind(Kind::BFloat16);
    let impossible = (Tensor::arange(vocabulary, options) * 0.73).cos().gt(0.9);
    let logits = logits.masked_fill(&impossible, f64::NEG_INFINITY);
    let logits_there = logits.to_device(device);
    let uniforms: Vec<f64> =
        (0..ROWS).map(|row| (0.5 + f64::from(row)) / f64::from(ROWS)).collect();
    let on_device = Tensor::from_slice(&uniforms).to_device(device);
    let mut largest = 0_f64;
    for temperature in [0.0, 0.7, 1.0] {
        let [tokens, log_prob] = kernel(&logits_there, &on_device, temperature)?;
        let options = GenerationOptions::at_temperature(temperature);
        let exact = draw(&logits, &uniforms, &options).map_err(|error| error.to_string())?;
        for (row, exact) in (0..).zip(&exact) {
            let (token, log_prob) = (tokens.int64_value(&[row]), log_prob.double_value(&[row]));
            if token != i64::from(exact.token_id) {
                return Err(format!("draws token {token}, expected {}", exact.token_id));
            }
            let error = (log_prob - exact.log_prob).abs();
            if error.is_nan() || error >= TOLERANCE {
                return Err(format!("a log-probability is off by {error:.1e} nats"));
            }
            largest = largest.max(error);
        }
    }
    Ok(largest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel_self_test::tiny_config;

    const CPU: Device = Device::Cpu;

    #[test]
    fn kernels_that_are_right_are_used_for_what_they_are_for() {
        let tested = outcomes(&CudaKernels::emulated(), CPU, &tiny_config());
        assert_eq!(tested.each_ref().map(|(operation, _)| *operation), KernelOperation::ALL);
        for (operation, outcome) in &tested {
            assert!(outcome.is_ok(), "{}: {outcome:?}", operation.name());
        }
        assert_eq!(left_out(&tested), None);
        assert_eq!(right(tested), KernelOperation::ALL);
    }

    #[test]
    fn without_kernels_libtorch_decodes_and_the_reason_is_said() {
        let missing = CudaKernels::on(CPU).unwrap_err();
        for (_, outcome) in outcomes(&Err(missing.clone()), CPU, &tiny_config()) {
            assert_eq!(outcome, Err("kernels are for CUDA devices, not for Cpu".to_owned()));
        }
        let none = outcomes(&Err(missing), CPU, &tiny_config());
        assert_eq!(
            left_out(&none).unwrap(),
            "decoding is slower than it could be: plain operators do rotary positions and the cache, residual and norm, \
             drawing a token, as kernels are for CUDA devices, not for Cpu"
        );
        assert_eq!(right(none), []);
        let on_host = custom_kernels(CPU, Kind::BFloat16, &tiny_config());
        assert!(on_host.kernels(KernelOperation::Drawing).is_none());
        for (_, outcome) in test_custom_kernels(CPU, &tiny_config()) {
            assert_eq!(outcome, Err("kernels are for CUDA devices, not for Cpu".to_owned()));
        }
    }

    #[test]
    fn a_drawing_that_is_wrong_is_not_used() {
        let kernels = CudaKernels::emulated().unwrap();
        let test = |change: &dyn Fn([Tensor; 2]) -> [Tensor; 2]| {
            test_drawing(CPU, &tiny_config(), |logits, uniforms, temperature| {
                kernels.draw(logits, uniforms, temperature).map(change)
            })
        };
        assert!(test(&|drawn| drawn).unwrap() < 1e-12);
        let other = test(&|[tokens, log_prob]| [tokens + 1, log_prob]).unwrap_err();
        assert!(other.starts_with("draws token"), "{other}");
        let off = test(&|[tokens, log_prob]| [tokens, log_prob + 1e-8]).unwrap_err();
        assert!(off.ends_with("off by 1.0e-8 nats"), "{off}");
        assert!(test(&|[tokens, log_prob]| [tokens, log_prob * f64::NAN]).is_err());
    }
}
