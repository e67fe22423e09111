//! Number formats of tensors.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Number format of weights and activations, or of the optimiser's moments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Dtype {
    /// 32-bit floating point.
    #[default]
    F32,
    /// bfloat16.
    Bf16,
    /// 64-bit floating point, for comparisons to the last digits.
    F64,
}
