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

#[cfg(test)]
mod tests {
    use super::*;

    const QWEN: &str = r#"{"architectures": ["Qwen2ForCausalLM"], "model_type": "qwen2", "hidden_size": 64,
        "intermediate_size": 128, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
        "max_position_embeddings": 512, "rms_norm_eps": 1e-06, "rope_theta": 1000000.0, "vocab_size": 256,
        "tie_word_embeddings": true, "hidden_act": "silu", "use_sliding_window": false, "rope_scaling": null,
        "attention_dropout": 0.0, "initializer_range": 0.02, "eos_token_id": [0, 5], "pad_token_id": 0}"#;

    fn parse(text: &str) -> Result<ModelConfig, ModelConfigError> {
        ModelConfig::parse(text, Path::new("m/config.json"))
    }

    fn message(text: &str) -> String {
        parse(text).expect_err("must not be accepted").to_string()
    }

    #[test]
    fn biases_are_those_of_the_architecture_or_the_file() {
        let llama = QWEN.replace("Qwen2", "Llama");
        let biased = llama.replacen('{', r#"{"attention_bias": true, "#, 1);
        for (text, biases) in
            [(QWEN, [true, false]), (&llama, [false, false]), (&biased, [true, true])]
        {
            let config = parse(text).unwrap();
            let attention = config.attention;
            assert_eq!([attention.query_key_value_bias, attention.output_bias], biases, "{text}");
            assert_eq!((config.head_dim, config.eos_token_ids.as_slice()), (16, &[0, 5][..]));
        }
    }

    #[test]
    fn a_padding_token_of_minus_one_is_none() {
        let without = QWEN.replace(r#""pad_token_id": 0"#, r#""pad_token_id": -1"#);
        assert_eq!(parse(&without).unwrap().pad_token_id, None);
    }

    #[test]
    fn written_and_read_again_is_the_same() {
        let scaled = QWEN.replace(
            r#""rope_scaling": null"#,
            r#""rope_scaling": {"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0,
                "high_freq_factor": 4.0, "original_max_position_embeddings": 64}"#,
        );
        let config = parse(&scaled).unwrap();
        assert_eq!(parse(&config.to_json("bfloat16").to_string()).unwrap(), config);
    }

    #[test]
    fn rope_parameters_of_newer_files_are_understood() {
        let newer = QWEN.replace(r#""rope_theta": 1000000.0, "#, "").replace(
            r#""rope_scaling": null"#,
            r#""rope_parameters": {"rope_theta": 5e5, "rope_type": "default"}"#,
        );
        assert!((parse(&newer).unwrap().rope_theta - 5e5).abs() < 1e-9);
    }

    #[test]
    fn messages_name_file_field_found_and_expected() {
        for (right, wrong, expected) in [
            (
                "Qwen2ForCausalLM",
                "MambaForCausalLM",
                r#"`architectures` is ["MambaForCausalLM"], expected ["Qwen2ForCausalLM"] or ["Qwen3ForCausalLM"] or ["Qwen3MoeForCausalLM"] or ["LlamaForCausalLM"] or ["MistralForCausalLM"] or ["Gemma3ForCausalLM"]"#,
            ),
            (r#""vocab_size": 256,"#, "", "`vocab_size` is missing, expected a whole number"),
            (
                r#""num_key_value_heads": 2"#,
                r#""num_key_value_heads": 3"#,
                "`num_key_value_heads` is 3, expected a divisor of num_attention_heads",
            ),
            ("silu", "gelu", r#"`hidden_act` is "gelu", expected "silu""#),
            (
                r#""pad_token_id": 0"#,
                r#""pad_token_id": -2"#,
                "`pad_token_id` is -2, expected a token id or a list of token ids",
            ),
        ] {
            let text = message(&QWEN.replace(right, wrong));
            assert_eq!(text, format!("m/config.json: field {expected}"));
        }
        assert!(message("[1]").starts_with("m/config.json: not JSON: "));
    }
}
