//! Bounds on the work and the text that a `tokenizer.json` can cause.

use serde::Deserialize;
use serde_json::Value;

/// Largest growth of a text by one part of a tokenizer that is loaded. The largest in use, of ALBERT, is below 400.
const MOST_GROWTH: usize = 4096;

/// Most steps of the normaliser, the pre-tokenizer or the decoder; those in use have some five.
const MOST_STEPS: usize = 64;

/// Longest text of all added tokens, in bytes: a search for all of them at once takes many times that.
const LONGEST_ADDED_TOKENS_BYTES: usize = 1 << 20;

/// Longest text after normalisation and pre-tokenization, in bytes.
pub(crate) const LONGEST_NORMALISED_BYTES: usize = 512 << 20;

/// Longest text of decoded tokens, in bytes.
pub(crate) const LONGEST_DECODED_BYTES: usize = 64 << 20;

/// Longest text of a token, in bytes; the longest in use have some hundred.
pub(crate) const LONGEST_TOKEN_BYTES: usize = 16 << 10;

#[derive(Deserialize)]
struct Parts {
    #[serde(default)]
    normalizer: Value,
    #[serde(default)]
    pre_tokenizer: Value,
    #[serde(default)]
    decoder: Value,
    #[serde(default)]
    added_tokens: Value,
    #[serde(default)]
    model: Model,
}

#[derive(Deserialize, Default)]
struct Model {
    /// Share of the merges that are left out at random.
    #[serde(default)]
    dropout: Option<f64>,
}

/// Bytes that a tokenizer makes of one byte, at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Growth {
    /// Growth of a text that is split into tokens.
    pub(crate) encoded: usize,
    /// Growth of the texts of tokens that are joined.
    pub(crate) decoded: usize,
}

impl Growth {
    /// Reads the growth of a `tokenizer.json`.
    ///
    /// # Errors
    ///
    /// A message if the bytes are not a JSON object, or if a part goes beyond its bound.
    pub(crate) fn of(tokenizer_json: &[u8]) -> Result<Self, String> {
        let parts: Parts = serde_json::from_slice(tokenizer_json)
            .map_err(|error| format!("not a tokenizer: {error}"))?;
        if let Some(dropout) = parts.model.dropout.filter(|dropout| *dropout > 0.0) {
            return Err(format!(
                "its model.dropout is {dropout}, expected none: it encodes at random"
            ));
        }
        let added = parts.added_tokens.as_array().into_iter().flatten();
        let added = added.map(|token| token["content"].as_str().map_or(0, str::len)).sum::<usize>();
        if added > LONGEST_ADDED_TOKENS_BYTES {
            return Err(format!(
                "its added tokens have {added} bytes, expected at most {LONGEST_ADDED_TOKENS_BYTES}"
            ));
        }
        let normaliser = bounded("normaliser", &parts.normalizer)?;
        let pre_tokenizer = bounded("pre-tokenizer", &parts.pre_tokenizer)?;
        let decoded = bounded("decoder", &parts.decoder)?;
        Ok(Self { encoded: normaliser.saturating_mul(pre_tokenizer), decoded })
    }
}

/// Returns the growth of one part of a tokenizer.
fn bounded(name: &str, part: &Value) -> Result<usize, String> {
    let mut steps = 0;
    let growth = growth_of(part, &mut steps);
    if steps > MOST_STEPS {
        return Err(format!("its {name} has {steps} steps, expected at most {MOST_STEPS}"));
    }
    if growth > MOST_GROWTH {
        return Err(format!(
            "its {name} may make a text {growth} times as long, expected at most {MOST_GROWTH}"
        ));
    }
    Ok(growth)
}

/// Bytes that a part makes of one byte, at most. `steps` counts what it consists of.
fn growth_of(part: &Value, steps: &mut usize) -> usize {
    *steps += 1;
    let length = |value: &Value| value.as_str().map_or(0, str::len);
    match part["type"].as_str() {
        Some("Sequence") => {
            let lists = ["normalizers", "pretokenizers", "decoders"];
            let parts = lists.iter().filter_map(|list| part[list].as_array()).flatten();
            parts.map(|part| growth_of(part, steps)).fold(1, usize::saturating_mul)
        }
        // A pattern of fixed text takes its bytes; an expression may match between any two.
        Some("Replace") => match &part["pattern"]["String"] {
            Value::String(pattern) if !pattern.is_empty() => {
                length(&part["content"]).div_ceil(pattern.len()).max(1)
            }
            _ => length(&part["content"]).saturating_add(1),
        },
        Some("Prepend") => length(&part["prepend"]).saturating_add(1),
        // A space becomes a character, and the text may get one more.
        Some("Metaspace") => 8,
        // U+FDFA is three bytes, its compatibility form 33.
        Some("NFKC" | "NFKD") => 11,
        Some("Precompiled") => 18,
        // Bytes that form no character become U+FFFD, of three.
        Some("NFC" | "NFD" | "BertNormalizer" | "Lowercase" | "ByteLevel" | "ByteFallback") => 3,
        // An empty pattern is found between any two characters and becomes a space.
        Some("BPEDecoder" | "CTC" | "WordPiece") => 2,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn growth(json: &str) -> Growth {
        Growth::of(json.as_bytes()).unwrap()
    }

    #[test]
    fn growth_is_the_product_of_the_steps() {
        assert_eq!(growth("{}"), Growth { encoded: 1, decoded: 1 });
        assert_eq!(growth(r#"{"normalizer": null, "model": {"vocab": {}}}"#).encoded, 1);
        let metaspace = r#"{"normalizer": {"type": "Sequence", "normalizers": [{"type": "Prepend",
            "prepend": "▁"}, {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}]}}"#;
        assert_eq!(growth(metaspace).encoded, 4 * 3);
        let pairs =
            r#"{"normalizer": {"type": "Replace", "pattern": {"String": "ab"}, "content": "abc"}}"#;
        assert_eq!(growth(pairs).encoded, 2);
        let between =
            r#"{"normalizer": {"type": "Replace", "pattern": {"Regex": ""}, "content": "abc"}}"#;
        assert_eq!(growth(between).encoded, 4);
    }

    #[test]
    fn each_part_is_bounded() {
        let both = r#"{"pre_tokenizer": {"type": "Sequence", "pretokenizers": [{"type": "ByteLevel"},
            {"type": "ByteLevel"}]}, "decoder": {"type": "ByteLevel"}}"#;
        assert_eq!(growth(both), Growth { encoded: 9, decoded: 3 });
        for (part, lists, name) in [
            ("normalizer", "normalizers", "normaliser"),
            ("pre_tokenizer", "pretokenizers", "pre-tokenizer"),
            ("decoder", "decoders", "decoder"),
        ] {
            let fuses = vec![r#"{"type": "Fuse"}"#; 64].join(", ");
            let json = format!(r#"{{"{part}": {{"type": "Sequence", "{lists}": [{fuses}]}}}}"#);
            let error = Growth::of(json.as_bytes()).unwrap_err();
            assert_eq!(error, format!("its {name} has 65 steps, expected at most 64"));
        }
        assert_eq!(
            growth(r#"{"model": {"dropout": null}}"#),
            growth(r#"{"model": {"dropout": 0.0}}"#)
        );
        let error = Growth::of(br#"{"model": {"dropout": 0.1}}"#).unwrap_err();
        assert_eq!(error, "its model.dropout is 0.1, expected none: it encodes at random");
    }
}
