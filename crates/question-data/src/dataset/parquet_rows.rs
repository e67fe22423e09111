//! Rows of a parquet table, by the record reader of the `parquet` crate: nested columns, no arrow.

use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use parquet::errors::ParquetError;
use parquet::file::serialized_reader::SerializedFileReader;
use parquet::record::Field;
use serde_json::{Number, Value};

use super::row::{Row, Rows, read_error};
use super::{DatasetError, RowPlace};

pub(super) fn parquet_rows(path: &Path, file: File) -> Result<Rows, DatasetError> {
    let name = path.to_path_buf();
    let failed = move |problem: String| {
        read_error(&name, std::io::Error::other(format!("as parquet: {problem}")))
    };
    let reader = guarded(|| SerializedFileReader::new(file)).map_err(&failed)?;
    let mut rows = reader.into_iter();
    let mut index = 0;
    let mut broken = false;
    Ok(Box::new(std::iter::from_fn(move || {
        // After an error the reader's place is undefined: the error is the last thing it says.
        if broken {
            return None;
        }
        let row = guarded(|| rows.next().transpose()).transpose()?;
        broken = row.is_err();
        index += 1;
        let place = RowPlace::Row(index);
        Some(row.map(|row| (place, Ok(object(row.into_columns())))).map_err(&failed))
    })))
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
        Field::Float16(value) => number(f64::from(*value)),
        // By its shortest decimal: 0.1 stays 0.1.
        Field::Float(value) => value.to_string().parse().map_or(Value::Null, number),
        Field::Double(value) => number(*value),
        Field::Str(text) => Value::String(text.clone()),
        Field::Bytes(bytes) => match bytes.as_utf8() {
            Ok(text) => Value::String(text.to_owned()),
            Err(_) => Value::Null,
        },
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

fn number(value: f64) -> Value {
    Number::from_f64(value).map_or(Value::Null, Value::Number)
}
