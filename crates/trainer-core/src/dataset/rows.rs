//! A file to its rows, each one JSON object.

use std::fs::File;
use std::io::{BufRead, BufReader, Cursor, Read};
use std::path::Path;

use serde_json::{Map, Value};

use super::parquet_rows::parquet_rows;
use super::{DatasetError, RowPlace, RowProblem};

/// Columns of one row.
pub(super) type Row = Map<String, Value>;

/// What is read of one row: the columns, or why there are none.
pub(super) type RawRow = (RowPlace, Result<Row, RowProblem>);

/// The rows of a file, in order; blank lines are passed over.
///
/// An error of the outer kind ends the file: what follows cannot be read.
pub(super) fn rows(
    path: &Path,
) -> Result<Box<dyn Iterator<Item = Result<RawRow, DatasetError>>>, DatasetError> {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let ends_in = |ending: &str| name.strip_suffix(ending).is_some();
    let (packed, table) = (ends_in(".jsonl.zst"), ends_in(".parquet"));
    if !packed && !table && !ends_in(".jsonl") {
        return Err(DatasetError::Extension { path: path.to_path_buf() });
    }
    let file = File::open(path).map_err(|source| read_error(path, source))?;
    if table {
        return parquet_rows(path, file);
    }
    let reader: Box<dyn BufRead> =
        if packed { Box::new(unpack(path, file)?) } else { Box::new(BufReader::new(file)) };
    let path = path.to_path_buf();
    let parse = move |(index, line): (usize, std::io::Result<String>)| {
        let line = match line {
            Ok(line) if line.trim().is_empty() => return None,
            Ok(line) => line,
            Err(source) => return Some(Err(read_error(&path, source))),
        };
        let row = serde_json::from_str(line.trim_start_matches('\u{feff}'))
            .map_err(|error| RowProblem::NotAnObject(error.to_string()));
        Some(Ok((RowPlace::Line(index + 1), row)))
    };
    Ok(Box::new(reader.lines().enumerate().filter_map(parse)))
}

fn unpack(path: &Path, file: File) -> Result<Cursor<Vec<u8>>, DatasetError> {
    let mut text = Vec::new();
    ruzstd::decoding::StreamingDecoder::new(BufReader::new(file))
        .map_err(|error| read_error(path, std::io::Error::other(format!("not zstd: {error}"))))?
        .read_to_end(&mut text)
        .map_err(|source| read_error(path, source))?;
    Ok(Cursor::new(text))
}

pub(super) fn read_error(path: &Path, source: std::io::Error) -> DatasetError {
    DatasetError::Read { path: path.to_path_buf(), source }
}
