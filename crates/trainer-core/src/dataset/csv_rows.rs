//! Rows of a CSV file, whose first line names the columns.

use std::fs::File;
use std::path::Path;

use csv::{ByteRecord, ReaderBuilder};
use serde_json::Value;

use super::rows::{Row, Rows, read_error, utf8};
use super::{BadRow, DatasetError, RowPlace, RowProblem};

pub(super) fn csv_rows(path: &Path, file: File) -> Result<Rows, DatasetError> {
    let name = path.to_path_buf();
    let failed = move |error: csv::Error| read_error(&name, error.into());
    // Rows of another length are bad rows, not the end of the file.
    let mut reader = ReaderBuilder::new().flexible(true).from_reader(file);
    let header = reader.byte_headers().map_err(&failed)?;
    let names: Result<Vec<String>, RowProblem> =
        header.iter().map(|name| Ok(utf8(name)?.trim().to_owned())).collect();
    let names = names.map_err(|problem| {
        let row = BadRow { place: RowPlace::Line(1), problem };
        DatasetError::Rows { path: path.to_path_buf(), rows: vec![row], of: 1 }
    })?;
    Ok(Box::new(reader.into_byte_records().map(move |record| {
        let record = record.map_err(&failed)?;
        let line = record.position().map_or(0, csv::Position::line);
        let place = RowPlace::Line(usize::try_from(line).unwrap_or(usize::MAX));
        Ok((place, row(&names, &record)))
    })))
}

fn row(names: &[String], record: &ByteRecord) -> Result<Row, RowProblem> {
    let (cells, columns) = (record.len(), names.len());
    if cells != columns {
        return Err(RowProblem::Cells { cells, columns });
    }
    let cell = |(name, cell): (&String, &[u8])| Ok((name.clone(), Value::from(utf8(cell)?)));
    names.iter().zip(record).map(cell).collect()
}
