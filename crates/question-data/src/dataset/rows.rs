//! A file to its rows, each one JSON object.

use std::fmt;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use serde::Deserializer;
use serde::de::{Error, SeqAccess, Visitor};
use serde_json::Value;
use whole_file::{
    FileError, LONGEST_LINE_BYTES, NumberedLine, NumberedLines, open_regular, without_mark,
};

use super::csv_rows::csv_rows;
use super::error::KINDS_OF_FILE;
use super::packed_size::{Unpacked, read_table};
use super::parquet_rows::parquet_rows;
use super::row::{Row, Take, utf8};
use super::{BadRow, RowPlace, RowProblem};

/// Reads the rows of a file until `take` has enough; returns true if it has not. Blank lines are passed over.
pub(super) fn read_rows_of(path: &Path, take: &mut Take<'_>) -> Result<bool, FileError> {
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let ends_in = |ending: &str| name.strip_suffix(ending).is_some();
    let open = || open_regular(path).map_err(FileError::of(path, "read"));
    if ends_in(".jsonl.zst") {
        let unpacked = unpack(open()?).map_err(FileError::of(path, "read"))?;
        lines(path, BufReader::new(unpacked), take)
    } else if ends_in(".jsonl") {
        lines(path, BufReader::new(open()?), take)
    } else if ends_in(".json") {
        json(path, open()?, take)
    } else if ends_in(".csv") {
        csv_rows(path, open()?, take)
    } else if ends_in(".parquet") {
        parquet_rows(path, open()?, take)
    } else {
        let problem = format!("unknown kind of file, expected a name ending in {KINDS_OF_FILE}");
        Err(FileError::content(path, problem))
    }
}

/// One object a line.
fn lines(path: &Path, reader: impl BufRead, take: &mut Take<'_>) -> Result<bool, FileError> {
    for line in NumberedLines::new(reader, LONGEST_LINE_BYTES) {
        let NumberedLine { number, bytes, .. } = line.map_err(FileError::of(path, "read"))?;
        if !bytes.trim_ascii().is_empty() && !take(RowPlace::Line(number), object_of(&bytes))? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Most elements of a list that are no objects: a message each would take gigabytes.
const MOST_OTHERS: usize = 1000;

/// One list of objects; where the text does not begin as a list, one object a line.
fn json(path: &Path, file: File, take: &mut Take<'_>) -> Result<bool, FileError> {
    let bytes = read_table(file).map_err(FileError::of(path, "read"))?;
    let text = without_mark(&bytes);
    if text.trim_ascii_start().first() != Some(&b'[') {
        return lines(path, bytes.as_slice(), take);
    }
    let refused = |line: usize, problem: RowProblem| {
        BadRow { place: RowPlace::Line(line), problem }.error(path)
    };
    for (index, line) in text.split(|&byte| byte == b'\n').enumerate() {
        utf8(line).map_err(|problem| refused(index + 1, problem))?;
    }
    let (mut index, mut others) = (0, 0);
    let mut end = Ok(true);
    let element = |element: Value| {
        index += 1;
        others += usize::from(!element.is_object());
        end = if others > MOST_OTHERS {
            let reason = format!("a list of which over {MOST_OTHERS} elements are no objects");
            Err(refused(1, RowProblem::not_an_object(&reason)))
        } else {
            take(RowPlace::Row(index), object(element))
        };
        end == Ok(true)
    };
    let mut list = serde_json::Deserializer::from_slice(text);
    let read = list.deserialize_seq(Elements(element)).and_then(|()| list.end());
    match (end, read) {
        (Ok(true), Err(error)) => {
            Err(refused(error.line(), RowProblem::not_an_object(&in_line(&error))))
        }
        (end, _) => end,
    }
}

/// Passes on the elements of a list, one at a time, until the function returns false: all of them at once take many times the
/// length of the text.
struct Elements<F>(F);

impl<'de, F: FnMut(Value) -> bool> Visitor<'de> for Elements<F> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut list: A) -> Result<(), A::Error> {
        while let Some(element) = list.next_element()? {
            if !(self.0)(element) {
                return Err(A::Error::custom("enough"));
            }
        }
        Ok(())
    }
}

fn object_of(line: &[u8]) -> Result<Row, RowProblem> {
    let text = utf8(line)?;
    if text.trim_start().starts_with('[') {
        return object(Value::Array(Vec::new()));
    }
    object(serde_json::from_str(text).map_err(|error| RowProblem::not_an_object(&in_line(&error)))?)
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
    Err(RowProblem::not_an_object(kind))
}

/// The line is named beside it.
fn in_line(error: &serde_json::Error) -> String {
    error.to_string().replace(&format!(" at line {} column ", error.line()), " at column ")
}

/// The text of a zstd file, unpacked as it is read.
fn unpack(file: File) -> io::Result<impl Read> {
    let packed_bytes = file.metadata()?.len();
    let text = ruzstd::decoding::StreamingDecoder::new(BufReader::new(file))
        .map_err(|error| io::Error::other(format!("not zstd: {error}")))?;
    Ok(Unpacked::new(text, packed_bytes))
}
