//! Placement of a decoder's parameters: on this process, sharded by `ZeRO` over data-parallel ranks, or split over tensor-parallel ranks.

use std::rc::Rc;

use model_files::model_config::ModelConfig;
use tch::Tensor;
use torch_ext::size;

use super::block_gradients::BlockGradients;
use super::error::DecoderError;
use super::sharded_blocks::ShardedBlocks;
use super::tensor_group::TensorGroup;
use super::tensor_shard::{ShardSpec, TensorShard};
use ranks::{RankError, Ranks};

/// Placement of a decoder's parameters and gradients. With a single process each method is trivial, so callers need not ask.
#[derive(Debug, Clone, Default)]
pub struct Placement {
    /// This process's shards of the blocks, if they are sharded over ranks.
    pub(super) blocks: Option<Rc<ShardedBlocks>>,
    /// Reducer of block gradients to shards, if they are sharded.
    pub(super) gradients: Option<Rc<BlockGradients>>,
    pub(super) group: Option<Rc<TensorGroup>>,
}

impl Placement {
    /// A model of this shape, split over ranks if there are several; all of them must call it.
    pub(super) fn split_over(ranks: &Ranks, config: &ModelConfig) -> Result<Self, DecoderError> {
        let group = (ranks.count() > 1).then(|| TensorGroup::new(ranks, config)).transpose()?;
        Ok(Self { group: group.map(Rc::new), ..Self::default() })
    }

    /// This rank's tensor-parallel shard of parameter `name`; `None` if this rank has all of it.
    pub fn shard_of(&self, name: &str) -> Option<TensorShard> {
        let (group, spec) = (self.group.as_ref()?, ShardSpec::of(name));
        let count = if spec.by_key_heads { size(group.key_value_shards()) } else { group.count() };
        let index = group.index() * count / group.count();
        (count > 1).then_some(TensorShard { dimension: spec.dimension?, index, count })
    }

    /// Copies this rank's tensor-parallel shard out of the full parameter `name`.
    pub(super) fn local(&self, name: &str, full: Tensor) -> Tensor {
        match self.shard_of(name) {
            None => full,
            Some(shard) => shard.of(&full),
        }
    }

    /// Gathers the full parameter `name` from the tensor-parallel shards of all ranks.
    pub(super) fn full(&self, name: &str, local: &Tensor) -> Tensor {
        let Some((group, shard)) = self.group.as_ref().zip(self.shard_of(name)) else {
            return local.shallow_clone();
        };
        // Neighbours hold copies of one shard.
        let copies = usize::try_from(group.count() / shard.count).expect("a number of processes");
        let parts = group.gather(local).unbind(0).into_iter().step_by(copies);
        Tensor::cat(&parts.collect::<Vec<_>>(), shard.dimension)
    }

    /// Returns true if this rank writes and counts its part of parameter `name`; other tensor-parallel ranks may hold copies.
    pub fn is_owner(&self, name: &str) -> bool {
        self.group.as_ref().is_none_or(|group| {
            let shards = self.shard_of(name).map_or(1, |shard| shard.count);
            group.index() % (group.count() / shards) == 0
        })
    }

    /// The ranks over which gradients of parameter `name` must be summed, if this rank's is a partial sum.
    pub fn partial_sum(&self, name: &str) -> Option<&Ranks> {
        let (group, spec) = (self.group.as_ref()?, ShardSpec::of(name));
        let among = if spec.by_key_heads { &group.kv_replicas } else { &group.ranks };
        let is_part_of_sum = spec.by_key_heads || spec.has_partial_gradient;
        (is_part_of_sum && among.count() > 1).then_some(among)
    }

    /// Sum of a number over the tensor-parallel ranks.
    ///
    /// # Errors
    ///
    /// [`RankError`] if a rank does not answer.
    pub fn total(&self, what: &'static str, local: f64) -> Result<f64, RankError> {
        self.group.as_ref().map_or(Ok(local), |group| group.ranks.total(what, local))
    }

    /// This rank's shard of the parameters of a [unit](super::Decoder::unit_of), if they are sharded.
    pub fn shard_of_unit(&self, unit: usize) -> Option<&Tensor> {
        self.blocks.as_ref().map(|blocks| blocks.shard(unit))
    }

    /// This rank's shard of the gradient of a unit, summed over all ranks, if the backward pass has reduced it.
    ///
    /// # Errors
    ///
    /// [`RankError`] if a rank failed in this reduction or an earlier one.
    pub fn take_gradient_of_unit(&self, unit: usize) -> Result<Option<Tensor>, RankError> {
        self.gradients.as_ref().map(|gradients| gradients.take(unit)).transpose()
    }
}
