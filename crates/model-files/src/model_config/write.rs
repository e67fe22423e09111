//! [`ModelConfig`] → `config.json`.

use serde_json::{Map, Value, json};

use super::ModelConfig;

impl ModelConfig {
    /// The content of `config.json` as transformers reads it.
    ///
    /// `torch_dtype` is `float32`, `bfloat16` or `float16`, the kind of the stored weights.
    pub fn to_json(&self, torch_dtype: &str) -> Value {
        let description = self.architecture.description();
        let mut object = json!({
            "architectures": [description.class_name],
            "model_type": description.model_type,
            "attention_dropout": 0.0,
            "head_dim": self.head_dim,
            "hidden_size": self.hidden_size,
            "initializer_range": self.initializer_range,
            "intermediate_size": self.intermediate_size,
            "max_position_embeddings": self.max_position_embeddings,
            "num_attention_heads": self.num_attention_heads,
            "num_hidden_layers": self.num_hidden_layers,
            "num_key_value_heads": self.num_key_value_heads,
            "rms_norm_eps": self.rms_norm_eps,
            "rope_scaling": self.rope_scaling,
            "rope_theta": self.rope_theta,
            "tie_word_embeddings": self.tie_word_embeddings,
            "torch_dtype": torch_dtype,
            "use_cache": true,
            "vocab_size": self.vocab_size,
        });
        let (field, activation) = description.block.activation.field();
        object[field] = activation.into();
        (description.write)(self.attention, &mut object);
        if let (Some(fields), Some(experts)) = (&description.experts, &self.experts) {
            (fields.write)(experts, &mut object);
        }
        for (name, id) in self.special_tokens() {
            object[name] = id;
        }
        object
    }

    /// The content of `generation_config.json`: the special tokens and nothing else.
    pub fn to_generation_json(&self) -> Value {
        Value::Object(self.special_tokens())
    }

    fn special_tokens(&self) -> Map<String, Value> {
        let eos = match self.eos_token_ids.as_slice() {
            [] => None,
            [id] => Some(Value::from(*id)),
            ids => Some(ids.into()),
        };
        let tokens = [
            ("bos_token_id", self.bos_token_id.map(Value::from)),
            ("eos_token_id", eos),
            ("pad_token_id", self.pad_token_id.map(Value::from)),
        ];
        tokens.into_iter().filter_map(|(name, id)| Some((name.to_owned(), id?))).collect()
    }
}
