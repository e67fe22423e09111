//! A `tokenizer.json` whose tokens are the 256 bytes and one end-of-text token.

use serde_json::{Map, Value, json};

/// Text of the end-of-text token.
pub(super) const END_OF_TEXT: &str = "<|endoftext|>";
/// Its id.
pub(super) const END_OF_TEXT_ID: u32 = 256;
/// Tokens in all.
pub(super) const VOCABULARY: usize = 257;

/// The tokenizer in Hugging Face's format; the id of a byte is the byte.
pub(super) fn tokenizer_json() -> Value {
    let vocabulary: Map<String, Value> =
        (0..=u8::MAX).map(|byte| (spelling(byte).to_string(), json!(byte))).collect();
    let byte_level = json!({ "type": "ByteLevel", "add_prefix_space": false, "trim_offsets": false, "use_regex": false });
    json!({
        "version": "1.0",
        "truncation": null,
        "padding": null,
        "added_tokens": [{
            "id": END_OF_TEXT_ID, "content": END_OF_TEXT, "single_word": false, "lstrip": false,
            "rstrip": false, "normalized": false, "special": true
        }],
        "normalizer": null,
        "pre_tokenizer": byte_level,
        "post_processor": null,
        "decoder": byte_level,
        "model": {
            "type": "BPE", "dropout": null, "unk_token": null, "continuing_subword_prefix": "",
            "end_of_word_suffix": "", "fuse_unk": false, "byte_fallback": false, "ignore_merges": false,
            "vocab": vocabulary, "merges": []
        }
    })
}

/// How byte-level tokenizers spell a byte: printable Latin-1 as itself, the others in order from U+0100 on.
fn spelling(byte: u8) -> char {
    let printable = |b: u8| matches!(b, b'!'..=b'~' | 0xA1..=0xAC | 0xAE..=0xFF);
    if printable(byte) {
        return char::from(byte);
    }
    let rank = (0..byte).filter(|&b| !printable(b)).count();
    let code = 0x100 + u32::try_from(rank).expect("at most 68 bytes are not printable");
    char::from_u32(code).expect("U+0100 to U+0143 are letters")
}

#[cfg(test)]
mod tests {
    use model_files::text_tokenizer::TextTokenizer;

    use super::*;

    #[test]
    fn every_byte_string_survives_and_the_end_of_text_is_one_token() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("tokenizer.json"), tokenizer_json().to_string())
            .unwrap();
        let tokenizer = TextTokenizer::load(directory.path()).unwrap();
        let text = "47+38=#### 85\n\té漢\u{7f}";
        let ids = tokenizer.encode(text).unwrap();
        assert_eq!(ids, text.bytes().map(u32::from).collect::<Vec<_>>());
        assert_eq!(tokenizer.decode(&ids).unwrap(), text);
        assert_eq!(tokenizer.encode(END_OF_TEXT).unwrap(), [END_OF_TEXT_ID]);
        tokenizer.check_vocabulary(VOCABULARY).unwrap();
        tokenizer.check_vocabulary(VOCABULARY - 1).unwrap_err();
    }
}
