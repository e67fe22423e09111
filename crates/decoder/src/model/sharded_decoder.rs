//! A decoder whose blocks, or their gradients, are sharded over data-parallel ranks.

use std::rc::Rc;

use tch::Tensor;

use super::block_gradients::BlockGradients;
use super::decoder::Decoder;
use super::placement::Placement;
use super::sharded_blocks::{OpenBlocks, ShardedBlocks};
use ranks::{RankError, Ranks};

impl Decoder {
    /// Shards the blocks over ranks, with embedding and head as further blocks; each is gathered only while it is
    /// `open`. `keep` may return a tensor of the same kind and values to use as the shard of a block that is trained.
    pub fn shard_blocks(&mut self, ranks: &Ranks, mut keep: impl FnMut(usize) -> Option<Tensor>) {
        // Nobody steps the weights below an adapter.
        let has_adapter = self.adapter.is_some();
        let keep = |block| keep(block).filter(|_| !has_adapter);
        let units = self.by_unit(self.named_parameters());
        self.placement.blocks = Some(Rc::new(ShardedBlocks::new(ranks, units, keep)));
    }

    /// Placement of the trained parameters.
    pub fn placement(&self) -> Placement {
        let blocks = self.placement.blocks.clone().filter(|_| self.adapter.is_none());
        Placement { blocks, ..self.placement.clone() }
    }

    /// Returns true if every parameter is on this process at all times: then blocks have one graph, with no sums over ranks in it.
    pub fn is_local(&self) -> bool {
        self.placement.blocks.is_none() && self.placement.group.is_none()
    }

    /// Gathers block `index` for the lifetime of the guard, and prefetches `next`. Every rank must make the same calls
    /// in the same order; failures are reported by [`check_blocks`](Self::check_blocks).
    pub fn open_block(&self, index: usize, next: Option<usize>) -> OpenBlocks<'_> {
        let blocks = self.placement.blocks.as_ref();
        blocks.map_or_else(OpenBlocks::default, |blocks| blocks.open(index, next))
    }

    /// Gathers the embedding, and prefetches the first block.
    pub fn open_embedding(&self) -> OpenBlocks<'_> {
        self.open_block(self.embedding_unit(), Some(0))
    }

    /// Gathers the head; if the pass `turns` there, prefetches the last block.
    pub fn open_head(&self, turns: bool) -> OpenBlocks<'_> {
        self.open_block(self.head_unit(), self.block_count().checked_sub(1).filter(|_| turns))
    }

    /// Index of the block after `index` on the way to the head, or of the head.
    pub fn after_block(&self, index: usize) -> usize {
        if index + 1 < self.block_count() { index + 1 } else { self.head_unit() }
    }

    /// Gathers all blocks.
    pub fn open_blocks(&self) -> OpenBlocks<'_> {
        let blocks = self.placement.blocks.as_ref();
        blocks.map_or_else(OpenBlocks::default, |blocks| blocks.open_all())
    }

    /// Checks that every gather and every tensor-parallel sum since the last call succeeded; otherwise nothing computed since
    /// is valid.
    ///
    /// # Errors
    ///
    /// The first [`RankError`].
    pub fn check_blocks(&self) -> Result<(), RankError> {
        let Placement { group, blocks, .. } = &self.placement;
        group.as_ref().map_or(Ok(()), |group| group.check())?;
        blocks.as_ref().map_or(Ok(()), |blocks| blocks.check())
    }

    /// From now on reduces gradients of blocks, embedding and head to the shards of `ranks` during the backward
    /// pass. The parameters must be gathered.
    pub fn shard_gradients(&mut self, ranks: &Ranks) {
        let units = self.by_unit(self.trained_parameters());
        self.placement.gradients = Some(Rc::new(BlockGradients::new(ranks, units)));
    }

    /// The tensors of each [unit](Self::unit_of), in order.
    fn by_unit(&self, parameters: Vec<(String, &Tensor)>) -> Vec<Vec<Tensor>> {
        let mut units: Vec<Vec<Tensor>> = Vec::new();
        units.resize_with(self.head_unit() + 1, Vec::new);
        for (name, parameter) in parameters {
            if let Some(unit) = self.unit_of(&name) {
                units[unit].push(parameter.shallow_clone());
            }
        }
        units
    }
}
