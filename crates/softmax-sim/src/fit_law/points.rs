//! Points of a run: entropy and reward, read from CSV or JSON.

use serde_json::Value;
use std::io::{self, Read};
use thiserror::Error;

/// Entropies in nats and rewards, in the order of the run.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Points {
    entropy: Vec<f64>,
    reward: Vec<f64>,
}

/// Why no row of a file can be read.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ReadError {
    /// The input could not be read.
    #[error("cannot read the points")]
    Read(#[source] io::Error),
    /// There is nothing in it.
    #[error("no points: expected CSV with a header, JSON lines or a JSON array of objects")]
    Empty,
    /// The CSV header lacks a column.
    #[error("line 1: no column `{column}`; expected it among: {found}")]
    Column {
        /// The column asked for.
        column: String,
        /// The header.
        found: String,
    },
    /// The JSON array is none.
    #[error("not a JSON array of objects with entropy and reward")]
    Json(#[source] serde_json::Error),
}

/// A row that was left out.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{place}: {problem}")]
pub struct RowProblem {
    /// Line of the file, or position in the array.
    place: String,
    /// Column, what stands there and what was expected.
    problem: String,
}

impl FromIterator<(f64, f64)> for Points {
    fn from_iter<I: IntoIterator<Item = (f64, f64)>>(pairs: I) -> Self {
        let (entropy, reward) = pairs.into_iter().unzip();
        Self { entropy, reward }
    }
}

impl Points {
    /// Reads points and the problems of rows that have none: CSV with a header, JSON lines, or one
    /// JSON array of objects, told apart by the first character. `entropy` and `reward` name the
    /// columns.
    ///
    /// # Errors
    ///
    /// [`ReadError`] if no row could be read at all.
    pub fn read(
        mut input: impl Read,
        entropy: &str,
        reward: &str,
    ) -> Result<(Self, Vec<RowProblem>), ReadError> {
        let mut bytes = Vec::new();
        input.read_to_end(&mut bytes).map_err(ReadError::Read)?;
        let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes);
        let rows = match bytes.trim_ascii_start().first() {
            None => return Err(ReadError::Empty),
            Some(b'[') => array_rows(bytes, entropy, reward)?,
            Some(b'{') => line_rows(bytes, entropy, reward),
            Some(_) => csv_rows(bytes, entropy, reward)?,
        };
        let mut points = Self::default();
        let mut problems = Vec::new();
        for row in rows {
            match row {
                Ok((entropy, reward)) => {
                    points.entropy.push(entropy);
                    points.reward.push(reward);
                }
                Err(problem) => problems.push(problem),
            }
        }
        Ok((points, problems))
    }

    /// Entropies in nats, `[points]`.
    pub fn entropy(&self) -> &[f64] {
        &self.entropy
    }

    /// Rewards, `[points]`.
    pub fn reward(&self) -> &[f64] {
        &self.reward
    }

    /// Number of points.
    pub fn len(&self) -> usize {
        self.entropy.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.entropy.is_empty()
    }

    /// The last point.
    pub fn last(&self) -> Option<(f64, f64)> {
        self.entropy.last().copied().zip(self.reward.last().copied())
    }

    /// The first `count` points, and the others.
    ///
    /// # Panics
    ///
    /// If there are not so many.
    pub fn split_at(&self, count: usize) -> (Self, Self) {
        let (first_entropy, last_entropy) = self.entropy.split_at(count);
        let (first_reward, last_reward) = self.reward.split_at(count);
        let points = |entropy: &[f64], reward: &[f64]| Self {
            entropy: entropy.into(),
            reward: reward.into(),
        };
        (points(first_entropy, first_reward), points(last_entropy, last_reward))
    }
}

type Row = Result<(f64, f64), RowProblem>;

fn csv_rows(bytes: &[u8], entropy: &str, reward: &str) -> Result<Vec<Row>, ReadError> {
    let mut reader =
        csv::ReaderBuilder::new().flexible(true).trim(csv::Trim::All).from_reader(bytes);
    let header = reader.byte_headers().map_err(|error| ReadError::Read(error.into()))?.clone();
    let names: Vec<String> =
        header.iter().map(|name| String::from_utf8_lossy(name).into_owned()).collect();
    let index_of = |column: &str| {
        names
            .iter()
            .position(|name| name == column)
            .ok_or_else(|| ReadError::Column { column: column.to_owned(), found: names.join(", ") })
    };
    let columns = [(entropy, index_of(entropy)?), (reward, index_of(reward)?)];
    let rows = reader.byte_records().map(|record| {
        let record = record.map_err(|error| RowProblem {
            place: error.position().map_or("line ?".into(), |at| format!("line {}", at.line())),
            problem: error.to_string(),
        })?;
        let line = record.position().map_or(0, csv::Position::line);
        let value = |(column, index): (&str, usize)| {
            let text = record.get(index).map(String::from_utf8_lossy);
            let number = text.as_ref().and_then(|text| text.parse::<f64>().ok());
            number.filter(|value| value.is_finite()).ok_or_else(|| {
                let found = text.map_or("missing".into(), |text| format!("`{text}`"));
                problem(format!("line {line}"), column, &found)
            })
        };
        Ok((value(columns[0])?, value(columns[1])?))
    });
    Ok(rows.collect())
}

fn line_rows(bytes: &[u8], entropy: &str, reward: &str) -> Vec<Row> {
    let lines = bytes.split(|byte| *byte == b'\n').enumerate();
    let filled = lines.filter(|(_, line)| !line.trim_ascii().is_empty());
    filled
        .map(|(index, line)| {
            let place = format!("line {}", index + 1);
            let value = serde_json::from_slice(line).map_err(|error| RowProblem {
                place: format!("{place}, column {}", error.column()),
                problem: format!("no JSON object; expected {{\"{entropy}\": x, \"{reward}\": y}}"),
            })?;
            object_row(&place, &value, entropy, reward)
        })
        .collect()
}

fn array_rows(bytes: &[u8], entropy: &str, reward: &str) -> Result<Vec<Row>, ReadError> {
    let values: Vec<Value> = serde_json::from_slice(bytes).map_err(ReadError::Json)?;
    let row = |(index, value): (usize, &Value)| {
        object_row(&format!("element {index}"), value, entropy, reward)
    };
    Ok(values.iter().enumerate().map(row).collect())
}

fn object_row(place: &str, value: &Value, entropy: &str, reward: &str) -> Row {
    let number = |column: &str| {
        value.get(column).and_then(Value::as_f64).ok_or_else(|| {
            let found = value.get(column).map_or("missing".into(), |value| format!("`{value}`"));
            problem(place.to_owned(), column, &found)
        })
    };
    Ok((number(entropy)?, number(reward)?))
}

fn problem(place: String, column: &str, found: &str) -> RowProblem {
    RowProblem { place, problem: format!("column `{column}` is {found}; expected a finite number") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> (Points, Vec<String>) {
        let (points, problems) = Points::read(text.as_bytes(), "H", "R").unwrap();
        (points, problems.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn a_bad_csv_row_is_located_and_the_others_are_used() {
        let (points, problems) = read(
            "step, H, R\n1, 1.5, 0.25\n2, NaN, 0.3\n3, 1.0\n4,,0.5\n5, x, 0.5\n6, 0.5, 0.75\n",
        );
        assert_eq!(points.entropy(), [1.5, 0.5]);
        assert_eq!(points.reward(), [0.25, 0.75]);
        assert_eq!(
            problems,
            [
                "line 3: column `H` is `NaN`; expected a finite number",
                "line 4: column `R` is missing; expected a finite number",
                "line 5: column `H` is ``; expected a finite number",
                "line 6: column `H` is `x`; expected a finite number",
            ]
        );
    }

    #[test]
    fn json_lines_and_arrays_are_read_too() {
        let rows = ["{\"H\": 1.5, \"R\": 1}", "{\"H\": null, \"R\": 2}", "{\"H\": 0.5, \"R\": 3}"];
        let (from_lines, line_problems) = read(&rows.join("\n\n"));
        let (from_array, array_problems) = read(&format!(" [{}]", rows.join(",")));
        assert_eq!(from_lines, from_array);
        assert_eq!(from_lines.reward(), [1.0, 3.0]);
        assert_eq!(line_problems, ["line 3: column `H` is `null`; expected a finite number"]);
        assert_eq!(array_problems, ["element 1: column `H` is `null`; expected a finite number"]);
        let (_, problems) = read("{\"H\": 1, \"R\": 1}\n{\"H\": 1,");
        let expected = "line 2, column 8: no JSON object; expected {\"H\": x, \"R\": y}";
        assert_eq!(problems, [expected]);
    }

    #[test]
    fn a_file_without_the_columns_or_without_anything_is_refused() {
        let error = |text: &str| Points::read(text.as_bytes(), "H", "R").unwrap_err().to_string();
        let expected = "line 1: no column `R`; expected it among: step, H, reward";
        assert_eq!(error("step,H,reward\n1,2,3\n"), expected);
        assert!(error(" \n").starts_with("no points: expected CSV"));
        assert!(error("[1, 2").starts_with("not a JSON array"));
    }
}
