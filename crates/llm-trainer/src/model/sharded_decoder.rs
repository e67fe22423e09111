//! A decoder whose blocks, or their gradients, are sharded over ranks that hold copies of it.

use std::rc::Rc;

use tch::Tensor;

use super::block::Block;
use super::block_gradients::BlockGradients;
use super::decoder::Decoder;
use super::sharded_blocks::{OpenBlocks, ShardedBlocks};
use crate::ranks::{RankError, Ranks};

impl Decoder {
    /// Cuts the blocks over ranks, and embedding and head as if they were blocks after the last: each is whole only while it is
    /// `open`. `keep` may give a tensor of the same kind and values as a block's shard to use in its place.
    ///
    /// # Panics
    ///
    /// If the device has too little memory.
    pub fn shard_blocks(&mut self, ranks: &Ranks, keep: impl FnMut(usize) -> Option<Tensor>) {
        let parameters = |block: &Block| {
            let named = block.named_parameters();
            named.into_iter().map(|(_, parameter)| parameter.shallow_clone()).collect()
        };
        let mut blocks: Vec<Vec<Tensor>> = self.blocks().iter().map(parameters).collect();
        blocks.push(vec![self.embedding().shallow_clone()]);
        if self.head_unit() > self.embedding_unit() {
            blocks.push(vec![self.head().shallow_clone()]);
        }
        self.sharded = Some(Rc::new(ShardedBlocks::cut(ranks, blocks, keep)));
    }

    /// Where the blocks are cut, what this process keeps of them.
    pub(crate) fn sharded_blocks(&self) -> Option<&Rc<ShardedBlocks>> {
        self.sharded.as_ref()
    }

    /// Makes block `index` whole for as long as the answer lives; `next` will be wanted after it. Every rank does the same
    /// in the same order; what fails is said by [`check_blocks`](Self::check_blocks).
    pub(crate) fn open_block(&self, index: usize, next: Option<usize>) -> OpenBlocks<'_> {
        self.sharded.as_ref().map_or_else(OpenBlocks::always, |sharded| sharded.open(index, next))
    }

    /// The same of the embedding.
    pub(crate) fn open_embedding(&self) -> OpenBlocks<'_> {
        self.open_block(self.embedding_unit(), Some(0))
    }

    /// The same of the head; the last block will be wanted after it if the pass `turns` there.
    pub(crate) fn open_head(&self, turns: bool) -> OpenBlocks<'_> {
        self.open_block(self.head_unit(), self.block_count().checked_sub(1).filter(|_| turns))
    }

    /// What is wanted after block `index` on the way to the head.
    pub(crate) fn after_block(&self, index: usize) -> usize {
        if index + 1 < self.block_count() { index + 1 } else { self.head_unit() }
    }

    /// The same of all blocks.
    pub(crate) fn open_blocks(&self) -> OpenBlocks<'_> {
        self.sharded.as_ref().map_or_else(OpenBlocks::always, |sharded| sharded.open_all())
    }

    /// Whether every block that was opened since the last question was whole, and every sum over ranks that hold the model
    /// together came about; otherwise nothing computed since can be used.
    ///
    /// # Errors
    ///
    /// [`RankError`] of the first that was not.
    pub(crate) fn check_blocks(&self) -> Result<(), RankError> {
        self.group().map_or(Ok(()), |group| group.check())?;
        self.sharded.as_ref().map_or(Ok(()), |sharded| sharded.check())
    }

    /// From here on the gradients of blocks, embedding and head are summed to the shards of `ranks` while the backward pass goes
    /// on. They must be whole.
    pub fn shard_gradients(&mut self, ranks: &Ranks) {
        let mut blocks: Vec<Vec<Tensor>> = Vec::new();
        // The embedding and a head of its own are summed as blocks are.
        blocks.resize_with(self.block_count() + 2, Vec::new);
        for (name, parameter) in self.trained_parameters() {
            if let Some(block) = self.unit_of(&name).and_then(|unit| blocks.get_mut(unit)) {
                block.push(parameter.shallow_clone());
            }
        }
        self.gradients = Some(Rc::new(BlockGradients::new(ranks, blocks)));
    }

    /// Where the gradients of blocks are summed to shards, how.
    pub(crate) fn block_gradients(&self) -> Option<&Rc<BlockGradients>> {
        self.gradients.as_ref()
    }
}
