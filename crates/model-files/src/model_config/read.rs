//! Reader of `config.json` into [`ModelConfig`].

use std::io::ErrorKind;
use std::path::Path;

use serde_json::{Map, Value};
use whole_file::{LONGEST_TEXT_BYTES, read_text_at_most};

use super::fields::{Fields, Read};
use super::{Architecture, ModelConfig, ModelConfigError, ModelShape, RopeScaling};
use crate::model_place::{EXPECTED, advice};

impl ModelConfig {
    /// Reads and checks `path`, a `config.json`.
    ///
    /// # Errors
    ///
    /// [`ModelConfigError`], which names file, field, found and expected value.
    pub fn read(path: &Path) -> Result<Self, ModelConfigError> {
        let text = read_text_at_most(path, LONGEST_TEXT_BYTES).map_err(|source| {
            match (source.kind(), path.parent()) {
                (ErrorKind::NotFound | ErrorKind::NotADirectory, Some(directory)) => {
                    let next_step = advice(directory).map(|advice| format!("; {advice}"));
                    let next_step = next_step.unwrap_or_default();
                    let problem = format!("no model is there, expected {EXPECTED}{next_step}");
                    ModelConfigError::Unusable { path: directory.to_owned(), problem }
                }
                _ => ModelConfigError::Io { path: path.to_owned(), source },
            }
        })?;
        Self::parse(&text, path)
    }

    /// Checks the text of a `config.json`; `path` only serves the messages.
    ///
    /// # Errors
    ///
    /// See [`read`](Self::read).
    pub fn parse(text: &str, path: &Path) -> Result<Self, ModelConfigError> {
        let object: Map<String, Value> = serde_json::from_str(text).map_err(|error| {
            let problem = format!("not JSON: {error}");
            ModelConfigError::Unusable { path: path.to_owned(), problem }
        })?;
        Self::checked(Fields { path, object: &object }.shape()?, path)
    }
}

impl Fields<'_> {
    fn shape(&self) -> Read<ModelShape> {
        let architecture = self.architecture()?;
        let description = architecture.description();
        let (field, activation) = description.block.activation.field();
        self.only(field, &Value::from(activation))?;
        self.only("mlp_bias", &Value::from(false))?;
        self.only("attention_dropout", &Value::from(0.0))?;
        self.only("quantization_config", &Value::Null)?;
        let hidden_size = self.count("hidden_size")?;
        let num_attention_heads = self.count("num_attention_heads")?;
        Ok(ModelShape {
            architecture,
            hidden_size,
            intermediate_size: self.count("intermediate_size")?,
            num_hidden_layers: self.count("num_hidden_layers")?,
            num_attention_heads,
            num_key_value_heads: self.count_or("num_key_value_heads", num_attention_heads)?,
            head_dim: match (self.present("head_dim"), description.head_dim) {
                (Some(_), _) => self.count("head_dim")?,
                (None, Some(width)) => width,
                (None, None)
                    if num_attention_heads > 0
                        && hidden_size.is_multiple_of(num_attention_heads) =>
                {
                    hidden_size / num_attention_heads
                }
                _ => return Err(self.fault("hidden_size", "a multiple of num_attention_heads")),
            },
            rms_norm_eps: self.number_or("rms_norm_eps", 1e-6)?,
            rope_theta: self.rope_theta(description.rope_theta)?,
            rope_scaling: RopeScaling::read(self)?,
            vocab_size: self.count("vocab_size")?,
            max_position_embeddings: self.count("max_position_embeddings")?,
            tie_word_embeddings: self.flag("tie_word_embeddings", description.tied)?,
            attention: (description.read)(self)?,
            experts: description.experts.as_ref().map(|fields| (fields.read)(self)).transpose()?,
            initializer_range: self.number_or("initializer_range", 0.02)?,
            bos_token_id: self.token_ids("bos_token_id")?.first().copied(),
            eos_token_ids: self.token_ids("eos_token_id")?,
            pad_token_id: self.token_ids("pad_token_id")?.first().copied(),
        })
    }

    fn architecture(&self) -> Read<Architecture> {
        let name = match self.present("architectures") {
            Some(Value::Array(names)) if names.len() == 1 => names[0].as_str(),
            _ => None,
        };
        let class_name = |architecture: &Architecture| architecture.description().class_name;
        let known = |name| Architecture::ALL.into_iter().find(|known| class_name(known) == name);
        name.and_then(known).ok_or_else(|| {
            let names = Architecture::ALL.map(|known| format!("[{:?}]", class_name(&known)));
            self.fault("architectures", &names.join(" or "))
        })
    }

    /// Reads `rope_theta`, which newer files keep inside `rope_parameters`.
    fn rope_theta(&self, default: f64) -> Read<f64> {
        match self.rope_parameters("full_attention").and_then(|inner| inner.get("rope_theta")) {
            Some(value) => value
                .as_f64()
                .ok_or_else(|| self.fault("rope_parameters", "an object with a number rope_theta")),
            None => self.number_or("rope_theta", default),
        }
    }
}
