//! Complete imports of tiny models.

use std::path::Path;

use gguf_import::{GgufError, ImportOptions, ImportSummary, TensorDtype, TiePolicy, import};
use safetensors::SafeTensors;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokenizers::Tokenizer;

use crate::builder::{Builder, count, float, string, strings, tiny_model};

const F32: ImportOptions = ImportOptions { dtype: TensorDtype::F32, tie: TiePolicy::Auto };

/// Imports into `OUT` of a fresh directory.
fn imported(
    model: &Builder,
    options: ImportOptions,
) -> (TempDir, Result<ImportSummary, GgufError>) {
    let home = tempfile::tempdir().expect("a temporary directory");
    let file = home.path().join("tiny.gguf");
    std::fs::write(&file, model.bytes()).expect("writable");
    let outcome = import(&file, &home.path().join("out"), &options, &mut |_| {});
    (home, outcome)
}

fn tensor(directory: &Path, name: &str) -> Vec<f32> {
    let bytes = std::fs::read(directory.join("model.safetensors")).expect("weights");
    let file = SafeTensors::deserialize(&bytes).expect("a safetensors file");
    let data = file.tensor(name).expect("the tensor").data();
    data.as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect()
}

fn read_json(directory: &Path, name: &str) -> Value {
    let bytes = std::fs::read(directory.join(name)).expect("the file");
    serde_json::from_slice(&bytes).expect("JSON")
}

fn ramp(range: std::ops::Range<u16>) -> Vec<f32> {
    range.map(f32::from).collect()
}

#[track_caller]
fn assert_refused(model: &Builder, fragments: &[&str]) {
    let (home, outcome) = imported(model, F32);
    let message = outcome.expect_err("a refusal").to_string();
    for fragment in fragments.iter().chain(&["tiny.gguf"]) {
        assert!(message.contains(fragment), "{message:?} lacks {fragment:?}");
    }
    assert!(!message.contains('\n'), "{message:?}");
    let left = std::fs::read_dir(home.path()).expect("listable").count();
    assert_eq!(left, 1, "only the input is left after {message}");
}

#[test]
fn llama_rows_of_q_and_k_are_put_back_in_order() {
    let (_home, outcome) = imported(&tiny_model("llama"), F32);
    let directory = outcome.unwrap().directory;
    // Head of four rows 0 1 2 3 in the file: even rows are the first half, odd rows the second.
    let rows =
        |order: &[u16]| order.iter().flat_map(|row| ramp(8 * row..8 * row + 8)).collect::<Vec<_>>();
    let projection = tensor(&directory, "model.layers.0.self_attn.q_proj.weight");
    assert_eq!(projection, rows(&[0, 2, 1, 3, 4, 6, 5, 7]));
    let projection = tensor(&directory, "model.layers.0.self_attn.k_proj.weight");
    assert_eq!(projection, rows(&[0, 2, 1, 3]));
    assert_eq!(tensor(&directory, "model.layers.0.self_attn.v_proj.weight"), ramp(0..32));
}

#[test]
fn qwen2_keeps_order_and_biases_and_config_says_what_it_is() {
    let (_home, outcome) = imported(&tiny_model("qwen2"), F32);
    let summary = outcome.unwrap();
    let directory = &summary.directory;
    assert_eq!((summary.tensors, summary.tied), (14, true));
    assert_eq!(tensor(directory, "model.layers.0.self_attn.q_proj.weight"), ramp(0..64));
    assert_eq!(tensor(directory, "model.layers.0.self_attn.k_proj.bias"), ramp(0..4));
    let config = read_json(directory, "config.json");
    for (key, expected) in [
        ("model_type", json!("qwen2")),
        ("vocab_size", json!(4)),
        ("num_key_value_heads", json!(1)),
        ("rms_norm_eps", json!(1e-6)),
        ("rope_theta", json!(1e5)),
        ("tie_word_embeddings", json!(true)),
        ("torch_dtype", json!("float32")),
        ("eos_token_id", json!(3)),
        ("pad_token_id", Value::Null),
    ] {
        assert_eq!(config[key], expected, "{key}");
    }
    let tokenizer_config = read_json(directory, "tokenizer_config.json");
    assert_eq!(tokenizer_config["chat_template"], "{{ messages }}");
    assert_eq!(tokenizer_config["eos_token"], "<|im_end|>");
}

#[test]
fn qwen3_has_norms_of_heads_and_no_biases() {
    let (_home, outcome) = imported(&tiny_model("qwen3"), F32);
    let summary = outcome.unwrap();
    assert_eq!(summary.tensors, 13);
    let norm =
        |name| tensor(&summary.directory, &format!("model.layers.0.self_attn.{name}.weight"));
    assert_eq!((norm("q_norm"), norm("k_norm")), (ramp(1..5), ramp(5..9)));
    assert_eq!(norm("q_proj"), ramp(0..64));
    let config = read_json(&summary.directory, "config.json");
    assert_eq!((&config["model_type"], &config["head_dim"]), (&json!("qwen3"), &json!(4)));
    assert_eq!(config["architectures"], json!(["Qwen3ForCausalLM"]));
}

#[test]
fn the_tokenizer_loads_merges_and_recognises_added_tokens() {
    for architecture in ["qwen2", "llama"] {
        let (_home, outcome) = imported(&tiny_model(architecture), F32);
        let file = outcome.unwrap().directory.join("tokenizer.json");
        let tokenizer = Tokenizer::from_file(file).unwrap();
        let encoding = tokenizer.encode("abba<|im_end|>ab", false).unwrap();
        assert_eq!(encoding.get_ids(), [2, 1, 0, 3, 2], "{architecture}");
        assert_eq!(tokenizer.decode(&[2, 3], true).unwrap(), "ab", "{architecture}");
    }
}

#[test]
fn bf16_rounds_to_nearest_even() {
    let mut model = tiny_model("llama");
    // 0x3f80_8000 lies between two values, the lower one even; 0x3f81_8000 likewise, the upper one.
    let norm = [0x3f80_8000, 0x3f81_8000, 0x3f80_8001, 0x3f80_7fff, 0, 0x8000_0000, 0xbf81_8000];
    let norm = norm.into_iter().chain([0x4000_0000_u32]).flat_map(u32::to_le_bytes);
    let norm_at = model.tensors.iter().position(|t| t.name == "output_norm.weight").unwrap();
    model.tensors[norm_at].bytes = norm.collect();
    let (_home, outcome) = imported(&model, ImportOptions::default());
    let bytes = std::fs::read(outcome.unwrap().directory.join("model.safetensors")).unwrap();
    let file = SafeTensors::deserialize(&bytes).unwrap();
    let data = file.tensor("model.norm.weight").unwrap().data();
    let stored_bits = data.as_chunks().0.iter().map(|b| u16::from_le_bytes(*b)).collect::<Vec<_>>();
    assert_eq!(stored_bits, [0x3f80, 0x3f82, 0x3f81, 0x3f80, 0, 0x8000, 0xbf82, 0x4000]);
}

#[test]
fn an_output_matrix_is_shared_where_it_agrees_and_kept_where_it_does_not() {
    let mut agreeing = tiny_model("llama");
    agreeing.add_ramp("output.weight", &[8, 4], 1);
    let mut different = tiny_model("llama");
    let reversed = (0..32_u8).rev().flat_map(|n| f32::from(n).to_le_bytes()).collect();
    different.add("output.weight", &[8, 4], 0, reversed);

    let (_home, outcome) = imported(&agreeing, F32);
    let summary = outcome.unwrap();
    assert!(summary.tied);
    assert_eq!(tensor(&summary.directory, "model.embed_tokens.weight"), ramp(1..33));

    let (_home, outcome) = imported(&different, F32);
    let summary = outcome.unwrap();
    assert!(!summary.tied, "{summary:?}");
    assert_eq!(tensor(&summary.directory, "model.embed_tokens.weight"), ramp(0..32));
    assert_eq!(tensor(&summary.directory, "lm_head.weight")[0].to_bits(), 31_f32.to_bits());

    let options = ImportOptions { tie: TiePolicy::Embedding, ..F32 };
    let (_home, outcome) = imported(&different, options);
    let summary = outcome.unwrap();
    assert!(summary.tied);
    assert_eq!(tensor(&summary.directory, "model.embed_tokens.weight"), ramp(0..32));
}

#[test]
fn what_cannot_be_represented_is_refused_by_name() {
    let with = |key: &str, value: Vec<u8>| {
        let mut model = tiny_model("llama");
        model.set(key, value);
        model
    };
    let cases: [(&str, Vec<u8>, &str); 9] = [
        ("general.architecture", string("gemma3"), "\"qwen2\", \"qwen3\" or \"llama\""),
        ("llama.rope.scaling.type", string("yarn"), "yarn"),
        ("llama.attention.sliding_window", count(4096), "4096"),
        ("tokenizer.ggml.pre", string("llama-bpe"), "llama-bpe"),
        ("tokenizer.ggml.model", string("llama"), "gpt2"),
        ("llama.block_count", count(4_000_000_000), "4000000000"),
        ("llama.attention.head_count_kv", count(0), "divisor of 2"),
        ("llama.attention.layer_norm_rms_epsilon", float(-1.0), "-1"),
        ("tokenizer.ggml.merges", strings(&["a c"]), "\"a c\""),
    ];
    for (key, value, fragment) in cases {
        assert_refused(&with(key, value), &[key, fragment]);
    }

    let mut missing = tiny_model("llama");
    missing.tensors.retain(|tensor| tensor.name != "blk.0.ffn_up.weight");
    assert_refused(&missing, &["blk.0.ffn_up.weight", "missing", "[6, 8]"]);
    let mut extra = tiny_model("llama");
    extra.add_ramp("rope_freqs.weight", &[2], 1);
    assert_refused(&extra, &["rope_freqs.weight", "no place"]);
    let mut narrow = tiny_model("llama");
    narrow.add_ramp("output.weight", &[8, 3], 1);
    assert_refused(&narrow, &["output.weight", "has shape [3, 8], expected [4, 8]"]);
    let mut poisoned = tiny_model("llama");
    poisoned.tensors[0].bytes[4..8].copy_from_slice(&f32::NAN.to_le_bytes());
    assert_refused(&poisoned, &["token_embd.weight", "element 1 is NaN"]);
}

#[test]
fn a_directory_that_holds_something_is_left_alone() {
    let (home, outcome) = imported(&tiny_model("llama"), F32);
    let directory = outcome.unwrap().directory;
    let before = std::fs::read(directory.join("config.json")).unwrap();
    let again = import(&home.path().join("tiny.gguf"), &directory, &F32, &mut |_| {});
    assert!(matches!(again, Err(GgufError::Occupied { .. })), "{again:?}");
    assert_eq!(std::fs::read(directory.join("config.json")).unwrap(), before);
    assert_eq!(std::fs::read_dir(home.path()).unwrap().count(), 2);
}
