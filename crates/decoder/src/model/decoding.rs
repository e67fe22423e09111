//! One decoding step of the whole model: a residual stream through the blocks to the last norm.

use tch::Tensor;

use super::attention::Heads;
use super::decoder::Decoder;
use super::experts::Routing;
use super::fused::FusedOperations;
use super::residual::Residual;

impl Decoder {
    /// Block `index` applied to a stream that nobody else reads, without a graph; `attend` as in
    /// [`Block::advance`](super::block::Block::advance).
    ///
    /// # Panics
    ///
    /// If there is no such block.
    pub(crate) fn advance(
        &self,
        index: usize,
        residual: &mut Residual,
        fused: &FusedOperations,
        attend: impl FnOnce(Heads) -> Tensor,
        routing: &mut Routing,
    ) {
        self.blocks()[index].advance(
            residual,
            fused,
            attend,
            routing,
            self.placement.group.as_deref(),
        );
    }

    /// The norm before the head of what a stream has come to.
    pub(crate) fn end(&self, mut residual: Residual, fused: &FusedOperations) -> Tensor {
        residual.normalised(self.last_norm(), fused).into_value()
    }
}
