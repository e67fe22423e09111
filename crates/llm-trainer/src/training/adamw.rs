//! `AdamW` over the parameters of a decoder, with global-norm clipping.

pub(crate) mod device_step;
mod files;
#[cfg(test)]
mod formats;
mod host_step;
mod layout;
mod narrow_step;
mod over_ranks;
mod place;
mod saved;
mod sharding;

use std::sync::Arc;

use tch::{Device, Kind, Tensor};
use torch_ext::{CudaKernels, TorchError, fused_adamw};
use training_run::config::{Dtype, MasterWeights, OptimizerSection};

use self::place::Place;
use self::sharding::Sharding;
use super::split_weight::{is_narrow, wide_kind};
use crate::host_memory::Memory;
use decoder::model::{Decoder, Placement};

/// Elements whose squares are summed at a time on the CPU.
const NORM_ELEMENTS: i64 = 1 << 18;

/// Elements per piece on a GPU, where each call has a cost: 64 MiB a buffer.
const GPU_PIECE_ELEMENTS: i64 = 1 << 24;

/// Optimiser state: moments, and master weights of parameters whose kind is too coarse for small steps.
#[derive(Debug)]
pub struct AdamW {
    /// The model's parameters, or the shards of them that this rank steps.
    tensors: Vec<Stepped>,
    placement: Placement,
    /// Layout of the state over data-parallel ranks, if each keeps a shard of it.
    sharding: Option<Box<Sharding>>,
    options: OptimizerSection,
    /// Memory in which master weights and moments are kept and stepped, apart from parameters on the device.
    memory: Memory,
    /// Seed of the noise for rounding moments.
    seed: u64,
    applied: u64,
    /// Kernels that step the state; step counts are then on the CPU.
    kernels: Option<Arc<CudaKernels>>,
    /// The reason that no kernels step the state although they could.
    kernel_fault: Option<String>,
}

/// A tensor that is stepped, with its state.
#[derive(Debug)]
struct Stepped {
    /// A parameter of the model, or this rank's shard of it.
    parameter: Tensor,
    /// Place of the tensor within the model.
    place: Place,
    /// Gradient of the shard for one step; `None` where the parameter's own is taken.
    gradient: Option<Tensor>,
    master_copy: MasterCopy,
    /// First and second moment.
    moments: [Tensor; 2],
    /// Number of steps taken, a scalar.
    steps: Tensor,
}

/// Master weight of a parameter.
#[derive(Debug)]
enum MasterCopy {
    /// None: the parameter is wide enough itself, or no master weight is wanted.
    None,
    /// The weight in `f32` at least; the parameter is the nearest value to it.
    Full(Tensor),
    /// The lower half of the `f32` weight, as `i16`; the parameter is the upper half ([`split_weight`](super::split_weight)).
    LowerHalf(Tensor),
}

impl MasterCopy {
    /// The master weight, or its lower half.
    fn tensor(&self) -> Option<&Tensor> {
        match self {
            Self::None => None,
            Self::Full(copy) | Self::LowerHalf(copy) => Some(copy),
        }
    }

    /// [`tensor`](Self::tensor), for changes in place.
    fn tensor_mut(&mut self) -> Option<&mut Tensor> {
        match self {
            Self::None => None,
            Self::Full(copy) | Self::LowerHalf(copy) => Some(copy),
        }
    }
}

impl Stepped {
    /// A parameter that has taken no step, with its state in `memory`.
    fn new(memory: Memory, options: &OptimizerSection, place: Place, parameter: Tensor) -> Self {
        let device = if memory.is_host() { Device::Cpu } else { parameter.device() };
        let moment_kind = match options.moments {
            Dtype::F32 | Dtype::F64 => wide_kind(&parameter),
            Dtype::Bf16 => Kind::BFloat16,
        };
        // In the host's memory there are master weights of parameters of any kind.
        let master_copy = match (memory, is_narrow(&parameter), options.master) {
            (Memory::Host, true, _) | (_, true, MasterWeights::F32) => {
                MasterCopy::Full(memory.settle(&parameter.detach().to_kind(Kind::Float)))
            }
            (Memory::Host, false, _) => MasterCopy::Full(memory.settle(&parameter)),
            (Memory::Device, false, _) | (_, true, MasterWeights::None) => MasterCopy::None,
            (Memory::Device, true, MasterWeights::Split) => {
                MasterCopy::LowerHalf(Tensor::zeros(parameter.size(), (Kind::Int16, device)))
            }
        };
        Self {
            moments: [(); 2].map(|()| Tensor::zeros(parameter.size(), (moment_kind, device))),
            steps: Tensor::zeros([0i64; 0], (Kind::Float, device)),
            parameter,
            place,
            gradient: None,
            master_copy,
        }
    }

    /// The gradient as it is stepped; undefined if no backward pass has made one.
    fn gradient(&self) -> Tensor {
        self.gradient.as_ref().map_or_else(|| self.parameter.grad(), Tensor::shallow_clone)
    }
}

/// Result of one optimiser step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StepOutcome {
    /// Euclidean norm of the gradient over all parameters, before clipping.
    pub gradient_norm: f64,
    /// True if the parameters moved; a non-finite gradient moves nothing.
    pub applied: bool,
}

impl AdamW {
    /// Fresh state for the trained parameters of `model`; `seed` keys the noise that rounds moments narrower than f32.
    pub fn new(model: &Decoder, options: &OptimizerSection, seed: u64) -> Self {
        Self::new_in(Memory::Device, model, options, seed)
    }

    /// Fresh state in `memory`. In the host's memory, steps run there piece by piece, and only parameters are on the device.
    pub fn new_in(memory: Memory, model: &Decoder, options: &OptimizerSection, seed: u64) -> Self {
        let named = model.trained_parameters().into_iter();
        let named = named.map(|(name, parameter)| (name, parameter.shallow_clone()));
        Self::of_named(memory, model.placement(), named, options, seed)
    }

    /// Fresh state for any parameters.
    pub fn of(
        trained: impl IntoIterator<Item = (String, Tensor)>,
        options: &OptimizerSection,
        seed: u64,
    ) -> Self {
        Self::of_named(Memory::Device, Placement::default(), trained, options, seed)
    }

    fn of_named(
        memory: Memory,
        placement: Placement,
        named: impl IntoIterator<Item = (String, Tensor)>,
        options: &OptimizerSection,
        seed: u64,
    ) -> Self {
        let place = |name: &str, parameter: &Tensor| Place::of(&placement, name, parameter.size());
        let named = named.into_iter();
        let placed: Vec<(Place, Tensor)> =
            named.map(|(name, parameter)| (place(&name, &parameter), parameter)).collect();
        Self::of_placed(memory, placement, placed, options, seed)
    }

    fn of_placed(
        memory: Memory,
        placement: Placement,
        placed: Vec<(Place, Tensor)>,
        options: &OptimizerSection,
        seed: u64,
    ) -> Self {
        let stepped = |(place, parameter)| Stepped::new(memory, options, place, parameter);
        let mut state = Self {
            tensors: placed.into_iter().map(stepped).collect(),
            placement,
            sharding: None,
            options: options.clone(),
            memory,
            seed,
            applied: 0,
            kernels: None,
            kernel_fault: None,
        };
        match state.tested_kernels() {
            Ok(Some(kernels)) => state.use_kernels(kernels),
            Ok(None) => {}
            Err(fault) => state.kernel_fault = Some(fault),
        }
        state
    }

    /// Clips by `gradient_norm`, whose gradient may span more ranks than these gradients; then steps and clears them.
    fn clip_and_step(
        &mut self,
        gradient_norm: f64,
        learning_rate: f64,
    ) -> Result<StepOutcome, TorchError> {
        let _no_grad = tch::no_grad_guard();
        let applied = gradient_norm.is_finite();
        if applied {
            self.applied += 1;
            // Like torch's clip_grad_norm_: the 1e-6 keeps a norm at the bound from being scaled up.
            let scale = (gradient_norm > self.options.max_grad_norm)
                .then(|| self.options.max_grad_norm / (gradient_norm + 1e-6));
            for index in 0..self.tensors.len() {
                self.step_one(index, scale, learning_rate)?;
            }
        }
        for stepped in &mut self.tensors {
            stepped.gradient = None;
            // None rather than zeros: the memory is then free for the activations of the next forward pass.
            torch_ext::set_gradient(&stepped.parameter, None)?;
        }
        Ok(StepOutcome { gradient_norm, applied })
    }

    /// Sum of squares of the gradient over the tensors that this rank counts, computed in f64 piece by piece.
    fn gradient_square(&self) -> f64 {
        let _no_grad = tch::no_grad_guard();
        let counted = self.tensors.iter().filter(|stepped| stepped.place.is_owner);
        let gradients: Vec<Tensor> =
            counted.map(Stepped::gradient).filter(Tensor::defined).collect();
        if let Some(square) = self.square_by_kernels(&gradients) {
            return square;
        }
        let mut sum: Option<Tensor> = None;
        for gradient in &gradients {
            let flat = gradient.reshape(-1);
            for (start, count) in pieces(&flat, NORM_ELEMENTS) {
                let piece = flat.narrow(0, start, count).to_kind(Kind::Double);
                let square = piece.square().sum(Kind::Double);
                sum = Some(sum.map_or_else(|| square.shallow_clone(), |sum| sum + &square));
            }
        }
        sum.map_or(0.0, |sum| sum.double_value(&[]))
    }

    /// Steps one parameter; its gradient is first scaled.
    fn step_one(
        &mut self,
        index: usize,
        scale: Option<f64>,
        learning_rate: f64,
    ) -> Result<(), TorchError> {
        let stepped = &mut self.tensors[index];
        let gradient = stepped.gradient();
        let mut gradient =
            if gradient.defined() { gradient } else { stepped.parameter.zeros_like() };
        let _same = stepped.steps.g_add_scalar_(1.0);
        if self.step_by_kernel(index, &gradient, scale, learning_rate).is_some() {
            return Ok(());
        }
        let Stepped { parameter, moments, .. } = &self.tensors[index];
        let narrow_moments = self.options.moments == Dtype::Bf16;
        if narrow_moments || is_narrow(parameter) || self.memory.is_host() {
            if self.step_on_host(index, &gradient, scale, learning_rate).is_some() {
                return Ok(());
            }
            return self.step_narrow(index, &gradient, scale, learning_rate);
        }
        if let Some(scale) = scale {
            let _same = gradient.g_mul_scalar_(scale);
        }
        self.apply(index, parameter, &gradient, moments.each_ref(), learning_rate)
    }

    /// Applies libtorch's step of tensor `index` to its weight and moments, or to pieces of them.
    fn apply(
        &self,
        index: usize,
        master: &Tensor,
        gradient: &Tensor,
        [first, second]: [&Tensor; 2],
        learning_rate: f64,
    ) -> Result<(), TorchError> {
        let OptimizerSection { betas, weight_decay, epsilon, .. } = self.options;
        fused_adamw(
            &[master],
            &[gradient],
            &[first],
            &[second],
            &[&self.tensors[index].steps.to_device(master.device())],
            learning_rate,
            betas,
            weight_decay,
            epsilon,
        )
    }
}

/// Splits a flat tensor into pieces, as starts and lengths; `longest` is the piece length on the CPU.
fn pieces(flat: &Tensor, longest: i64) -> impl Iterator<Item = (i64, i64)> + use<> {
    let elements = flat.size()[0];
    let longest = if flat.device().is_cuda() { GPU_PIECE_ELEMENTS } else { longest };
    (0..(elements + longest - 1) / longest).map(move |piece| {
        let start = piece * longest;
        (start, longest.min(elements - start))
    })
}
