//! Blocks whose parameters are sharded over ranks: a block is gathered only while it is open. Embedding and head count as blocks.
//!
//! `ZeRO`, stage 3, in a layer-major loop: blocks are outside and micro-batches inside, so each block is gathered once per pass,
//! whatever the number of micro-batches. While one block is computed the next one is prefetched. Their gradients are sharded by
//! [`BlockGradients`](super::BlockGradients).
//!
//! Source: Rajbhandari et al. 2020, *`ZeRO`*, [arXiv:1910.02054](https://arxiv.org/abs/1910.02054), Sec. 5.3.

use std::cell::RefCell;
use std::ops::Range;

use tch::Tensor;
use torch_ext::size;

use ranks::{Exchange, RankError, Ranks};

#[derive(Debug)]
pub(super) struct ShardedBlocks {
    ranks: Ranks,
    blocks: Vec<ShardedBlock>,
    state: RefCell<State>,
}

#[derive(Debug)]
struct ShardedBlock {
    /// The decoder's tensors; they have no elements while the block is closed.
    parameters: Vec<Tensor>,
    shapes: Vec<Vec<i64>>,
    /// This rank's shard of all of them, flattened and padded, `[elements]`.
    shard: Tensor,
}

#[derive(Debug, Default)]
struct State {
    /// Number of openers of each block.
    open: Vec<usize>,
    /// A running gather and its block.
    coming: Option<(usize, Exchange)>,
    /// First failure; everything computed after it is invalid.
    failure: Option<RankError>,
}

/// Guard that keeps blocks gathered; by default that of a decoder without sharding.
#[derive(Debug, Default)]
#[must_use = "the blocks are closed when it is dropped"]
pub struct OpenBlocks<'a> {
    blocks: Option<&'a ShardedBlocks>,
    indices: Range<usize>,
}

impl Drop for OpenBlocks<'_> {
    fn drop(&mut self) {
        if let Some(blocks) = self.blocks {
            self.indices.clone().for_each(|index| blocks.close(index));
        }
    }
}

impl ShardedBlocks {
    /// Shards blocks, each given by its parameters, and closes all. `keep` may return a tensor of the same kind and values to use as a
    /// block's shard.
    pub(crate) fn new(
        ranks: &Ranks,
        parameters_of_blocks: Vec<Vec<Tensor>>,
        mut keep: impl FnMut(usize) -> Option<Tensor>,
    ) -> Self {
        let _no_grad = tch::no_grad_guard();
        let count = parameters_of_blocks.len();
        let shard_block = |(index, parameters): (usize, Vec<Tensor>)| {
            let shapes = parameters.iter().map(Tensor::size).collect();
            let shard = keep(index).unwrap_or_else(|| ranks.local_shard(&parameters));
            ShardedBlock { parameters, shapes, shard }
        };
        let blocks: Vec<ShardedBlock> =
            parameters_of_blocks.into_iter().enumerate().map(shard_block).collect();
        let state = State { open: vec![0; count], ..State::default() };
        blocks.iter().for_each(ShardedBlock::empty);
        Self { ranks: ranks.clone(), blocks, state: RefCell::new(state) }
    }

    /// Gathers block `index`, and prefetches `next`.
    pub(crate) fn open(&self, index: usize, next: Option<usize>) -> OpenBlocks<'_> {
        let mut state = self.state.borrow_mut();
        state.open[index] += 1;
        if state.open[index] == 1 {
            let coming = match state.coming.take() {
                Some((found, coming)) if found == index => Ok(coming),
                _ => self.send_for(index),
            };
            match coming.and_then(|coming| self.ranks.finish(coming)) {
                Ok(whole) => self.blocks[index].fill(&whole),
                Err(error) => {
                    state.failure.get_or_insert(error);
                    let ShardedBlock { shard, .. } = &self.blocks[index];
                    self.blocks[index].fill(&shard.zeros_like().repeat([size(self.ranks.count())]));
                }
            }
        }
        if let Some(next) = next.filter(|&next| state.open[next] == 0 && state.failure.is_none()) {
            match self.send_for(next) {
                Ok(coming) => state.coming = Some((next, coming)),
                Err(error) => state.failure = Some(error),
            }
        }
        OpenBlocks { blocks: Some(self), indices: index..index + 1 }
    }

    pub(crate) fn open_all(&self) -> OpenBlocks<'_> {
        let count = self.blocks.len();
        for index in 0..count {
            // Closed by the one guard for all.
            std::mem::forget(self.open(index, (index + 1 < count).then_some(index + 1)));
        }
        OpenBlocks { blocks: Some(self), indices: 0..count }
    }

    /// Returns the first failure since the last call; everything computed after it is invalid.
    pub(crate) fn check(&self) -> Result<(), RankError> {
        self.state.borrow_mut().failure.take().map_or(Ok(()), Err)
    }

    /// This rank's shard of a block, which its optimiser steps.
    pub(super) fn shard(&self, index: usize) -> &Tensor {
        &self.blocks[index].shard
    }

    fn send_for(&self, index: usize) -> Result<Exchange, RankError> {
        self.ranks.start_gather_shards("parameters of a block", &self.blocks[index].shard)
    }

    fn close(&self, index: usize) {
        let mut state = self.state.borrow_mut();
        state.open[index] -= 1;
        if state.open[index] == 0 {
            self.blocks[index].empty();
        }
    }
}

impl ShardedBlock {
    /// Makes the parameters views of `whole`, `[elements]`.
    fn fill(&self, whole: &Tensor) {
        let _no_grad = tch::no_grad_guard();
        let mut first = 0;
        for (parameter, shape) in self.parameters.iter().zip(&self.shapes) {
            let count = shape.iter().product();
            // The handle is another, the tensor that it stands for the decoder's.
            parameter
                .shallow_clone()
                .set_data(&whole.narrow(0, first, count).view(shape.as_slice()));
            first += count;
        }
    }

    fn empty(&self) {
        let _no_grad = tch::no_grad_guard();
        for parameter in &self.parameters {
            let nothing = Tensor::zeros([0], (parameter.kind(), parameter.device()));
            parameter.shallow_clone().set_data(&nothing);
        }
    }
}
