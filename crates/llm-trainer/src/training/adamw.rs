//! `AdamW` over the parameters of a decoder, with global-norm clipping.

use std::path::Path;

use tch::{Device, Kind, Tensor};
use torch_ext::{TorchError, fused_adamw};
use trainer_core::config::OptimizerSection;

use crate::model::Decoder;

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
    /// Fresh state for the trainable parameters of `model`.
    pub fn new(model: &Decoder, options: &OptimizerSection) -> Self {
        let named = model.named_parameters();
        let parameters: Vec<Tensor> = named.iter().map(|(_, p)| p.shallow_clone()).collect();
        let master: Vec<Tensor> = parameters
            .iter()
            .map(|p| if is_narrow(p) { p.detach().to_kind(Kind::Float) } else { p.shallow_clone() })
            .collect();
        let zeros = || master.iter().map(Tensor::zeros_like).collect();
        Self {
            names: named.into_iter().map(|(name, _)| name).collect(),
            first_moments: zeros(),
            second_moments: zeros(),
            steps: master
                .iter()
                .map(|p| Tensor::zeros([0i64; 0], (Kind::Float, p.device())))
                .collect(),
            parameters,
            master,
            options: options.clone(),
        }
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
            let lists =
                [&self.master, &gradients, &self.first_moments, &self.second_moments, &self.steps]
                    .map(|list| list.iter().collect::<Vec<&Tensor>>());
            let [master, gradients, first, second, steps] = &lists;
            let (beta1, beta2) = self.options.betas;
            fused_adamw(
                master,
                gradients,
                first,
                second,
                steps,
                learning_rate,
                (beta1, beta2),
                self.options.weight_decay,
                self.options.epsilon,
            )?;
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

    /// Writes the state as one safetensors file.
    ///
    /// # Errors
    ///
    /// If the file cannot be written.
    pub fn save(&self, path: &Path) -> anyhow::Result<()> {
        let mut tensors = Vec::new();
        for (i, name) in self.names.iter().enumerate() {
            let columns = [
                ("master", &self.master[i]),
                ("first_moment", &self.first_moments[i]),
                ("second_moment", &self.second_moments[i]),
                ("step", &self.steps[i]),
            ];
            for (column, tensor) in columns {
                tensors.push((
                    format!("{column}/{name}"),
                    tensor.detach().to_device(Device::Cpu).contiguous(),
                ));
            }
        }
        Tensor::write_safetensors(&tensors, path)?;
        Ok(())
    }

    /// Restores what [`AdamW::save`] wrote for the same model.
    ///
    /// # Errors
    ///
    /// If the file cannot be read, or its tensors are not those of this model.
    pub fn restore(&mut self, path: &Path) -> anyhow::Result<()> {
        let _no_grad = tch::no_grad_guard();
        let mut saved: std::collections::HashMap<String, Tensor> =
            Tensor::read_safetensors(path)?.into_iter().collect();
        for (i, name) in self.names.iter().enumerate() {
            let columns = [
                ("master", &mut self.master[i]),
                ("first_moment", &mut self.first_moments[i]),
                ("second_moment", &mut self.second_moments[i]),
                ("step", &mut self.steps[i]),
            ];
            for (column, tensor) in columns {
                let key = format!("{column}/{name}");
                let source = saved
                    .remove(&key)
                    .ok_or_else(|| anyhow::anyhow!("{}: no tensor `{key}`", path.display()))?;
                anyhow::ensure!(
                    source.size() == tensor.size(),
                    "{}: tensor `{key}` has shape {:?}, expected {:?}",
                    path.display(),
                    source.size(),
                    tensor.size()
                );
                tensor.copy_(&source);
            }
            if is_narrow(&self.parameters[i]) {
                let master = self.master[i].shallow_clone();
                self.parameters[i].copy_(&master);
            }
        }
        Ok(())
    }
}

/// Kinds too coarse to take small steps in.
fn is_narrow(tensor: &Tensor) -> bool {
    matches!(tensor.kind(), Kind::BFloat16 | Kind::Half)
}
