//! Reading and writing Hugging Face directories.

use std::fs;

use decoder::model::Decoder;
use tch::{Device, Kind, Tensor};

use crate::fixture::{MODELS, RECORDED, copy_to, decoder, directory, distance, logits, one_thread};

fn ids() -> Tensor {
    Tensor::from_slice(&[87i64, 104, 97, 116, 32, 0, 255]).unsqueeze(0)
}

fn load_error(directory: &std::path::Path) -> String {
    let error = Decoder::load(directory, Device::Cpu, Kind::Float).expect_err("must be refused");
    error.to_string().replace(&directory.display().to_string(), "DIR")
}

#[test]
fn saved_and_loaded_again_is_the_same() {
    for model in RECORDED {
        let (decoder, folder) = (decoder(model), tempfile::tempdir().unwrap());
        let target = folder.path().join("step-1");
        decoder.save(&target, &directory(model)).unwrap();
        let again = Decoder::load(&target, Device::Cpu, Kind::Float).unwrap();
        assert_eq!(again.config(), decoder.config());
        assert!(logits(&again, &ids()).equal(&logits(&decoder, &ids())));
        let copied = |name: &str| fs::read(target.join(name)).unwrap();
        assert_eq!(
            copied("tokenizer.json"),
            fs::read(directory(model).join("tokenizer.json")).unwrap()
        );
        let left = fs::read_dir(folder.path()).unwrap().count();
        assert_eq!(left, 1, "nothing but the directory itself");
    }
}

#[test]
fn shards_load_as_the_single_file_does() {
    for model in MODELS {
        let (decoder, folder) = (decoder(model), tempfile::tempdir().unwrap());
        let target = folder.path().join("sharded");
        decoder.save_in_shards(&target, &directory(model), 100_000).unwrap();
        let files = fs::read_dir(&target).unwrap();
        let shards = files
            .filter(|entry| {
                entry.as_ref().unwrap().file_name().to_string_lossy().ends_with(".safetensors")
            })
            .count();
        assert!(shards >= 3, "{shards} shards");
        assert!(!target.join("model.safetensors").exists());
        let again = Decoder::load(&target, Device::Cpu, Kind::Float).unwrap();
        assert!(logits(&again, &ids()).equal(&logits(&decoder, &ids())));
    }
}

#[test]
fn half_precision_files_hold_the_rounded_weights() {
    one_thread();
    let model = "tiny_qwen2_untied";
    for kind in [Kind::BFloat16, Kind::Half] {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("half");
        let half = Decoder::load(&directory(model), Device::Cpu, kind).unwrap();
        half.save(&target, &directory(model)).unwrap();
        let wide = Decoder::load(&target, Device::Cpu, Kind::Float).unwrap();
        for ((name, wide), (_, exact)) in
            wide.named_parameters().iter().zip(decoder(model).named_parameters())
        {
            assert!(wide.equal(&exact.to_kind(kind).to_kind(Kind::Float)), "{name}");
        }
        let narrow = logits(&half, &ids());
        assert_eq!(narrow.kind(), kind);
        let error = distance(&narrow, &logits(&wide, &ids()));
        assert!(error < 0.5 && error > 0.0, "{error}");
    }
}

/// A rewrite of `config.json` that asks for another model than the file holds.
#[test]
fn tensors_that_do_not_fit_the_config_are_named() {
    one_thread();
    let folder = tempfile::tempdir().unwrap();
    copy_to("tiny_qwen2_tied", folder.path());
    let config = folder.path().join("config.json");
    let original = fs::read_to_string(&config).unwrap();
    let with = |from: &str, to: &str| {
        assert!(original.contains(from), "{from}");
        fs::write(&config, original.replace(from, to)).unwrap();
        load_error(folder.path())
    };
    assert_eq!(
        with("\"vocab_size\": 256", "\"vocab_size\": 300"),
        "DIR/model.safetensors: tensor `model.embed_tokens.weight` has shape [256, 64], expected [300, 64]"
    );
    assert_eq!(
        with("\"num_hidden_layers\": 2", "\"num_hidden_layers\": 3"),
        "DIR/model.safetensors: tensor `model.layers.2.self_attn.q_proj.weight` is missing, expected shape [64, 64]"
    );
    assert_eq!(
        with("\"num_hidden_layers\": 2", "\"num_hidden_layers\": 1"),
        "DIR/model.safetensors: tensor `model.layers.1.input_layernorm.weight` has no place in a model of this config.json"
    );
    assert_eq!(
        with("\"tie_word_embeddings\": true", "\"tie_word_embeddings\": false"),
        "DIR/model.safetensors: tensor `lm_head.weight` is missing, expected shape [256, 64]"
    );
    // A Llama config has no biases: dropping those of the file would give another model without a word.
    assert_eq!(
        with("Qwen2ForCausalLM", "LlamaForCausalLM"),
        "DIR/model.safetensors: tensor `model.layers.0.self_attn.k_proj.bias` has no place in a model of this config.json"
    );
}

#[test]
fn damaged_weight_files_are_refused() {
    one_thread();
    let folder = tempfile::tempdir().unwrap();
    copy_to("tiny_qwen2_tied", folder.path());
    let weights = folder.path().join("model.safetensors");
    let weight_bytes = fs::read(&weights).unwrap();
    let with = |bytes: &[u8]| {
        fs::write(&weights, bytes).unwrap();
        load_error(folder.path())
    };
    assert_eq!(with(&[]), "DIR/model.safetensors: 0 bytes long, expected at least 8");
    assert!(
        with(&weight_bytes[..100]).starts_with("DIR/model.safetensors: header of "),
        "{}",
        with(&weight_bytes[..100])
    );
    let truncated = with(&weight_bytes[..weight_bytes.len() - 4]);
    assert!(
        truncated.starts_with("DIR/model.safetensors: truncated: tensor `model."),
        "{truncated}"
    );
    assert!(truncated.ends_with("ends at byte 365408, the file at 365404"), "{truncated}");
    let mut garbled = weight_bytes.clone();
    garbled[8] = b'x';
    assert!(with(&garbled).starts_with("DIR/model.safetensors: header: "));
    fs::remove_file(&weights).unwrap();
    assert_eq!(
        load_error(folder.path()),
        "DIR: no weights found, expected model.safetensors or model.safetensors.index.json"
    );
}

#[test]
fn an_index_that_leads_nowhere_is_refused() {
    one_thread();
    let folder = tempfile::tempdir().unwrap();
    copy_to("tiny_qwen2_tied", folder.path());
    fs::remove_file(folder.path().join("model.safetensors")).unwrap();
    let index = folder.path().join("model.safetensors.index.json");
    fs::write(&index, r#"{"weight_map": {"a": "../outside.safetensors"}}"#).unwrap();
    assert!(load_error(folder.path()).starts_with(
        "DIR/model.safetensors.index.json: `weight_map.a` is \"../outside.safetensors\", expected"
    ));
    fs::write(&index, r#"{"weight_map": {"a": "model-00001-of-00002.safetensors"}}"#).unwrap();
    assert!(
        load_error(folder.path())
            .starts_with("DIR/model-00001-of-00002.safetensors: No such file or directory")
    );
}
