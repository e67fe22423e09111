//! Writing safetensors and JSON; a full disk is an error that names the file.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::Path;

use serde_json::{Value, json};
use tch::{Device, Tensor};
use torch_ext::byte_count;
use whole_file::FileError;

use super::dtype_of;

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
        let end = offset + byte_count(tensor) as u64;
        let dtype = dtype_of(tensor.kind());
        let info = json!({ "dtype": dtype, "shape": tensor.size(), "data_offsets": [offset, end] });
        header.insert(name.clone(), info);
        offset = end;
    }
    let mut header = Value::Object(header).to_string().into_bytes();
    header.resize(header.len().next_multiple_of(8), b' ');
    let write = || {
        let mut out = BufWriter::new(File::create(path)?);
        out.write_all(&(header.len() as u64).to_le_bytes())?;
        out.write_all(&header)?;
        for (_, tensor) in named {
            let tensor = tensor.detach().to_device(Device::Cpu).contiguous();
            let mut bytes = vec![0; byte_count(&tensor)];
            tensor.copy_data_u8(&mut bytes, tensor.numel());
            out.write_all(&bytes)?;
        }
        out.flush()
    };
    write().map_err(FileError::of(path, "write"))
}

/// Writes a JSON file for people to read.
pub(crate) fn write_json(path: &Path, value: &Value) -> Result<(), FileError> {
    let text = serde_json::to_string_pretty(value).expect("a JSON value is always writable");
    fs::write(path, text + "\n").map_err(FileError::of(path, "write"))
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
