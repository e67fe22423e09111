//! Rows of a file, each read on its own: a bad one costs no other.

use serde_json::Value;
use std::fmt::Display;
use std::io;
use thiserror::Error;

/// Why no row of a file can be read.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The input could not be read.
    #[error("cannot read the points")]
    Read(#[source] io::Error),
    /// There is no row, or no column with values: what was expected.
    #[error("{0}")]
    NoPoints(String),
}

/// Entropy and reward; `None` where a row has neither, as that of an evaluation; or the place of the row, the value that makes
/// it none, and the value expected.
pub(super) type Row = Result<Option<(f64, f64)>, String>;

/// Rows of a file, whose first character tells the format; `names` are those of the columns.
///
/// # Errors
///
/// [`ReadError`] if there is nothing in it, or a header of CSV lacks a column.
pub(super) fn rows(bytes: &[u8], names: [&str; 2]) -> Result<Vec<Row>, ReadError> {
    let json = |place: &str, (index, text): (usize, &[u8])| {
        json_row(&format!("{place} {}", index + 1), names, text)
    };
    Ok(match bytes.trim_ascii_start().first() {
        None => {
            let expected = "expected CSV with a header, JSON lines or a JSON array of objects";
            return Err(ReadError::NoPoints(format!("no points: {expected}")));
        }
        Some(b'[') => {
            elements(bytes).into_iter().enumerate().map(|part| json("element", part)).collect()
        }
        Some(b'{') => filled_lines(bytes).map(|part| json("line", part)).collect(),
        Some(_) => csv_rows(bytes, names)?,
    })
}

fn csv_rows(bytes: &[u8], names: [&str; 2]) -> Result<Vec<Row>, ReadError> {
    let mut lines = filled_lines(bytes);
    let header = lines.next().map_or(vec![], |(_, line)| csv_values(line));
    let index_of = |column: &str| {
        header.iter().position(|name| name == column).ok_or_else(|| {
            let header = header.join(", ");
            let problem = format!("no column `{column}`; expected it among: {header}");
            ReadError::NoPoints(format!("line 1: {problem}"))
        })
    };
    let indices = [index_of(names[0])?, index_of(names[1])?];
    let row = |(index, line)| {
        let place = format!("line {}", index + 1);
        let values = csv_values(line);
        let (count, expected) = (values.len(), header.len());
        if count > expected {
            return Err(format!("{place}: {count} values; expected {expected}, as in the header"));
        }
        let pair = indices.map(|index| values.get(index));
        if pair.iter().all(|text| text.is_some_and(String::is_empty)) {
            return Ok(None);
        }
        point(&place, names, pair, |text| text.parse().ok().filter(|x: &f64| x.is_finite()))
    };
    Ok(lines.map(row).collect())
}

fn json_row(place: &str, names: [&str; 2], text: &[u8]) -> Row {
    let value: Value = serde_json::from_slice(text).map_err(|error| {
        let reason = error.to_string();
        let reason = &reason[..reason.rfind(" at line ").unwrap_or(reason.len())];
        let [entropy, reward] = names;
        let problem = format!("{place}, column {}: not JSON ({reason})", error.column());
        format!("{problem}; expected {{\"{entropy}\": x, \"{reward}\": y}}")
    })?;
    let pair = names.map(|column| value.get(column));
    if value.is_object() && pair.iter().all(|value| value.is_none_or(Value::is_null)) {
        return Ok(None);
    }
    point(place, names, pair, Value::as_f64)
}

/// Returns the numbers that `read` makes of both values if `exp(entropy)` is finite.
fn point<T: Display>(
    place: &str,
    names: [&str; 2],
    values: [Option<&T>; 2],
    read: fn(&T) -> Option<f64>,
) -> Row {
    let number = |index: usize| {
        values[index].and_then(read).ok_or_else(|| {
            let shown = values[index].map_or("missing".into(), |value| format!("`{value}`"));
            format!("{place}: column `{}` is {shown}; expected a finite number", names[index])
        })
    };
    let (entropy, reward) = (number(0)?, number(1)?);
    if entropy.exp().is_finite() {
        return Ok(Some((entropy, reward)));
    }
    Err(format!("{place}: column `{}` is `{entropy}`; expected nats, below 709", names[0]))
}

/// The lines that are not blank, with their indices.
fn filled_lines(bytes: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    let lines = bytes.split(|byte| *byte == b'\n').enumerate();
    lines.filter(|(_, line)| !line.trim_ascii().is_empty())
}

/// The values of one line, without their quotes. A quote that is not closed ends with its line.
fn csv_values(line: &[u8]) -> Vec<String> {
    let mut reader = csv::ReaderBuilder::new();
    let reader = reader.has_headers(false).trim(csv::Trim::All).buffer_capacity(line.len());
    let reader = reader.from_reader(line);
    let record = reader.into_byte_records().next().and_then(Result::ok).unwrap_or_default();
    record.iter().map(|value| String::from_utf8_lossy(value).into_owned()).collect()
}

/// Splits the text of an array at its commas; its closing bracket may be missing.
///
/// So an element that is not JSON, such as a bare `NaN`, costs no other.
fn elements(array: &[u8]) -> Vec<&[u8]> {
    let array = array.trim_ascii();
    let inside = array.strip_prefix(b"[").unwrap_or(array);
    let (mut depth, mut quoted, mut escaped, mut ended) = (0u32, false, false, false);
    let is_end = |byte: &u8| {
        if ended {
            return false;
        }
        if quoted {
            quoted = escaped || *byte != b'"';
            escaped = !escaped && *byte == b'\\';
            return false;
        }
        match byte {
            b'"' => quoted = true,
            b'{' | b'[' => depth += 1,
            b'}' | b']' if depth > 0 => depth -= 1,
            b']' => ended = true,
            b',' => return depth == 0,
            _ => {}
        }
        ended
    };
    let mut parts: Vec<&[u8]> = inside.split(is_end).collect();
    if ended {
        parts.pop(); // behind the closing bracket
    }
    if parts.len() == 1 && parts[0].trim_ascii().is_empty() { vec![] } else { parts }
}
