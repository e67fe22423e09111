//! Writing safetensors and JSON; a full disk is an error that names the file.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::Path;

use serde_json::{Value, json};
use tch::{Device, Tensor};
use whole_file::FileError;

use super::dtype_of;

/// Names the file that could not be written.
pub(crate) fn at<T>(path: &Path, result: io::Result<T>) -> Result<T, FileError> {
    result.map_err(|source| FileError { path: path.to_owned(), action: "write", source })
}

pub(crate) fn byte_count(tensor: &Tensor) -> u64 {
    (tensor.numel() * tensor.kind().elt_size_in_bytes()) as u64
}

/// Writes tensors in the given order, one of them in memory at a time.
///
/// # Errors
///
/// If the file cannot be written.
pub fn write_tensors(path: &Path, named: &[(String, &Tensor)]) -> Result<(), FileError> {
    let mut header = serde_json::Map::new();
    header.insert("__metadata__".to_owned(), json!({ "format": "pt" }));
    let mut offset = 0;
    for (name, tensor) in named {
        let end = offset + byte_count(tensor);
        let dtype = dtype_of(tensor.kind());
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

/// Writes a JSON file for people to read.
pub(crate) fn write_json(path: &Path, value: &Value) -> Result<(), FileError> {
    let text = serde_json::to_string_pretty(value).expect("a JSON value is always writable");
    at(path, fs::write(path, text + "\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `/dev/full` takes nothing: a full disk that needs no disk.
    #[test]
    fn a_full_disk_is_an_error_that_names_the_file() {
        let tensor = Tensor::zeros([1000], (tch::Kind::Float, Device::Cpu));
        let full = Path::new("/dev/full");
        for written in [
            write_tensors(full, &[("w".to_owned(), &tensor)]),
            write_json(full, &json!({ "a": 1 })),
        ] {
            let message = written.unwrap_err().to_string();
            assert_eq!(message, "/dev/full: cannot write: No space left on device (os error 28)");
        }
    }
}
