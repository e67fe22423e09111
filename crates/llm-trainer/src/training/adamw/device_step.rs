//! Steps on a GPU by one kernel a tensor, bit-identical to those of the loops over the host's memory.

use std::sync::Arc;

use decoder::kernel_self_test::{may_use_kernels, on_host};
use tch::{Device, Kind, Tensor};
use torch_ext::{AdamwTensors, CudaKernels};
use training_run::config::{Dtype, MasterWeights, OptimizerSection};

use super::{AdamW, Slope, Stepped};
use crate::training::split_weight::is_narrow;

impl AdamW {
    /// The kernels for this state; `None` if it does not take any. They are for one CUDA device, and for something in bf16. An error
    /// is the reason that they are not used: they are missing, or fail their test.
    pub(super) fn tested_kernels(&self) -> Result<Option<Arc<CudaKernels>>, String> {
        let mut parameters = self.tensors.iter().map(|stepped| &stepped.parameter);
        let Some(device) = parameters.clone().next().map(Tensor::device) else { return Ok(None) };
        let fits =
            |p: &Tensor| p.device() == device && matches!(p.kind(), Kind::BFloat16 | Kind::Float);
        let narrow = self.options.moments == Dtype::Bf16 || parameters.clone().any(is_narrow);
        let may_use = device.is_cuda() && !self.memory.is_host() && narrow && may_use_kernels();
        if !may_use || !parameters.all(fits) {
            return Ok(None);
        }
        let kernels = CudaKernels::on(device).map_err(|error| error.to_string())?;
        test_kernels(&kernels, device).map(|_| Some(kernels))
    }

    /// Says that plain operators step the state although a kernel would be faster, with the reason.
    pub(crate) fn kernel_warning(&self) -> Option<String> {
        let reason = self.kernels.as_ref().err()?.lines().next().unwrap_or_default();
        Some(format!("the optimiser is slower than it could be: plain operators step, as {reason}"))
    }

    /// Takes the step by one launch. Returns `None` and changes nothing without kernels, or if they do not take the tensors.
    pub(super) fn step_by_kernel(&mut self, index: usize, slope: Slope<'_>) -> Option<()> {
        let kernels = Arc::clone(self.kernels.as_ref().ok()?.as_ref()?);
        let factors = self.factors(index, slope);
        let Stepped { parameter, place, copy, moments, .. } = &mut self.tensors[index];
        let tensors = AdamwTensors {
            gradient: &slope.gradient.contiguous(),
            parameter: &mut parameter.detach(),
            copy: copy.as_mut(),
            moments: moments.each_mut(),
            start: place.start(),
        };
        kernels.adamw(tensors, &factors).ok()
    }

    /// Sum of squares of gradients by one launch a tensor; `None` without kernels, or if they do not take the tensors.
    pub(super) fn square_by_kernels(&self, gradients: &[Tensor]) -> Option<f64> {
        let kernels = self.kernels.as_ref().ok()?.as_ref()?;
        let gradients: Vec<Tensor> = gradients.iter().map(Tensor::contiguous).collect();
        let sums = kernels.sums_of_squares(&gradients).ok()?;
        Some(sums.sum(Kind::Double).double_value(&[]))
    }
}

/// Tests the optimiser's kernels on a CUDA device; returns the largest relative error of a sum of squares. Steps have none.
pub(crate) fn test_step_kernels(device: Device) -> Result<f64, String> {
    let kernels = CudaKernels::on(device).map_err(|error| error.to_string())?;
    test_kernels(&kernels, device)
}

/// Elements of the tests' parameter: enough for two blocks, and no multiple of one.
const ELEMENTS: i64 = 1500;

/// Every format of master weight and moments.
pub(super) fn formats() -> impl Iterator<Item = (MasterWeights, Dtype)> {
    let moments = [Dtype::F32, Dtype::Bf16];
    MasterWeights::ALL.into_iter().flat_map(move |master| moments.map(|moments| (master, moments)))
}

/// Takes two steps of each format by `kernels` on `device` and by loops on the host; all bits must be equal.
fn test_kernels(kernels: &Arc<CudaKernels>, device: Device) -> Result<f64, String> {
    /// Tolerance for sums of a thousand squares in f64, in another order.
    const TOLERANCE: f64 = 1e-12;
    let _no_grad = tch::no_grad_guard();
    for (master, moments) in formats() {
        let options = OptimizerSection { master, moments, ..Default::default() };
        let [mut host, mut there] = [(); 2].map(|()| example(&options));
        let stepped = &mut there.tensors[0];
        let tensors = [&mut stepped.parameter].into_iter().chain(&mut stepped.moments);
        for tensor in tensors.chain(&mut stepped.copy) {
            *tensor = tensor.to_device(device);
        }
        there.kernels = Ok(Some(Arc::clone(kernels)));
        for state in [&mut host, &mut there] {
            take_steps(state)?;
        }
        if let Some(name) = differing(&host, &there) {
            return Err(format!("{name} differs from the host's, with {master:?} and {moments:?}"));
        }
    }
    let mut largest = 0_f64;
    for kind in [Kind::BFloat16, Kind::Float] {
        let gradient = wave(0.73, 4.0).to_kind(kind);
        let exact = gradient.to_kind(Kind::Double).square().sum(Kind::Double).double_value(&[]);
        let sums = kernels.sums_of_squares(&[gradient.to_device(device)]);
        let sums = on_host(&sums.map_err(|error| error.to_string())?)?;
        let error = (sums.sum(Kind::Double).double_value(&[]) / exact - 1.0).abs();
        if error.is_nan() || error > TOLERANCE {
            return Err(format!(
                "a sum of squares is off by {error:.1e}, expected {TOLERANCE:.1e}"
            ));
        }
        largest = largest.max(error);
    }
    Ok(largest)
}

/// Numbers of both signs and many sizes; every 7th is 0.
fn wave(step: f64, decades: f64) -> Tensor {
    let index = Tensor::arange(ELEMENTS, (Kind::Double, Device::Cpu));
    let sizes = ((&index * 0.011).sin() * decades * std::f64::consts::LN_10).exp();
    (&index * step).sin() * sizes * index.remainder(7.0).clamp_max(1.0)
}

/// A state on the host in the middle of a run, of a parameter in bf16.
fn example(options: &OptimizerSection) -> AdamW {
    let parameter = wave(0.37, 2.0).to_kind(Kind::BFloat16);
    let mut state = AdamW::of([("w".to_owned(), parameter)], options, 5);
    let Stepped { place, copy, moments: [first, second], .. } = &mut state.tensors[0];
    first.copy_(&wave(0.91, 3.0));
    second.copy_(&wave(1.13, 3.0).square());
    place.run = Some(3);
    match copy {
        None => {}
        Some(lower) if lower.kind() == Kind::Int16 => lower.copy_(&(wave(0.59, 0.0) * 32_000.0)),
        Some(master) => *master += wave(0.59, 0.0) * 1e-4,
    }
    state
}

fn take_steps(state: &mut AdamW) -> Result<(), String> {
    let device = state.tensors[0].parameter.device();
    for (step, scale) in [(0.73, Some(0.3)), (1.31, None)] {
        state.applied += 1;
        // Beyond f32's squares, so that a second moment is clipped.
        let gradient = wave(step, 22.0).to_kind(Kind::BFloat16).to_device(device);
        let slope = Slope { gradient: &gradient, scale, learning_rate: 1e-2 };
        let taken = match state.kernels {
            Ok(Some(_)) => state.step_by_kernel(0, slope),
            _ => state.step_on_host(0, slope),
        };
        taken.ok_or("a step was not taken")?;
    }
    Ok(())
}

/// The first parameter with its state, by name.
fn named(state: &AdamW) -> Vec<(&'static str, &Tensor)> {
    let Stepped { parameter, copy, moments: [first, second], .. } = &state.tensors[0];
    let moments = [("a first moment", first), ("a second moment", second)];
    let copy = copy.iter().map(|copy| ("a master weight", copy));
    [("a parameter", parameter)].into_iter().chain(moments).chain(copy).collect()
}

/// Names a tensor of `there` whose bits are not those of `host`, in the same format; `None` if there is none.
fn differing(host: &AdamW, there: &AdamW) -> Option<&'static str> {
    let mut pairs = std::iter::zip(named(host), named(there));
    let differs = |expected: &Tensor, actual: &Tensor| {
        !bits(expected).equal(&bits(&actual.to_device(Device::Cpu)))
    };
    pairs.find(|((_, expected), (_, actual))| differs(expected, actual)).map(|(one, _)| one.0)
}

/// The numbers as integers, so that 0 differs from -0.
pub(super) fn bits(numbers: &Tensor) -> Tensor {
    match numbers.kind() {
        Kind::Float => numbers.view_dtype(Kind::Int),
        _ => numbers.view_dtype(Kind::Int16),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kernels() -> Arc<CudaKernels> {
        CudaKernels::emulated().expect("a C++ compiler, which built torch-ext")
    }

    #[test]
    fn right_kernels_pass() {
        let error = test_kernels(&kernels(), Device::Cpu).unwrap();
        assert!(error < 1e-14, "{error}");
    }

    #[test]
    fn one_bit_of_any_tensor_is_noticed() {
        let options = OptimizerSection { moments: Dtype::Bf16, ..Default::default() };
        let states = || [(); 2].map(|()| example(&options));
        let [host, there] = states();
        assert_eq!(differing(&host, &there), None);
        for index in 0..4 {
            let [host, there] = states();
            let (name, tensor) = named(&there)[index];
            let _same = bits(tensor).get(7).bitwise_xor_(1);
            assert_eq!(differing(&host, &there), Some(name));
        }
    }

    #[test]
    fn without_kernels_the_reason_is_given() {
        let reason = test_step_kernels(Device::Cpu).unwrap_err();
        assert!(reason.contains("Cpu"), "{reason}");
        let mut state = example(&OptimizerSection::default());
        assert_eq!(state.kernel_warning(), None, "the CPU has loops");
        state.kernels = Err("a library is missing\nand more".to_owned());
        let warning = state.kernel_warning().unwrap();
        assert!(warning.ends_with("plain operators step, as a library is missing"), "{warning}");
    }

    #[test]
    fn squares_of_several_gradients_are_summed() {
        let parameters = [5000, 3, 1500].map(|count| {
            let numbers = (Tensor::arange(count, (Kind::Double, Device::Cpu)) * 0.37).sin();
            ("w".to_owned(), numbers.to_kind(Kind::BFloat16))
        });
        let mut state = AdamW::of(parameters, &OptimizerSection::default(), 5);
        for stepped in &mut state.tensors {
            stepped.gradient = Some(stepped.parameter.to_kind(Kind::Float) * 3);
        }
        let plain = state.gradient_norm().unwrap();
        state.kernels = Ok(Some(kernels()));
        let gradients: Vec<Tensor> = state.tensors.iter().map(Stepped::gradient).collect();
        let by_kernels = state.square_by_kernels(&gradients).unwrap().sqrt();
        assert!((by_kernels / plain - 1.0).abs() < 1e-14, "{by_kernels} {plain}");
        let first = state.square_by_kernels(&gradients[1..2]).unwrap();
        let expected = 9.0 * (0.37_f64.sin().powi(2) + 0.74_f64.sin().powi(2));
        assert!((first / expected - 1.0).abs() < 1e-2, "{first} {expected}");
    }
}
