//! Rows of a parquet table, by the record reader of the `parquet` crate: nested columns, no arrow.

use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use parquet::errors::ParquetError;
use parquet::file::metadata::{ParquetMetaData, RowGroupMetaData};
use parquet::record::Field;
use serde_json::Value;
use whole_file::{FileError, LONGEST_LINE_BYTES};

use super::RowPlace;
use super::packed_size::UnpackedBytes;
use super::parquet_pages::CheckedTable;
use super::row::{Row, Take};

pub(super) fn parquet_rows(
    path: &Path,
    file: File,
    take: &mut Take<'_>,
) -> Result<bool, FileError> {
    let failed = |problem: String| {
        FileError::of(path, "read")(std::io::Error::other(format!("as parquet: {problem}")))
    };
    let packed_bytes = file.metadata().map_err(FileError::of(path, "read"))?.len();
    let mut unpacked = UnpackedBytes::of(packed_bytes);
    let table = guarded(|| CheckedTable::new(file)).map_err(failed)?;
    check_columns(&table.metadata, packed_bytes).map_err(failed)?;
    let (mut rows, mut index) = (table.rows(), 0);
    while let Some(row) = guarded(|| rows.next().transpose()).map_err(failed)? {
        let row = object(row.into_columns());
        let bytes = text_bytes(&row);
        if bytes > LONGEST_LINE_BYTES {
            let problem = format!("a row of {bytes} bytes, expected at most {LONGEST_LINE_BYTES}");
            return Err(failed(problem));
        }
        unpacked.add(bytes as u64).map_err(|error| failed(error.to_string()))?;
        index += 1;
        if !take(RowPlace::Row(index), Ok(row))? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Refuses columns that unpack to more than belongs to the file, or whose values are too long, before a page is read.
fn check_columns(metadata: &ParquetMetaData, packed_bytes: u64) -> Result<(), String> {
    let mut unpacked = UnpackedBytes::of(packed_bytes);
    for column in metadata.row_groups().iter().flat_map(RowGroupMetaData::columns) {
        let bytes = u64::try_from(column.uncompressed_size()).unwrap_or(0);
        unpacked.add(bytes).map_err(|error| error.to_string())?;
        let values = u64::try_from(column.num_values()).unwrap_or(0).max(1);
        if bytes / values > LONGEST_LINE_BYTES as u64 {
            let name = column.column_path().string();
            return Err(format!("{values} values of column {name} have {bytes} bytes"));
        }
    }
    Ok(())
}

/// Bytes of the names and texts of a row.
fn text_bytes(row: &Row) -> usize {
    fn of(value: &Value) -> usize {
        match value {
            Value::String(text) => text.len(),
            Value::Array(list) => list.iter().map(of).sum::<usize>() + list.len(),
            Value::Object(row) => text_bytes(row),
            _ => size_of::<Value>(),
        }
    }
    row.iter().map(|(name, value)| name.len() + of(value)).sum()
}

/// The `parquet` crate panics on some damaged pages where it should return an error: about one in two hundred files
/// with one wrong byte.
fn guarded<T>(read: impl FnOnce() -> Result<T, ParquetError>) -> Result<T, String> {
    match catch_unwind(AssertUnwindSafe(read)) {
        Ok(read) => read.map_err(|error| error.to_string()),
        Err(panic) => {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
            Err(format!("damaged page: {}", text.unwrap_or("unknown")))
        }
    }
}

fn object(columns: Vec<(String, Field)>) -> Row {
    columns.into_iter().map(|(name, field)| (name, value(&field))).collect()
}

/// The value as JSON. What has no counterpart there (dates, bytes that are no text) becomes text or null: no column
/// of a question is one.
fn value(field: &Field) -> Value {
    match field {
        Field::Null => Value::Null,
        Field::Bool(value) => Value::Bool(*value),
        Field::Byte(value) => Value::from(*value),
        Field::Short(value) => Value::from(*value),
        Field::Int(value) => Value::from(*value),
        Field::Long(value) => Value::from(*value),
        Field::UByte(value) => Value::from(*value),
        Field::UShort(value) => Value::from(*value),
        Field::UInt(value) => Value::from(*value),
        Field::ULong(value) => Value::from(*value),
        Field::Float16(value) => Value::from(f64::from(*value)),
        // By its shortest decimal: 0.1 stays 0.1.
        Field::Float(value) => value.to_string().parse::<f64>().map_or(Value::Null, Value::from),
        Field::Double(value) => Value::from(*value),
        Field::Str(text) => Value::String(text.clone()),
        Field::Bytes(bytes) => bytes.as_utf8().map_or(Value::Null, Value::from),
        Field::Group(row) => Value::Object(
            row.get_column_iter().map(|(name, field)| (name.clone(), value(field))).collect(),
        ),
        Field::ListInternal(list) => list.elements().iter().map(value).collect(),
        Field::MapInternal(map) => map
            .entries()
            .iter()
            .map(|(key, field)| match value(key) {
                Value::String(key) => (key, value(field)),
                key => (key.to_string(), value(field)),
            })
            .collect(),
        Field::Decimal(_)
        | Field::Date(_)
        | Field::TimeMillis(_)
        | Field::TimeMicros(_)
        | Field::TimestampMillis(_)
        | Field::TimestampMicros(_) => Value::String(field.to_string()),
    }
}
