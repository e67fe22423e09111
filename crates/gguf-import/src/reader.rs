//! Header, metadata and tensor table of a GGUF file, and the bytes of its tensors.
//!
//! No number of the file is trusted: every length is checked against the bytes that remain before anything of that size
//! is read. Tensors may neither overlap nor leave the file.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufReader, Read};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use whole_file::open_regular;

use super::dequantise::BlockFormat;
use super::error::GgufError;
use super::metadata::{Metadata, Value};

/// Most elements of all metadata arrays together; vocabularies have below 2²⁰.
const MOST_ELEMENTS: u64 = 1 << 22;
/// Most keys of the metadata, and most tensors.
const MOST_ENTRIES: u64 = 1 << 17;
/// Longest header: vocabularies have below 2²⁴ bytes.
const LONGEST_HEADER_BYTES: u64 = 1 << 27;
/// Elements dequantised at once: 4 MiB of `f32`, and a whole number of blocks of every format.
const CHUNK_ELEMENTS: usize = 1 << 20;

/// Converts a length that was checked against the file's size to an index.
pub(super) fn in_memory(length: u64) -> usize {
    usize::try_from(length).expect("a length within a file fits the address space")
}

/// Name, storage format, shape and place of a tensor in the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TensorInfo {
    /// Name in the GGUF file, such as `blk.0.attn_q.weight`.
    pub name: String,
    /// Storage format.
    pub format: BlockFormat,
    /// Row-major shape, slowest dimension first (the file lists it the other way round).
    pub shape: Vec<usize>,
    /// First byte, from the start of the file.
    pub(super) offset: u64,
    pub(super) stored_bytes: u64,
}

impl TensorInfo {
    pub(super) fn elements(&self) -> usize {
        in_memory(self.stored_bytes) / self.format.block_bytes() * self.format.block_elements()
    }
}

/// An open GGUF file whose header has been read and checked.
#[derive(Debug)]
pub struct GgufFile {
    file: File,
    pub(super) path: PathBuf,
    pub(super) metadata: Metadata,
    tensors: Vec<TensorInfo>,
    index: HashMap<String, usize>,
}

impl GgufFile {
    /// Reads everything but the tensors' data.
    ///
    /// # Errors
    ///
    /// [`GgufError::System`] or [`GgufError::File`], naming offset and field.
    pub fn open(path: &Path) -> Result<Self, GgufError> {
        let file = open_regular(path).map_err(GgufError::io(path, "open"))?;
        let length = file.metadata().map_err(GgufError::io(path, "read"))?.len();
        let reader = BufReader::new(&file);
        let mut cursor = Cursor { reader, path, position: 0, length, elements: 0 };
        let (metadata, tensors) = read_header(&mut cursor)?;
        let mut index = HashMap::new();
        for (position, tensor) in tensors.iter().enumerate() {
            if index.insert(tensor.name.clone(), position).is_some() {
                return Err(GgufError::tensor(path, &tensor.name, "listed twice, expected once"));
            }
        }
        Ok(Self { file, path: path.to_owned(), metadata, tensors, index })
    }

    /// All tensors, in the file's order.
    pub fn tensors(&self) -> &[TensorInfo] {
        &self.tensors
    }

    pub(super) fn tensor(&self, name: &str) -> Option<&TensorInfo> {
        self.index.get(name).map(|index| &self.tensors[*index])
    }

    /// Calls `sink` with the tensor's elements in order, about a million at a time.
    ///
    /// # Errors
    ///
    /// [`GgufError::System`] if the file cannot be read, and whatever `sink` returns.
    pub fn read_elements(
        &self,
        tensor: &TensorInfo,
        mut sink: impl FnMut(&[f32]) -> Result<(), GgufError>,
    ) -> Result<(), GgufError> {
        let total = tensor.elements();
        let mut elements = Vec::new();
        for start in (0..total).step_by(CHUNK_ELEMENTS) {
            self.read_run(tensor, start, CHUNK_ELEMENTS.min(total - start), &mut elements)?;
            sink(&elements)?;
        }
        Ok(())
    }

    /// Replaces `out` with `count` elements from element `start` on; both in whole blocks.
    pub(super) fn read_run(
        &self,
        tensor: &TensorInfo,
        start: usize,
        count: usize,
        out: &mut Vec<f32>,
    ) -> Result<(), GgufError> {
        let (elements, bytes) = (tensor.format.block_elements(), tensor.format.block_bytes());
        assert!(start.is_multiple_of(elements) && count.is_multiple_of(elements), "a block is cut");
        assert!(start + count <= tensor.elements(), "the run leaves `{}`", tensor.name);
        let mut blocks = vec![0; count / elements * bytes];
        self.file
            .read_exact_at(&mut blocks, tensor.offset + (start / elements * bytes) as u64)
            .map_err(GgufError::io(&self.path, "read"))?;
        out.clear();
        tensor.format.dequantise(&blocks, out);
        Ok(())
    }
}

/// Reader that moves forward and knows how many bytes are left.
struct Cursor<'a> {
    reader: BufReader<&'a File>,
    path: &'a Path,
    position: u64,
    length: u64,
    /// Elements of the arrays so far.
    elements: u64,
}

impl Cursor<'_> {
    fn malformed(&self, offset: u64, field: &str, problem: impl Into<String>) -> GgufError {
        GgufError::field(self.path, offset, field, problem)
    }

    /// Fails unless `count` items of `each` bytes are left.
    fn expect_left(&self, count: u64, each: u64, field: &str) -> Result<u64, GgufError> {
        let left = self.length - self.position;
        let problem = match count.checked_mul(each).filter(|bytes| *bytes <= left) {
            Some(bytes) if self.position + bytes <= LONGEST_HEADER_BYTES => return Ok(bytes),
            Some(_) => format!("expected a header of at most {LONGEST_HEADER_BYTES} bytes"),
            None => format!("needs {count} x {each} bytes, only {left} are left in the file"),
        };
        Err(self.malformed(self.position, field, problem))
    }

    fn bytes<const BYTES: usize>(&mut self, field: &str) -> Result<[u8; BYTES], GgufError> {
        self.expect_left(1, BYTES as u64, field)?;
        let mut bytes = [0; BYTES];
        self.reader.read_exact(&mut bytes).map_err(GgufError::io(self.path, "read"))?;
        self.position += BYTES as u64;
        Ok(bytes)
    }

    fn u32(&mut self, field: &str) -> Result<u32, GgufError> {
        self.bytes(field).map(u32::from_le_bytes)
    }

    fn u64(&mut self, field: &str) -> Result<u64, GgufError> {
        self.bytes(field).map(u64::from_le_bytes)
    }

    fn text(&mut self, field: &str) -> Result<String, GgufError> {
        let start = self.position;
        let length = self.u64(field)?;
        let length = self.expect_left(length, 1, field)?;
        let mut bytes = vec![0; in_memory(length)];
        self.reader.read_exact(&mut bytes).map_err(GgufError::io(self.path, "read"))?;
        self.position += length;
        String::from_utf8(bytes).map_err(|_| self.malformed(start, field, "is not UTF-8"))
    }

    fn integer(&mut self, kind: u32, field: &str) -> Result<Option<i128>, GgufError> {
        Ok(Some(match kind {
            0 => u8::from_le_bytes(self.bytes(field)?).into(),
            1 => i8::from_le_bytes(self.bytes(field)?).into(),
            2 => u16::from_le_bytes(self.bytes(field)?).into(),
            3 => i16::from_le_bytes(self.bytes(field)?).into(),
            4 => u32::from_le_bytes(self.bytes(field)?).into(),
            5 => i32::from_le_bytes(self.bytes(field)?).into(),
            10 => u64::from_le_bytes(self.bytes(field)?).into(),
            11 => i64::from_le_bytes(self.bytes(field)?).into(),
            _ => return Ok(None),
        }))
    }

    fn value(&mut self, field: &str) -> Result<Value, GgufError> {
        let start = self.position;
        let kind = self.u32(field)?;
        if let Some(integer) = self.integer(kind, field)? {
            return Ok(Value::Integer(integer));
        }
        match kind {
            6 => self.bytes(field).map(f32::from_le_bytes).map(Value::Float32),
            7 => match self.bytes(field)? {
                [flag @ 0..=1] => Ok(Value::Bool(flag == 1)),
                [other] => {
                    Err(self.malformed(start, field, format!("is {other}, expected 0 or 1")))
                }
            },
            8 => self.text(field).map(Value::Text),
            9 => self.array(field),
            12 => self.bytes(field).map(f64::from_le_bytes).map(Value::Float64),
            _ => Err(self.malformed(start, field, format!("has type {kind}, expected 0..=12"))),
        }
    }

    fn array(&mut self, field: &str) -> Result<Value, GgufError> {
        let start = self.position;
        let (kind, count) = (self.u32(field)?, self.u64(field)?);
        self.elements = self.elements.saturating_add(count);
        if self.elements > MOST_ELEMENTS {
            let problem =
                format!("has {count} elements, expected at most {MOST_ELEMENTS} in all arrays");
            return Err(self.malformed(start, field, problem));
        }
        let element_bytes = match kind {
            0 | 1 | 7 => 1,
            2 | 3 => 2,
            4..=6 => 4,
            8 | 10..=12 => 8,
            _ => {
                let problem = format!("holds type {kind}, expected numbers, booleans or strings");
                return Err(self.malformed(start, field, problem));
            }
        };
        self.expect_left(count, element_bytes, field)?;
        match kind {
            8 => (0..count).map(|_| self.text(field)).collect::<Result<_, _>>().map(Value::Texts),
            6 | 7 | 12 => {
                for _ in 0..count * element_bytes {
                    self.bytes::<1>(field)?;
                }
                Ok(Value::Other)
            }
            _ => (0..count)
                .map(|_| {
                    let value = self.integer(kind, field)?.unwrap_or(0);
                    i64::try_from(value).map_err(|_| {
                        self.malformed(start, field, format!("{value} is out of range"))
                    })
                })
                .collect::<Result<_, _>>()
                .map(Value::Integers),
        }
    }

    /// One row of the tensor table; `offset` still counts from the start of the data.
    fn tensor_info(&mut self) -> Result<TensorInfo, GgufError> {
        let start = self.position;
        let name = self.text("tensor name")?;
        let field = format!("tensor `{name}`");
        let dimensions = self.u32(&field)?;
        if !(1..=4).contains(&dimensions) {
            let problem = format!("has {dimensions} dimensions, expected 1 to 4");
            return Err(self.malformed(start, &field, problem));
        }
        let shape = (0..dimensions).map(|_| self.u64(&field)).collect::<Result<Vec<_>, _>>()?;
        let code = self.u32(&field)?;
        let offset = self.u64(&field)?;
        let Some(format) = BlockFormat::from_code(code) else {
            let known = BlockFormat::names();
            let problem = format!("is stored as ggml type {code}, expected one of {known}");
            return Err(self.malformed(start, &field, problem));
        };
        let block = format.block_elements() as u64;
        if !shape[0].is_multiple_of(block) {
            let problem = format!("rows of {} are not whole blocks of {block}", shape[0]);
            return Err(self.malformed(start, &field, problem));
        }
        let elements = shape.iter().try_fold(1_u64, |product, size| product.checked_mul(*size));
        let stored_bytes = elements
            .and_then(|all| (all / block).checked_mul(format.block_bytes() as u64))
            .filter(|bytes| (1..=self.length).contains(bytes));
        let Some(stored_bytes) = stored_bytes else {
            let length = self.length;
            let problem =
                format!("has shape {shape:?}, expected data that fits in a file of {length} bytes");
            return Err(self.malformed(start, &field, problem));
        };
        let shape = shape.into_iter().rev().map(in_memory).collect();
        Ok(TensorInfo { name, format, shape, offset, stored_bytes })
    }
}

fn read_header(cursor: &mut Cursor<'_>) -> Result<(Metadata, Vec<TensorInfo>), GgufError> {
    let magic = cursor.bytes::<4>("magic")?;
    if &magic != b"GGUF" {
        let problem = format!("is \"{}\", expected \"GGUF\"", magic.escape_ascii());
        return Err(cursor.malformed(0, "magic", problem));
    }
    let version = cursor.u32("version")?;
    if !matches!(version, 2 | 3) {
        return Err(cursor.malformed(4, "version", format!("is {version}, expected 2 or 3")));
    }
    let tensor_count = cursor.u64("tensor count")?;
    let metadata_count = cursor.u64("metadata count")?;
    for (field, count) in [("tensor count", tensor_count), ("metadata count", metadata_count)] {
        if count > MOST_ENTRIES {
            let problem = format!("is {count}, expected at most {MOST_ENTRIES}");
            return Err(cursor.malformed(cursor.position, field, problem));
        }
    }
    let mut metadata = Metadata::new(cursor.path.to_owned());
    for index in 0..metadata_count {
        let start = cursor.position;
        let key = cursor.text(&format!("metadata key {index} of {metadata_count}"))?;
        let field = format!("metadata `{key}`");
        let value = cursor.value(&field)?;
        if !metadata.insert(key, value) {
            return Err(cursor.malformed(start, &field, "listed twice, expected once"));
        }
    }
    let tensors = (0..tensor_count).map(|_| cursor.tensor_info());
    let mut tensors = tensors.collect::<Result<Vec<_>, _>>()?;
    place(cursor, &metadata, &mut tensors)?;
    Ok((metadata, tensors))
}

/// Turns offsets into positions in the file and checks that the tensors lie apart and inside.
fn place(
    cursor: &Cursor<'_>,
    metadata: &Metadata,
    tensors: &mut [TensorInfo],
) -> Result<(), GgufError> {
    let key = "general.alignment";
    let alignment = u64::from(metadata.optional_count(key)?.unwrap_or(32));
    if !alignment.is_power_of_two() {
        return Err(metadata.error(key, format!("is {alignment}, expected a power of two")));
    }
    let base = cursor.position.next_multiple_of(alignment);
    let mut order = (0..tensors.len()).collect::<Vec<_>>();
    order.sort_by_key(|index| tensors[*index].offset);
    let mut free = base;
    for index in order {
        let tensor = &mut tensors[index];
        let start = base.checked_add(tensor.offset);
        let end = start.and_then(|start| start.checked_add(tensor.stored_bytes));
        let problem = match (start, end) {
            (Some(start), Some(end)) if end <= cursor.length => {
                if start < free {
                    format!("starts at byte {start}, inside another tensor that ends at {free}")
                } else if !start.is_multiple_of(alignment) {
                    format!("starts at byte {start}, expected a multiple of {alignment}")
                } else {
                    (tensor.offset, free) = (start, end);
                    continue;
                }
            }
            _ => format!(
                "{} bytes at data offset {} run past the end of the file ({} bytes)",
                tensor.stored_bytes, tensor.offset, cursor.length
            ),
        };
        return Err(GgufError::tensor(cursor.path, &tensor.name, problem));
    }
    Ok(())
}
