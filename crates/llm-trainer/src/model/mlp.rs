//! The gated feed-forward half of a block.

use tch::Tensor;

/// `down(silu(gate(x)) · up(x))`, without biases.
#[derive(Debug)]
pub(super) struct Mlp {
    /// `[intermediate, hidden]`.
    pub(super) gate: Tensor,
    /// `[intermediate, hidden]`.
    pub(super) up: Tensor,
    /// `[hidden, intermediate]`.
    pub(super) down: Tensor,
}

impl Mlp {
    /// `[.., hidden]` to the same.
    pub(super) fn forward(&self, x: &Tensor) -> Tensor {
        let gate = x.linear(&self.gate, None::<&Tensor>).silu();
        let up = x.linear(&self.up, None::<&Tensor>);
        (gate * up).linear(&self.down, None::<&Tensor>)
    }
}
