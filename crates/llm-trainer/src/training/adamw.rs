//! `AdamW` over the parameters of a decoder, with global-norm clipping.

pub mod device_step;
mod files;
#[cfg(test)]
mod formats;
mod host_step;
mod layout;
mod narrow_step;
mod over_ranks;
mod place;
mod precision;
mod saved;
mod sharding;

use std::sync::Arc;

use tch::{Device, Kind, Tensor};
use torch_ext::{CudaKernels, TorchError, fused_adamw};
use training_run::config::{Dtype, MasterWeights, OptimizerSection};

use self::place::Place;
use self::precision::{is_narrow, wide_kind};
use self::sharding::Sharding;
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
    parameters: Vec<Tensor>,
    /// Places of these tensors within the model.
    places: Vec<Place>,
    master_copies: Vec<MasterCopy>,
    /// Gradients of this rank's shards for one step; empty where the model's own parameters are stepped.
    gradients: Vec<Tensor>,
    /// Placement of the model's parameters.
    placement: Placement,
    /// Layout of the state over data-parallel ranks, if each keeps a shard of it.
    sharding: Option<Box<Sharding>>,
    first_moments: Vec<Tensor>,
    second_moments: Vec<Tensor>,
    steps: Vec<Tensor>,
    options: OptimizerSection,
    /// Memory in which master weights and moments are kept and stepped, apart from parameters on the device.
    memory: Memory,
    /// Seed of the noise for rounding moments.
    seed: u64,
    /// Number of steps applied.
    applied: u64,
    /// Kernels that step the state; `steps` are then on the CPU.
    kernels: Option<Arc<CudaKernels>>,
    /// The reason that no kernels step the state although they could.
    kernel_fault: Option<String>,
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
        let (placement, named) = (model.placement(), model.trained_parameters());
        let trained = named.into_iter().map(|(name, parameter)| {
            (Place::of(&placement, &name, parameter.size()), parameter.shallow_clone())
        });
        Self { placement: model.placement(), ..Self::of_in(memory, trained, options, seed) }
    }

    /// Fresh state for any parameters.
    pub fn of(
        trained: impl IntoIterator<Item = (String, Tensor)>,
        options: &OptimizerSection,
        seed: u64,
    ) -> Self {
        let placement = Placement::default();
        let trained = trained
            .into_iter()
            .map(|(name, parameter)| (Place::of(&placement, &name, parameter.size()), parameter));
        Self::of_in(Memory::Device, trained, options, seed)
    }

    fn of_in(
        memory: Memory,
        trained: impl IntoIterator<Item = (Place, Tensor)>,
        options: &OptimizerSection,
        seed: u64,
    ) -> Self {
        let (places, parameters): (Vec<Place>, Vec<Tensor>) = trained.into_iter().unzip();
        // In the host's memory there are master weights of parameters of any kind.
        let master_copy = |p: &Tensor| match (memory, is_narrow(p), options.master) {
            (Memory::Host, true, _) | (_, true, MasterWeights::F32) => {
                MasterCopy::Full(memory.settle(&p.detach().to_kind(Kind::Float)))
            }
            (Memory::Host, false, _) => MasterCopy::Full(memory.settle(p)),
            (Memory::Device, false, _) | (_, true, MasterWeights::None) => MasterCopy::None,
            (Memory::Device, true, MasterWeights::Split) => {
                MasterCopy::LowerHalf(Tensor::zeros(p.size(), (Kind::Int16, p.device())))
            }
        };
        let device = |p: &Tensor| if memory.is_host() { Device::Cpu } else { p.device() };
        let zeros = || {
            let kind = |parameter: &Tensor| match options.moments {
                Dtype::F32 | Dtype::F64 => wide_kind(parameter),
                Dtype::Bf16 => Kind::BFloat16,
            };
            let moment = |p: &Tensor| Tensor::zeros(p.size(), (kind(p), device(p)));
            parameters.iter().map(moment).collect()
        };
        let mut state = Self {
            places,
            first_moments: zeros(),
            second_moments: zeros(),
            steps: parameters
                .iter()
                .map(|p| Tensor::zeros([0i64; 0], (Kind::Float, device(p))))
                .collect(),
            memory,
            placement: Placement::default(),
            sharding: None,
            master_copies: parameters.iter().map(master_copy).collect(),
            gradients: Vec::new(),
            parameters,
            options: options.clone(),
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
            for index in 0..self.parameters.len() {
                self.step_one(index, scale, learning_rate)?;
            }
        }
        self.gradients.clear();
        // None rather than zeros: the memory is then free for the activations of the next forward pass.
        for parameter in &self.parameters {
            torch_ext::set_gradient(parameter, None)?;
        }
        Ok(StepOutcome { gradient_norm, applied })
    }

    /// Sum of squares of the gradient over the chosen parameters, computed in f64 piece by piece.
    fn gradient_square(&self, chosen: impl Fn(usize) -> bool) -> f64 {
        let _no_grad = tch::no_grad_guard();
        if let Some(square) = self.square_by_kernels(&chosen) {
            return square;
        }
        let mut sum: Option<Tensor> = None;
        for index in (0..self.parameters.len()).filter(|index| chosen(*index)) {
            let gradient = self.gradient(index);
            if !gradient.defined() {
                continue;
            }
            let flat = gradient.reshape(-1);
            for (start, count) in pieces(&flat, NORM_ELEMENTS) {
                let piece = flat.narrow(0, start, count).to_kind(Kind::Double);
                let square = piece.square().sum(Kind::Double);
                sum = Some(sum.map_or_else(|| square.shallow_clone(), |sum| sum + &square));
            }
        }
        sum.map_or(0.0, |sum| sum.double_value(&[]))
    }

    /// The gradient of tensor `index` as it is stepped; undefined if no backward pass has made one.
    fn gradient(&self, index: usize) -> Tensor {
        let shard = self.gradients.get(index).map(Tensor::shallow_clone);
        shard.unwrap_or_else(|| self.parameters[index].grad())
    }

    /// Steps one parameter; its gradient is first scaled.
    fn step_one(
        &mut self,
        index: usize,
        scale: Option<f64>,
        learning_rate: f64,
    ) -> Result<(), TorchError> {
        let gradient = self.gradient(index);
        let mut gradient =
            if gradient.defined() { gradient } else { self.parameters[index].zeros_like() };
        let _same = self.steps[index].g_add_scalar_(1.0);
        if self.step_by_kernel(index, &gradient, scale, learning_rate).is_some() {
            return Ok(());
        }
        let parameter = &self.parameters[index];
        let narrow_moments = match self.options.moments {
            Dtype::F32 | Dtype::F64 => false,
            Dtype::Bf16 => true,
        };
        if narrow_moments || is_narrow(parameter) || self.memory.is_host() {
            if self.step_on_host(index, &gradient, scale, learning_rate).is_some() {
                return Ok(());
            }
            return self.step_narrow(index, &gradient, scale, learning_rate);
        }
        if let Some(scale) = scale {
            let _same = gradient.g_mul_scalar_(scale);
        }
        let moments = [&self.first_moments[index], &self.second_moments[index]];
        self.apply(parameter, &gradient, moments, &self.steps[index], learning_rate)
    }

    fn apply(
        &self,
        master: &Tensor,
        gradient: &Tensor,
        [first, second]: [&Tensor; 2],
        step: &Tensor,
        learning_rate: f64,
    ) -> Result<(), TorchError> {
        let OptimizerSection { betas, weight_decay, epsilon, .. } = self.options;
        fused_adamw(
            &[master],
            &[gradient],
            &[first],
            &[second],
            &[&step.to_device(master.device())],
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
