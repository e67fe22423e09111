//! The whole model: `embed → blocks → final_norm → head`.

use std::path::Path;

use tch::{Device, Kind, Tensor};
use thiserror::Error;
use trainer_core::model_config::{ModelConfig, ModelConfigError};

use super::attention::{Attention, Projection, causal_attention};
use super::block::Block;
use super::draw::Draw;
use super::mlp::Mlp;
use super::rms_norm::RmsNorm;
use super::rope::{Angles, Rope};
use super::weights::{WeightFiles, WeightsError};

/// Why a model could not be read.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum DecoderError {
    /// `config.json` is at fault.
    #[error(transparent)]
    Config(#[from] ModelConfigError),
    /// A weight file is at fault.
    #[error(transparent)]
    Weights(#[from] WeightsError),
}

/// A decoder-only language model of the Qwen2 or Llama architecture.
#[derive(Debug)]
pub struct Decoder {
    config: ModelConfig,
    /// `[vocab, hidden]`.
    embedding: Tensor,
    blocks: Vec<Block>,
    final_norm: RmsNorm,
    /// `[vocab, hidden]`; `None` where the embedding serves.
    untied_head: Option<Tensor>,
    rope: Rope,
    device: Device,
    kind: Kind,
}

impl Decoder {
    /// Reads `config.json` and the safetensors of a Hugging Face directory, one file or shards.
    ///
    /// Files of f32, f16 and bf16 are turned into `kind`. Nothing requires gradients until
    /// [`set_trainable`](Self::set_trainable).
    ///
    /// # Errors
    ///
    /// [`DecoderError`]: names the file, the field or tensor, what was expected and what was found.
    ///
    /// # Panics
    ///
    /// If the device has too little memory.
    pub fn load(directory: &Path, device: Device, kind: Kind) -> Result<Self, DecoderError> {
        let config = ModelConfig::read(&directory.join("config.json"))?;
        let files = WeightFiles::open(directory)?;
        let mut wanted = Vec::new();
        let decoder = Self::assemble(config, device, kind, |name, shape| {
            wanted.push(name.to_owned());
            files.tensor(name, shape).map(|tensor| place(&tensor, device, kind))
        })?;
        files.check_nothing_else(&wanted)?;
        Ok(decoder)
    }

    /// A new model: weights normal with the config's `initializer_range`, biases 0, norms 1. Depends on `seed` alone.
    ///
    /// # Panics
    ///
    /// If the device has too little memory.
    pub fn initialise(config: ModelConfig, seed: u64, device: Device, kind: Kind) -> Self {
        let draw = Draw { seed, standard_deviation: config.initializer_range };
        let mut stream = 0;
        let decoder: Result<Self, std::convert::Infallible> =
            Self::assemble(config, device, kind, |name, shape| {
                stream += 1;
                Ok(place(&draw.tensor(name, shape, stream), device, kind))
            });
        match decoder {
            Ok(decoder) => decoder,
        }
    }

    fn assemble<E>(
        config: ModelConfig,
        device: Device,
        kind: Kind,
        mut tensor: impl FnMut(&str, &[i64]) -> Result<Tensor, E>,
    ) -> Result<Self, E> {
        let (hidden, vocab) = (size(config.hidden_size), size(config.vocab_size));
        let embedding = tensor("model.embed_tokens.weight", &[vocab, hidden])?;
        let blocks = (0..config.num_hidden_layers)
            .map(|index| {
                block(&config, |name, shape| tensor(&format!("model.layers.{index}.{name}"), shape))
            })
            .collect::<Result<_, _>>()?;
        let final_norm =
            RmsNorm { weight: tensor("model.norm.weight", &[hidden])?, eps: config.rms_norm_eps };
        let untied_head = if config.tie_word_embeddings {
            None
        } else {
            Some(tensor("lm_head.weight", &[vocab, hidden])?)
        };
        let rope = Rope::new(&config, device);
        Ok(Self { config, embedding, blocks, final_norm, untied_head, rope, device, kind })
    }

    /// The checked content of `config.json`.
    pub fn config(&self) -> &ModelConfig {
        &self.config
    }

    /// Where the weights lie.
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

    /// Parameters with their names in a checkpoint, always in the same order; a tied head is there once, as the
    /// embedding.
    pub fn named_parameters(&self) -> Vec<(String, &Tensor)> {
        let mut named = vec![("model.embed_tokens.weight".to_owned(), &self.embedding)];
        for (index, block) in self.blocks.iter().enumerate() {
            let of_block = block.named_parameters().into_iter();
            named.extend(
                of_block.map(|(name, tensor)| (format!("model.layers.{index}.{name}"), tensor)),
            );
        }
        named.push(("model.norm.weight".to_owned(), &self.final_norm.weight));
        named.extend(self.untied_head.iter().map(|head| ("lm_head.weight".to_owned(), head)));
        named
    }

    /// Makes every parameter require gradients, or none.
    pub fn set_trainable(&self, trainable: bool) {
        for (_, parameter) in self.named_parameters() {
            let _shared = parameter.set_requires_grad(trainable);
        }
    }

    /// Final-normed hidden states `[rows, len, hidden]` of `token_ids`, i64 `[rows, len]` on the model's device.
    ///
    /// Attention is causal and positions count from 0, so rows may be filled up on the right with any token: what
    /// stands before is not changed. Differentiable if the parameters require gradients.
    ///
    /// # Panics
    ///
    /// If a token id is not below the vocabulary's size, or the device has too little memory.
    pub fn forward(&self, token_ids: &Tensor) -> Tensor {
        let angles = self.angles(&self.positions(token_ids.size()[1]));
        let mut x = self.embed(token_ids);
        for index in 0..self.blocks.len() {
            x = self.block(index, &x, &angles, causal_attention);
        }
        self.final_norm(&x)
    }

    /// Embedding vectors `[rows, len, hidden]` of `token_ids`, i64 `[rows, len]`.
    ///
    /// # Panics
    ///
    /// If a token id is not below the vocabulary's size.
    pub fn embed(&self, token_ids: &Tensor) -> Tensor {
        // As transformers: looking up the padding token teaches its row nothing; -1 is none.
        let padding = self.config.pad_token_id.map_or(-1, i64::from);
        Tensor::embedding(&self.embedding, token_ids, padding, false, false)
    }

    /// Rotary angles of `positions`, i64 `[rows, len]` or `[1, len]`.
    pub fn angles(&self, positions: &Tensor) -> Angles {
        self.rope.angles(positions)
    }

    /// Positions `0..len`, i64 `[1, len]`.
    pub fn positions(&self, len: i64) -> Tensor {
        Tensor::arange(len, (Kind::Int64, self.device)).unsqueeze(0)
    }

    /// Block `index` applied to `x`, `[rows, len, hidden]`.
    ///
    /// `attend(query, key, value)` mixes the values; [`causal_attention`] for training.
    ///
    /// # Panics
    ///
    /// If there is no such block.
    pub fn block(
        &self,
        index: usize,
        x: &Tensor,
        angles: &Angles,
        attend: impl FnOnce(&Tensor, &Tensor, &Tensor) -> Tensor,
    ) -> Tensor {
        self.blocks[index].forward(x, angles, attend)
    }

    /// The norm before the head, `[.., hidden]` to the same.
    pub fn final_norm(&self, x: &Tensor) -> Tensor {
        self.final_norm.forward(x)
    }

    /// The head's weight, `[vocab, hidden]`; logits are `forward(..) · headᵀ`.
    pub fn head(&self) -> &Tensor {
        self.untied_head.as_ref().unwrap_or(&self.embedding)
    }
}

fn block<E>(
    config: &ModelConfig,
    mut tensor: impl FnMut(&str, &[i64]) -> Result<Tensor, E>,
) -> Result<Block, E> {
    let (hidden, intermediate) = (size(config.hidden_size), size(config.intermediate_size));
    let query = size(config.num_attention_heads * config.head_dim);
    let key_value = size(config.num_key_value_heads * config.head_dim);
    let mut projection = |name: &str, output: i64, input: i64, has_bias: bool| {
        let weight = tensor(&format!("self_attn.{name}.weight"), &[output, input])?;
        let bias = if has_bias {
            Some(tensor(&format!("self_attn.{name}.bias"), &[output])?)
        } else {
            None
        };
        Ok(Projection { weight, bias })
    };
    let attention = Attention {
        query: projection("q_proj", query, hidden, config.query_key_value_bias)?,
        key: projection("k_proj", key_value, hidden, config.query_key_value_bias)?,
        value: projection("v_proj", key_value, hidden, config.query_key_value_bias)?,
        output: projection("o_proj", hidden, query, config.attention_output_bias)?,
        head_dim: size(config.head_dim),
    };
    let mlp = Mlp {
        gate: tensor("mlp.gate_proj.weight", &[intermediate, hidden])?,
        up: tensor("mlp.up_proj.weight", &[intermediate, hidden])?,
        down: tensor("mlp.down_proj.weight", &[hidden, intermediate])?,
    };
    let mut norm =
        |name: &str| Ok(RmsNorm { weight: tensor(name, &[hidden])?, eps: config.rms_norm_eps });
    Ok(Block {
        attention_norm: norm("input_layernorm.weight")?,
        attention,
        mlp_norm: norm("post_attention_layernorm.weight")?,
        mlp,
    })
}

/// Moves a freshly made tensor; an owned copy of its own, so that parameters never share storage.
fn place(tensor: &Tensor, device: Device, kind: Kind) -> Tensor {
    tensor.to_kind(kind).to_device(device)
}

fn size(count: usize) -> i64 {
    i64::try_from(count).expect("a checked config holds numbers up to 2^31")
}
