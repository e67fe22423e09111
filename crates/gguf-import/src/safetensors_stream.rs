//! A safetensors file written front to back: length of the header, header, data.
//!
//! Source: <https://github.com/huggingface/safetensors#format>. The names keep their order, so the
//! data stands in the file as it is written.

use std::io::Write;

use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};
use sha2::{Digest, Sha256};

pub(super) struct Entry {
    pub(super) name: String,
    pub(super) dtype: &'static str,
    /// Row-major, slowest dimension first.
    pub(super) shape: Vec<usize>,
    pub(super) bytes: u64,
}

#[derive(Serialize)]
struct EntryJson<'a> {
    dtype: &'static str,
    shape: &'a [usize],
    data_offsets: [u64; 2],
}

fn header(entries: &[Entry]) -> serde_json::Result<Vec<u8>> {
    let (mut json, mut start) = (Vec::new(), 0);
    let mut serializer = serde_json::Serializer::new(&mut json);
    let mut map = serializer.serialize_map(None)?;
    for Entry { name, dtype, shape, bytes } in entries {
        let data_offsets = [start, start + bytes];
        map.serialize_entry(name, &EntryJson { dtype, shape, data_offsets })?;
        start += bytes;
    }
    map.serialize_entry("__metadata__", &serde_json::json!({"format": "pt"}))?;
    map.end()?;
    Ok(json)
}

/// Passes everything on to `W` and keeps count and SHA-256 of it.
pub(super) struct SafetensorsStream<W> {
    writer: W,
    digest: Sha256,
    pub(super) written_bytes: u64,
}

impl<W: Write> SafetensorsStream<W> {
    /// Writes the header, padded with spaces to a multiple of 8 bytes.
    pub(super) fn start(writer: W, entries: &[Entry]) -> std::io::Result<Self> {
        let mut header = header(entries)?;
        header.resize(header.len().next_multiple_of(8), b' ');
        let mut stream = Self { writer, digest: Sha256::new(), written_bytes: 0 };
        stream.write(&(header.len() as u64).to_le_bytes())?;
        stream.write(&header)?;
        Ok(stream)
    }

    pub(super) fn write(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.writer.write_all(bytes)?;
        self.digest.update(bytes);
        self.written_bytes += bytes.len() as u64;
        Ok(())
    }

    /// The writer, not flushed, and the SHA-256 of all that went through, in hexadecimal.
    pub(super) fn finish(self) -> (W, String) {
        (self.writer, format!("{:x}", self.digest.finalize()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry() -> Entry {
        Entry { name: "w".to_owned(), dtype: "F32", shape: vec![2, 1], bytes: 8 }
    }

    #[test]
    fn the_file_is_length_padded_header_and_data() {
        let mut stream = SafetensorsStream::start(Vec::new(), &[entry()]).unwrap();
        stream.write(&[1, 2, 3, 4, 5, 6, 7, 8]).unwrap();
        let (file, _) = stream.finish();
        let header = br#"{"w":{"dtype":"F32","shape":[2,1],"data_offsets":[0,8]},"__metadata__":{"format":"pt"}}"#;
        let padded = header.len().next_multiple_of(8);
        assert_eq!(file[..8], (padded as u64).to_le_bytes());
        assert_eq!(&file[8..8 + header.len()], header);
        assert!(file[8 + header.len()..8 + padded].iter().all(|byte| *byte == b' '));
        assert_eq!(file[8 + padded..], [1, 2, 3, 4, 5, 6, 7, 8]);
    }

    #[test]
    fn a_full_disk_is_an_error_in_header_and_data() {
        let kind = |outcome: std::io::Result<()>| outcome.unwrap_err().kind();
        // A slice takes as many bytes as it has.
        let header = SafetensorsStream::start(&mut [0; 20][..], &[entry()]).map(|_| ());
        assert_eq!(kind(header), std::io::ErrorKind::WriteZero);
        let mut room = [0; 100];
        let mut stream = SafetensorsStream::start(&mut room[..], &[entry()]).unwrap();
        assert_eq!(kind(stream.write(&[0; 64])), std::io::ErrorKind::WriteZero);
    }
}
