//! Optimiser state of which each rank keeps a shard.
//!
//! Stage 1 of `ZeRO` ([arXiv:1910.02054](https://arxiv.org/abs/1910.02054)): each rank keeps master weights and moments only
//! for its shard of each unit ([`layout`](super::layout)). Gradients are reduce-scattered to the shards, and updated parameters
//! all-gathered.

use std::rc::Rc;

use tch::{Kind, Tensor};

use super::layout::Unit;
use super::precision::is_narrow;
use crate::host_memory::Memory;
use crate::training::split_weight::nearest;
use decoder::model::{BlockGradients, ShardedBlocks};
use ranks::{RankError, Ranks};

/// Layout of the sharded state.
#[derive(Debug)]
pub(super) struct Sharding {
    pub(super) ranks: Ranks,
    /// The model's parameters.
    pub(super) parameters: Vec<Tensor>,
    /// Shapes of the unsharded parameters.
    pub(super) shapes: Vec<Vec<i64>>,
    pub(super) units: Vec<Unit>,
    /// Memory of the state, to which gradients are copied.
    pub(super) memory: Memory,
    /// The model's unit behind each unit, if there is one.
    pub(super) of_model: Vec<Option<usize>>,
    /// This rank's shard of each unit, `[elements]`, as it is stepped: the parameters, or master weights in their place. The
    /// optimiser's tensors are views of it.
    pub(super) flat: Vec<Tensor>,
    /// Parameter index of each piece.
    pub(super) owners: Vec<usize>,
    /// The model's blocks, if they are sharded too; updated parameters go there.
    pub(super) blocks: Option<Rc<ShardedBlocks>>,
    /// Block gradients that the backward pass has already summed, if it does so.
    pub(super) gradients: Option<Rc<BlockGradients>>,
}

impl Sharding {
    /// Shape of the parameter to which piece `index` belongs.
    pub(super) fn shape(&self, index: usize) -> &[i64] {
        &self.shapes[self.owners[index]]
    }

    /// Number of parameters.
    pub(super) fn parameters(&self) -> usize {
        self.parameters.len()
    }

    /// This rank's shard of the sum of a unit's gradients.
    pub(super) fn gradient(
        &self,
        unit: &Unit,
        of_model: Option<usize>,
    ) -> Result<Tensor, RankError> {
        if let (Some(gradients), Some(of_model)) = (&self.gradients, of_model) {
            return gradients.take(of_model);
        }
        let gradient_of = |parameter: &Tensor| {
            let gradient = parameter.grad();
            let gradient = if gradient.defined() { gradient } else { parameter.zeros_like() };
            if is_narrow(parameter) { gradient.to_kind(Kind::Float) } else { gradient }
        };
        let _no_grad = tch::no_grad_guard();
        let parts: Vec<Tensor> =
            self.parameters[unit.parameters.clone()].iter().map(gradient_of).collect();
        self.ranks.sum_shard("sum of gradients", &parts)
    }

    /// Gathers every parameter from the shards of all ranks.
    pub(super) fn gather_parameters(&self) -> Result<(), RankError> {
        let _no_grad = tch::no_grad_guard();
        for ((unit, of_model), stepped) in self.units.iter().zip(&self.of_model).zip(&self.flat) {
            if let (Some(blocks), Some(of_model)) = (&self.blocks, *of_model) {
                let shard = blocks.shard(of_model);
                // Tensors of one kind are the same tensor.
                if shard.kind() != stepped.kind() {
                    shard.shallow_clone().copy_(&nearest(stepped));
                } else if self.memory.is_host() {
                    shard.shallow_clone().copy_(stepped);
                }
                continue;
            }
            let parameters = &self.parameters[unit.parameters.clone()];
            let is_own = stepped.kind() == parameters[0].kind();
            let stepped = if is_own { stepped.shallow_clone() } else { nearest(stepped) };
            let stepped = stepped.to_device(parameters[0].device());
            let gathered = self.ranks.gather_shards("updated parameters", &stepped)?;
            let mut first = 0;
            for parameter in parameters {
                let values = gathered.narrow(0, first, size(parameter)).view_as(parameter);
                parameter.shallow_clone().copy_(&values);
                first += size(parameter);
            }
        }
        Ok(())
    }
}

/// Number of elements of a tensor.
pub(super) fn size(tensor: &Tensor) -> i64 {
    i64::try_from(tensor.numel()).expect("a tensor's size")
}
