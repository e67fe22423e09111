//! Files of a model that a command needs.

use std::path::Path;

use serde_json::Value;
use whole_file::{LONGEST_TEXT_BYTES, read_at_most};

const SINGLE: &str = "model.safetensors";
const INDEX: &str = "model.safetensors.index.json";

/// The parts of a model that are needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModelParts {
    /// `config.json` and tokenizer.
    Description,
    /// The weights as well.
    All,
}

impl ModelParts {
    /// Returns the files to download. Weights of another kind than `model*.safetensors` are copies of them.
    pub(crate) fn wanted(self, files: &[String]) -> Vec<String> {
        let is_described = |name: &str| {
            let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
            matches!(ending, "json" | "jinja") || matches!(name, "merges.txt" | "tokenizer.model")
        };
        let is_weight = |name: &str| name.starts_with("model") && name.ends_with(".safetensors");
        let is_wanted = |name: &&String| {
            !name.contains('/') && (is_described(name) || self == Self::All && is_weight(name))
        };
        let mut wanted: Vec<String> = files.iter().filter(is_wanted).cloned().collect();
        wanted.sort();
        wanted
    }

    /// Returns the first file that a snapshot lacks.
    pub(crate) fn missing(self, folder: &Path) -> Option<String> {
        let is_absent = |name: &String| !folder.join(name).is_file();
        let mut needed = vec!["config.json".to_owned()];
        if self == Self::All {
            needed.push("tokenizer.json".to_owned());
            match shards(&folder.join(INDEX)) {
                Some(shards) => needed.extend(shards),
                None => needed.push(SINGLE.to_owned()),
            }
        }
        needed.into_iter().find(is_absent)
    }
}

/// Files that an index of weights names.
fn shards(index: &Path) -> Option<Vec<String>> {
    let bytes = read_at_most(index, LONGEST_TEXT_BYTES).ok()?;
    let index: Value = serde_json::from_slice(&bytes).ok()?;
    let files = index.get("weight_map")?.as_object()?.values();
    let mut files: Vec<String> = files.filter_map(Value::as_str).map(str::to_owned).collect();
    files.sort();
    files.dedup();
    Some(files)
}
