//! The `config.json` of a model as a checked type. What sets an [`Architecture`] apart is in a file of its own.

mod architecture;
mod divisible_counts;
mod error;
mod experts;
mod fields;
mod read;
mod rope_scaling;
mod write;

use std::ops::Deref;
use std::path::Path;

pub use self::architecture::{
    Activation, Architecture, AttentionOptions, BlockOptions, SlidingWindow,
};
pub use self::divisible_counts::NotDivisibleError;
pub use self::error::ModelConfigError;
pub use self::experts::ExpertOptions;
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
    /// Experts in place of the feed-forward layer, if some blocks have them.
    pub experts: Option<ExpertOptions>,
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
    /// [`ModelConfigError`] for the first field that is out of range; the error names the file `config.json`.
    pub fn new(shape: ModelShape) -> Result<Self, ModelConfigError> {
        Self::checked(shape, Path::new("config.json"))
    }

    fn checked(shape: ModelShape, path: &Path) -> Result<Self, ModelConfigError> {
        match shape.first_fault() {
            None => Ok(Self(shape)),
            Some((field, found, expected)) => {
                Err(ModelConfigError::field(path, field, &found, expected))
            }
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
        let tables = if self.tie_word_embeddings { 1 } else { 2 };
        let norms = if self.architecture.block().output_norms { 4 } else { 2 };
        let columns = tables * self.vocab_size
            + self.blocks_with_experts().map_or(0, |(experts, blocks)| blocks * experts.count)
            + 3 * self.feed_forward_widths(|experts| experts.count)
            + norms * self.num_hidden_layers
            + 1;
        self.hidden_size * columns + self.num_hidden_layers * attention
    }
}

impl ModelShape {
    /// The experts of block `index`, if it has some.
    pub fn experts_of(&self, index: usize) -> Option<&ExpertOptions> {
        self.experts.as_ref().filter(|experts| experts.stand_in(index))
    }

    /// The experts, and the number of blocks that have them; `None` if none has.
    pub fn blocks_with_experts(&self) -> Option<(&ExpertOptions, usize)> {
        let blocks = (0..self.num_hidden_layers).filter(|&index| self.experts_of(index).is_some());
        Some((self.experts.as_ref()?, blocks.count())).filter(|(_, blocks)| *blocks > 0)
    }

    /// Width of all feed-forward layers that a token passes through, as a mean over the blocks.
    pub fn active_intermediate_size(&self) -> usize {
        self.feed_forward_widths(|experts| experts.per_token) / self.num_hidden_layers
    }

    /// Sum of the widths of the feed-forward layers over all blocks, with `used` experts in a block that has some.
    fn feed_forward_widths(&self, used: impl Fn(&ExpertOptions) -> usize) -> usize {
        let routed = self.blocks_with_experts();
        let (width, blocks) = routed.map_or((0, 0), |(experts, blocks)| {
            (used(experts) * experts.intermediate_size, blocks)
        });
        blocks * width + (self.num_hidden_layers - blocks) * self.intermediate_size
    }

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
        if let Some(fault) = self.experts.as_ref().and_then(ExpertOptions::fault) {
            return Some(fault);
        }
        let expected = self.rope_scaling?.fault()?;
        Some(("rope_scaling", format!("{:?}", self.rope_scaling), expected))
    }
}
