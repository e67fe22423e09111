//! One row of a file of any kind.

use serde_json::{Map, Value};
use whole_file::FileError;

use super::{RowPlace, RowProblem};

/// Columns of one row.
pub(super) type Row = Map<String, Value>;

/// Takes the rows of a file, in order: its place, and the columns or the reason why there are none. False ends the reading.
pub(super) type Take<'a> =
    dyn FnMut(RowPlace, Result<Row, RowProblem>) -> Result<bool, FileError> + 'a;

/// Decodes the text of a line or cell; most often a file in Latin-1 or, from Windows, UTF-16 has none.
pub(super) fn utf8(bytes: &[u8]) -> Result<&str, RowProblem> {
    std::str::from_utf8(bytes).map_err(|error| {
        let index = error.valid_up_to();
        let is_utf16 = bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff");
        let (code, name) = if is_utf16 { ("utf-16", "UTF-16") } else { ("latin1", "Latin-1") };
        RowProblem::new(format!(
            "byte {} is 0x{:02X}, expected text in UTF-8 (`iconv -f {code} -t utf-8` converts {name})",
            index + 1,
            bytes[index]
        ))
    })
}
