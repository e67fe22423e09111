//! The header of a safetensors file: a length, and as many bytes of JSON.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use messages::{plain_words, shown};
use safetensors::Dtype;
use serde::de::{Error as _, IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

use super::error::{LONGEST_NAME, TensorFileError};

/// Longest header accepted: about a hundred times that of the largest models.
const LONGEST_HEADER_BYTES: u64 = 32 << 20;

/// Most dimensions accepted: more than any weight has. A longer shape would fill the screen.
const MOST_DIMENSIONS: usize = 16;

/// Dtype, shape and byte range of a tensor.
#[derive(Debug, Deserialize)]
pub(super) struct Entry {
    pub(super) dtype: Dtype,
    pub(super) shape: Vec<u64>,
    /// First byte, and the byte after the last, counted after the header.
    pub(super) data_offsets: [u64; 2],
}

/// Reads and checks the entries of a file of `length` bytes; also returns the offset of their data.
pub(super) fn read_entries(
    path: &Path,
    file: &File,
    length: u64,
) -> Result<(BTreeMap<String, Entry>, u64), TensorFileError> {
    let system = |source| TensorFileError::Io { path: path.to_owned(), source };
    let malformed = |found: String, expected: &str| {
        TensorFileError::malformed(path, format!("{found}, expected {expected}"))
    };
    if length < 8 {
        return Err(malformed(format!("{length} bytes long"), "at least 8"));
    }
    let mut prefix = [0; 8];
    file.read_exact_at(&mut prefix, 0).map_err(system)?;
    let header_bytes = u64::from_le_bytes(prefix);
    let room = (length - 8).min(LONGEST_HEADER_BYTES);
    if header_bytes > room {
        let problem = format!("header of {header_bytes} bytes in a file of {length}");
        return Err(malformed(problem, &format!("at most {room}: truncated, or not safetensors")));
    }
    let mut text = vec![0; usize::try_from(header_bytes).expect("within the bound")];
    file.read_exact_at(&mut text, 8).map_err(system)?;
    let mut json = serde_json::Deserializer::from_slice(&text);
    let entries = json.deserialize_map(HeaderVisitor);
    let entries = entries.and_then(|entries| json.end().map(|()| entries)).map_err(|error| {
        let problem = format!("header: {}", plain_words(&error.to_string()));
        malformed(problem, "a safetensors header")
    })?;
    let data_start = 8 + header_bytes;
    if let Some((found, expected)) = first_fault(&entries) {
        return Err(malformed(found, &expected));
    }
    let end = data_start.saturating_add(last_end(&entries).map_or(0, |(_, end)| end));
    match last_end(&entries) {
        Some((tensor, _)) if end > length => {
            let tensor = shown(tensor, LONGEST_NAME);
            let problem =
                format!("truncated: tensor `{tensor}` ends at byte {end}, the file at {length}");
            Err(TensorFileError::malformed(path, problem))
        }
        _ if end < length => {
            Err(malformed(format!("{} bytes after the last tensor", length - end), "none"))
        }
        _ => Ok((entries, data_start)),
    }
}

fn last_end(entries: &BTreeMap<String, Entry>) -> Option<(&str, u64)> {
    let ends = entries.iter().map(|(name, entry)| (name.as_str(), entry.data_offsets[1]));
    ends.max_by_key(|&(_, end)| end)
}

/// Returns the first fault of dtypes, shapes and byte ranges, and what was expected.
fn first_fault(entries: &BTreeMap<String, Entry>) -> Option<(String, String)> {
    let mut by_place: Vec<(&String, &Entry)> = entries.iter().collect();
    by_place.sort_by_key(|(_, entry)| entry.data_offsets);
    let mut next = 0;
    for (name, Entry { dtype, shape, data_offsets: [first, end] }) in by_place {
        let name = shown(name, LONGEST_NAME);
        if *first != next {
            let problem = format!("tensor `{name}` begins at byte {first} of the data");
            return Some((problem, format!("{next}: tensors neither overlap nor leave gaps")));
        }
        if shape.len() > MOST_DIMENSIONS {
            let problem = format!("tensor `{name}` has {} dimensions", shape.len());
            return Some((problem, format!("at most {MOST_DIMENSIONS}")));
        }
        let elements = shape.iter().try_fold(1_u64, |product, &size| product.checked_mul(size));
        let bits = elements.and_then(|count| count.checked_mul(dtype.bitsize() as u64));
        let problem = || format!("tensor `{name}` runs from byte {first} to {end} of the data");
        let Some(bits) = bits else {
            return Some((problem(), format!("fewer elements than its shape {shape:?}")));
        };
        if end < first || (end - first).checked_mul(8) != Some(bits) {
            let expected = format!("{} bytes by its {dtype:?} and shape {shape:?}", bits / 8);
            return Some((problem(), expected));
        }
        next = *end;
    }
    None
}

/// Reads the tensors of a header; other entries are skipped.
struct HeaderVisitor;

impl<'de> Visitor<'de> for HeaderVisitor {
    type Value = BTreeMap<String, Entry>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object of tensors")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut entries = BTreeMap::new();
        while let Some(name) = map.next_key::<String>()? {
            if name == "__metadata__" {
                map.next_value::<IgnoredAny>()?;
                continue;
            }
            let refused = |problem: String| {
                A::Error::custom(format!("tensor `{}`{problem}", shown(&name, LONGEST_NAME)))
            };
            let entry = map.next_value().map_err(|error| refused(format!(": {error}")))?;
            if entries.contains_key(&name) {
                return Err(refused(" stands there twice".to_owned()));
            }
            entries.insert(name, entry);
        }
        Ok(entries)
    }
}
