//! The trained tokens of columns: all of `[tokens]`, or those of `[batch, length]` that a mask marks.

use std::borrow::Cow;

use numpy::{Element, PyArray1, PyArrayMethods};
use pyo3::prelude::*;

use crate::column::{Column, Mask, Values};
use crate::error::value_error;

/// Trained tokens, and the shape that results have.
pub(crate) struct Trained<'py> {
    shape: Vec<usize>,
    marks: Option<Vec<bool>>,
    tensor: Option<Bound<'py, PyAny>>,
}

impl<'py> Trained<'py> {
    /// Takes the shape of the first column; `[batch, length]` needs a mask of that shape.
    pub(crate) fn new(name: &str, first: &Column<'py>, mask: Option<Mask>) -> PyResult<Self> {
        let first = first.named(name)?;
        let shape = first.shape.clone();
        match &mask {
            None if shape.len() > 1 => {
                return Err(value_error(format!(
                    "`{name}` has shape {shape:?}, which needs `response_mask` of that shape"
                )));
            }
            Some(mask) if mask.shape != shape => {
                return Err(value_error(format!(
                    "`response_mask` has shape {:?}, `{name}` has {shape:?}",
                    mask.shape
                )));
            }
            _ => {}
        }
        let marks = mask.map(|mask| mask.marks);
        Ok(Self { shape, marks, tensor: first.tensor.clone() })
    }

    /// The column's trained tokens in double precision.
    pub(crate) fn doubles<'a>(
        &self,
        name: &str,
        column: &'a Column<'_>,
    ) -> PyResult<Cow<'a, [f64]>> {
        Ok(self.trained(self.fitting(name, column)?.doubles()))
    }

    /// The column's trained tokens, if they are in single precision.
    pub(crate) fn singles<'a>(
        &self,
        name: &str,
        column: &'a Column<'_>,
    ) -> PyResult<Option<Cow<'a, [f32]>>> {
        let values = self.fitting(name, column)?;
        Ok(values.singles().map(|numbers| self.trained(numbers)))
    }

    /// Number of trained tokens in each row; `[tokens]` is one row.
    pub(crate) fn row_lengths(&self) -> Vec<usize> {
        let count = |row: &[bool]| row.iter().filter(|&&trained| trained).count();
        match (&self.marks, &self.shape[..]) {
            (None, shape) => vec![shape.iter().product()],
            (Some(_), &[rows, 0]) => vec![0; rows],
            (Some(marks), &[_, length]) => marks.chunks(length).map(count).collect(),
            (Some(marks), _) => vec![count(marks)],
        }
    }

    /// Values of the trained tokens in the shape of the columns, zero elsewhere; a tensor for a tensor.
    pub(crate) fn result<T: Element + Copy + Default>(
        &self,
        py: Python<'py>,
        values: Vec<T>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let values = match &self.marks {
            None => values,
            Some(marks) => {
                let mut next = values.into_iter();
                let value = |&trained| if trained { next.next() } else { None };
                marks.iter().map(value).map(Option::unwrap_or_default).collect()
            }
        };
        let array = PyArray1::from_vec(py, values).reshape(&self.shape[..])?;
        let Some(tensor) = &self.tensor else { return Ok(array.into_any()) };
        let result = py.import("torch")?.call_method1("from_numpy", (array,))?;
        result.call_method1("to", (tensor.getattr("device")?,))
    }

    /// The values of a column of the shape that all have.
    fn fitting<'a, 'b>(&self, name: &str, column: &'a Column<'b>) -> PyResult<&'a Values<'b>> {
        let values = column.named(name)?;
        let (shape, expected) = (&values.shape, &self.shape);
        // A plain column of another length is for the checks of the batch.
        if shape == expected || (self.marks.is_none() && shape.len() == 1) {
            return Ok(values);
        }
        Err(value_error(format!("`{name}` has shape {shape:?}, expected {expected:?}")))
    }

    fn trained<'a, T: Copy>(&self, numbers: Cow<'a, [T]>) -> Cow<'a, [T]> {
        let Some(marks) = &self.marks else { return numbers };
        let trained = |(&number, &trained)| if trained { Some(number) } else { None };
        std::iter::zip(&*numbers, marks).filter_map(trained).collect()
    }
}
