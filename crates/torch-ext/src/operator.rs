//! Calls registered operators by name, for those that tch's generator leaves out.

use std::ffi::{CString, c_char, c_int};

use tch::Tensor;
use torch_sys::{C_tensor, CIValue};

use crate::{TorchError, c_count};

unsafe extern "C" {
    fn torch_ext_call(
        name: *const c_char,
        overload: *const c_char,
        arguments: *const *mut CIValue,
        count: c_int,
        results: *mut *mut CIValue,
        capacity: c_int,
    ) -> c_int;
}

/// Largest number of results of an operator.
const CAPACITY: usize = 16;
/// The value that `ati_tag` returns for a tensor.
const TENSOR_TAG: c_int = 1;

/// An argument of [`call`].
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub enum Argument<'a> {
    /// Python's `None`.
    None,
    /// An integer; becomes a float if the schema has a float.
    Int(i64),
    /// A float.
    Float(f64),
    /// A truth value.
    Bool(bool),
    /// A tensor.
    Tensor(&'a Tensor),
    /// A list of tensors.
    Tensors(&'a [&'a Tensor]),
}

impl Argument<'_> {
    fn to_raw(self) -> *mut CIValue {
        // SAFETY: each constructor copies what it is given (a tensor by reference count) and hands back an IValue
        // that `call` frees once.
        unsafe {
            match self {
                Self::None => torch_sys::ati_none(),
                Self::Int(value) => torch_sys::ati_int(value),
                Self::Float(value) => torch_sys::ati_double(value),
                Self::Bool(value) => torch_sys::ati_bool(c_int::from(value)),
                Self::Tensor(tensor) => torch_sys::ati_tensor(tensor.as_ptr().cast_mut()),
                Self::Tensors(tensors) => {
                    let list: Vec<*mut C_tensor> =
                        tensors.iter().map(|tensor| tensor.as_ptr().cast_mut()).collect();
                    torch_sys::ati_tensor_list(list.as_ptr(), c_count(list.len()))
                }
            }
        }
    }
}

/// Calls operator `name` (such as `aten::_foreach_mul_`) in its `overload` and returns the tensors among its results.
///
/// `arguments` are the leading positional ones; the schema's defaults fill the rest. The call goes through the dispatcher, so
/// it is differentiable if the operator is.
///
/// # Errors
///
/// [`TorchError`] if there is no such operator, the arguments do not fit its schema, or it fails.
pub fn call(
    name: &str,
    overload: &str,
    arguments: &[Argument<'_>],
) -> Result<Vec<Tensor>, TorchError> {
    let c_string = |text: &str| {
        CString::new(text).map_err(|_| TorchError::new(format!("operator name {text:?} has a NUL")))
    };
    let (c_name, c_overload) = (c_string(name)?, c_string(overload)?);
    let raw: Vec<*mut CIValue> = arguments.iter().map(|argument| argument.to_raw()).collect();
    let mut results = [std::ptr::null_mut(); CAPACITY];
    // SAFETY: the strings are NUL-terminated, `raw` holds live IValues, `results` has room for CAPACITY pointers.
    let status = unsafe {
        torch_ext_call(
            c_name.as_ptr(),
            c_overload.as_ptr(),
            raw.as_ptr(),
            c_count(raw.len()),
            results.as_mut_ptr(),
            c_count(CAPACITY),
        )
    };
    for value in raw {
        // SAFETY: made by `to_raw`, freed once.
        unsafe { torch_sys::ati_free(value) };
    }
    let count = usize::try_from(status).map_err(|_| TorchError::take())?;
    let mut tensors = Vec::new();
    for &value in &results[..count] {
        // SAFETY: the first `count` entries are IValues made by `new` for this call; each is read and freed once, and
        // `ati_to_tensor` returns a new owning tensor.
        unsafe {
            if torch_sys::ati_tag(value) == TENSOR_TAG {
                tensors.push(Tensor::from_ptr(torch_sys::ati_to_tensor(value)));
            }
            torch_sys::ati_free(value);
        }
    }
    Ok(tensors)
}

/// One `AdamW` step in place over lists of tensors: `aten::_fused_adamw_`.
///
/// `steps` are scalar tensors that count the step about to be taken (the first is 1). Decay is decoupled:
/// `p ← p·(1 - learning_rate·weight_decay)` before the update.
///
/// # Errors
///
/// [`TorchError`] if lists differ in length or shapes differ.
#[expect(clippy::too_many_arguments, reason = "the operator's own argument list")]
pub fn fused_adamw(
    parameters: &[&Tensor],
    gradients: &[&Tensor],
    first_moments: &[&Tensor],
    second_moments: &[&Tensor],
    steps: &[&Tensor],
    learning_rate: f64,
    (beta1, beta2): (f64, f64),
    weight_decay: f64,
    epsilon: f64,
) -> Result<(), TorchError> {
    let arguments = [
        Argument::Tensors(parameters),
        Argument::Tensors(gradients),
        Argument::Tensors(first_moments),
        Argument::Tensors(second_moments),
        Argument::Tensors(&[]),
        Argument::Tensors(steps),
        Argument::Float(learning_rate),
        Argument::Float(beta1),
        Argument::Float(beta2),
        Argument::Float(weight_decay),
        Argument::Float(epsilon),
        Argument::Bool(false),
        Argument::Bool(false),
    ];
    call("aten::_fused_adamw_", "", &arguments).map(|_| ())
}

/// Adds `left · right`, both bf16, to `sum` in f32 without rounding the product: `aten::addmm.dtype_out`.
///
/// # Errors
///
/// [`TorchError`] if libtorch has no such product, as on the CPU, or the shapes do not fit.
pub fn add_product(sum: &mut Tensor, [left, right]: [&Tensor; 2]) -> Result<(), TorchError> {
    /// The number of f32 among libtorch's kinds.
    const FLOAT: i64 = 6;
    let sum = &*sum;
    let arguments = [
        Argument::Tensor(sum),
        Argument::Tensor(left),
        Argument::Tensor(right),
        Argument::Int(FLOAT),
        // Factors of the sum and of the product.
        Argument::Float(1.0),
        Argument::Float(1.0),
        Argument::Tensor(sum),
    ];
    call("aten::addmm", "dtype_out", &arguments).map(|_| ())
}

/// Boundaries of sequences of different lengths packed in one tensor.
#[derive(Debug, Clone, Copy)]
pub struct Ragged<'a> {
    /// Start of each sequence and end of the last, i32 `[sequences + 1]`, on the device of the tensor.
    pub boundaries: &'a Tensor,
    /// Number of tokens of the longest sequence.
    pub longest: i64,
}

/// Causal attention within packed sequences by the variable-length flash kernel, `aten::_flash_attention_forward`. It is
/// differentiable, for CUDA and 16-bit kinds.
///
/// `query` is `[query tokens, heads, head_dim]`, `key` and `value` are `[key tokens, kv_heads, head_dim]`, with `kv_heads` a
/// divisor of `heads`. `queries` and `keys` have the boundaries of the sequences. With `used`, i32 `[sequences]` on the same
/// device, only the first `used` keys of each sequence count. The last query attends to all of them, the one before to all but
/// the last, and so on. Scores are scaled by `1 / sqrt(head_dim)`; the result has the shape of `query`.
///
/// # Errors
///
/// [`TorchError`] if libtorch has no such kernel, as on the CPU, or the tensors do not fit it.
pub fn ragged_flash_attention(
    [query, key, value]: [&Tensor; 3],
    queries: Ragged<'_>,
    keys: Ragged<'_>,
    used: Option<&Tensor>,
) -> Result<Tensor, TorchError> {
    let arguments = [
        Argument::Tensor(query),
        Argument::Tensor(key),
        Argument::Tensor(value),
        Argument::Tensor(queries.boundaries),
        Argument::Tensor(keys.boundaries),
        Argument::Int(queries.longest),
        Argument::Int(keys.longest),
        // No dropout; causal; no mask for debugging.
        Argument::Float(0.0),
        Argument::Bool(true),
        Argument::Bool(false),
        // The usual scale; no window on either side.
        Argument::None,
        Argument::None,
        Argument::None,
        used.map_or(Argument::None, Argument::Tensor),
    ];
    let mut results = call("aten::_flash_attention_forward", "", &arguments)?.into_iter();
    results.next().ok_or_else(|| TorchError::new("attention has no result".to_owned()))
}
