//! The full model: `embed → blocks → final_norm → head`.

use std::collections::HashMap;
use std::convert::Infallible;
use std::path::{Path, PathBuf};

use model_files::lora::LoraSection;
use model_files::model_config::ModelConfig;
use tch::{Device, Kind, Tensor};
use torch_ext::size;

use super::adapter_config::base_of;
use super::attention::{Heads, causal_attention};
use super::block::Block;
use super::draw::normal;
use super::error::DecoderError;
use super::experts::Routing;
use super::fused::FusedOperations;
use super::placement::Placement;
use super::projection::Adapter;
use super::residual::Residual;
use super::rms_norm::RmsNorm;
use super::rope::{Angles, Rope};
use super::shape::place;
use super::tensor_group::sum_over;
use super::weights::WeightFiles;
use crate::tensor_file::TensorFileError;
use ranks::Ranks;

/// Name of the embedding in a checkpoint.
pub(super) const EMBEDDING: &str = "model.embed_tokens.weight";
/// Name of an untied head in a checkpoint.
pub(super) const HEAD: &str = "lm_head.weight";

/// A decoder-only language model of an [`Architecture`](model_files::model_config::Architecture).
#[derive(Debug)]
pub struct Decoder {
    config: ModelConfig,
    /// `[vocab, hidden]`.
    pub(crate) embedding: Tensor,
    pub(crate) blocks: Vec<Block>,
    pub(crate) final_norm: RmsNorm,
    /// `[vocab, hidden]`; `None` for a head tied to the embedding.
    pub(crate) untied_head: Option<Tensor>,
    pub(crate) rope: Rope,
    device: Device,
    kind: Kind,
    /// Directory that the weights were read from.
    pub(super) source: Option<PathBuf>,
    pub(super) adapter: Option<Adapter>,
    pub(super) placement: Placement,
}

impl Decoder {
    /// Reads `config.json` and the safetensors of a Hugging Face directory, one file or shards.
    ///
    /// Weights of f32, f16, bf16 and f64 are converted to `kind`. A PEFT directory is read together with its base model. Nothing requires
    /// gradients until [`set_trainable`](Self::set_trainable).
    ///
    /// # Errors
    ///
    /// [`DecoderError`]: names the file, the field or tensor, the expected and the actual value.
    pub fn load(directory: &Path, device: Device, kind: Kind) -> Result<Self, DecoderError> {
        Self::load_sharded(directory, device, kind, &Ranks::single())
    }

    /// A new model: weights normal with the config's `initializer_range`, biases 0, norms 1. Depends on `seed` alone.
    pub fn initialise(config: ModelConfig, seed: u64, device: Device, kind: Kind) -> Self {
        let range = config.initializer_range;
        Self::fresh(config, device, kind, |shape, number| {
            place(&normal(seed, number, shape, range), device, kind)
        })
    }

    /// Initialises as [`initialise`](Self::initialise) does, with numbers from libtorch's generator on the device: fast enough for
    /// measurements of large models.
    pub fn random(config: ModelConfig, device: Device, kind: Kind) -> Self {
        let range = config.initializer_range;
        Self::fresh(config, device, kind, |shape, _| {
            Tensor::randn(shape, (kind, device)).g_mul_scalar_(range)
        })
    }

    /// A new model of weights that `draw` makes for a shape and the tensor's number, counted from 1.
    fn fresh(
        config: ModelConfig,
        device: Device,
        kind: Kind,
        draw: impl Fn(&[i64], u64) -> Tensor,
    ) -> Self {
        let _no_grad = tch::no_grad_guard();
        let (norm, options, mut number) = (RmsNorm::fresh_weight(&config), (kind, device), 0);
        Self::assemble_made(config, device, kind, |name, shape| {
            number += 1;
            match name {
                _ if name.ends_with("norm.weight") => Tensor::full(shape, norm, options),
                _ if name.ends_with("bias") => Tensor::zeros(shape, options),
                _ => draw(shape, number),
            }
        })
    }

    /// Assembles a model of tensors that `tensor` makes for a name and a shape.
    pub(super) fn assemble_made(
        config: ModelConfig,
        device: Device,
        kind: Kind,
        mut tensor: impl FnMut(&str, &[i64]) -> Tensor,
    ) -> Self {
        let Ok(decoder) = Self::assemble(config, device, kind, |name, shape| {
            Ok::<_, Infallible>(tensor(name, shape))
        });
        decoder
    }

    pub(super) fn assemble<E>(
        config: ModelConfig,
        device: Device,
        kind: Kind,
        mut tensor: impl FnMut(&str, &[i64]) -> Result<Tensor, E>,
    ) -> Result<Self, E> {
        let (hidden, vocab) = (size(config.hidden_size), size(config.vocab_size));
        let embedding = tensor(EMBEDDING, &[vocab, hidden])?;
        let blocks = (0..config.num_hidden_layers)
            .map(|index| {
                let mut block = Block::assemble(&config, index, |name, shape| {
                    tensor(&format!("model.layers.{index}.{name}"), shape)
                })?;
                block.stack();
                Ok(block)
            })
            .collect::<Result<_, _>>()?;
        let final_norm = RmsNorm::of(&config, tensor("model.norm.weight", &[hidden])?);
        let untied_head =
            if config.tie_word_embeddings { None } else { Some(tensor(HEAD, &[vocab, hidden])?) };
        let rope = Rope::new(&config, device);
        Ok(Self {
            config,
            embedding,
            blocks,
            final_norm,
            untied_head,
            rope,
            device,
            kind,
            source: None,
            adapter: None,
            placement: Placement::default(),
        })
    }

    /// The model without its adapter, sharing memory: the adapter's reference.
    #[must_use]
    pub fn base(&self) -> Self {
        let parameters: HashMap<String, &Tensor> = self.named_parameters().into_iter().collect();
        let shared = |name: &str, _: &[i64]| parameters[name].shallow_clone();
        let config = self.config.clone();
        Self {
            source: self.source.clone(),
            // The same tensors, gathered at the same times. Stacking has moved none: they are neighbours, or empty while closed.
            placement: Placement { gradients: None, ..self.placement.clone() },
            ..Self::assemble_made(config, self.device, self.kind, shared)
        }
    }

    /// Converts every parameter in place to another kind. A [`base`](Self::base) taken before shares them: do not use it afterwards.
    #[must_use]
    pub fn into_kind(mut self, kind: Kind) -> Self {
        let _no_grad = tch::no_grad_guard();
        for (_, parameter) in self.named_parameters().into_iter().chain(self.adapter_parameters()) {
            parameter.shallow_clone().set_data(&parameter.to_kind(kind));
        }
        self.blocks.iter_mut().for_each(Block::stack);
        self.kind = kind;
        self
    }

    /// The kind of the weights stored in a Hugging Face directory: that of the embedding.
    ///
    /// # Errors
    ///
    /// [`DecoderError::Weights`] if the files cannot be read or hold no embedding.
    pub fn stored_kind(directory: &Path) -> Result<Kind, DecoderError> {
        let files = WeightFiles::open(directory)?;
        let missing = || TensorFileError::missing(directory, EMBEDDING, &[]);
        Ok(files.kind(EMBEDDING).ok_or_else(missing)?)
    }

    /// The directory of the base model of the adapter in `directory`; `None` for a full model.
    ///
    /// # Errors
    ///
    /// [`DecoderError::Weights`] if the adapter's settings cannot be read or name no model.
    pub fn base_directory(directory: &Path) -> Result<Option<PathBuf>, DecoderError> {
        Ok(base_of(directory)?)
    }

    /// Settings of the adapter, if there is one.
    pub fn adapter_settings(&self) -> Option<&LoraSection> {
        self.adapter.as_ref().map(|adapter| &adapter.settings)
    }

    /// The checked content of `config.json`.
    pub fn config(&self) -> &ModelConfig {
        &self.config
    }

    /// Device of the weights.
    pub fn device(&self) -> Device {
        self.device
    }

    /// The kind of the weights and of the residual stream.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Number of blocks.
    pub fn block_count(&self) -> usize {
        self.blocks.len()
    }

    /// Parameters with their names in a checkpoint, always in the same order; a tied head appears once, as the
    /// embedding.
    pub fn named_parameters(&self) -> Vec<(String, &Tensor)> {
        let mut named = vec![(EMBEDDING.to_owned(), &self.embedding)];
        for (index, block) in self.blocks.iter().enumerate() {
            let of_block = block.named_parameters().into_iter();
            named.extend(
                of_block.map(|(name, tensor)| (format!("model.layers.{index}.{name}"), tensor)),
            );
        }
        named.push(("model.norm.weight".to_owned(), &self.final_norm.weight));
        named.extend(self.untied_head.iter().map(|head| (HEAD.to_owned(), head)));
        named
    }

    /// The trained parameters: the adapter's if there is one, else all of the model's.
    pub fn trained_parameters(&self) -> Vec<(String, &Tensor)> {
        if self.adapter.is_some() { self.adapter_parameters() } else { self.named_parameters() }
    }

    /// Makes every trained parameter require gradients, or none; the others never do.
    pub fn set_trainable(&self, trainable: bool) {
        for (_, parameter) in self.named_parameters() {
            let _shared = parameter.set_requires_grad(false);
        }
        for (_, parameter) in self.trained_parameters() {
            let _shared = parameter.set_requires_grad(trainable);
        }
    }

    /// Final-normed hidden states `[rows, len, hidden]` of `token_ids`, i64 `[rows, len]` on the model's device.
    ///
    /// Attention is causal and positions count from 0, so rows may be padded on the right with any token without changing earlier
    /// positions. Differentiable if the parameters require gradients.
    ///
    /// # Panics
    ///
    /// If a token id is not below the vocabulary's size.
    pub fn forward(&self, token_ids: &Tensor) -> Tensor {
        let angles = self.angles(&self.positions(token_ids.size()[1]));
        let mut x = self.embed(token_ids);
        for index in 0..self.blocks.len() {
            x = self.block(index, &x, &angles, causal_attention, &mut Routing::default());
        }
        self.final_norm(&x)
    }

    /// Embedding vectors `[rows, len, hidden]` of `token_ids`, i64 `[rows, len]`.
    ///
    /// # Panics
    ///
    /// If a token id is not below the vocabulary's size.
    pub fn embed(&self, token_ids: &Tensor) -> Tensor {
        let embedded = sum_over(self.placement.group.as_deref(), self.embed_local(token_ids));
        match self.embedding_scale() {
            None => embedded,
            Some(scale) => embedded * scale,
        }
    }

    /// Rotary angles of `positions`, i64 `[rows, len]` or `[1, len]`.
    pub fn angles(&self, positions: &Tensor) -> Angles {
        self.rope.angles(positions)
    }

    /// Positions `0..len`, i64 `[1, len]`.
    pub fn positions(&self, len: i64) -> Tensor {
        Tensor::arange(len, (Kind::Int64, self.device)).unsqueeze(0)
    }

    /// Applies block `index` to `x`, `[rows, len, hidden]`.
    ///
    /// `attend([query, key, value], window)` mixes the values; [`causal_attention`] for training. `routing` is the choice of experts.
    ///
    /// # Panics
    ///
    /// If there is no such block.
    pub fn block(
        &self,
        index: usize,
        x: &Tensor,
        angles: &Angles,
        attend: impl FnOnce([&Tensor; 3], Option<i64>) -> Tensor,
        routing: &mut Routing,
    ) -> Tensor {
        let mut residual = Residual::new(x.shallow_clone());
        let (plain, group) = (FusedOperations::default(), self.placement.group.as_deref());
        let mix = |heads: Heads| heads.mix(angles, attend);
        self.blocks[index].advance(&mut residual, &plain, mix, routing, group);
        residual.into_sum()
    }

    /// Applies the norm before the head, `[.., hidden]` to the same shape.
    pub fn final_norm(&self, x: &Tensor) -> Tensor {
        self.final_norm.forward(x)
    }

    /// The head's weight, `[vocab, hidden]`, or this rank's shard of it; logits are `forward(..) · headᵀ`.
    pub fn head(&self) -> &Tensor {
        self.untied_head.as_ref().unwrap_or(&self.embedding)
    }
}
