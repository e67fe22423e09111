//! Writing a Hugging Face directory: everything under a temporary name, synced, then renamed.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tch::{Device, Kind, Tensor};
use thiserror::Error;

use super::decoder::Decoder;

/// Largest weight file; more goes to the next shard.
const SHARD_BYTES: u64 = 5_000_000_000;
/// What a tokenizer may consist of, and the sampling defaults; copied if present.
const COPIED: [&str; 9] = [
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "vocab.json",
    "merges.txt",
    "tokenizer.model",
    "chat_template.jinja",
    "generation_config.json",
];

/// Why a model could not be written.
#[derive(Debug, Error)]
#[error("{}: {source}", path.display())]
pub struct SaveError {
    path: PathBuf,
    source: io::Error,
}

fn at<T>(path: &Path, result: io::Result<T>) -> Result<T, SaveError> {
    result.map_err(|source| SaveError { path: path.to_owned(), source })
}

impl Decoder {
    /// Writes config.json, the weights in the model's kind, generation_config.json and the tokenizer files of
    /// `tokenizer_source` to the new directory `directory`.
    ///
    /// Everything is written beside it first, synced and then renamed, so `directory` is whole or absent.
    ///
    /// # Errors
    ///
    /// [`SaveError`] with the path and the system's reason: `directory` exists and is not empty, the disk is full.
    pub fn save(&self, directory: &Path, tokenizer_source: &Path) -> Result<(), SaveError> {
        self.save_in_shards(directory, tokenizer_source, SHARD_BYTES)
    }

    /// As [`save`](Self::save), with another bound on the size of a weight file. A tensor is never split.
    ///
    /// # Errors
    ///
    /// As [`save`](Self::save).
    pub fn save_in_shards(
        &self,
        directory: &Path,
        tokenizer_source: &Path,
        shard_bytes: u64,
    ) -> Result<(), SaveError> {
        let name = directory.file_name().unwrap_or_default().to_string_lossy();
        let parent = match directory.parent() {
            Some(parent) if parent != Path::new("") => parent,
            _ => Path::new("."),
        };
        at(parent, fs::create_dir_all(parent))?;
        let staging = parent.join(format!(".{name}.{}.partial", std::process::id()));
        at(&staging, fs::create_dir(&staging))?;
        let written = self
            .write_files(&staging, tokenizer_source, shard_bytes)
            .and_then(|()| at(directory, fs::rename(&staging, directory)));
        if written.is_err() {
            // The first error is the one to report; what cannot be removed is only clutter.
            let _ = fs::remove_dir_all(&staging);
        }
        written.and_then(|()| sync(parent))
    }

    fn write_files(
        &self,
        staging: &Path,
        tokenizer_source: &Path,
        shard_bytes: u64,
    ) -> Result<(), SaveError> {
        for name in COPIED {
            let (from, to) = (tokenizer_source.join(name), staging.join(name));
            if from.is_file() {
                at(&to, fs::copy(&from, &to))?;
                sync(&to)?;
            }
        }
        let generation = staging.join("generation_config.json");
        if !generation.exists() {
            write_json(&generation, &self.config().to_generation_json())?;
        }
        let (torch_dtype, _) = kind_names(self.kind());
        write_json(&staging.join("config.json"), &self.config().to_json(torch_dtype))?;
        let shards = shards(self.named_parameters(), shard_bytes);
        if let [only] = shards.as_slice() {
            write_weights(&staging.join("model.safetensors"), only)?;
            return sync(staging);
        }
        let mut weight_map = BTreeMap::new();
        for (number, shard) in shards.iter().enumerate() {
            let name = format!("model-{:05}-of-{:05}.safetensors", number + 1, shards.len());
            write_weights(&staging.join(&name), shard)?;
            weight_map.extend(shard.iter().map(|(tensor, _)| (tensor.clone(), name.clone())));
        }
        let total: u64 = shards.iter().flatten().map(|(_, tensor)| byte_count(tensor)).sum();
        let index = json!({ "metadata": { "total_size": total }, "weight_map": weight_map });
        write_json(&staging.join("model.safetensors.index.json"), &index)?;
        sync(staging)
    }
}

type Named<'a> = Vec<(String, &'a Tensor)>;

fn shards(named: Named<'_>, shard_bytes: u64) -> Vec<Named<'_>> {
    let mut shards: Vec<Named<'_>> = vec![Vec::new()];
    let mut filled = 0;
    for (name, tensor) in named {
        let bytes = byte_count(tensor);
        if filled > 0 && filled + bytes > shard_bytes {
            shards.push(Vec::new());
            filled = 0;
        }
        filled += bytes;
        shards.last_mut().expect("starts with one").push((name, tensor));
    }
    shards
}

fn byte_count(tensor: &Tensor) -> u64 {
    (tensor.numel() * tensor.kind().elt_size_in_bytes()) as u64
}

/// Names of a kind in config.json and in safetensors.
fn kind_names(kind: Kind) -> (&'static str, &'static str) {
    match kind {
        Kind::BFloat16 => ("bfloat16", "BF16"),
        Kind::Half => ("float16", "F16"),
        Kind::Double => ("float64", "F64"),
        _ => ("float32", "F32"),
    }
}

fn write_weights(path: &Path, named: &[(String, &Tensor)]) -> Result<(), SaveError> {
    let mut header = serde_json::Map::new();
    header.insert("__metadata__".to_owned(), json!({ "format": "pt" }));
    let mut offset = 0;
    for (name, tensor) in named {
        let end = offset + byte_count(tensor);
        let (_, dtype) = kind_names(tensor.kind());
        let info = json!({ "dtype": dtype, "shape": tensor.size(), "data_offsets": [offset, end] });
        header.insert(name.clone(), info);
        offset = end;
    }
    let mut header = Value::Object(header).to_string().into_bytes();
    header.resize(header.len().next_multiple_of(8), b' ');
    let mut out = BufWriter::new(at(path, File::create(path))?);
    at(path, out.write_all(&(header.len() as u64).to_le_bytes()))?;
    at(path, out.write_all(&header))?;
    for (_, tensor) in named {
        let tensor = tensor.detach().to_device(Device::Cpu).contiguous();
        let mut bytes = vec![0; tensor.numel() * tensor.kind().elt_size_in_bytes()];
        tensor.copy_data_u8(&mut bytes, tensor.numel());
        at(path, out.write_all(&bytes))?;
    }
    let file = at(path, out.into_inner().map_err(io::IntoInnerError::into_error))?;
    at(path, file.sync_all())
}

fn write_json(path: &Path, value: &Value) -> Result<(), SaveError> {
    let text = serde_json::to_string_pretty(value).expect("a JSON value is always writable");
    at(path, fs::write(path, text + "\n"))?;
    sync(path)
}

fn sync(path: &Path) -> Result<(), SaveError> {
    at(path, File::open(path).and_then(|file| file.sync_all()))
}
