//! The gated feed-forward half of a block.

use tch::Tensor;

use super::projection::Projection;

/// `down(silu(gate(x)) · up(x))`, without biases.
#[derive(Debug)]
pub(super) struct Mlp {
    /// Weight `[intermediate, hidden]`.
    pub(super) gate: Projection,
    /// Weight `[intermediate, hidden]`.
    pub(super) up: Projection,
    /// Weight `[hidden, intermediate]`.
    pub(super) down: Projection,
}

impl Mlp {
    /// What the downward projection is applied to: `[.., hidden]` to `[.., intermediate]`.
    pub(super) fn raise(&self, x: &Tensor) -> Tensor {
        self.gate.forward(x).silu() * self.up.forward(x)
    }
}
