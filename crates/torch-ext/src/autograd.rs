//! Backward with a cotangent: `tch::Tensor::backward` seeds with ones only.

use std::ffi::c_int;

use tch::Tensor;
use torch_sys::C_tensor;

use crate::TorchError;

unsafe extern "C" {
    fn torch_ext_vjp(
        outputs: *const *const C_tensor,
        cotangents: *const *const C_tensor,
        output_count: c_int,
        inputs: *const *const C_tensor,
        input_count: c_int,
        results: *mut *mut C_tensor,
    ) -> c_int;
    fn torch_ext_backward(
        outputs: *const *const C_tensor,
        cotangents: *const *const C_tensor,
        output_count: c_int,
    ) -> c_int;
    fn torch_ext_set_gradient(leaf: *const C_tensor, gradient: *const C_tensor) -> c_int;
}

/// Gradient of `Σ outputs · cotangents` with respect to `inputs`; `None` where an input took no part.
///
/// Each cotangent has the shape and kind of its output. The graph is freed.
///
/// # Errors
///
/// [`TorchError`] if libtorch refuses, for example because an output has no graph or shapes differ.
///
/// # Panics
///
/// If there is not one cotangent for each output.
pub fn vector_jacobian_product(
    outputs: &[&Tensor],
    cotangents: &[&Tensor],
    inputs: &[&Tensor],
) -> Result<Vec<Option<Tensor>>, TorchError> {
    assert_eq!(outputs.len(), cotangents.len(), "one cotangent for each output");
    let (output, cotangent, input) = (pointers(outputs), pointers(cotangents), pointers(inputs));
    let mut results = vec![std::ptr::null_mut(); inputs.len()];
    // SAFETY: the pointers come from live tensors that outlive the call, the lengths are those of the vectors, and
    // `results` has room for one pointer an input.
    let status = unsafe {
        torch_ext_vjp(
            output.as_ptr(),
            cotangent.as_ptr(),
            count(&output),
            input.as_ptr(),
            count(&input),
            results.as_mut_ptr(),
        )
    };
    if status != 0 {
        return Err(TorchError::take());
    }
    let adopt = |tensor: *mut C_tensor| {
        // SAFETY: not null means a tensor made by `new` on the C++ side that nothing else owns.
        (!tensor.is_null()).then(|| unsafe { Tensor::from_ptr(tensor) })
    };
    Ok(results.into_iter().map(adopt).collect())
}

/// Adds the gradient of `Σ outputs · cotangents` to `.grad` of every leaf of the graph, which is freed.
///
/// # Errors
///
/// As [`vector_jacobian_product`].
///
/// # Panics
///
/// If there is not one cotangent for each output.
pub fn backward(outputs: &[&Tensor], cotangents: &[&Tensor]) -> Result<(), TorchError> {
    assert_eq!(outputs.len(), cotangents.len(), "one cotangent for each output");
    let (output, cotangent) = (pointers(outputs), pointers(cotangents));
    // SAFETY: the pointers come from live tensors that outlive the call, and the length is that of the vectors.
    let status = unsafe { torch_ext_backward(output.as_ptr(), cotangent.as_ptr(), count(&output)) };
    if status == 0 { Ok(()) } else { Err(TorchError::take()) }
}

/// Puts `gradient` in the place of `leaf.grad()`, over the same memory; `None` gives its memory back.
///
/// `tch::Tensor::zero_grad` keeps the memory, and a backward pass then adds to zeros what it could have left there.
///
/// # Errors
///
/// [`TorchError`] if `leaf` is none, or shape, kind or device differ.
pub fn set_gradient(leaf: &Tensor, gradient: Option<&Tensor>) -> Result<(), TorchError> {
    let gradient = gradient.map_or(std::ptr::null(), Tensor::as_ptr);
    // SAFETY: both are live tensors or null, and the C++ side takes a reference of its own.
    let status = unsafe { torch_ext_set_gradient(leaf.as_ptr(), gradient) };
    if status == 0 { Ok(()) } else { Err(TorchError::take()) }
}

fn pointers(tensors: &[&Tensor]) -> Vec<*const C_tensor> {
    tensors.iter().map(|tensor| tensor.as_ptr()).collect()
}

fn count<T>(items: &[T]) -> c_int {
    c_int::try_from(items.len()).expect("fewer tensors than c_int holds")
}
