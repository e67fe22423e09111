//! Columns of tokens that belong together.

use thiserror::Error;

use crate::parameter::ParameterError;

/// Why columns cannot be read together, or a number that configures the function is out of range.
#[derive(Debug, Clone, PartialEq, Error)]
#[error("{0}")]
pub struct ColumnError(pub(crate) String);

impl From<ParameterError> for ColumnError {
    fn from(error: ParameterError) -> Self {
        Self(error.to_string())
    }
}

/// A column and its name.
pub(crate) type Named<'a> = (&'static str, &'a [f64]);

/// Checks that all columns have the length of the first, and finite values.
pub(crate) fn check_columns(columns: &[Named<'_>]) -> Result<(), ColumnError> {
    let Some(&(other, first)) = columns.first() else { return Ok(()) };
    for &(column, values) in columns {
        check_length(column, values.len(), other, first.len())?;
        if let Some(index) = values.iter().position(|value| !value.is_finite()) {
            let value = values[index];
            return Err(ColumnError(format!(
                "column `{column}` is {value} at entry {index}, expected a finite number"
            )));
        }
    }
    Ok(())
}

/// Sum of lengths; it saturates at `usize::MAX`, which is more than any column has.
pub(crate) fn total(lengths: &[usize]) -> usize {
    lengths.iter().fold(0, |sum, &length| sum.saturating_add(length))
}

/// Checks that sequence lengths add up to the tokens of a column.
pub(crate) fn check_sequences(
    sequence_lengths: &[usize],
    (other, values): Named<'_>,
) -> Result<(), ColumnError> {
    check_length("sequence_lengths", total(sequence_lengths), other, values.len())
}

pub(crate) fn check_length(
    column: &str,
    found: usize,
    other: &str,
    expected: usize,
) -> Result<(), ColumnError> {
    if found == expected {
        return Ok(());
    }
    Err(ColumnError(format!("column `{column}` has {found} entries, `{other}` has {expected}")))
}

/// The runs of tokens that sequences own, in order.
pub(crate) fn sequence_ranges(
    sequence_lengths: &[usize],
) -> impl Iterator<Item = std::ops::Range<usize>> {
    let mut begin = 0;
    sequence_lengths.iter().map(move |length| {
        let range = begin..begin + length;
        begin = range.end;
        range
    })
}
