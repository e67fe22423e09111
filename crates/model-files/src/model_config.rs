//! The `config.json` of a model as a checked type. What sets an [`Architecture`] apart is in a file of its own.

mod architecture;
mod divisible_counts;
mod error;
mod fields;
mod read;
mod rope_scaling;
mod write;

use std::ops::Deref;
use std::path::PathBuf;

pub use self::architecture::{Architecture, AttentionOptions, SlidingWindow};
pub use self::divisible_counts::{DivisibleCounts, NotDivisibleError};
pub use self::error::ModelConfigError;
pub use self::rope_scaling::RopeScaling;

/// Every number that fixes a decoder's shape and arithmetic, not yet checked.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelShape {
    /// Family of decoders.
    pub architecture: Architecture,
    /// Width of the residual stream.
    pub hidden_size: usize,
    /// Width of the gated feed-forward layer.
    pub intermediate_size: usize,
    /// Number of blocks.
    pub num_hidden_layers: usize,
    /// Query heads of a block.
    pub num_attention_heads: usize,
    /// Key and value heads of a block; divides the query heads.
    pub num_key_value_heads: usize,
    /// Width of a head; even.
    pub head_dim: usize,
    /// Epsilon that RMS norm adds to the mean square before the root.
    pub rms_norm_eps: f64,
    /// Base of the rotary frequencies.
    pub rope_theta: f64,
    /// Scaling of the rotary frequencies, if any.
    pub rope_scaling: Option<RopeScaling>,
    /// Rows of the embedding and of the output matrix.
    pub vocab_size: usize,
    /// Longest sequence that the model was made for, in tokens.
    pub max_position_embeddings: usize,
    /// True if the output matrix is the embedding.
    pub tie_word_embeddings: bool,
    /// Parts of attention that not every model has.
    pub attention: AttentionOptions,
    /// Standard deviation of newly initialised weights.
    pub initializer_range: f64,
    /// Token that begins a text, if any.
    pub bos_token_id: Option<u32>,
    /// Tokens that end a text.
    pub eos_token_ids: Vec<u32>,
    /// Padding token, if any.
    pub pad_token_id: Option<u32>,
}

/// A [`ModelShape`] that was checked; read its fields through `Deref`.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelConfig(ModelShape);

impl Deref for ModelConfig {
    type Target = ModelShape;

    fn deref(&self) -> &ModelShape {
        &self.0
    }
}

impl ModelConfig {
    /// Checks a shape that the program itself made.
    ///
    /// # Errors
    ///
    /// [`ModelConfigError::Field`] for the first field that is out of range; the error names the file `config.json`.
    pub fn new(shape: ModelShape) -> Result<Self, ModelConfigError> {
        match shape.first_fault() {
            None => Ok(Self(shape)),
            Some((field, found, expected)) => Err(ModelConfigError::Field {
                path: PathBuf::from("config.json"),
                field,
                found,
                expected: expected.to_owned(),
            }),
        }
    }

    /// Number of parameters; a tied output matrix is counted once.
    pub fn parameter_count(&self) -> usize {
        let query = self.num_attention_heads * self.head_dim;
        let key_value = 2 * self.num_key_value_heads * self.head_dim;
        let optional = |present: bool, width: usize| if present { width } else { 0 };
        let attention = 2 * query * self.hidden_size
            + key_value * self.hidden_size
            + optional(self.attention.query_key_value_bias, query + key_value)
            + optional(self.attention.output_bias, self.hidden_size)
            + optional(self.attention.query_key_norm, 2 * self.head_dim);
        let block =
            attention + 3 * self.hidden_size * self.intermediate_size + 2 * self.hidden_size;
        let tables = if self.tie_word_embeddings { 1 } else { 2 };
        tables * self.vocab_size * self.hidden_size
            + self.num_hidden_layers * block
            + self.hidden_size
    }
}

impl ModelShape {
    /// Returns field, value and expected values of the first invalid field.
    fn first_fault(&self) -> Option<(&'static str, String, &'static str)> {
        let counts = [
            ("hidden_size", self.hidden_size),
            ("intermediate_size", self.intermediate_size),
            ("num_hidden_layers", self.num_hidden_layers),
            ("num_attention_heads", self.num_attention_heads),
            ("num_key_value_heads", self.num_key_value_heads),
            ("head_dim", self.head_dim),
            ("vocab_size", self.vocab_size),
            ("max_position_embeddings", self.max_position_embeddings),
        ];
        for (field, value) in counts {
            if !(1..=1 << 31).contains(&value) {
                return Some((field, value.to_string(), "a whole number from 1 to 2^31"));
            }
        }
        if !self.num_attention_heads.is_multiple_of(self.num_key_value_heads) {
            let key_value_heads = self.num_key_value_heads.to_string();
            return Some((
                "num_key_value_heads",
                key_value_heads,
                "a divisor of num_attention_heads",
            ));
        }
        if !self.head_dim.is_multiple_of(2) {
            return Some(("head_dim", self.head_dim.to_string(), "an even number"));
        }
        let positive = [
            ("rms_norm_eps", self.rms_norm_eps),
            ("rope_theta", self.rope_theta),
            ("initializer_range", self.initializer_range),
        ];
        for (field, value) in positive {
            if !(value.is_finite() && value > 0.0) {
                return Some((field, value.to_string(), "a finite number above 0"));
            }
        }
        if self.attention.sliding_window.is_some_and(|window| window.tokens == 0) {
            return Some(("sliding_window", "0".to_owned(), "null or at least 1"));
        }
        let expected = self.rope_scaling?.fault()?;
        Some(("rope_scaling", format!("{:?}", self.rope_scaling), expected))
    }
}
