//! A file to its rows, each one JSON object.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::path::Path;

use serde_json::Value;
use whole_file::{LONGEST_LINE_BYTES, NumberedLine, NumberedLines, open_regular};

use super::csv_rows::csv_rows;
use super::json_list::{JsonFault, JsonList};
use super::packed_size::{Unpacked, read_table};
use super::parquet_rows::parquet_rows;
use super::row::{Row, Rows, read_error, utf8};
use super::{BadRow, DatasetError, RowPlace, RowProblem};

/// The rows of a file; blank lines are passed over.
pub(super) fn rows(path: &Path) -> Result<Rows, DatasetError> {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let ends_in = |ending: &str| name.strip_suffix(ending).is_some();
    let open = || open_regular(path).map_err(|source| read_error(path, source));
    if ends_in(".jsonl.zst") {
        let unpacked = unpack(open()?).map_err(|source| read_error(path, source))?;
        Ok(lines(path, BufReader::new(unpacked)))
    } else if ends_in(".jsonl") {
        Ok(lines(path, BufReader::new(open()?)))
    } else if ends_in(".json") {
        json(path, open()?)
    } else if ends_in(".csv") {
        csv_rows(path, open()?)
    } else if ends_in(".parquet") {
        parquet_rows(path, open()?)
    } else {
        Err(DatasetError::Extension { path: path.to_path_buf() })
    }
}

/// One object a line.
fn lines(path: &Path, reader: impl BufRead + 'static) -> Rows {
    let path = path.to_path_buf();
    let parse = move |line: io::Result<NumberedLine>| match line {
        Err(source) => Some(Err(read_error(&path, source))),
        Ok(line) if line.bytes.trim_ascii().is_empty() => None,
        Ok(line) => Some(Ok((RowPlace::Line(line.number), object_of(&line.bytes)))),
    };
    Box::new(NumberedLines::new(reader, LONGEST_LINE_BYTES).filter_map(parse))
}

/// Most elements of a list that are no objects: a message each would take gigabytes.
const MOST_OTHERS: usize = 1000;

/// One list of objects; where the text does not begin as a list, one object a line.
fn json(path: &Path, file: File) -> Result<Rows, DatasetError> {
    let bytes = read_table(file).map_err(|source| read_error(path, source))?;
    let text = bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&bytes);
    if text.trim_ascii_start().first() != Some(&b'[') {
        return Ok(lines(path, Cursor::new(bytes)));
    }
    let path = path.to_path_buf();
    let refused = move |line: usize, problem: RowProblem| {
        let row = BadRow { place: RowPlace::Line(line), problem };
        DatasetError::of_row(&path, row)
    };
    for (index, line) in text.split(|&byte| byte == b'\n').enumerate() {
        utf8(line).map_err(|problem| refused(index + 1, problem))?;
    }
    let start = bytes.len() - text.len();
    let mut others = 0;
    let row = move |(index, element): (usize, Result<Value, JsonFault>)| {
        let element = element.map_err(|JsonFault { line, problem }| {
            refused(line, RowProblem::NotAnObject(problem))
        })?;
        others += usize::from(!element.is_object());
        if others > MOST_OTHERS {
            let problem = format!("a list of which over {MOST_OTHERS} elements are no objects");
            return Err(refused(1, RowProblem::NotAnObject(problem)));
        }
        Ok((RowPlace::Row(index + 1), object(element)))
    };
    Ok(Box::new(JsonList::new(bytes, start).enumerate().map(row)))
}

fn object_of(line: &[u8]) -> Result<Row, RowProblem> {
    let text = utf8(line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line))?;
    if text.trim_start().starts_with('[') {
        return object(Value::Array(Vec::new()));
    }
    object(serde_json::from_str(text).map_err(|error| RowProblem::NotAnObject(in_line(&error)))?)
}

fn object(value: Value) -> Result<Row, RowProblem> {
    let kind = match value {
        Value::Object(row) => return Ok(row),
        Value::Array(_) => "a list; a file that is one list of objects is named .json",
        Value::String(_) => "a text",
        Value::Number(_) => "a number",
        Value::Bool(_) => "true or false",
        Value::Null => "null",
    };
    Err(RowProblem::NotAnObject(kind.to_owned()))
}

/// The line is named beside it.
fn in_line(error: &serde_json::Error) -> String {
    error.to_string().replace(&format!(" at line {} column ", error.line()), " at column ")
}

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// The text of a zstd file, unpacked as it is read.
fn unpack(file: File) -> io::Result<impl Read + 'static> {
    let packed_bytes = file.metadata()?.len();
    let text = ruzstd::decoding::StreamingDecoder::new(BufReader::new(file))
        .map_err(|error| io::Error::other(format!("not zstd: {error}")))?;
    Ok(Unpacked::new(text, packed_bytes))
}
