//! Safetensors files, read with suspicion and one tensor at a time.
//!
//! Nothing in a file is believed before it is checked: the length of the header, that names stand there once, that tensors
//! follow each other without gap or overlap up to the end of the file, that shape and kind make up the bytes, and that
//! every value is finite. Memory stays within the header's bound and the tensor that is read.

mod error;
mod header;
mod write;

use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use safetensors::Dtype;
use tch::{Kind, Tensor};

pub(crate) use error::LONGEST_NAME;
pub use error::TensorFileError;
use header::{Entry, read_entries};
pub(crate) use write::write_json;
pub use write::write_tensors;

/// The kinds that weights come in, for a model of `kind`: only one in f64 has use for f64.
pub(crate) fn weight_kinds(kind: Kind) -> &'static [Kind] {
    const USUAL: &[Kind] = &[Kind::Float, Kind::Half, Kind::BFloat16];
    const WIDE: &[Kind] = &[Kind::Float, Kind::Half, Kind::BFloat16, Kind::Double];
    if kind == Kind::Double { WIDE } else { USUAL }
}

/// A file whose header was read and checked; its tensors stay on the disk.
#[derive(Debug)]
pub struct TensorFile {
    pub(crate) path: PathBuf,
    file: File,
    /// First byte after the header.
    data_start: u64,
    entries: BTreeMap<String, Entry>,
}

impl TensorFile {
    /// Opens a file and checks its header.
    ///
    /// # Errors
    ///
    /// If it cannot be read, or is no safetensors file.
    pub fn open(path: &Path) -> Result<Self, TensorFileError> {
        let system = |source| TensorFileError::Io { path: path.to_owned(), source };
        // Before it is opened: a named pipe would wait for ever.
        if !std::fs::metadata(path).map_err(system)?.is_file() {
            return Err(TensorFileError::malformed(path, "not a file, expected safetensors"));
        }
        let file = File::open(path).map_err(system)?;
        let length = file.metadata().map_err(system)?.len();
        let (entries, data_start) = read_entries(path, &file, length)?;
        Ok(Self { path: path.to_owned(), file, data_start, entries })
    }

    /// Names of the tensors, sorted.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.entries.keys().map(String::as_str)
    }

    /// The shape of a tensor, where there is one of that name.
    pub fn shape(&self, name: &str) -> Option<&[u64]> {
        Some(&self.entries.get(name)?.shape)
    }

    /// The kind of a tensor, where there is a tensor of that name and libtorch has its kind.
    pub(crate) fn kind(&self, name: &str) -> Option<Kind> {
        kind_of(self.entries.get(name)?.dtype)
    }

    /// Tensor `name` on the CPU, if it has `shape`, one of `kinds`, and no value that is not finite.
    ///
    /// # Errors
    ///
    /// If there is no such tensor, it has another shape or kind, or a value that is not finite.
    ///
    /// # Panics
    ///
    /// Never: the header was checked against the length of the file.
    pub fn tensor(
        &self,
        name: &str,
        shape: &[i64],
        kinds: &[Kind],
    ) -> Result<Tensor, TensorFileError> {
        let malformed = |problem: String| TensorFileError::tensor(&self.path, name, problem);
        let Some(Entry { dtype, shape: stored, data_offsets: [first, end] }) =
            self.entries.get(name)
        else {
            return Err(TensorFileError::missing(&self.path, name, shape));
        };
        let same = |(&found, &wanted): (&u64, &i64)| i64::try_from(found) == Ok(wanted);
        if stored.len() != shape.len() || !stored.iter().zip(shape).all(same) {
            return Err(malformed(format!("has shape {stored:?}, expected {shape:?}")));
        }
        let Some(kind) = kind_of(*dtype).filter(|kind| kinds.contains(kind)) else {
            return Err(malformed(format!("is {dtype:?}, expected {}", names_of(kinds))));
        };
        let mut bytes = vec![0; usize::try_from(end - first).expect("within a file")];
        self.file
            .read_exact_at(&mut bytes, self.data_start + first)
            .map_err(|source| TensorFileError::Io { path: self.path.clone(), source })?;
        let values = Tensor::from_data_size(&bytes, shape, kind);
        drop(bytes);
        match not_finite(&values) {
            0 => Ok(values),
            count => {
                Err(malformed(format!("has {count} values that are not finite, expected none")))
            }
        }
    }
}

/// Number of values that are infinite or not a number.
///
/// By parts, as libtorch copies to f64 what it sums in f64.
fn not_finite(values: &Tensor) -> u64 {
    let count = |part: &Tensor| {
        // A sum in f64 of narrower finite values is finite; doubles may add up to infinity without one among them.
        if part.sum(Kind::Double).double_value(&[]).is_finite() {
            return 0;
        }
        let finite = part.isfinite().sum(Kind::Int64).int64_value(&[]);
        part.numel() as u64 - finite.unsigned_abs()
    };
    values.view(-1).split(1 << 22, 0).iter().map(count).sum()
}

const KINDS: [(Kind, Dtype); 5] = [
    (Kind::Double, Dtype::F64),
    (Kind::Float, Dtype::F32),
    (Kind::Half, Dtype::F16),
    (Kind::BFloat16, Dtype::BF16),
    (Kind::Int16, Dtype::I16),
];

fn kind_of(dtype: Dtype) -> Option<Kind> {
    KINDS.iter().find(|(_, other)| *other == dtype).map(|(kind, _)| *kind)
}

/// A kind in a safetensors header.
fn dtype_of(kind: Kind) -> Dtype {
    KINDS.iter().find(|(other, _)| *other == kind).map_or(Dtype::F32, |(_, dtype)| *dtype)
}

fn names_of(kinds: &[Kind]) -> String {
    let names: Vec<String> = kinds.iter().map(|&kind| format!("{:?}", dtype_of(kind))).collect();
    match names.as_slice() {
        [first @ .., last] if !first.is_empty() => format!("{} or {last}", first.join(", ")),
        other => other.join(""),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use workspace_tests::files::folder;
    use workspace_tests::fuzz::{edited, in_time};

    use super::*;

    /// A file of three tensors, one of them empty.
    fn file(header: &str) -> Vec<u8> {
        let length = header.len() as u64;
        let mut bytes = length.to_le_bytes().to_vec();
        bytes.extend(header.as_bytes());
        bytes.extend([1.0_f32, -2.5, 0.0, 3.0].iter().flat_map(|number| number.to_le_bytes()));
        bytes.extend([0x80, 0x3f, 0x20, 0xc0]);
        bytes
    }

    fn files() -> Vec<Vec<u8>> {
        let entries = r#""a":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]},"b":{"dtype":"BF16","shape":[2],"data_offsets":[16,20]}"#;
        let empty = r#""c":{"dtype":"F16","shape":[0,3],"data_offsets":[20,20]}"#;
        [
            format!("{{{entries}}}"),
            format!(r#"{{"__metadata__":{{"format":"pt"}},{entries},{empty}}}"#),
        ]
        .map(|header| file(&header))
        .to_vec()
    }

    /// Reads all tensors of a file, as what its header says.
    fn read_all(bytes: &[u8]) -> Option<usize> {
        let folder = folder(&[]);
        let path = folder.path().join("model.safetensors");
        std::fs::write(&path, bytes).expect("a temporary folder is writable");
        let file = TensorFile::open(&path).ok()?;
        let tensors = file.names().filter_map(|name| {
            let shape = file.shape(name)?.iter().map(|&size| i64::try_from(size).ok());
            let shape = shape.collect::<Option<Vec<i64>>>()?;
            file.tensor(name, &shape, &[file.kind(name)?]).ok()
        });
        let counts: Vec<usize> = tensors.map(|tensor| tensor.numel()).collect();
        assert!(counts.iter().sum::<usize>() * 2 <= bytes.len(), "more than the file holds");
        Some(counts.len())
    }

    proptest! {
        #[test]
        fn fuzz_tensor_file(bytes in edited(files())) {
            let _read = in_time(|| read_all(&bytes));
        }
    }

    /// A line feed in a name began a line of the error, which then said what a stranger wanted.
    #[test]
    fn names_of_tensors_are_plain_and_short() {
        let error = |name: &str| TensorFileError::missing(Path::new("m"), name, &[2]).to_string();
        assert_eq!(error("a\n\u{1b}b"), "m: tensor `a\\n\\u{1b}b` is missing, expected shape [2]");
        assert!(error(&"x".repeat(1 << 20)).len() < 200);
    }

    #[test]
    fn values_that_are_not_finite_are_counted_in_every_part() {
        let long = Tensor::zeros([(1 << 22) + 3], (Kind::Float, tch::Device::Cpu));
        assert_eq!(not_finite(&long), 0);
        let _ends = long.narrow(0, 0, 2).fill_(f64::NAN);
        let _ends = long.narrow(0, 1 << 22, 1).fill_(f64::NEG_INFINITY);
        assert_eq!(not_finite(&long), 3);
        assert_eq!(not_finite(&Tensor::from_slice(&[f64::MAX, f64::MAX])), 0);
        assert_eq!(not_finite(&Tensor::from_slice::<f64>(&[])), 0);
    }

    #[test]
    fn samples_of_the_fuzz_test_are_read() {
        assert_eq!(
            files().iter().map(|bytes| read_all(bytes)).collect::<Vec<_>>(),
            [Some(2), Some(3)]
        );
    }
}
