//! The backward pass of one block, for all layouts of weights and gradients: local, sharded by `ZeRO` over data-parallel ranks, or
//! split over tensor-parallel ranks.

use tch::Tensor;
use torch_ext::TorchError;

use super::attention::Heads;
use super::block_gradients::BlockGradients;
use super::decoder::Decoder;
use super::experts::Routing;
use super::rope::Angles;
use super::sharded_blocks::OpenBlocks;

/// A block during the backward pass over all micro-batches; its weights stay gathered for this object's lifetime.
#[derive(Debug)]
pub struct BlockBackward<'a> {
    model: &'a Decoder,
    index: usize,
    /// Gradient sum of its parameters, if it goes to shards; otherwise gradients are added to `.grad`.
    sum: Option<(&'a BlockGradients, Vec<Tensor>)>,
    _open: OpenBlocks<'a>,
}

impl Decoder {
    /// Begins the backward pass of block `index` and prefetches the block before it.
    pub fn begin_backward(&self, index: usize) -> BlockBackward<'_> {
        let open = self.open_block(index, index.checked_sub(1));
        let gradients = self.placement.gradients.as_deref();
        let sum = gradients.map(|blocks| (blocks, blocks.zeros(index)));
        BlockBackward { model: self, index, sum, _open: open }
    }
}

impl BlockBackward<'_> {
    /// The model, and the block's index in it.
    pub fn place(&self) -> (&Decoder, usize) {
        (self.model, self.index)
    }

    /// Runs the backward pass from a cotangent of the block's output to its `input`, a leaf, all `[rows, len, hidden]`; parameter
    /// gradients are accumulated. `output` is that of the forward pass if its graph was kept; otherwise the block is recomputed.
    ///
    /// # Errors
    ///
    /// [`TorchError`] if libtorch refuses.
    pub fn vjp(
        &mut self,
        input: &Tensor,
        output: Option<Tensor>,
        angles: &Angles,
        attend: impl FnOnce([&Tensor; 3], Option<i64>) -> Tensor,
        routing: &mut Routing,
        cotangent: &Tensor,
    ) -> Result<Tensor, TorchError> {
        let Self { model, index, sum, .. } = self;
        let mut pull = |output: &Tensor, cotangent: &Tensor, input: &Tensor| {
            if let Some((blocks, sum)) = sum {
                return blocks.vjp(*index, output, cotangent, input, sum);
            }
            torch_ext::backward(&[output], &[cotangent])?;
            Ok(input.grad())
        };
        if let Some(group) = &model.placement.group {
            let block = &model.blocks[*index];
            let mix = |heads: Heads| heads.mix(angles, attend);
            return block.vjp(input, mix, routing, cotangent, group, pull);
        }
        let output = output.unwrap_or_else(|| model.block(*index, input, angles, attend, routing));
        pull(&output, cotangent, input)
    }

    /// Passes the gradients on.
    pub fn finish(self) {
        if let Some((blocks, sum)) = &self.sum {
            blocks.reduce(self.index, sum);
        }
    }
}
