//! Arrays of any dimension, as the simulator takes and gives them.

use numpy::{
    Element, PyArray1, PyArrayDyn, PyArrayMethods, PyReadonlyArrayDyn, PyUntypedArrayMethods,
};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::IntoPyDict;

use crate::error::value_error;

/// Numbers of an argument, row by row, with the sizes of their dimensions.
pub(crate) struct Array {
    pub(crate) values: Vec<f64>,
    pub(crate) shape: Vec<usize>,
}

impl Array {
    /// Converts the argument of this name.
    pub(crate) fn of(name: &str, object: &Bound<'_, PyAny>) -> PyResult<Self> {
        let py = object.py();
        let unfit = |error: PyErr| PyTypeError::new_err(format!("`{name}`: {}", error.value(py)));
        let dtype = [("dtype", "float64")].into_py_dict(py)?;
        let array = py.import("numpy")?.call_method("ascontiguousarray", (object,), Some(&dtype));
        let array: PyReadonlyArrayDyn<'_, f64> = array.map_err(unfit)?.extract()?;
        Ok(Self { values: array.as_slice()?.to_vec(), shape: array.shape().to_vec() })
    }

    /// Converts the argument of this name, which must have as many dimensions as `expected` names, to its numbers and their sizes.
    pub(crate) fn with_sizes<const N: usize>(
        name: &str,
        object: &Bound<'_, PyAny>,
        expected: &str,
    ) -> PyResult<(Vec<f64>, [usize; N])> {
        let Self { values, shape } = Self::of(name, object)?;
        let unfit =
            |shape| value_error(format!("`{name}` has shape {shape:?}, expected {expected}"));
        Ok((values, shape.try_into().map_err(unfit)?))
    }

    /// Converts the argument of this name, which must have this shape.
    pub(crate) fn shaped(
        name: &str,
        object: &Bound<'_, PyAny>,
        expected: &[usize],
    ) -> PyResult<Vec<f64>> {
        let Self { values, shape } = Self::of(name, object)?;
        if shape == expected {
            return Ok(values);
        }
        Err(value_error(format!("`{name}` has shape {shape:?}, expected {expected:?}")))
    }
}

/// A new array of float64, or an error.
pub(crate) type Floats<'py> = PyResult<Bound<'py, PyArrayDyn<f64>>>;

/// An array of numpy.
pub(crate) fn numpy_array<'py, T: Element>(
    py: Python<'py>,
    values: Vec<T>,
    shape: &[usize],
) -> PyResult<Bound<'py, PyArrayDyn<T>>> {
    PyArray1::from_vec(py, values).reshape(shape)
}
