//! Kinds of parameters and of the steps that they take.

use tch::{Kind, Tensor};

/// Returns true for kinds too coarse for small steps.
pub(super) fn is_narrow(tensor: &Tensor) -> bool {
    tensor.kind() == Kind::BFloat16
}

/// The kind that a parameter's step is computed in.
pub(super) fn wide_kind(parameter: &Tensor) -> Kind {
    if parameter.kind() == Kind::Double { Kind::Double } else { Kind::Float }
}
