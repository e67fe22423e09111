//! Writing a Hugging Face directory, all or nothing.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::json;
use tch::{Kind, Tensor};
use torch_ext::byte_count;
use whole_file::{DirectoryInProgress, FileError};

use super::adapter::WEIGHTS;
use super::adapter_config::{CONFIG, config_json};
use super::decoder::Decoder;
use crate::tensor_file::{write_json, write_tensors};

/// Largest weight file; more goes to the next shard.
const SHARD_BYTES: u64 = 5_000_000_000;
/// Files of a tokenizer, and the sampling defaults; copied if present.
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

impl Decoder {
    /// Writes config.json, the weights in the model's kind, `generation_config.json` and the tokenizer files of
    /// `tokenizer_source` to `directory`, replacing it. A model with an adapter is written as a PEFT directory, which contains
    /// the adapter alone and names the base model.
    ///
    /// Everything is written beside it first, synced and then renamed, so `directory` is never half written.
    ///
    /// # Errors
    ///
    /// [`FileError`] with the path and the system's reason, such as a full disk.
    pub fn save(&self, directory: &Path, tokenizer_source: &Path) -> Result<(), FileError> {
        self.save_in_shards(directory, tokenizer_source, SHARD_BYTES)
    }

    /// Saves as [`save`](Self::save) does, with another bound on the size of a weight file. A tensor is never split.
    ///
    /// # Errors
    ///
    /// Those of [`save`](Self::save).
    pub fn save_in_shards(
        &self,
        directory: &Path,
        tokenizer_source: &Path,
        shard_bytes: u64,
    ) -> Result<(), FileError> {
        let staging = DirectoryInProgress::begin(directory)?;
        self.copy_texts(staging.path(), tokenizer_source)?;
        match self.adapter_settings() {
            None => self.write_model(staging.path(), shard_bytes)?,
            Some(settings) => {
                let config = config_json(settings, self.source.as_deref());
                write_json(&staging.path().join(CONFIG), &config)?;
                write_tensors(&staging.path().join(WEIGHTS), &self.adapter_parameters())?;
            }
        }
        staging.commit()
    }

    fn copy_texts(&self, staging: &Path, tokenizer_source: &Path) -> Result<(), FileError> {
        for name in COPIED {
            let (from, to) = (tokenizer_source.join(name), staging.join(name));
            if from.is_file() {
                fs::copy(&from, &to).map_err(FileError::of(&to, "write"))?;
            }
        }
        let generation = staging.join("generation_config.json");
        if !generation.exists() {
            write_json(&generation, &self.config().to_generation_json())?;
        }
        Ok(())
    }

    fn write_model(&self, staging: &Path, shard_bytes: u64) -> Result<(), FileError> {
        let config = self.config().to_json(torch_dtype(self.kind()));
        write_json(&staging.join("config.json"), &config)?;
        let shards = shards(self.named_parameters(), shard_bytes);
        if let [only] = shards.as_slice() {
            return write_tensors(&staging.join("model.safetensors"), only);
        }
        let mut weight_map = BTreeMap::new();
        for (number, shard) in shards.iter().enumerate() {
            let name = format!("model-{:05}-of-{:05}.safetensors", number + 1, shards.len());
            write_tensors(&staging.join(&name), shard)?;
            weight_map.extend(shard.iter().map(|(tensor, _)| (tensor.clone(), name.clone())));
        }
        let total: u64 = shards.iter().flatten().map(|(_, tensor)| byte_count(tensor) as u64).sum();
        let index = json!({ "metadata": { "total_size": total }, "weight_map": weight_map });
        write_json(&staging.join("model.safetensors.index.json"), &index)
    }
}

type Named<'a> = Vec<(String, &'a Tensor)>;

fn shards(named: Named<'_>, shard_bytes: u64) -> Vec<Named<'_>> {
    let mut shards: Vec<Named<'_>> = vec![Vec::new()];
    let mut filled = 0;
    for (name, tensor) in named {
        let bytes = byte_count(tensor) as u64;
        if filled > 0 && filled + bytes > shard_bytes {
            shards.push(Vec::new());
            filled = 0;
        }
        filled += bytes;
        shards.last_mut().expect("starts with one").push((name, tensor));
    }
    shards
}

/// Name of a kind in config.json.
fn torch_dtype(kind: Kind) -> &'static str {
    match kind {
        Kind::BFloat16 => "bfloat16",
        Kind::Half => "float16",
        Kind::Double => "float64",
        _ => "float32",
    }
}
