use model_files::text_tokenizer::TextTokenizer;
use serde_json::{Value, json};
use workspace_tests::files::{folder, message};

use crate::data;

fn tiny() -> TextTokenizer {
    TextTokenizer::load(&data("tiny_qwen2")).expect("the tiny tokenizer loads")
}

/// The tiny model's vocabulary is the 256 bytes, id = byte.
#[test]
fn ids_of_the_byte_tokenizer_are_the_bytes() {
    let tokenizer = tiny();
    for text in ["", "47+38=", " Ünïcode 漢字\n\t😀 "] {
        let expected: Vec<u32> = text.bytes().map(u32::from).collect();
        assert_eq!(tokenizer.encode(text).unwrap(), expected);
        assert_eq!(tokenizer.decode(&expected).unwrap(), text);
    }
    tokenizer.check_vocabulary(256).unwrap();
    tokenizer.check_vocabulary(255).unwrap_err();
    assert_eq!(tokenizer.token_id("A"), Some(65));
    assert_eq!(tokenizer.token_id("<|im_end|>"), None);
}

#[test]
fn special_text_becomes_one_token_which_decode_skips() {
    let text = std::fs::read_to_string(data("tiny_qwen2/tokenizer.json")).unwrap();
    let special = r#""added_tokens": [{"id": 256, "content": "<|im_end|>", "single_word": false, "lstrip": false,
        "rstrip": false, "normalized": false, "special": true}]"#;
    let text = text.replace("\"added_tokens\": []", special);
    let folder = folder(&[("tokenizer.json", &text)]);
    let tokenizer = TextTokenizer::load(folder.path()).unwrap();
    let ids = tokenizer.encode("a<|im_end|>b").unwrap();
    assert_eq!(ids, [97, 256, 98]);
    assert_eq!(tokenizer.decode(&ids).unwrap(), "ab");
    assert_eq!(tokenizer.decode_raw(&ids).unwrap(), "a<|im_end|>b");
    assert_eq!(
        message(tokenizer.check_vocabulary(256), folder.path()),
        "DIR/tokenizer.json: token id 256 is outside the model's vocabulary, expected ids below vocab_size = 256"
    );
    tokenizer.check_vocabulary(257).unwrap();
}

#[test]
fn a_missing_or_broken_tokenizer_names_the_file() {
    let missing = folder(&[]);
    let text = message(TextTokenizer::load(missing.path()), missing.path());
    assert!(text.starts_with("DIR/tokenizer.json: cannot read: "), "{text}");
    let broken = folder(&[("tokenizer.json", "{\"model\": 3")]);
    let text = message(TextTokenizer::load(broken.path()), broken.path());
    assert!(text.starts_with("DIR/tokenizer.json: not a tokenizer: "), "{text}");
}

#[test]
fn end_of_sequence_ids_come_from_the_first_file_that_names_them() {
    type Files<'a> = &'a [(&'a str, &'a str)];
    let tokenizer = tiny();
    assert_eq!(tokenizer.eos_ids(&data("tiny_qwen2")).unwrap(), [0]);
    let cases: [(Files, &[u32]); 3] = [
        (
            &[
                ("generation_config.json", r#"{"eos_token_id": [9, 7]}"#),
                ("config.json", r#"{"eos_token_id": 1}"#),
            ],
            &[7, 9],
        ),
        (&[("generation_config.json", "{}"), ("config.json", r#"{"eos_token_id": 1}"#)], &[1]),
        (&[("tokenizer_config.json", r#"{"eos_token": {"content": "A"}}"#)], &[65]),
    ];
    for (files, expected) in cases {
        assert_eq!(tokenizer.eos_ids(folder(files).path()).unwrap(), expected);
    }
}

#[test]
fn an_end_of_sequence_id_that_is_none_names_file_and_value() {
    let tokenizer = tiny();
    let wrong = folder(&[("config.json", r#"{"eos_token_id": -1}"#)]);
    assert_eq!(
        message(tokenizer.eos_ids(wrong.path()), wrong.path()),
        "DIR/config.json: eos_token_id is -1, expected a token id or a list of them"
    );
    let beyond = folder(&[
        ("generation_config.json", r#"{"eos_token_id": [3, 64]}"#),
        ("config.json", r#"{"eos_token_id": 1, "vocab_size": 64}"#),
    ]);
    assert_eq!(
        message(tokenizer.eos_ids(beyond.path()), beyond.path()),
        "DIR/generation_config.json: eos_token_id is 64, expected ids below vocab_size = 64 of config.json"
    );
    let absent = folder(&[("config.json", "{}")]);
    let text = message(tokenizer.eos_ids(absent.path()), absent.path());
    assert!(text.starts_with("DIR: no end-of-sequence token, expected eos_token_id in "), "{text}");
}

/// A tokenizer file with any byte replaced loads and works, or fails with a message of one line.
#[test]
fn a_damaged_tokenizer_never_panics() {
    let original = std::fs::read(data("tiny_qwen2/tokenizer.json")).unwrap();
    let mut state = 1_u64;
    let mut random = |below: usize| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(state >> 33).expect("31 bits") % below
    };
    let (mut refused, folder) = (0, folder(&[]));
    for _ in 0..400 {
        let mut bytes = original.clone();
        // Settings are at the beginning and after the vocabulary, which fills most of the file.
        let place =
            if random(2) == 0 { random(bytes.len().min(1200)) } else { random(bytes.len()) };
        bytes[place] = b" \"{}[],:0129eE-.\\nulx\xff"[random(22)];
        std::fs::write(folder.path().join("tokenizer.json"), bytes).unwrap();
        match TextTokenizer::load(folder.path()) {
            Ok(tokenizer) => {
                let ids = tokenizer.encode("47+38= Ünï").unwrap_or_default();
                let _text = tokenizer.decode(&ids);
            }
            Err(error) => {
                let message = error.to_string();
                assert!(
                    message.contains("tokenizer.json") && message.lines().count() == 1,
                    "{message}"
                );
                refused += 1;
            }
        }
    }
    assert!(refused > 100, "{refused}");
}

/// 36 doublings made 64 GiB of one character.
#[test]
fn a_normaliser_that_grows_texts_without_bound_is_refused() {
    let text = std::fs::read_to_string(data("tiny_qwen2/tokenizer.json")).unwrap();
    let step = r#"{"type": "Replace", "pattern": {"String": "a"}, "content": "aa"}"#;
    let with = |steps: usize| {
        let mut json: serde_json::Value = serde_json::from_str(&text).unwrap();
        let steps: Vec<serde_json::Value> =
            (0..steps).map(|_| serde_json::from_str(step).unwrap()).collect();
        json["normalizer"] = serde_json::json!({ "type": "Sequence", "normalizers": steps });
        folder(&[("tokenizer.json", &json.to_string())])
    };
    let bomb = with(36);
    assert_eq!(
        message(TextTokenizer::load(bomb.path()), bomb.path()),
        "DIR/tokenizer.json: its normaliser may make a text 68719476736 times as long, expected at most 4096"
    );
    let tokenizer = TextTokenizer::load(with(3).path()).unwrap();
    assert_eq!(tokenizer.encode("ab").unwrap(), [97, 97, 97, 97, 97, 97, 97, 97, 98]);
    let long = "b".repeat((64 << 20) + 1);
    let error = tokenizer.encode(&long).unwrap_err().to_string();
    assert!(error.contains("normaliser and pre-tokenizer may make 24 times as long"), "{error}");
}

/// Byte-level steps double what is no ASCII each time; a hundred thousand of them took 8.5 GB for nine characters.
#[test]
fn a_pre_tokenizer_that_grows_texts_without_bound_is_refused() {
    let steps = vec![
        json!({"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": false, "use_regex": false});
        40
    ];
    let bomb = tiny_with(|tokenizer| {
        tokenizer["pre_tokenizer"] = json!({"type": "Sequence", "pretokenizers": steps});
    });
    let error = message(TextTokenizer::load(bomb.path()), bomb.path());
    assert!(error.starts_with("DIR/tokenizer.json: its pre-tokenizer may make a text "), "{error}");
}

/// Eight tokens became 2.5 GB, and more with each step.
#[test]
fn a_decoder_that_grows_texts_without_bound_is_refused() {
    let doubling = |steps: usize| {
        let step = json!({"type": "Replace", "pattern": {"Regex": "(?s)."}, "content": "x"});
        let steps = vec![step; steps];
        tiny_with(|tokenizer| tokenizer["decoder"] = json!({"type": "Sequence", "decoders": steps}))
    };
    let bomb = doubling(40);
    assert_eq!(
        message(TextTokenizer::load(bomb.path()), bomb.path()),
        "DIR/tokenizer.json: its decoder may make a text 1099511627776 times as long, expected at most 4096"
    );
    let tokenizer = TextTokenizer::load(doubling(12).path()).unwrap();
    assert_eq!(tokenizer.decode(&[97, 98]).unwrap(), "xx");
    // Tokens have one character here, of one byte or two.
    assert_eq!(tokenizer.decode(&vec![97; 16 << 10]).unwrap().len(), 16 << 10);
    let error = tokenizer.decode(&vec![97; (16 << 10) + 1]).unwrap_err().to_string();
    assert!(
        error.contains("they have 16385 bytes, which the decoder may make 4096 times"),
        "{error}"
    );
}

/// A token of 60 MB took a minute and 1.5 GB to be loaded, and its length each time that it was sampled.
#[test]
fn tokens_of_any_length_are_refused() {
    let long = "x".repeat((16 << 10) + 1);
    let bomb = tiny_with(|tokenizer| {
        tokenizer["model"]["vocab"][long.as_str()] = json!(256);
    });
    let expected = "DIR/tokenizer.json: a token has 16385 bytes, expected at most 16384";
    assert_eq!(message(TextTokenizer::load(bomb.path()), bomb.path()), expected);
    let added = json!({"id": 256, "content": "x".repeat(2 << 20), "single_word": false, "lstrip": false,
        "rstrip": false, "normalized": false, "special": true});
    let bomb = tiny_with(|tokenizer| tokenizer["added_tokens"] = json!([added]));
    let expected =
        "DIR/tokenizer.json: its added tokens have 2097152 bytes, expected at most 1048576";
    assert_eq!(message(TextTokenizer::load(bomb.path()), bomb.path()), expected);
}

/// Returns a model folder with the small tokenizer after a change.
fn tiny_with(change: impl FnOnce(&mut Value)) -> tempfile::TempDir {
    let text = std::fs::read_to_string(data("tiny_qwen2/tokenizer.json")).expect("it is there");
    let mut json: Value = serde_json::from_str(&text).expect("JSON");
    change(&mut json);
    folder(&[("tokenizer.json", &json.to_string())])
}

/// A pattern that matches nothing made the library panic at the end of a text.
#[test]
fn a_pattern_that_matches_nothing_is_an_error() {
    let text = std::fs::read_to_string(data("tiny_qwen2/tokenizer.json")).unwrap();
    for pattern in [serde_json::json!({"String": ""}), serde_json::json!({"Regex": "x?"})] {
        let mut json: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        json["normalizer"] =
            serde_json::json!({"type": "Replace", "pattern": pattern, "content": "y"});
        let folder = folder(&[("tokenizer.json", &json.to_string())]);
        let tokenizer = TextTokenizer::load(folder.path()).unwrap();
        assert_eq!(
            tokenizer.encode("ab").unwrap_err().to_string(),
            "cannot tokenize \"ab\": the tokenizer's library has failed, expected another tokenizer.json"
        );
    }
}
