//! `AdamW` over the parameters of a decoder, with global-norm clipping.

mod cut_model;
mod files;
mod layout;
mod over_ranks;
mod saved;

use tch::{Kind, Tensor};
use torch_ext::{TorchError, fused_adamw};
use trainer_core::config::{Dtype, OptimizerSection};
use trainer_core::counter_rng::rounding_key;

use self::cut_model::CutModel;
use self::over_ranks::Sharding;
pub(super) use self::saved::{WHOLE, shard_name};
use super::stochastic_rounding::RoundingNoise;
use crate::host_memory::Memory;
use crate::model::Decoder;

/// Elements that are widened at a time, on the CPU: what fits its caches.
const PIECE_ELEMENTS: i64 = 1 << 17;

/// Elements whose squares are summed at a time, on the CPU.
const NORM_ELEMENTS: i64 = 1 << 18;

/// The same on a GPU, where each call costs: 64 MiB a buffer.
const GPU_PIECE_ELEMENTS: i64 = 1 << 24;

/// Optimiser state: master weights (the parameters themselves where they are `f32` or wider) and moments.
#[derive(Debug)]
pub struct AdamW {
    names: Vec<String>,
    /// The model's, or what this rank keeps of their master weights.
    parameters: Vec<Tensor>,
    /// First element of each within what this process holds of the parameter that its name stands for.
    starts: Vec<i64>,
    /// Where other ranks hold the model with this one.
    cut: Option<CutModel>,
    sharding: Option<Box<Sharding>>,
    master: Vec<Tensor>,
    first_moments: Vec<Tensor>,
    second_moments: Vec<Tensor>,
    steps: Vec<Tensor>,
    options: OptimizerSection,
    /// Where master weights and moments lie, apart from parameters on the device, and are stepped.
    memory: Memory,
    /// Seed of the noise that rounds moments.
    seed: u64,
    /// Steps that were applied.
    applied: u64,
}

/// What became of one optimiser step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StepOutcome {
    /// Euclidean norm of the gradient over all parameters, before clipping.
    pub gradient_norm: f64,
    /// Whether the parameters moved; a gradient that is not finite moves nothing.
    pub applied: bool,
}

impl AdamW {
    /// Fresh state for what is trained of `model`; `seed` keys the noise that rounds moments narrower than f32.
    pub fn new(model: &Decoder, options: &OptimizerSection, seed: u64) -> Self {
        Self::new_in(Memory::Device, model, options, seed)
    }

    /// The same in some memory: in the host's, the step is done there, a piece at a time, and only parameters are on the device.
    pub fn new_in(memory: Memory, model: &Decoder, options: &OptimizerSection, seed: u64) -> Self {
        let named = model.trained_parameters();
        let trained = named.iter().map(|(name, p)| (name.clone(), p.shallow_clone()));
        let state = Self::of_in(memory, trained, options, seed);
        Self { cut: CutModel::of(model, &state.names), ..state }
    }

    /// Fresh state for any parameters.
    pub fn of(
        trained: impl IntoIterator<Item = (String, Tensor)>,
        options: &OptimizerSection,
        seed: u64,
    ) -> Self {
        Self::of_in(Memory::Device, trained, options, seed)
    }

    fn of_in(
        memory: Memory,
        trained: impl IntoIterator<Item = (String, Tensor)>,
        options: &OptimizerSection,
        seed: u64,
    ) -> Self {
        let (names, parameters): (Vec<String>, Vec<Tensor>) = trained.into_iter().unzip();
        let master: Vec<Tensor> = parameters
            .iter()
            .map(|p| {
                let wide = is_narrow(p).then(|| p.detach().to_kind(Kind::Float));
                memory.settle(&wide.unwrap_or_else(|| p.shallow_clone()))
            })
            .collect();
        let zeros = || {
            let kind = |master: &Tensor| match options.moments {
                Dtype::F32 | Dtype::F64 => master.kind(),
                Dtype::Bf16 => Kind::BFloat16,
            };
            let moment = |m: &Tensor| Tensor::zeros(m.size(), (kind(m), m.device()));
            master.iter().map(moment).collect()
        };
        Self {
            names,
            first_moments: zeros(),
            second_moments: zeros(),
            steps: master
                .iter()
                .map(|p| Tensor::zeros([0i64; 0], (Kind::Float, p.device())))
                .collect(),
            memory,
            starts: vec![0; parameters.len()],
            cut: None,
            sharding: None,
            parameters,
            master,
            options: options.clone(),
            seed,
            applied: 0,
        }
    }

    /// Memory of both moments, in bytes.
    pub fn moment_bytes(&self) -> usize {
        let bytes = |moment: &Tensor| moment.numel() * moment.kind().elt_size_in_bytes();
        self.first_moments.iter().chain(&self.second_moments).map(bytes).sum()
    }

    /// Clips the accumulated gradients to the configured norm, steps, and clears them.
    ///
    /// # Errors
    ///
    /// [`TorchError`] if libtorch refuses.
    pub fn step(&mut self, learning_rate: f64) -> Result<StepOutcome, TorchError> {
        self.step_by(self.gradient_norm(), learning_rate)
    }

    /// Clips by the norm of a gradient that these are all of, or a part; steps, and clears them.
    fn step_by(
        &mut self,
        gradient_norm: f64,
        learning_rate: f64,
    ) -> Result<StepOutcome, TorchError> {
        let _no_grad = tch::no_grad_guard();
        let applied = gradient_norm.is_finite();
        if applied {
            self.applied += 1;
            // As torch's clip_grad_norm_: the 1e-6 keeps a norm at the bound from being scaled up.
            let scale = (gradient_norm > self.options.max_grad_norm)
                .then(|| self.options.max_grad_norm / (gradient_norm + 1e-6));
            for index in 0..self.parameters.len() {
                self.step_one(index, scale, learning_rate)?;
            }
        }
        // Not zeros: their memory is there for the activations of the next forward pass.
        for parameter in &self.parameters {
            torch_ext::set_gradient(parameter, None)?;
        }
        Ok(StepOutcome { gradient_norm, applied })
    }

    /// Euclidean norm of the gradient over all parameters of this process.
    fn gradient_norm(&self) -> f64 {
        self.gradient_square(|_| true).sqrt()
    }

    /// Sum of squares of the gradient over `chosen` parameters, in f64 a piece at a time.
    fn gradient_square(&self, chosen: impl Fn(usize) -> bool) -> f64 {
        let _no_grad = tch::no_grad_guard();
        let mut sum: Option<Tensor> = None;
        for (_, parameter) in self.parameters.iter().enumerate().filter(|(index, _)| chosen(*index))
        {
            let gradient = parameter.grad();
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

    /// Steps one parameter, whose gradient is first scaled.
    fn step_one(
        &mut self,
        index: usize,
        scale: Option<f64>,
        learning_rate: f64,
    ) -> Result<(), TorchError> {
        let parameter = &self.parameters[index];
        let gradient = parameter.grad();
        let gradient = if gradient.defined() { gradient } else { parameter.zeros_like() };
        let _same = self.steps[index].g_add_scalar_(1.0);
        let narrow_moments = match self.options.moments {
            Dtype::F32 | Dtype::F64 => false,
            Dtype::Bf16 => true,
        };
        if narrow_moments || self.is_apart(index) {
            return self.apply_in_pieces(index, &gradient, scale, learning_rate);
        }
        let mut gradient = gradient;
        if let Some(scale) = scale {
            let _same = gradient.g_mul_scalar_(scale);
        }
        self.apply(
            &self.master[index],
            &gradient,
            [&self.first_moments[index], &self.second_moments[index]],
            &self.steps[index],
            learning_rate,
        )
    }

    /// Whether the master weights of a parameter are other memory than the parameter.
    fn is_apart(&self, index: usize) -> bool {
        self.memory.is_host() || is_narrow(&self.parameters[index])
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
            &[step],
            learning_rate,
            betas,
            weight_decay,
            epsilon,
        )
    }

    /// The same with narrow parameters or moments: a piece of the gradient and of the moments is widened, stepped and rounded
    /// at a time.
    fn apply_in_pieces(
        &self,
        index: usize,
        gradient: &Tensor,
        scale: Option<f64>,
        learning_rate: f64,
    ) -> Result<(), TorchError> {
        let key = rounding_key(self.seed, self.applied, &self.name_with_part(index));
        let (master, gradient) = (self.master[index].view(-1), gradient.reshape(-1));
        let (first, second) =
            (self.first_moments[index].view(-1), self.second_moments[index].view(-1));
        let parameter = self.parameters[index].detach().view(-1);
        for (start, count) in pieces(&master, PIECE_ELEMENTS) {
            let piece = |whole: &Tensor| whole.narrow(0, start, count);
            let wide = |whole: &Tensor| piece(whole).to_kind(master.kind());
            let mut gradient = self.memory.place(&piece(&gradient)).to_kind(master.kind());
            if let Some(scale) = scale {
                let _same = gradient.g_mul_scalar_(scale);
            }
            // Over the same memory where they are wide.
            let (wide_first, wide_second) = (wide(&first), wide(&second));
            let own = piece(&master);
            let moments = [&wide_first, &wide_second];
            self.apply(&own, &gradient, moments, &self.steps[index], learning_rate)?;
            if first.kind() != wide_first.kind() {
                let first_element = self.starts[index] + start;
                let noise = RoundingNoise::new(key, first_element, count, master.device());
                let (narrow_first, narrow_second) = noise.round(&wide_first, &wide_second);
                piece(&first).copy_(&narrow_first);
                piece(&second).copy_(&narrow_second);
            }
            if self.is_apart(index) {
                piece(&parameter).copy_(&own);
            }
        }
        Ok(())
    }
}

/// Runs of a flat tensor that are worked on at a time, starts and lengths: `longest` on the CPU.
fn pieces(flat: &Tensor, longest: i64) -> impl Iterator<Item = (i64, i64)> + use<> {
    let elements = flat.size()[0];
    let longest = if flat.device().is_cuda() { GPU_PIECE_ELEMENTS } else { longest };
    (0..(elements + longest - 1) / longest).map(move |piece| {
        let start = piece * longest;
        (start, longest.min(elements - start))
    })
}

/// Kinds too coarse to take small steps in.
fn is_narrow(tensor: &Tensor) -> bool {
    matches!(tensor.kind(), Kind::BFloat16 | Kind::Half)
}
