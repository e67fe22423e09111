//! Points of a run: entropy and reward, read from CSV or JSON, each row on its own: a bad one costs no other.

use serde_json::Value;
use std::fmt::Display;
use std::io::Read;
use thiserror::Error;

/// Why there are no points or no fit.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct LawError(pub(super) String);

/// Entropies in nats and rewards, in the order of the run.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Points {
    /// Entropies in nats, `[points]`.
    pub entropy: Vec<f64>,
    /// Rewards, `[points]`.
    pub reward: Vec<f64>,
}

impl Points {
    /// Reads points, and the problems of rows without one by place, from CSV with a header, JSON lines or one JSON array of objects.
    ///
    /// The first character tells the format. `entropy` and `reward` name the columns. A row with neither value is skipped. A
    /// row of CSV is one line: no value may hold a line break.
    ///
    /// # Errors
    ///
    /// [`LawError`] if no row could be read at all.
    pub fn read(
        mut input: impl Read,
        entropy: &str,
        reward: &str,
    ) -> Result<(Self, Vec<String>), LawError> {
        let mut bytes = Vec::new();
        let unread = |error| LawError(format!("cannot read the points: {error}"));
        input.read_to_end(&mut bytes).map_err(unread)?;
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes);
        let mut points = Self::default();
        let (mut problems, mut passed_over) = (Vec::new(), false);
        for row in rows(bytes, [entropy, reward])? {
            match row {
                Ok(Some((entropy, reward))) => {
                    points.entropy.push(entropy);
                    points.reward.push(reward);
                }
                Ok(None) => passed_over = true,
                Err(problem) => problems.push(problem),
            }
        }
        if passed_over && points.entropy.is_empty() && problems.is_empty() {
            let expected = "expected numbers in both columns";
            let message = format!("no row has a value of `{entropy}` or `{reward}`; {expected}");
            return Err(LawError(message));
        }
        Ok((points, problems))
    }
}

/// Entropy and reward; `None` where a row has neither, as that of an evaluation; or why there is no such pair.
type Row = Result<Option<(f64, f64)>, String>;

/// Rows of a file, whose first character tells the format; `names` are those of the columns of entropy and reward.
///
/// An array is split at its commas first, so that an element that is not JSON, such as a bare `NaN`, costs no other.
fn rows(bytes: &[u8], names: [&str; 2]) -> Result<Vec<Row>, LawError> {
    let json = |(place, text): (String, &[u8])| json_row(&place, text, names);
    let lines = filled_lines(bytes).map(|(number, line)| (format!("line {number}"), line));
    match bytes.trim_ascii_start().first() {
        None => Err(LawError(
            "no points: expected CSV with a header, JSON lines or a JSON array of objects".into(),
        )),
        Some(b'[') => {
            let places = (1..).map(|number: usize| format!("element {number}"));
            Ok(places.zip(elements(bytes)).map(json).collect())
        }
        Some(b'{') => Ok(lines.map(json).collect()),
        Some(_) => csv_rows(lines, names),
    }
}

/// Rows of CSV, whose first line names the columns.
fn csv_rows<'a>(
    mut lines: impl Iterator<Item = (String, &'a [u8])>,
    names: [&str; 2],
) -> Result<Vec<Row>, LawError> {
    let header = lines.next().map_or(vec![], |(_, line)| csv_values(line));
    let index_of = |column: &str| {
        header.iter().position(|name| name == column).ok_or_else(|| {
            let header = header.join(", ");
            LawError(format!("line 1: no column `{column}`; expected it among: {header}"))
        })
    };
    let indices = [index_of(names[0])?, index_of(names[1])?];
    let row = |(place, line): (String, &[u8])| {
        let values = csv_values(line);
        if values.len() > header.len() {
            let (count, expected) = (values.len(), header.len());
            return Err(format!("{place}: {count} values; expected {expected}, as in the header"));
        }
        let texts = indices.map(|index| values.get(index));
        if texts.iter().all(|text| text.is_some_and(String::is_empty)) {
            return Ok(None);
        }
        pair(&place, names, texts, |text| text.parse().ok().filter(|x: &f64| x.is_finite()))
    };
    Ok(lines.map(row).collect())
}

fn json_row(place: &str, text: &[u8], names: [&str; 2]) -> Row {
    let value: Value = serde_json::from_slice(text).map_err(|error| {
        let reason = error.to_string();
        let reason = &reason[..reason.rfind(" at line ").unwrap_or(reason.len())];
        let expected = format!("{{\"{}\": x, \"{}\": y}}", names[0], names[1]);
        format!("{place}, column {}: not JSON ({reason}); expected {expected}", error.column())
    })?;
    let values = names.map(|column| value.get(column));
    if value.is_object() && values.iter().all(|value| value.is_none_or(Value::is_null)) {
        return Ok(None);
    }
    pair(place, names, values, Value::as_f64)
}

/// Returns the numbers that `read` makes of both values if `exp(entropy)` is finite.
fn pair<T: Display>(
    place: &str,
    names: [&str; 2],
    [entropy, reward]: [Option<&T>; 2],
    read: fn(&T) -> Option<f64>,
) -> Row {
    let number = |column: &str, value: Option<&T>| {
        value.and_then(read).ok_or_else(|| {
            let shown = value.map_or("missing".into(), |value| format!("`{value}`"));
            format!("{place}: column `{column}` is {shown}; expected a finite number")
        })
    };
    let (entropy, reward) = (number(names[0], entropy)?, number(names[1], reward)?);
    if entropy.exp().is_finite() {
        return Ok(Some((entropy, reward)));
    }
    Err(format!("{place}: column `{}` is `{entropy}`; expected nats, below 709", names[0]))
}

/// The lines that are not blank, with their numbers from 1.
fn filled_lines(bytes: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    let lines = bytes.split(|byte| *byte == b'\n').enumerate();
    lines.map(|(index, line)| (index + 1, line)).filter(|(_, line)| !line.trim_ascii().is_empty())
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
fn elements(array: &[u8]) -> Vec<&[u8]> {
    let array = array.trim_ascii();
    let inside = array.strip_prefix(b"[").unwrap_or(array);
    let (mut parts, mut start) = (Vec::new(), 0);
    let (mut depth, mut quoted, mut escaped) = (0u32, false, false);
    let mut end = inside.len();
    for (index, byte) in inside.iter().enumerate() {
        if quoted {
            quoted = escaped || *byte != b'"';
            escaped = !escaped && *byte == b'\\';
            continue;
        }
        match byte {
            b'"' => quoted = true,
            b'{' | b'[' => depth += 1,
            b'}' | b']' if depth > 0 => depth -= 1,
            b']' => {
                end = index;
                break;
            }
            b',' if depth == 0 => {
                parts.push(&inside[start..index]);
                start = index + 1;
            }
            _ => {}
        }
    }
    let last = &inside[start.min(end)..end];
    if !(parts.is_empty() && last.trim_ascii().is_empty()) {
        parts.push(last);
    }
    parts
}
