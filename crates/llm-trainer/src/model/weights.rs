//! Reading tensors from the safetensors files of a directory, one `pread` a tensor.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use safetensors::Dtype;
use safetensors::tensor::{Metadata, TensorInfo};
use serde_json::Value;
use tch::{Kind, Tensor};
use thiserror::Error;

const SINGLE: &str = "model.safetensors";
const INDEX: &str = "model.safetensors.index.json";
/// Longest header accepted, as in the reference implementation.
const LONGEST_HEADER_BYTES: u64 = 100_000_000;

/// Why weights could not be read.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum WeightsError {
    /// The directory holds no weights.
    #[error("{}: no weights found, expected {SINGLE} or {INDEX}", directory.display())]
    NoFile {
        /// The directory.
        directory: PathBuf,
    },
    /// A file cannot be read.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A file is not what its name says.
    #[error("{}: {found}, expected {expected}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        found: String,
        /// What would have been right.
        expected: String,
    },
    /// A file ends before a tensor does.
    #[error("{}: truncated: tensor `{tensor}` ends at byte {expected}, the file at {found}", path.display())]
    Truncated {
        /// The file.
        path: PathBuf,
        /// The tensor.
        tensor: String,
        /// Byte after the tensor's last.
        expected: u64,
        /// Length of the file.
        found: u64,
    },
    /// A tensor that the config asks for is not there.
    #[error("{}: tensor `{tensor}` is missing, expected shape {expected:?}", path.display())]
    Missing {
        /// The file, or the directory of shards.
        path: PathBuf,
        /// The tensor.
        tensor: String,
        /// Its shape.
        expected: Vec<i64>,
    },
    /// A tensor has another shape than the config says.
    #[error("{}: tensor `{tensor}` has shape {found:?}, expected {expected:?}", path.display())]
    Shape {
        /// The file.
        path: PathBuf,
        /// The tensor.
        tensor: String,
        /// Shape in the file.
        found: Vec<usize>,
        /// Shape by the config.
        expected: Vec<i64>,
    },
    /// A tensor of a kind that is not read here.
    #[error("{}: tensor `{tensor}` is {found}, expected F32, F16 or BF16", path.display())]
    Kind {
        /// The file.
        path: PathBuf,
        /// The tensor.
        tensor: String,
        /// Kind in the file.
        found: String,
    },
    /// A tensor that the config has no place for: the model would not be what the file means.
    #[error("{}: tensor `{tensor}` has no place in a model of this config.json", path.display())]
    Unexpected {
        /// The file.
        path: PathBuf,
        /// The tensor.
        tensor: String,
    },
}

/// The safetensors files of one model, headers read, tensors not yet.
#[derive(Debug)]
pub(super) struct WeightFiles {
    directory: PathBuf,
    files: Vec<WeightFile>,
    /// Tensor → index into `files`.
    place: BTreeMap<String, usize>,
}

#[derive(Debug)]
struct WeightFile {
    path: PathBuf,
    file: File,
    length: u64,
    /// First byte after the header.
    data_start: u64,
    header: Metadata,
}

impl WeightFiles {
    /// Opens the single file, or all shards the index names.
    pub(super) fn open(directory: &Path) -> Result<Self, WeightsError> {
        let single = directory.join(SINGLE);
        let index = directory.join(INDEX);
        let names = if single.exists() {
            vec![SINGLE.to_owned()]
        } else if index.exists() {
            shard_names(&index)?
        } else {
            return Err(WeightsError::NoFile { directory: directory.to_owned() });
        };
        let files: Vec<WeightFile> = names
            .iter()
            .map(|name| WeightFile::open(directory.join(name)))
            .collect::<Result<_, _>>()?;
        let mut place = BTreeMap::new();
        for (number, file) in files.iter().enumerate() {
            place.extend(file.header.tensors().into_keys().map(|name| (name, number)));
        }
        Ok(Self { directory: directory.to_owned(), files, place })
    }

    /// Tensor `name` on the CPU in the kind of the file, if it has `shape`.
    pub(super) fn tensor(&self, name: &str, shape: &[i64]) -> Result<Tensor, WeightsError> {
        let found = self.place.get(name).map(|&number| &self.files[number]);
        let found = found.and_then(|file| Some((file, file.header.info(name)?)));
        let Some((file, info)) = found else {
            let path = match self.files.as_slice() {
                [only] => only.path.clone(),
                _ => self.directory.clone(),
            };
            let (tensor, expected) = (name.to_owned(), shape.to_vec());
            return Err(WeightsError::Missing { path, tensor, expected });
        };
        file.read(name, info, shape)
    }

    /// Refuses tensors that were not `wanted`, but those that are known to carry nothing.
    pub(super) fn check_nothing_else(&self, wanted: &[String]) -> Result<(), WeightsError> {
        let harmless =
            |name: &str| name.ends_with(".rotary_emb.inv_freq") || name == "lm_head.weight";
        match self.place.iter().find(|(name, _)| !wanted.contains(*name) && !harmless(name)) {
            None => Ok(()),
            Some((name, &number)) => Err(WeightsError::Unexpected {
                path: self.files[number].path.clone(),
                tensor: name.clone(),
            }),
        }
    }
}

impl WeightFile {
    fn open(path: PathBuf) -> Result<Self, WeightsError> {
        let system = |source| WeightsError::Io { path: path.clone(), source };
        let malformed = |found: String, expected: &str| WeightsError::Malformed {
            path: path.clone(),
            found,
            expected: expected.to_owned(),
        };
        let file = File::open(&path).map_err(system)?;
        let length = file.metadata().map_err(system)?.len();
        if length < 8 {
            return Err(malformed(format!("{length} bytes long"), "at least 8"));
        }
        let mut prefix = [0; 8];
        file.read_exact_at(&mut prefix, 0).map_err(system)?;
        let header_bytes = u64::from_le_bytes(prefix);
        let room = (length - 8).min(LONGEST_HEADER_BYTES);
        if header_bytes > room {
            let found = format!("header of {header_bytes} bytes in a file of {length}");
            return Err(malformed(
                found,
                &format!("at most {room}: truncated, or not safetensors"),
            ));
        }
        let mut header = vec![0; usize::try_from(header_bytes).expect("at most 100 MB")];
        file.read_exact_at(&mut header, 8).map_err(system)?;
        let header: Metadata = serde_json::from_slice(&header)
            .map_err(|error| malformed(format!("header: {error}"), "a safetensors header"))?;
        Ok(Self { path, file, length, data_start: 8 + header_bytes, header })
    }

    fn read(&self, name: &str, info: &TensorInfo, shape: &[i64]) -> Result<Tensor, WeightsError> {
        let (path, tensor) = (self.path.clone(), name.to_owned());
        let same = |(&found, &wanted): (&usize, &i64)| i64::try_from(found) == Ok(wanted);
        if info.shape.len() != shape.len() || !info.shape.iter().zip(shape).all(same) {
            let (found, expected) = (info.shape.clone(), shape.to_vec());
            return Err(WeightsError::Shape { path, tensor, found, expected });
        }
        let kind = match info.dtype {
            Dtype::F32 => Kind::Float,
            Dtype::F16 => Kind::Half,
            Dtype::BF16 => Kind::BFloat16,
            other => return Err(WeightsError::Kind { path, tensor, found: format!("{other:?}") }),
        };
        let (first, last) = info.data_offsets;
        let end = self.data_start + last as u64;
        if end > self.length {
            let found = self.length;
            return Err(WeightsError::Truncated { path, tensor, expected: end, found });
        }
        let mut bytes = vec![0; last - first];
        self.file
            .read_exact_at(&mut bytes, self.data_start + first as u64)
            .map_err(|source| WeightsError::Io { path, source })?;
        Ok(Tensor::from_data_size(&bytes, shape, kind))
    }
}

/// The distinct file names of an index, sorted.
fn shard_names(index: &Path) -> Result<Vec<String>, WeightsError> {
    let text = std::fs::read_to_string(index)
        .map_err(|source| WeightsError::Io { path: index.to_owned(), source })?;
    let malformed = |found: String| WeightsError::Malformed {
        path: index.to_owned(),
        found,
        expected: "an object with `weight_map` from tensor to a file of this directory".to_owned(),
    };
    let value: Value =
        serde_json::from_str(&text).map_err(|error| malformed(format!("not JSON: {error}")))?;
    let Some(map) = value.get("weight_map").and_then(Value::as_object) else {
        return Err(malformed("no `weight_map`".to_owned()));
    };
    let mut names = Vec::with_capacity(map.len());
    for (tensor, name) in map {
        match name.as_str() {
            Some(name) if Path::new(name).file_name().is_some_and(|file| file == name) => {
                names.push(name.to_owned());
            }
            _ => return Err(malformed(format!("`weight_map.{tensor}` is {name}"))),
        }
    }
    names.sort_unstable();
    names.dedup();
    Ok(names)
}
