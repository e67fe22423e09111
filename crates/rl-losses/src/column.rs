//! Columns of tokens that belong together.

use thiserror::Error;

use crate::parameter::ParameterError;

/// Why columns cannot be read together.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum ColumnError {
    /// A column is not as long as another.
    #[error("column `{column}` has {found} entries, `{other}` has {expected}")]
    Length {
        /// Name of the offending column.
        column: &'static str,
        /// Its length.
        found: usize,
        /// Name of the column it is compared with.
        other: &'static str,
        /// The length of that one.
        expected: usize,
    },
    /// A value is NaN or infinite.
    #[error("column `{column}` is {value} at entry {index}, expected a finite number")]
    NotFinite {
        /// Name of the offending column.
        column: &'static str,
        /// Position in it.
        index: usize,
        /// The value found there.
        value: f64,
    },
    /// A group has no samples.
    #[error("group {group} has 0 samples, expected at least 1")]
    EmptyGroup {
        /// Position of the group.
        group: usize,
    },
    /// A number that configures the function lies outside its range.
    #[error(transparent)]
    Parameter(#[from] ParameterError),
}

/// A column and its name.
pub(crate) type Named<'a> = (&'static str, &'a [f64]);

/// Checks that all columns have the length of the first, and finite values.
pub(crate) fn check_columns(columns: &[Named<'_>]) -> Result<(), ColumnError> {
    let Some(&(other, first)) = columns.first() else { return Ok(()) };
    for &(column, values) in columns {
        check_length(column, values.len(), other, first.len())?;
        if let Some(index) = values.iter().position(|value| !value.is_finite()) {
            return Err(ColumnError::NotFinite { column, index, value: values[index] });
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
    column: &'static str,
    found: usize,
    other: &'static str,
    expected: usize,
) -> Result<(), ColumnError> {
    if found == expected {
        Ok(())
    } else {
        Err(ColumnError::Length { column, found, other, expected })
    }
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
