//! Backward passes with a given cotangent (`tch::Tensor::backward` seeds with ones only), and operations with a custom backward
//! function.

use std::ffi::{c_int, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};

use tch::Tensor;
use torch_sys::C_tensor;

use crate::{TorchError, c_count};

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
    fn torch_ext_autograd_function(
        value: *const C_tensor,
        inputs: *const *const C_tensor,
        input_count: c_int,
        state: *mut c_void,
        backward: unsafe extern "C" fn(
            *mut c_void,
            *const C_tensor,
            *mut *mut C_tensor,
            c_int,
        ) -> c_int,
        drop: unsafe extern "C" fn(*mut c_void),
    ) -> *mut C_tensor;
}

/// Backward function of an operation: maps a cotangent to one gradient for each input.
type Backward = Box<dyn Fn(&Tensor) -> Vec<Tensor> + Send>;

/// Gradient of `Σ outputs · cotangents` with respect to `inputs`; `None` for an input that took no part.
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
            c_count(output.len()),
            input.as_ptr(),
            c_count(input.len()),
            results.as_mut_ptr(),
        )
    };
    TorchError::check(status)?;
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
/// The errors of [`vector_jacobian_product`].
///
/// # Panics
///
/// If there is not one cotangent for each output.
pub fn backward(outputs: &[&Tensor], cotangents: &[&Tensor]) -> Result<(), TorchError> {
    assert_eq!(outputs.len(), cotangents.len(), "one cotangent for each output");
    let (output, cotangent) = (pointers(outputs), pointers(cotangents));
    // SAFETY: the pointers come from live tensors that outlive the call, and the length is that of the vectors.
    let status =
        unsafe { torch_ext_backward(output.as_ptr(), cotangent.as_ptr(), c_count(output.len())) };
    TorchError::check(status)
}

/// Sets `leaf.grad()` to `gradient`, sharing its memory; `None` frees the gradient's memory.
///
/// `tch::Tensor::zero_grad` keeps the memory, and a backward pass then adds to zeros instead of storing its result.
///
/// # Errors
///
/// [`TorchError`] if `leaf` is no leaf, or shape, kind or device differ.
pub fn set_gradient(leaf: &Tensor, gradient: Option<&Tensor>) -> Result<(), TorchError> {
    let gradient = gradient.map_or(std::ptr::null(), Tensor::as_ptr);
    // SAFETY: both are live tensors or null, and the C++ side takes a reference of its own.
    TorchError::check(unsafe { torch_ext_set_gradient(leaf.as_ptr(), gradient) })
}

/// Runs `forward` on `inputs` as one operation of the graph, with `backward` as its backward function.
///
/// `forward` runs without autograd. `backward` receives a cotangent of the result, on any thread, and returns the gradient of
/// each input, of that input's shape and kind. It lives, with its captures, until the graph is freed.
///
/// # Errors
///
/// [`TorchError`] if libtorch refuses. A `backward` that panics or returns fewer gradients is an error of the backward pass.
pub fn autograd_function(
    inputs: &[&Tensor],
    forward: impl FnOnce() -> Tensor,
    backward: impl Fn(&Tensor) -> Vec<Tensor> + Send + 'static,
) -> Result<Tensor, TorchError> {
    let value = {
        let _no_grad = tch::no_grad_guard();
        forward()
    };
    let input = pointers(inputs);
    let state: Box<Backward> = Box::new(Box::new(backward));
    // SAFETY: the pointers come from live tensors that outlive the call and the length is that of the vector; the C++ side owns
    // `state` from here on, calls it under a lock and hands it to `drop_closure` once.
    let result = unsafe {
        torch_ext_autograd_function(
            value.as_ptr(),
            input.as_ptr(),
            c_count(input.len()),
            Box::into_raw(state).cast(),
            call_closure,
            drop_closure,
        )
    };
    if result.is_null() {
        return Err(TorchError::take());
    }
    // SAFETY: not null means a tensor made by `new` on the C++ side that nothing else owns.
    Ok(unsafe { Tensor::from_ptr(result) })
}

/// Calls a [`Backward`]; not 0 if it panics or returns another number of gradients than `count`.
///
/// # Safety
///
/// `state` comes from `autograd_function` and is not in use elsewhere; `cotangent` is alive; `results` has room for `count`
/// pointers, and the caller owns the tensors behind them afterwards.
unsafe extern "C" fn call_closure(
    state: *mut c_void,
    cotangent: *const C_tensor,
    results: *mut *mut C_tensor,
    count: c_int,
) -> c_int {
    // SAFETY: by the contract a boxed closure that nobody else uses meanwhile.
    let backward = unsafe { &*state.cast::<Backward>() };
    let gradients = catch_unwind(AssertUnwindSafe(|| {
        // SAFETY: by the contract alive; this takes a reference of its own.
        let cotangent = unsafe { Tensor::clone_from_ptr(cotangent.cast_mut()) };
        backward(&cotangent)
    }))
    .unwrap_or_default();
    if c_int::try_from(gradients.len()) != Ok(count) {
        return -1;
    }
    for (place, gradient) in gradients.into_iter().enumerate() {
        let mut gradient = std::mem::ManuallyDrop::new(gradient);
        // SAFETY: `place` is below `count`; the handle is given away and not freed here.
        unsafe { *results.add(place) = gradient.as_mut_ptr() };
    }
    0
}

/// Frees a [`Backward`].
///
/// # Safety
///
/// `state` comes from `autograd_function` and is not used again.
unsafe extern "C" fn drop_closure(state: *mut c_void) {
    // SAFETY: by the contract a box that nobody else frees.
    let closure = unsafe { Box::from_raw(state.cast::<Backward>()) };
    // No panic may unwind into C++; freeing a tensor's memory does not panic.
    let _ended = catch_unwind(AssertUnwindSafe(|| drop(closure)));
}

fn pointers(tensors: &[&Tensor]) -> Vec<*const C_tensor> {
    tensors.iter().map(|tensor| tensor.as_ptr()).collect()
}
