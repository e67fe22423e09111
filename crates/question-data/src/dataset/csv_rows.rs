//! Rows of a CSV file, whose first line names the columns.

use std::collections::HashSet;
use std::fs::File;
use std::path::Path;

use csv::{ByteRecord, ReaderBuilder};
use serde_json::Value;
use whole_file::FileError;

use super::packed_size::read_table;
use super::row::{Row, Take, utf8};
use super::{BadRow, RowPlace, RowProblem};

pub(super) fn csv_rows(path: &Path, file: File, take: &mut Take<'_>) -> Result<bool, FileError> {
    let failed = |error: csv::Error| FileError::of(path, "read")(error.into());
    let bytes = read_table(file).map_err(FileError::of(path, "read"))?;
    // Rows of another length are bad rows, not the end of the file.
    let mut reader = ReaderBuilder::new().flexible(true).from_reader(bytes.as_slice());
    let header = reader.byte_headers().map_err(failed)?;
    let refused = |problem| BadRow { place: RowPlace::Line(1), problem }.error(path);
    let names = column_names(header).map_err(refused)?;
    let mut record = ByteRecord::new();
    while reader.read_byte_record(&mut record).map_err(failed)? {
        let place = RowPlace::Line(line(&record, &bytes));
        if !take(place, row(&names, &record))? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Names of the columns, in order. Only columns without a name may be several.
fn column_names(header: &ByteRecord) -> Result<Vec<String>, RowProblem> {
    let mut known = HashSet::new();
    let name = |name: &[u8]| {
        let name = utf8(name)?.trim().to_owned();
        if name.is_empty() || known.insert(name.clone()) {
            return Ok(name);
        }
        Err(RowProblem::of_field(&name, "stands more than once in the header, expected once"))
    };
    header.iter().map(name).collect()
}

/// The line that a row begins on: its position is that of the blank lines before it.
fn line(record: &ByteRecord, file: &[u8]) -> usize {
    let Some(position) = record.position() else { return 0 };
    let number = |count: u64| usize::try_from(count).unwrap_or(usize::MAX);
    let rest = file.get(number(position.byte())..).unwrap_or_default();
    let blank = rest.iter().take_while(|byte| matches!(byte, b'\r' | b'\n'));
    number(position.line()) + blank.filter(|&&byte| byte == b'\n').count()
}

fn row(names: &[String], record: &ByteRecord) -> Result<Row, RowProblem> {
    let (cells, columns) = (record.len(), names.len());
    if cells != columns {
        let words = format!("the number of cells is {cells}, expected {columns} as in the header");
        return Err(RowProblem::new(words));
    }
    let cell = |(name, cell): (&String, &[u8])| Ok((name.clone(), Value::from(utf8(cell)?)));
    names.iter().zip(record).map(cell).collect()
}
