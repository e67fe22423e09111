//! `AdamW` over the parameters of a decoder, with global-norm clipping.

use std::path::Path;

use tch::{Kind, Tensor};
use torch_ext::{TorchError, fused_adamw};
use trainer_core::atomic_write::WriteError;
use trainer_core::config::{Dtype, OptimizerSection};
use trainer_core::counter_rng::rounding_key;

use super::stochastic_rounding::RoundingNoise;
use crate::model::Decoder;
use crate::tensor_file::{TensorFile, TensorFileError, write_tensors};

/// Elements whose moments are widened at a time, on the CPU: what fits its caches.
const PIECE_ELEMENTS: i64 = 1 << 16;

/// The same on a GPU, where each call costs: 64 MiB a buffer.
const GPU_PIECE_ELEMENTS: i64 = 1 << 24;

/// Optimiser state: master weights (the parameters themselves where they are `f32` or wider) and moments.
#[derive(Debug)]
pub struct AdamW {
    names: Vec<String>,
    parameters: Vec<Tensor>,
    master: Vec<Tensor>,
    first_moments: Vec<Tensor>,
    second_moments: Vec<Tensor>,
    steps: Vec<Tensor>,
    options: OptimizerSection,
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
        let named = model.trained_parameters();
        Self::of(named.iter().map(|(name, p)| (name.clone(), p.shallow_clone())), options, seed)
    }

    /// Fresh state for any parameters.
    pub fn of(
        trained: impl IntoIterator<Item = (String, Tensor)>,
        options: &OptimizerSection,
        seed: u64,
    ) -> Self {
        let (names, parameters): (Vec<String>, Vec<Tensor>) = trained.into_iter().unzip();
        let master: Vec<Tensor> = parameters
            .iter()
            .map(|p| if is_narrow(p) { p.detach().to_kind(Kind::Float) } else { p.shallow_clone() })
            .collect();
        let zeros = || {
            let kind = |master: &Tensor| match options.moments {
                Dtype::F32 => master.kind(),
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
        let _no_grad = tch::no_grad_guard();
        let mut gradients = Vec::with_capacity(self.parameters.len());
        let mut sum_of_squares = 0.0;
        for parameter in &self.parameters {
            let gradient = parameter.grad();
            let gradient = if gradient.defined() { gradient } else { parameter.zeros_like() };
            let gradient =
                if is_narrow(parameter) { gradient.to_kind(Kind::Float) } else { gradient };
            sum_of_squares +=
                gradient.to_kind(Kind::Double).square().sum(Kind::Double).double_value(&[]);
            gradients.push(gradient);
        }
        let gradient_norm = sum_of_squares.sqrt();
        let applied = gradient_norm.is_finite();
        if applied {
            if gradient_norm > self.options.max_grad_norm {
                for gradient in &mut gradients {
                    // As torch's clip_grad_norm_: the 1e-6 keeps a norm at the bound from being scaled up.
                    let _same =
                        gradient.g_mul_scalar_(self.options.max_grad_norm / (gradient_norm + 1e-6));
                }
            }
            for step in &mut self.steps {
                let _same = step.g_add_scalar_(1.0);
            }
            self.applied += 1;
            match self.options.moments {
                Dtype::F32 => self.apply(
                    &self.master,
                    &gradients,
                    [&self.first_moments, &self.second_moments],
                    &self.steps,
                    learning_rate,
                )?,
                Dtype::Bf16 => self.apply_in_pieces(&gradients, learning_rate)?,
            }
            for (parameter, master) in self.parameters.iter_mut().zip(&self.master) {
                if is_narrow(parameter) {
                    parameter.copy_(master);
                }
            }
        }
        for parameter in &mut self.parameters {
            parameter.zero_grad();
        }
        Ok(StepOutcome { gradient_norm, applied })
    }

    fn apply(
        &self,
        master: &[Tensor],
        gradients: &[Tensor],
        moments: [&[Tensor]; 2],
        steps: &[Tensor],
        learning_rate: f64,
    ) -> Result<(), TorchError> {
        let OptimizerSection { betas, weight_decay, epsilon, .. } = self.options;
        let lists = [master, gradients, moments[0], moments[1], steps]
            .map(|list| list.iter().collect::<Vec<&Tensor>>());
        let [master, gradients, first, second, steps] = &lists;
        fused_adamw(
            master,
            gradients,
            first,
            second,
            steps,
            learning_rate,
            betas,
            weight_decay,
            epsilon,
        )
    }

    /// The same with narrow moments: a piece of them is widened, stepped and rounded at a time.
    fn apply_in_pieces(&self, gradients: &[Tensor], learning_rate: f64) -> Result<(), TorchError> {
        for (index, name) in self.names.iter().enumerate() {
            let key = rounding_key(self.seed, self.applied, name);
            let master = self.master[index].view(-1);
            let gradient = gradients[index].reshape(-1);
            let (first, second) =
                (self.first_moments[index].view(-1), self.second_moments[index].view(-1));
            let (elements, device) = (master.size()[0], master.device());
            let longest = if device.is_cuda() { GPU_PIECE_ELEMENTS } else { PIECE_ELEMENTS };
            let mut start = 0;
            while start < elements {
                let count = longest.min(elements - start);
                let piece = |whole: &Tensor| whole.narrow(0, start, count);
                let wide = |moment: &Tensor| piece(moment).to_kind(master.kind());
                let (wide_first, wide_second) = ([wide(&first)], [wide(&second)]);
                self.apply(
                    &[piece(&master)],
                    &[piece(&gradient)],
                    [&wide_first, &wide_second],
                    &self.steps[index..=index],
                    learning_rate,
                )?;
                let noise = RoundingNoise::new(key, start, count, device);
                let (narrow_first, narrow_second) = noise.round(&wide_first[0], &wide_second[0]);
                piece(&first).copy_(&narrow_first);
                piece(&second).copy_(&narrow_second);
                start += count;
            }
        }
        Ok(())
    }

    /// Writes the state as one safetensors file.
    ///
    /// # Errors
    ///
    /// If the file cannot be written.
    pub fn save(&self, path: &Path) -> Result<(), WriteError> {
        let mut tensors = Vec::new();
        for (i, name) in self.names.iter().enumerate() {
            let columns = [
                ("master", &self.master[i]),
                ("first_moment", &self.first_moments[i]),
                ("second_moment", &self.second_moments[i]),
                ("step", &self.steps[i]),
            ];
            tensors.extend(columns.map(|(column, tensor)| (format!("{column}/{name}"), tensor)));
        }
        write_tensors(path, &tensors)
    }

    /// Restores what [`AdamW::save`] wrote for the same model.
    ///
    /// # Errors
    ///
    /// If the file cannot be read, or its tensors are not those of this model.
    pub fn restore(&mut self, path: &Path) -> Result<(), TensorFileError> {
        let _no_grad = tch::no_grad_guard();
        let file = TensorFile::open(path)?;
        let mut expected = 0;
        for (i, name) in self.names.iter().enumerate() {
            let columns = [
                ("master", &mut self.master[i]),
                ("first_moment", &mut self.first_moments[i]),
                ("second_moment", &mut self.second_moments[i]),
                ("step", &mut self.steps[i]),
            ];
            for (column, tensor) in columns {
                let key = format!("{column}/{name}");
                tensor.copy_(&file.tensor(&key, &tensor.size(), &[tensor.kind()])?);
                expected += 1;
            }
            if is_narrow(&self.parameters[i]) {
                let master = self.master[i].shallow_clone();
                self.parameters[i].copy_(&master);
            }
        }
        let found = file.names().count();
        let applied = self.steps.first().map(|step| step.double_value(&[]));
        let malformed = |found: String, expected: String| TensorFileError::Malformed {
            path: path.to_owned(),
            found,
            expected,
        };
        if found != expected {
            return Err(malformed(
                format!("{found} tensors"),
                format!("{expected}: another model's"),
            ));
        }
        self.applied = match applied.map(whole_step) {
            Some(Some(applied)) => applied,
            None => 0,
            Some(None) => {
                let applied = applied.unwrap_or(f64::NAN);
                let found = format!("tensor `step/{}` is {applied}", self.names[0]);
                return Err(malformed(found, "a number of steps".to_owned()));
            }
        };
        Ok(())
    }
}

/// Kinds too coarse to take small steps in.
fn is_narrow(tensor: &Tensor) -> bool {
    matches!(tensor.kind(), Kind::BFloat16 | Kind::Half)
}

/// A count that was kept as a float.
fn whole_step(step: f64) -> Option<u64> {
    let whole = (0.0..=f64::from(u32::MAX)).contains(&step) && step.fract() == 0.0;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a whole number in range"
    )]
    whole.then_some(step as u64)
}
