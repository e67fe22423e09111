//! One row of a file of any kind.

use std::path::Path;

use serde_json::{Map, Value};
use whole_file::FileError;

use super::{DatasetError, RowPlace, RowProblem};

/// Columns of one row.
pub(super) type Row = Map<String, Value>;

/// One row as read: its place, and the columns or the reason why there are none.
pub(super) type RawRow = (RowPlace, Result<Row, RowProblem>);

/// Rows of a file, in order. An outer error ends the file: the rest cannot be read.
pub(super) type Rows = Box<dyn Iterator<Item = Result<RawRow, DatasetError>>>;

/// Decodes the text of a line or cell.
pub(super) fn utf8(bytes: &[u8]) -> Result<&str, RowProblem> {
    std::str::from_utf8(bytes).map_err(|error| {
        let index = error.valid_up_to();
        RowProblem::NotUtf8 { place: index + 1, byte: bytes[index] }
    })
}

pub(super) fn read_error(path: &Path, source: std::io::Error) -> DatasetError {
    FileError::of(path, "read")(source).into()
}
