//! The backward pass of one block, wherever its weights lie and its gradients go: whole, sharded over ranks that hold copies of the
//! model, or cut over ranks that hold it together.

use tch::Tensor;
use torch_ext::TorchError;

use super::block_gradients::BlockGradients;
use super::decoder::Decoder;
use super::rope::Angles;
use super::sharded_blocks::OpenBlocks;

/// A block during the backward pass over all micro-batches; its weights are whole for as long as it lives.
#[derive(Debug)]
pub(crate) struct BlockBackward<'a> {
    model: &'a Decoder,
    index: usize,
    /// The gradient of its parameters, where it goes to shards; else it is added to `.grad`.
    sum: Option<(&'a BlockGradients, Vec<Tensor>)>,
    _open: OpenBlocks<'a>,
}

impl Decoder {
    /// Begins the backward pass of block `index`; the block before it will be wanted next.
    pub(crate) fn begin_backward(&self, index: usize) -> BlockBackward<'_> {
        let open = self.open_block(index, index.checked_sub(1));
        let sum = self.block_gradients().map(|blocks| (blocks.as_ref(), blocks.zeros(index)));
        BlockBackward { model: self, index, sum, _open: open }
    }

    /// Whether the graph of a block may be kept until its backward pass: it would keep the block's weights whole, and sums over
    /// ranks are in no graph.
    pub(crate) fn may_keep_graphs(&self) -> bool {
        self.sharded_blocks().is_none() && self.group().is_none()
    }
}

impl BlockBackward<'_> {
    /// Pulls a cotangent of the block's output back to its `input`, a leaf, all `[rows, len, hidden]`, and keeps the gradients of
    /// parameters. `output` is that of the forward pass, where its graph was kept; else the block is computed again.
    ///
    /// # Errors
    ///
    /// [`TorchError`] if libtorch refuses.
    pub(crate) fn pull_back(
        &mut self,
        input: &Tensor,
        output: Option<Tensor>,
        angles: &Angles,
        attend: impl FnOnce(&Tensor, &Tensor, &Tensor) -> Tensor,
        cotangent: &Tensor,
    ) -> Result<Tensor, TorchError> {
        let Self { model, index, sum, .. } = self;
        let mut pull = |pulled: (&Tensor, &Tensor), input: &Tensor| {
            if let Some((blocks, sum)) = sum {
                return blocks.pull_back(*index, pulled.0, pulled.1, input, sum);
            }
            torch_ext::backward(&[pulled.0], &[pulled.1])?;
            Ok(input.grad())
        };
        if let Some(group) = model.group() {
            let block = &model.blocks()[*index];
            return block.pull_back(input, angles, attend, (cotangent, group), pull);
        }
        let output = output.unwrap_or_else(|| model.block(*index, input, angles, attend));
        pull((&output, cotangent), input)
    }

    /// Hands the gradients on.
    pub(crate) fn finish(self) {
        if let Some((blocks, sum)) = &self.sum {
            blocks.reduce(self.index, sum);
        }
    }
}
