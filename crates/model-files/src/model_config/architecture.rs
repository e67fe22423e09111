//! The supported architectures. A new one is a file beside [`qwen3`], and a variant here.

mod description;
mod gemma3;
mod llama;
mod mistral;
mod qwen2;
mod qwen3;
mod qwen3_moe;

pub(super) use self::description::Description;

pub use self::description::{Activation, AttentionOptions, BlockOptions, SlidingWindow};

/// Family of decoders; they share one block and differ in parts of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Architecture {
    /// `Qwen2ForCausalLM`: Qwen2, Qwen2.5 and their kin.
    Qwen2,
    /// `Qwen3ForCausalLM`: the dense models of Qwen3.
    Qwen3,
    /// `Qwen3MoeForCausalLM`: the mixtures of experts of Qwen3.
    Qwen3Moe,
    /// `LlamaForCausalLM`: Llama 2 and 3, `SmolLM2` and their kin.
    Llama,
    /// `MistralForCausalLM`: Mistral 7B, Mistral Nemo and their kin.
    Mistral,
    /// `Gemma3ForCausalLM`: the models of Gemma 3 that read text alone, 270M and 1B.
    Gemma3,
}

impl Architecture {
    /// All architectures.
    pub const ALL: [Self; 6] =
        [Self::Qwen2, Self::Qwen3, Self::Qwen3Moe, Self::Llama, Self::Mistral, Self::Gemma3];

    pub(super) fn description(self) -> &'static Description {
        match self {
            Self::Qwen2 => &qwen2::DESCRIPTION,
            Self::Qwen3 => &qwen3::DESCRIPTION,
            Self::Qwen3Moe => &qwen3_moe::DESCRIPTION,
            Self::Llama => &llama::DESCRIPTION,
            Self::Mistral => &mistral::DESCRIPTION,
            Self::Gemma3 => &gemma3::DESCRIPTION,
        }
    }

    /// Value of `model_type` in `config.json`.
    pub fn model_type(self) -> &'static str {
        self.description().model_type
    }

    /// Parts of a block beside attention.
    pub fn block(self) -> BlockOptions {
        self.description().block
    }

    /// Attention of a model whose fields have their usual values.
    pub fn attention(self) -> AttentionOptions {
        self.description().attention
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use serde_json::{Value, json};

    use super::*;
    use crate::model_config::{ModelConfig, ModelConfigError};

    /// Reads a model of four heads, with more fields; written and read again it is the same.
    fn read(architecture: Architecture, more: &Value) -> Result<ModelConfig, ModelConfigError> {
        let mut object = json!({
            "architectures": [architecture.description().class_name], "hidden_size": 64, "intermediate_size": 128,
            "num_hidden_layers": 3, "num_attention_heads": 4, "vocab_size": 256,
            "max_position_embeddings": 512,
        });
        for (field, value) in more.as_object().unwrap() {
            object[field] = value.clone();
        }
        let config = ModelConfig::parse(&object.to_string(), Path::new("m/config.json"))?;
        let again = ModelConfig::parse(&config.to_json("float32").to_string(), Path::new("again"));
        assert_eq!(again.unwrap(), config);
        Ok(config)
    }

    fn windows(architecture: Architecture, more: &Value) -> [Option<usize>; 3] {
        let config = read(architecture, more).unwrap();
        [0, 1, 2].map(|block| config.attention.window_of(block))
    }

    /// Each of the fields alone, with its value, is refused by its name.
    fn assert_refused(architecture: Architecture, fields: &[(&str, Value)]) {
        for (field, value) in fields {
            let message = read(architecture, &json!({ *field: value })).unwrap_err().to_string();
            assert!(message.contains(&format!("field `{field}` is")), "{message}");
        }
    }

    #[test]
    fn an_architecture_without_fields_of_its_own_is_the_usual_one() {
        use Architecture::{Llama, Qwen2, Qwen3};
        for (architecture, biases) in [(Qwen2, true), (Qwen3, false), (Llama, false)] {
            let config = read(architecture, &json!({})).unwrap();
            assert_eq!(config.attention, architecture.attention(), "{architecture:?}");
            assert_eq!(config.attention.query_key_value_bias, biases, "{architecture:?}");
        }
        let config = read(Architecture::Mistral, &json!({ "sliding_window": null })).unwrap();
        assert_eq!(config.attention, Architecture::Mistral.attention());
    }

    #[test]
    fn token_ids_are_one_several_or_none() {
        let ids = json!({ "eos_token_id": [0, 5], "bos_token_id": 1, "pad_token_id": -1 });
        let config = read(Architecture::Llama, &ids).unwrap();
        assert_eq!((config.bos_token_id, config.pad_token_id), (Some(1), None));
        assert_eq!((config.eos_token_ids.as_slice(), config.head_dim), (&[0, 5][..], 16));
    }

    #[test]
    fn messages_name_file_field_found_and_expected() {
        let refused = |more| read(Architecture::Qwen2, &more).unwrap_err().to_string();
        for (more, expected) in [
            (
                json!({ "architectures": ["MambaForCausalLM"] }),
                r#"`architectures` is ["MambaForCausalLM"], expected ["Qwen2ForCausalLM"] or ["Qwen3ForCausalLM"] or ["Qwen3MoeForCausalLM"] or ["LlamaForCausalLM"] or ["MistralForCausalLM"] or ["Gemma3ForCausalLM"]"#,
            ),
            (json!({ "vocab_size": "9" }), "`vocab_size` is \"9\", expected a whole number"),
            (
                json!({ "num_key_value_heads": 3 }),
                "`num_key_value_heads` is 3, expected a divisor of num_attention_heads",
            ),
            (json!({ "hidden_act": "gelu" }), r#"`hidden_act` is "gelu", expected "silu""#),
            (
                json!({ "pad_token_id": -2 }),
                "`pad_token_id` is -2, expected a token id or a list of token ids",
            ),
        ] {
            assert_eq!(refused(more), format!("m/config.json: field {expected}"));
        }
        let parse = |text| ModelConfig::parse(text, Path::new("m")).unwrap_err().to_string();
        assert!(parse("[1]").starts_with("m: not JSON: "));
        let bare = parse(r#"{"architectures": ["LlamaForCausalLM"]}"#);
        assert_eq!(bare, "m: field `hidden_size` is missing, expected a whole number");
    }

    #[test]
    fn qwen3_has_norms_of_heads_of_a_width_of_their_own_and_biases_if_asked_for() {
        for (architecture, norms) in [(Architecture::Qwen3, true), (Architecture::Llama, false)] {
            let config = read(architecture, &json!({ "attention_bias": true })).unwrap();
            let AttentionOptions { query_key_value_bias, output_bias, query_key_norm, .. } =
                config.attention;
            assert!(query_key_value_bias && output_bias);
            assert_eq!((query_key_norm, config.head_dim == 128), (norms, norms));
        }
        let head = |width: u32| json!({ "head_dim": width, "num_key_value_heads": 1 });
        let counts = [24, 48]
            .map(|width| read(Architecture::Qwen3, &head(width)).unwrap().parameter_count());
        // A block has 2 · (4 + 1) · hidden weights for each element of a head, and two of the norms.
        assert_eq!(counts[1] - counts[0], 3 * 24 * (2 * 5 * 64 + 2));
    }

    /// Hugging Face's counts of gemma-3-1b-it and gemma-3-270m; `run-plan` has those of Qwen.
    #[test]
    fn parameters_of_published_models_are_counted() {
        for ([hidden, intermediate, blocks], count) in
            [([1152, 6912, 26], 999_885_952), ([640, 2048, 18], 268_098_176)]
        {
            let sizes = json!({
                "hidden_size": hidden, "intermediate_size": intermediate, "num_hidden_layers": blocks,
                "num_attention_heads": 4, "num_key_value_heads": 1, "vocab_size": 262_144,
            });
            assert_eq!(read(Architecture::Gemma3, &sizes).unwrap().parameter_count(), count);
        }
    }

    /// Every second block, and block 1 not, as in transformers.
    #[test]
    fn experts_stand_in_the_blocks_that_the_file_says() {
        let experts = |more| read(Architecture::Qwen3Moe, &more);
        let blocks =
            |config: &ModelConfig| [0, 1, 2].map(|index| config.experts_of(index).is_some());
        assert_eq!(blocks(&experts(json!({})).unwrap()), [true; 3]);
        let apart = json!({ "decoder_sparse_step": 1, "mlp_only_layers": [1], "num_experts": 9 });
        let config = experts(apart).unwrap();
        assert_eq!(blocks(&config), [true, false, true]);
        assert_eq!(
            blocks(&experts(json!({ "decoder_sparse_step": 2 })).unwrap()),
            [false, true, false]
        );
        assert_eq!(read(Architecture::Qwen3, &json!({})).unwrap().experts, None);
        let refused = [
            ("num_local_experts", json!("4")),
            ("num_experts", json!(0)),
            ("num_experts_per_tok", json!(129)),
            ("moe_intermediate_size", json!(0)),
            ("decoder_sparse_step", json!(0)),
            ("mlp_only_layers", json!(["0"])),
            ("use_sliding_window", json!(true)),
        ];
        assert_refused(Architecture::Qwen3Moe, &refused);
    }

    #[test]
    fn mistral_slides_in_every_block_unless_its_window_is_null() {
        let windows = |more| windows(Architecture::Mistral, &more);
        assert_eq!(windows(json!({})), [Some(4096); 3], "as transformers");
        assert_eq!(windows(json!({ "sliding_window": 7 })), [Some(7); 3]);
        assert_eq!(windows(json!({ "sliding_window": null })), [None; 3]);
        let refused = |more| read(Architecture::Mistral, &more).unwrap_err().to_string();
        assert_eq!(
            refused(json!({ "sliding_window": 0 })),
            "m/config.json: field `sliding_window` is 0, expected null or at least 1"
        );
        assert!(refused(json!({ "layer_types": ["full_attention"] })).contains("`layer_types`"));
    }

    #[test]
    fn qwen_slides_in_its_last_blocks_if_asked_to() {
        for architecture in [Architecture::Qwen2, Architecture::Qwen3] {
            let windows = |more| windows(architecture, &more);
            assert_eq!(windows(json!({ "sliding_window": 7, "max_window_layers": 1 })), [None; 3]);
            let slides = |more: Value| {
                let mut object = json!({ "use_sliding_window": true, "sliding_window": 7 });
                object.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
                object
            };
            let last_two = [None, Some(7), Some(7)];
            assert_eq!(windows(slides(json!({ "max_window_layers": 1 }))), last_two);
            assert_eq!(windows(slides(json!({}))), [None; 3], "the usual 28 blocks attend to all");
            let types = ["full_attention", "sliding_attention", "sliding_attention"];
            assert_eq!(windows(slides(json!({ "layer_types": types }))), last_two);
            let mixed = slides(json!({ "layer_types": [types[1], types[0], types[1]] }));
            for refused in [mixed, json!({ "layer_types": types })] {
                let message = read(architecture, &refused).unwrap_err().to_string();
                assert!(message.contains("expected full_attention, then"), "{message}");
            }
        }
    }

    #[test]
    fn gemma_slides_in_all_but_every_sixth_block_by_another_base() {
        let config = read(Architecture::Gemma3, &json!({})).unwrap();
        assert!(config.tie_word_embeddings && config.head_dim == 256);
        let windows = |more| windows(Architecture::Gemma3, &more);
        let slides = json!({ "sliding_window": 7 });
        assert_eq!(windows(slides.clone()), [Some(7); 3]);
        assert_eq!(windows(json!({ "sliding_window_pattern": 2 })), [Some(4096), None, Some(4096)]);
        let types = ["sliding_attention", "full_attention", "sliding_attention"];
        let listed = json!({ "sliding_window": 7, "layer_types": types });
        assert_eq!(windows(listed), [Some(7), None, Some(7)]);
        let bases = |more| {
            let config = read(Architecture::Gemma3, &more).unwrap();
            let window = config.attention.sliding_window.unwrap();
            [Some(config.rope_theta), window.rope_theta]
        };
        assert_eq!(bases(slides), [Some(1e6), Some(1e4)]);
        let older = json!({ "rope_theta": 5e5, "rope_local_base_freq": 100.0 });
        let newer = json!({ "rope_parameters": {
            "full_attention": { "rope_type": "default", "rope_theta": 5e5 },
            "sliding_attention": { "rope_type": "default", "rope_theta": 100.0 },
        } });
        for file in [older, newer] {
            assert_eq!(bases(file), [Some(5e5), Some(100.0)]);
        }
        let refused = [
            ("layer_types", json!([types[1], types[0], types[0]])),
            ("hidden_activation", json!("silu")),
            ("query_pre_attn_scalar", json!(168)),
            ("final_logit_softcapping", json!(30.0)),
            ("attn_logit_softcapping", json!(50.0)),
            ("use_bidirectional_attention", json!(true)),
            ("rope_parameters", json!({ "sliding_attention": {} })),
        ];
        assert_refused(Architecture::Gemma3, &refused);
    }

    /// transformers 5.19 says 0.707 ln 8 · 0.1 + 1 over 1.0 · ln 8 · 0.1 + 1 for the third of `YaRN`.
    #[test]
    fn rotary_frequencies_are_read_and_written() {
        let scaled = |scaling: Value| {
            let scaled = json!({ "rope_scaling": scaling, "max_position_embeddings": 4096 });
            read(Architecture::Qwen3, &scaled)
        };
        let factors = [
            json!({ "rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 1024 }),
            json!({ "type": "yarn", "factor": 4.0, "attention_factor": 1.5, "beta_fast": 16 }),
            json!({ "type": "yarn", "factor": 8, "mscale": 0.707, "mscale_all_dim": 1.0 }),
            json!({ "rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0,
                "high_freq_factor": 4.0, "original_max_position_embeddings": 64 }),
        ]
        .map(|scaling| scaled(scaling).unwrap().rope_scaling.unwrap().attention_factor());
        let exact = [0.1 * 4f64.ln() + 1.0, 1.5, 1.147_016_517_0 / 1.207_944_154_2, 1.0];
        for (factor, exact) in factors.into_iter().zip(exact) {
            assert!((factor - exact).abs() < 1e-9, "{factor} {exact}");
        }
        let newer = json!({ "rope_parameters": { "rope_theta": 5e5, "rope_type": "default" } });
        let theta = read(Architecture::Llama, &newer).unwrap().rope_theta;
        assert!((theta - 5e5).abs() < 1e-9);
        for wrong in [
            json!({ "type": "yarn" }),
            json!({ "type": "yarn", "factor": 0.5 }),
            json!({ "type": "yarn", "factor": 2, "beta_fast": "1" }),
        ] {
            assert!(scaled(wrong).unwrap_err().to_string().contains("`rope_scaling`"));
        }
    }
}
