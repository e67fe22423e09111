//! A column of numbers, as Python passes it.

use std::borrow::Cow;

use numpy::{PyArray1, PyArrayMethods, PyReadonlyArray1, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PySequence;

/// One number per token or point; a contiguous array is read in place.
pub(crate) enum Column<'py> {
    /// An array of float32.
    Single(PyReadonlyArray1<'py, f32>),
    /// An array of float64.
    Double(PyReadonlyArray1<'py, f64>),
    /// A list, tuple or other sequence of numbers.
    Sequence(Vec<f64>),
}

impl Column<'_> {
    /// The numbers in double precision; borrowed if they have it, else copied.
    pub(crate) fn doubles(&self) -> Cow<'_, [f64]> {
        match self {
            Self::Single(array) => array.as_array().iter().copied().map(f64::from).collect(),
            Self::Double(array) => array
                .as_slice()
                .map_or_else(|_| array.as_array().iter().copied().collect(), Cow::Borrowed),
            Self::Sequence(numbers) => Cow::Borrowed(numbers),
        }
    }

    /// The numbers, if they are in single precision.
    pub(crate) fn singles(&self) -> Option<Cow<'_, [f32]>> {
        match self {
            Self::Single(array) => Some(
                array
                    .as_slice()
                    .map_or_else(|_| array.as_array().iter().copied().collect(), Cow::Borrowed),
            ),
            Self::Double(_) | Self::Sequence(_) => None,
        }
    }
}

impl<'py> FromPyObject<'_, 'py> for Column<'py> {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        // First, so that only users of numpy import it.
        if object.cast::<PySequence>().is_ok() {
            return object.extract().map(Self::Sequence);
        }
        let array = object.cast::<PyUntypedArray>();
        if let Ok(array) = array
            && !array.is_aligned()
        {
            return Err(PyTypeError::new_err("the array is not aligned, expected a copy of it"));
        }
        if let Ok(array) = object.cast::<PyArray1<f64>>() {
            Ok(Self::Double(array.to_owned().try_readonly()?))
        } else if let Ok(array) = object.cast::<PyArray1<f32>>() {
            Ok(Self::Single(array.to_owned().try_readonly()?))
        } else {
            Err(PyTypeError::new_err(format!(
                "expected a one-dimensional numpy array of float32 or float64, or a sequence of \
                 floats; found {}",
                described(&object)
            )))
        }
    }
}

/// Class of the object; for an array also its dtype and shape.
fn described(object: &Bound<'_, PyAny>) -> String {
    let attribute = |name: &str| object.getattr(name).map(|value| value.to_string());
    let kind = object.get_type().fully_qualified_name().map(|name| name.to_string());
    let kind = kind.unwrap_or_else(|_| "an object".to_owned());
    match (attribute("dtype"), attribute("shape")) {
        (Ok(dtype), Ok(shape)) => format!("{kind} of {dtype} with shape {shape}"),
        _ => kind,
    }
}
