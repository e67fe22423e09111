//! Bound on the text that a tokenizer's normaliser makes of a text.

use serde::Deserialize;
use serde_json::Value;

/// Largest growth of a tokenizer that is loaded. The largest in use, of ALBERT, is below 400.
pub(crate) const MOST_GROWTH: usize = 4096;

/// Longest text after normalisation, in bytes.
pub(crate) const LONGEST_NORMALISED_BYTES: usize = 512 << 20;

#[derive(Deserialize)]
struct Tokenizer {
    #[serde(default)]
    normalizer: Value,
}

/// Returns by how much a `tokenizer.json` can lengthen a text, at most.
///
/// # Errors
///
/// If the bytes are not a JSON object.
pub(crate) fn growth(tokenizer_json: &[u8]) -> Result<usize, serde_json::Error> {
    Ok(growth_of(&serde_json::from_slice::<Tokenizer>(tokenizer_json)?.normalizer))
}

/// Bytes that a normaliser makes of one byte, at most.
fn growth_of(normaliser: &Value) -> usize {
    let length = |value: &Value| value.as_str().map_or(0, str::len);
    match normaliser["type"].as_str() {
        Some("Sequence") => {
            let parts = normaliser["normalizers"].as_array().into_iter().flatten();
            parts.map(growth_of).fold(1, usize::saturating_mul)
        }
        // A pattern of fixed text takes its bytes; an expression may match between any two.
        Some("Replace") => match &normaliser["pattern"]["String"] {
            Value::String(pattern) if !pattern.is_empty() => {
                length(&normaliser["content"]).div_ceil(pattern.len()).max(1)
            }
            _ => length(&normaliser["content"]).saturating_add(1),
        },
        Some("Prepend") => length(&normaliser["prepend"]).saturating_add(1),
        // U+FDFA is three bytes, its compatibility form 33.
        Some("NFKC" | "NFKD") => 11,
        Some("Precompiled") => 18,
        Some("NFC" | "NFD" | "BertNormalizer" | "Lowercase") => 3,
        Some("ByteLevel") => 2,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn growth_is_the_product_of_the_steps() {
        let growth_of = |json: &str| growth(json.as_bytes()).unwrap();
        assert_eq!(growth_of("{}"), 1);
        assert_eq!(growth_of(r#"{"normalizer": null, "model": {"vocab": {}}}"#), 1);
        let metaspace = r#"{"normalizer": {"type": "Sequence", "normalizers": [{"type": "Prepend",
            "prepend": "▁"}, {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}]}}"#;
        assert_eq!(growth_of(metaspace), 4 * 3);
        let pairs =
            r#"{"normalizer": {"type": "Replace", "pattern": {"String": "ab"}, "content": "abc"}}"#;
        assert_eq!(growth_of(pairs), 2);
        let between =
            r#"{"normalizer": {"type": "Replace", "pattern": {"Regex": ""}, "content": "abc"}}"#;
        assert_eq!(growth_of(between), 4);
    }
}
