//! Writing a Hugging Face directory, all or nothing.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::Path;

use serde_json::{Value, json};
use tch::{Device, Kind, Tensor};
use trainer_core::atomic_write::{DirectoryInProgress, WriteError};

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

fn at<T>(path: &Path, result: io::Result<T>) -> Result<T, WriteError> {
    result.map_err(|source| WriteError { path: path.to_owned(), action: "write", source })
}

impl Decoder {
    /// Writes config.json, the weights in the model's kind, `generation_config.json` and the tokenizer files of
    /// `tokenizer_source` to `directory`, replacing it.
    ///
    /// Everything is written beside it first, synced and then renamed, so `directory` is never half written.
    ///
    /// # Errors
    ///
    /// [`WriteError`] with the path and the system's reason, such as a full disk.
    pub fn save(&self, directory: &Path, tokenizer_source: &Path) -> Result<(), WriteError> {
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
    ) -> Result<(), WriteError> {
        let staging = DirectoryInProgress::begin(directory)?;
        self.write_files(staging.path(), tokenizer_source, shard_bytes)?;
        staging.commit()
    }

    fn write_files(
        &self,
        staging: &Path,
        tokenizer_source: &Path,
        shard_bytes: u64,
    ) -> Result<(), WriteError> {
        for name in COPIED {
            let (from, to) = (tokenizer_source.join(name), staging.join(name));
            if from.is_file() {
                at(&to, fs::copy(&from, &to))?;
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
            return write_weights(&staging.join("model.safetensors"), only);
        }
        let mut weight_map = BTreeMap::new();
        for (number, shard) in shards.iter().enumerate() {
            let name = format!("model-{:05}-of-{:05}.safetensors", number + 1, shards.len());
            write_weights(&staging.join(&name), shard)?;
            weight_map.extend(shard.iter().map(|(tensor, _)| (tensor.clone(), name.clone())));
        }
        let total: u64 = shards.iter().flatten().map(|(_, tensor)| byte_count(tensor)).sum();
        let index = json!({ "metadata": { "total_size": total }, "weight_map": weight_map });
        write_json(&staging.join("model.safetensors.index.json"), &index)
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

fn write_weights(path: &Path, named: &[(String, &Tensor)]) -> Result<(), WriteError> {
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
    at(path, out.flush())
}

fn write_json(path: &Path, value: &Value) -> Result<(), WriteError> {
    let text = serde_json::to_string_pretty(value).expect("a JSON value is always writable");
    at(path, fs::write(path, text + "\n"))
}
