//! A column of numbers, as Python passes it: numpy, torch, DLPack or a sequence.

use std::borrow::Cow;

use numpy::{
    PyArrayDyn, PyArrayMethods, PyReadonlyArrayDyn, PyUntypedArray, PyUntypedArrayMethods,
};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PySequence;

use crate::error::value_error;

/// A column as an argument: its values, or the reason that it has none.
///
/// The conversion does not fail, so that the error can name the argument in every version of Python.
pub(crate) struct Column<'py>(Result<Values<'py>, String>);

/// One number per token or point; a contiguous array or CPU tensor is read in place.
pub(crate) struct Values<'py> {
    numbers: Numbers<'py>,
    /// Sizes of the dimensions: `[tokens]` or `[batch, length]`.
    pub(crate) shape: Vec<usize>,
    /// The torch tensor that Python passed, if it was one.
    pub(crate) tensor: Option<Bound<'py, PyAny>>,
}

enum Numbers<'py> {
    Single(PyReadonlyArrayDyn<'py, f32>),
    Double(PyReadonlyArrayDyn<'py, f64>),
    Sequence(Vec<f64>),
}

impl<'py> Column<'py> {
    /// Zeros of these values' shape.
    pub(crate) fn zeros_like(values: &Values<'_>) -> Self {
        let shape = values.shape.clone();
        let numbers = Numbers::Sequence(vec![0.0; shape.iter().product()]);
        Self(Ok(Values { numbers, shape, tensor: None }))
    }

    /// The values of the argument of this name.
    pub(crate) fn named(&self, name: &str) -> PyResult<&Values<'py>> {
        let unfit = |problem| PyTypeError::new_err(format!("`{name}`: {problem}"));
        self.0.as_ref().map_err(unfit)
    }

    /// The numbers of a series, `[points]`.
    pub(crate) fn points(&self, name: &str) -> PyResult<Cow<'_, [f64]>> {
        let values = self.named(name)?;
        match &values.shape[..] {
            [_] => Ok(values.doubles()),
            shape => Err(value_error(format!("`{name}` has shape {shape:?}, expected [points]"))),
        }
    }
}

impl Values<'_> {
    /// The numbers in double precision, row by row; borrowed if they have it, else copied.
    pub(crate) fn doubles(&self) -> Cow<'_, [f64]> {
        match &self.numbers {
            Numbers::Single(array) => array.as_array().iter().copied().map(f64::from).collect(),
            Numbers::Double(array) => in_rows(array),
            Numbers::Sequence(numbers) => Cow::Borrowed(numbers),
        }
    }

    /// The numbers, if they are in single precision.
    pub(crate) fn singles(&self) -> Option<Cow<'_, [f32]>> {
        match &self.numbers {
            Numbers::Single(array) => Some(in_rows(array)),
            Numbers::Double(_) | Numbers::Sequence(_) => None,
        }
    }
}

/// The numbers of an array, row by row; borrowed if they lie so.
fn in_rows<'a, T: numpy::Element + Copy>(array: &'a PyReadonlyArrayDyn<'_, T>) -> Cow<'a, [T]> {
    match array.as_slice() {
        Ok(numbers) => Cow::Borrowed(numbers),
        Err(_) => array.as_array().iter().copied().collect(),
    }
}

impl<'py> FromPyObject<'_, 'py> for Column<'py> {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        Ok(Self(Values::of(&object).map_err(|error| error.value(object.py()).to_string())))
    }
}

impl<'py> Values<'py> {
    fn of(object: &Bound<'py, PyAny>) -> PyResult<Self> {
        // First, so that only users of numpy import it.
        if object.cast::<PySequence>().is_ok() {
            let numbers: Vec<f64> = object.extract()?;
            let shape = vec![numbers.len()];
            return Ok(Self { numbers: Numbers::Sequence(numbers), shape, tensor: None });
        }
        let tensor = is_tensor(object)?.then(|| object.clone());
        let array = to_numpy(object)?;
        let Ok(untyped) = array.cast::<PyUntypedArray>() else { return Err(unfit(object)) };
        if !untyped.is_aligned() {
            return Err(PyTypeError::new_err("the array is not aligned, expected a copy of it"));
        }
        let shape = untyped.shape().to_vec();
        let numbers = if let Ok(array) = array.cast::<PyArrayDyn<f64>>() {
            Numbers::Double(array.clone().try_readonly()?)
        } else if let Ok(array) = array.cast::<PyArrayDyn<f32>>() {
            Numbers::Single(array.clone().try_readonly()?)
        } else {
            return Err(unfit(object));
        };
        if !(1..=2).contains(&shape.len()) {
            return Err(unfit(object));
        }
        Ok(Self { numbers, shape, tensor })
    }
}

/// Trained tokens, true where a token is one.
pub(crate) struct Mask {
    /// Sizes of the dimensions.
    pub(crate) shape: Vec<usize>,
    /// The marks, row by row.
    pub(crate) marks: Vec<bool>,
}

impl FromPyObject<'_, '_> for Mask {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, '_, PyAny>) -> PyResult<Self> {
        let mask = || -> PyResult<Self> {
            let numpy = object.py().import("numpy")?;
            let array = numpy.call_method1("asarray", (to_numpy(&object)?,))?;
            let array = array.call_method1("astype", ("bool",))?;
            let array = array.cast_into::<PyArrayDyn<bool>>().map_err(|_| unfit(&object))?;
            let array = array.try_readonly()?;
            Ok(Self { shape: array.shape().to_vec(), marks: in_rows(&array).into_owned() })
        };
        mask().map_err(|error| {
            let problem = error.value(object.py()).to_string();
            PyTypeError::new_err(format!("`response_mask`: {problem}"))
        })
    }
}

/// Returns true for a tensor of torch; torch is not imported for it.
fn is_tensor(object: &Bound<'_, PyAny>) -> PyResult<bool> {
    let modules = object.py().import("sys")?.getattr("modules")?;
    let torch = modules.call_method1("get", ("torch",))?;
    // While torch is being imported, it has no tensors yet.
    torch.getattr("Tensor").map_or(Ok(false), |class| object.is_instance(&class))
}

/// Brings an array or tensor to numpy. Memory is shared where it is on the CPU; half precision becomes single.
fn to_numpy<'py>(object: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let unfit = |error: PyErr| PyTypeError::new_err(format!("{}: {error}", described(object)));
    if is_tensor(object)? {
        let mut tensor = object.call_method0("detach")?;
        if !tensor.getattr("is_cpu")?.is_truthy()? {
            tensor = tensor.call_method0("cpu").map_err(unfit)?;
        }
        if ["torch.bfloat16", "torch.float16"].contains(&&*tensor.getattr("dtype")?.to_string()) {
            tensor = tensor.call_method0("float")?;
        }
        return tensor.call_method0("numpy").map_err(unfit);
    }
    let numpy = || object.py().import("numpy");
    let array = if object.cast::<PyUntypedArray>().is_ok() {
        object.clone()
    } else if object.hasattr("__array__")? {
        numpy()?.call_method1("asarray", (object,)).map_err(unfit)?
    } else if object.hasattr("__dlpack__")? {
        numpy()?.call_method1("from_dlpack", (object,)).map_err(unfit)?
    } else {
        return Ok(object.clone());
    };
    match &*array.getattr("dtype")?.to_string() {
        "bfloat16" | "float16" => array.call_method1("astype", ("float32",)),
        _ => Ok(array),
    }
}

/// Error for an object that is no column.
fn unfit(object: &Bound<'_, PyAny>) -> PyErr {
    PyTypeError::new_err(format!(
        "expected an array or tensor of float32, float64 or bfloat16, [tokens] or [batch, length], or a \
         sequence of floats; found {}",
        described(object)
    ))
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
