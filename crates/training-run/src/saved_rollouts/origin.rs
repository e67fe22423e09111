//! Identity of the run that a rollout belongs to.

use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};
use whole_file::{FileError, open_regular};

use crate::config::{RunConfig, dotted};
use crate::run_directory::entries;

/// Version of the files.
const FORMAT: u32 = 1;

/// Distance in bytes between the pieces of a large file that are read.
const STRIDE_BYTES: u64 = 1 << 20;

/// Length of a piece in bytes.
const PIECE_BYTES: u64 = 4096;

/// Everything that determines what a run samples, up to its weights after the first step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RolloutOrigin {
    format: u32,
    /// Fingerprint of `config.json` and the weight files of `model.path`.
    model: String,
    /// Fingerprint of its `tokenizer.json`.
    tokenizer: String,
    /// Fields of the configuration that bear on sampling and rewards.
    settings: Value,
}

impl RolloutOrigin {
    /// Computes the origin of a run.
    ///
    /// # Errors
    ///
    /// A file of the model that cannot be read.
    pub fn of(config: &RunConfig) -> Result<Self, FileError> {
        let directory = &config.model.path;
        let mut model = vec![directory.join("config.json")];
        model.extend(weight_files(directory)?);
        let mut settings = serde_json::json!({
            "seed": config.seed,
            "model": { "dtype": config.model.dtype },
            "rollout": config.rollout,
            "reward": config.reward,
            "dynamic_sampling": config.dynamic_sampling,
        });
        // Settings of speed do not change what is sampled, nor does the use of experts that are recorded.
        let left_out = [
            ("rollout", "rows"),
            ("rollout", "cpu_kernels"),
            ("rollout", "routing_replay"),
            ("reward", "threads"),
        ];
        for (section, field) in left_out {
            if let Some(section) = settings[section].as_object_mut() {
                section.remove(field);
            }
        }
        let tokenizer = fingerprint(&[directory.join("tokenizer.json")])?;
        Ok(Self { format: FORMAT, model: fingerprint(&model)?, tokenizer, settings })
    }

    /// Describes the first difference between the run that sampled and the one that trains; `None` if there is none.
    pub(super) fn difference(&self, now: &Self) -> Option<String> {
        if self.format != now.format {
            return Some(format!("its files have format {}, expected {}", self.format, now.format));
        }
        if self.tokenizer != now.tokenizer {
            return Some("the tokenizer.json of model.path was another".to_owned());
        }
        if self.model != now.model {
            return Some("the config.json or the weights of model.path were others".to_owned());
        }
        first_difference("", &self.settings, &now.settings)
    }
}

/// Describes the first field that differs, by its path.
pub fn first_difference(path: &str, saved: &Value, now: &Value) -> Option<String> {
    if saved == now {
        return None;
    }
    match (saved, now) {
        (Value::Object(own), Value::Object(other)) => {
            let absent = Value::Null;
            own.keys().chain(other.keys()).find_map(|key| {
                let value = |object: &serde_json::Map<String, Value>| {
                    object.get(key).unwrap_or(&absent).clone()
                };
                first_difference(&dotted(path, key), &value(own), &value(other))
            })
        }
        (Value::Array(own), Value::Array(other)) if own.len() == other.len() => {
            let pairs = (0..).zip(own.iter().zip(other));
            let differ = |(index, (own, other)): (usize, (&Value, &Value))| {
                first_difference(&dotted(path, &index.to_string()), own, other)
            };
            pairs.into_iter().find_map(differ)
        }
        _ => Some(format!("`{path}` was {saved}, and is {now}")),
    }
}

/// Lists the safetensors files of a model directory, by name.
///
/// # Errors
///
/// A folder or file that cannot be read.
pub fn weight_files(directory: &Path) -> Result<Vec<PathBuf>, FileError> {
    let is_weights =
        |path: &PathBuf| path.extension().is_some_and(|extension| extension == "safetensors");
    let mut files: Vec<PathBuf> = entries(directory)?.into_iter().filter(is_weights).collect();
    files.sort_unstable();
    Ok(files)
}

/// SHA-256 over the lengths of files and evenly spaced pieces of them: fast even for gigabytes.
///
/// # Errors
///
/// A folder or file that cannot be read.
pub fn fingerprint(files: &[PathBuf]) -> Result<String, FileError> {
    let mut hash = Sha256::new();
    for path in files {
        add_file(&mut hash, path).map_err(FileError::of(path, "read"))?;
    }
    Ok(format!("{:x}", hash.finalize()))
}

fn add_file(hash: &mut Sha256, path: &Path) -> io::Result<()> {
    let mut file = open_regular(path)?;
    let length = file.metadata()?.len();
    hash.update(length.to_le_bytes());
    // Small files are read whole.
    let piece_bytes = if length <= STRIDE_BYTES { STRIDE_BYTES } else { PIECE_BYTES };
    let mut start = 0;
    while start < length {
        file.seek(SeekFrom::Start(start))?;
        io::copy(&mut file.by_ref().take(piece_bytes), hash)?;
        start += STRIDE_BYTES;
    }
    Ok(())
}
