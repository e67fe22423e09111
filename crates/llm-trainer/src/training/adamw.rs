//! `AdamW` over the parameters of a decoder, with global-norm clipping.

pub(crate) mod device_step;
mod files;
#[cfg(test)]
mod formats;
mod host_step;
mod narrow_step;
mod over_ranks;
mod saved;
mod sharding;

use std::sync::Arc;

use tch::{Device, Kind, Tensor};
use torch_ext::{CudaKernels, TorchError, fused_adamw};
use training_run::config::{Dtype, MasterWeights, OptimizerSection};

use self::saved::Place;
use self::sharding::Sharding;
use super::split_weight::is_narrow;
use crate::host_memory::Memory;
use decoder::head::statistics_kind;
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
    /// Kernels that step the state, if it takes any. An error is the reason that none do although they could.
    kernels: Result<Option<Arc<CudaKernels>>, String>,
}

#[derive(Debug)]
struct Stepped {
    /// A parameter of the model, or this rank's shard of it.
    parameter: Tensor,
    place: Place,
    /// Gradient of the shard for one step; `None` where the parameter's own is taken.
    gradient: Option<Tensor>,
    /// Master weight: in `f32` at least, or its lower half as `i16` with the parameter as the upper one
    /// ([`split_weight`](super::split_weight)). `None`: the parameter is wide enough, or no master weight is wanted.
    copy: Option<Tensor>,
    moments: [Tensor; 2],
}

/// A gradient that a tensor is stepped by.
#[derive(Debug, Clone, Copy)]
struct Slope<'a> {
    gradient: &'a Tensor,
    /// Factor by which it is first scaled, if it is clipped.
    scale: Option<f64>,
    learning_rate: f64,
}

impl Stepped {
    /// A parameter that has taken no step, with its state in `memory`.
    fn new(memory: Memory, options: &OptimizerSection, place: Place, parameter: Tensor) -> Self {
        let device = if memory.is_host() { Device::Cpu } else { parameter.device() };
        let moment_kind = match options.moments {
            Dtype::F32 | Dtype::F64 => statistics_kind(&parameter),
            Dtype::Bf16 => Kind::BFloat16,
        };
        // In the host's memory there are master weights of parameters of any kind.
        let copy = match (memory, is_narrow(&parameter), options.master) {
            (Memory::Host, true, _) | (_, true, MasterWeights::F32) => {
                Some(memory.settle(&parameter.detach().to_kind(Kind::Float)))
            }
            (Memory::Host, false, _) => Some(memory.settle(&parameter)),
            (Memory::Device, true, MasterWeights::Split) => {
                Some(Tensor::zeros(parameter.size(), (Kind::Int16, device)))
            }
            (Memory::Device, false, _) | (_, true, MasterWeights::None) => None,
        };
        Self {
            moments: [(); 2].map(|()| Tensor::zeros(parameter.size(), (moment_kind, device))),
            parameter,
            place,
            gradient: None,
            copy,
        }
    }

    /// Returns true if the parameter is the upper half of its master weight.
    fn is_split(&self) -> bool {
        self.copy.as_ref().is_some_and(|copy| copy.kind() == Kind::Int16)
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
        let (placement, trained) = (model.placement(), model.trained_parameters());
        let place = |(name, parameter): (String, &Tensor)| {
            (Place::of(&placement, &name, parameter.size()), parameter.shallow_clone())
        };
        let placed = trained.into_iter().map(place).collect();
        Self::of_placed(memory, placement, placed, options, seed)
    }

    /// Fresh state for any parameters.
    pub fn of(
        trained: impl IntoIterator<Item = (String, Tensor)>,
        options: &OptimizerSection,
        seed: u64,
    ) -> Self {
        let placement = Placement::default();
        let place = |(name, parameter): (String, Tensor)| {
            (Place::of(&placement, &name, parameter.size()), parameter)
        };
        let placed = trained.into_iter().map(place).collect();
        Self::of_placed(Memory::Device, placement, placed, options, seed)
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
            kernels: Ok(None),
        };
        state.kernels = state.tested_kernels();
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
        let squares = gradients.iter().flat_map(|gradient| {
            let flat = gradient.reshape(-1);
            pieces(&flat, NORM_ELEMENTS).map(move |(start, count)| {
                flat.narrow(0, start, count).to_kind(Kind::Double).square().sum(Kind::Double)
            })
        });
        squares.reduce(|sum, square| sum + square).map_or(0.0, |sum| sum.double_value(&[]))
    }

    /// Steps one parameter; its gradient is first scaled.
    fn step_one(
        &mut self,
        index: usize,
        scale: Option<f64>,
        learning_rate: f64,
    ) -> Result<(), TorchError> {
        let stepped = &self.tensors[index];
        let gradient = stepped.gradient();
        let mut gradient =
            if gradient.defined() { gradient } else { stepped.parameter.zeros_like() };
        let slope = Slope { gradient: &gradient, scale, learning_rate };
        if self.step_by_kernel(index, slope).is_some() {
            return Ok(());
        }
        let Stepped { parameter, moments, .. } = &self.tensors[index];
        let narrow_moments = self.options.moments == Dtype::Bf16;
        if narrow_moments || is_narrow(parameter) || self.memory.is_host() {
            let done = self.step_on_host(index, slope);
            return done.map_or_else(|| self.step_narrow(index, slope), Ok);
        }
        if let Some(scale) = scale {
            let _same = gradient.g_mul_scalar_(scale);
        }
        let steps = self.steps(parameter.device());
        self.apply(parameter, &gradient, moments.each_ref(), &steps, learning_rate)
    }

    /// Number of steps that every tensor has taken, f32 `[]`. It is made on the device: a copy to it would wait.
    fn steps(&self, device: Device) -> Tensor {
        Tensor::full([0_i64; 0], self.applied as f64, (Kind::Float, device))
    }

    /// Applies libtorch's step to the weight and moments of a tensor, or to pieces of them.
    fn apply(
        &self,
        master: &Tensor,
        gradient: &Tensor,
        [first, second]: [&Tensor; 2],
        steps: &Tensor,
        learning_rate: f64,
    ) -> Result<(), TorchError> {
        let OptimizerSection { betas, weight_decay, epsilon, .. } = self.options;
        fused_adamw(
            &[master],
            &[gradient],
            &[first],
            &[second],
            &[steps],
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
