//! Truncated and corrupted files: an error that names the file, nothing left behind, no panic.

use std::path::Path;

use gguf_import::{GgufFile, ImportOptions, import};
use proptest::prelude::*;
use workspace_tests::fuzz::{edited, in_time};

use crate::builder::{string, tiny_model, typed};

/// Imports `bytes`; on failure checks the message and that nothing was left.
fn import_bytes(bytes: &[u8]) -> Result<u64, String> {
    let home = tempfile::tempdir().expect("a temporary directory");
    let file = home.path().join("broken.gguf");
    std::fs::write(&file, bytes).expect("writable");
    let out = home.path().join("out");
    match import(&file, &out, &ImportOptions::default(), &mut |_| {}) {
        Ok(summary) => Ok(summary.bytes),
        Err(error) => {
            let message = error.to_string();
            assert!(message.contains("broken.gguf"), "{message}");
            let left = std::fs::read_dir(home.path()).expect("listable").count();
            assert_eq!(left, 1, "only the input is left after {message}");
            Err(message)
        }
    }
}

#[test]
fn a_missing_file_and_a_directory_are_named() {
    let home = tempfile::tempdir().unwrap();
    for path in [home.path().join("absent.gguf"), home.path().to_owned()] {
        let message = GgufFile::open(&path).unwrap_err().to_string();
        assert!(message.starts_with(&path.display().to_string()), "{message}");
    }
}

#[test]
fn another_kind_of_file_is_named_with_its_first_bytes() {
    let message = import_bytes(b"PK\x03\x04 this is a wheel, not a model").unwrap_err();
    assert!(message.ends_with(r#"byte 0: magic: is "PK\x03\x04", expected "GGUF""#), "{message}");
}

#[test]
fn a_length_beyond_the_file_is_refused_where_it_stands() {
    let mut bytes = tiny_model("llama").bytes();
    bytes[24..32].copy_from_slice(&u64::MAX.to_le_bytes());
    let message = import_bytes(&bytes).unwrap_err();
    assert!(message.contains("byte 32: metadata key 0 of"), "{message}");
    assert!(message.contains("18446744073709551615"), "{message}");
}

#[test]
fn an_output_path_under_a_file_is_an_error() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("tiny.gguf");
    std::fs::write(&file, tiny_model("llama").bytes()).unwrap();
    let out: &Path = &file.join("out");
    let message =
        import(&file, out, &ImportOptions::default(), &mut |_| {}).unwrap_err().to_string();
    assert!(message.contains("tiny.gguf"), "{message}");
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_truncation_is_an_error(cut in 0.0..1.0_f64, qwen in any::<bool>()) {
        let bytes = tiny_model(if qwen { "qwen2" } else { "llama" }).bytes();
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "below the length")]
        let length = (cut * bytes.len() as f64) as usize;
        prop_assert!(import_bytes(&bytes[..length]).is_err(), "{length} of {} bytes", bytes.len());
    }

    #[test]
    fn fuzz_gguf(bytes in edited(vec![tiny_model("llama").bytes(), tiny_model("qwen2").bytes()])) {
        let _imported = in_time(|| import_bytes(&bytes));
    }

    #[test]
    fn flipped_bytes_never_panic_and_never_grow_the_output(
        flips in prop::collection::vec((any::<prop::sample::Index>(), 1..=255_u8), 1..4),
        qwen in any::<bool>(),
    ) {
        let mut bytes = tiny_model(if qwen { "qwen2" } else { "llama" }).bytes();
        for (index, flip) in flips {
            let index = index.index(bytes.len());
            bytes[index] ^= flip;
        }
        if let Ok(written) = import_bytes(&bytes) {
            prop_assert!(written < 20_000, "{written} bytes");
        }
    }
}

/// A byte of an array of small numbers takes eight in memory.
#[test]
fn arrays_counts_and_the_header_are_bounded() {
    let with = |value: Vec<u8>| {
        let mut model = tiny_model("llama");
        model.set("one", value.clone());
        model.set("two", value);
        import_bytes(&model.bytes()).unwrap_err()
    };
    let array = |kind: u32, count: usize, bytes: usize| {
        let mut payload = kind.to_le_bytes().to_vec();
        payload.extend((count as u64).to_le_bytes());
        payload.resize(payload.len() + bytes, 0);
        typed(9, &payload)
    };
    let message = with(array(0, 3 << 20, 3 << 20));
    assert!(
        message.contains("metadata `two`: has 3145728 elements, expected at most 4194304 in all"),
        "{message}"
    );
    let text: Vec<u8> = string(&" ".repeat(65 << 20));
    let message = with(text);
    assert!(
        message.contains("metadata `two`: expected a header of at most 134217728 bytes"),
        "{message}"
    );
    let mut bytes = tiny_model("llama").bytes();
    bytes[16..24].copy_from_slice(&(1_u64 << 40).to_le_bytes());
    let message = import_bytes(&bytes).unwrap_err();
    assert!(
        message.contains("metadata count: is 1099511627776, expected at most 131072"),
        "{message}"
    );
}

/// A stranger's names and values stay within the one line of an error, and do not fill the screen.
#[test]
fn names_and_values_are_shown_on_one_line() {
    let hostile = "x\nerror: y\u{1b}[31m";
    let long = "z".repeat(100_000);
    for text in [hostile, &long] {
        let mut model = tiny_model("llama");
        model.set("general.architecture", string(text));
        let architecture = import_bytes(&model.bytes()).unwrap_err();
        let mut model = tiny_model("llama");
        model.set(text, typed(99, &[]));
        let key = import_bytes(&model.bytes()).unwrap_err();
        for message in [architecture, key] {
            assert!(message.contains(&text[..1]), "{message}");
            assert!(message.len() < 1000 && !message.contains(char::is_control), "{message}");
        }
    }
}

#[test]
fn a_named_pipe_is_refused_at_once() {
    let home = tempfile::tempdir().unwrap();
    let pipe = home.path().join("pipe.gguf");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let message = GgufFile::open(&pipe).unwrap_err().to_string();
    assert!(message.ends_with("pipe.gguf: cannot open: not a file"), "{message}");
}
