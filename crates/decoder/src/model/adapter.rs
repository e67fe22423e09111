//! A low-rank adapter of a decoder: made, read, written and merged in the layout of PEFT.

use std::convert::Infallible;
use std::path::Path;

use model_files::lora::{LoraSection, LoraTarget};
use model_files::model_config::ModelConfig;
use tch::{Kind, Tensor};
use torch_ext::size;

use super::adapter_config::{CONFIG, read_settings};
use super::decoder::Decoder;
use super::draw::uniform;
use super::error::DecoderError;
use super::projection::{Adapter, LowRank};
use super::shape::place;
use crate::tensor_file::{TensorFile, TensorFileError, weight_kinds};

pub(super) const WEIGHTS: &str = "adapter_model.safetensors";

impl Decoder {
    /// Adds an adapter that changes nothing yet: `A` is uniform between `±1/√in` and depends on `seed` alone, `B` is 0.
    ///
    /// # Panics
    ///
    /// If there is one already, or [a target takes none](LoraSection::problem_with).
    pub fn add_adapter(&mut self, settings: &LoraSection, seed: u64) {
        // As they are read back: the order of the parameters is part of the arithmetic.
        let mut settings = settings.clone();
        settings.targets.sort_unstable();
        let mut stream = 0;
        let Ok(()) = self.attach(&settings, |_, (rank, input, output)| {
            stream += 1;
            let up = Tensor::zeros([output, rank], (Kind::Float, tch::Device::Cpu));
            Ok::<_, Infallible>((uniform(seed, stream, rank, input), up))
        });
    }

    /// Reads the adapter of a PEFT directory.
    ///
    /// # Errors
    ///
    /// [`DecoderError`], naming file, tensor or field and what was expected: an adapter of another model, or of a kind
    /// that is not read here.
    ///
    /// # Panics
    ///
    /// If there is one already.
    pub fn load_adapter(&mut self, directory: &Path) -> Result<(), DecoderError> {
        let settings = read_settings(directory)?;
        if let Some(problem) = settings.problem_with(self.config().experts.as_ref()) {
            return Err(TensorFileError::malformed(directory, problem.to_string()).into());
        }
        let file = TensorFile::open(&directory.join(WEIGHTS))?;
        let (kind, mut wanted) = (self.kind(), Vec::new());
        let mut tensor = |name: String, shape: [i64; 2]| {
            let tensor = file.tensor(&name, &shape, weight_kinds(kind));
            wanted.push(name);
            tensor
        };
        self.attach(&settings, |name, (rank, input, output)| {
            let down = tensor(format!("{name}.lora_A.weight"), [rank, input])?;
            let up = tensor(format!("{name}.lora_B.weight"), [output, rank])?;
            Ok::<_, TensorFileError>((down, up))
        })?;
        match file.names().find(|name| !wanted.iter().any(|wanted| wanted == name)) {
            None => Ok(()),
            Some(name) => {
                let problem = format!("has no place in an adapter of this {CONFIG} for this model");
                Err(TensorFileError::tensor(&file.path, name, problem).into())
            }
        }
    }

    /// Puts the adapter of `other`, where it has one, at every target; `whole` makes what is put there of each of its matrices.
    pub(super) fn take_adapter(&mut self, other: &Self, whole: impl Fn(&str, &Tensor) -> Tensor) {
        let Some(settings) = other.adapter_settings() else { return };
        let mut matrices = other.adapter_parameters().into_iter();
        let mut next = || {
            let (name, matrix) = matrices.next().expect("two at every target");
            whole(&name, matrix)
        };
        let Ok(()) = self.attach(settings, |_, _| Ok::<_, Infallible>((next(), next())));
    }

    /// Puts a correction at every target; `make(name, (rank, in, out))` gives its two matrices, of which this process keeps its part
    /// where other ranks hold the model with it.
    fn attach<E>(
        &mut self,
        settings: &LoraSection,
        mut make: impl FnMut(&str, (i64, i64, i64)) -> Result<(Tensor, Tensor), E>,
    ) -> Result<(), E> {
        assert!(self.adapter_settings().is_none(), "a model has one adapter");
        let rank = size(settings.rank);
        let (mut corrections, mut parameters) = (Vec::new(), Vec::new());
        for index in 0..self.block_count() {
            for &target in &settings.targets {
                let (output, input) = shape(self.config(), target);
                let name = name(index, target);
                let (down, up) = make(&name, (rank, input, output))?;
                let [down, up] = [("A", down), ("B", up)].map(|(factor, full)| {
                    let name = format!("{name}.lora_{factor}.weight");
                    let local = self.placement.local(&name, full);
                    let matrix = place(&local, self.device(), self.kind());
                    parameters.push((name, matrix.shallow_clone()));
                    matrix
                });
                corrections.push((index, target, LowRank { down, up, scale: settings.scale() }));
            }
        }
        for (index, target, correction) in corrections {
            let projection = self.blocks[index].projection_mut(target);
            projection.expect("a target that takes one").correction = Some(correction);
        }
        self.adapter = Some(Adapter { settings: settings.clone(), parameters });
        Ok(())
    }

    /// Parameters of the adapter under their names in a PEFT file, always in the same order; none without one.
    pub fn adapter_parameters(&self) -> Vec<(String, &Tensor)> {
        let parameters = self.adapter.iter().flat_map(|adapter| &adapter.parameters);
        parameters.map(|(name, parameter)| (name.clone(), parameter)).collect()
    }

    /// Adds the adapter's products to the weights and takes the adapter off; without one nothing happens.
    ///
    /// The weights get memory of their own: a [`base`](Self::base) taken before keeps the old ones.
    pub fn merge_adapter(&mut self) {
        let _no_grad = tch::no_grad_guard();
        for block in &mut self.blocks {
            for target in LoraTarget::ALL {
                let Some(projection) = block.projection_mut(target) else { continue };
                projection.weight = projection.merged_weight();
                projection.correction = None;
            }
            block.stack();
        }
        self.adapter = None;
    }
}

/// Rows and columns of a projection of the whole model.
fn shape(config: &ModelConfig, target: LoraTarget) -> (i64, i64) {
    let (hidden, intermediate) = (size(config.hidden_size), size(config.intermediate_size));
    let query = size(config.num_attention_heads * config.head_dim);
    let key_value = size(config.num_key_value_heads * config.head_dim);
    match target {
        LoraTarget::QProj => (query, hidden),
        LoraTarget::KProj | LoraTarget::VProj => (key_value, hidden),
        LoraTarget::OProj => (hidden, query),
        LoraTarget::GateProj | LoraTarget::UpProj => (intermediate, hidden),
        LoraTarget::DownProj => (hidden, intermediate),
    }
}

/// A projection's name in a PEFT file.
fn name(block: usize, target: LoraTarget) -> String {
    // In the order of a block: attention's come first.
    let part = if target <= LoraTarget::OProj { "self_attn" } else { "mlp" };
    format!("base_model.model.model.layers.{block}.{part}.{}", target.name())
}
