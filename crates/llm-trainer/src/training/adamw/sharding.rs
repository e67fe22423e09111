//! Optimiser state of which each rank keeps a shard.
//!
//! As by stage 1 of `ZeRO` ([arXiv:1910.02054](https://arxiv.org/abs/1910.02054)), each rank keeps master weights and moments of
//! its shard of each unit ([`layout`](super::layout)) alone: gradients are summed to where they are needed, and the parameters
//! gathered again.

use std::rc::Rc;

use tch::{Kind, Tensor};

use super::layout::Unit;
use super::precision::is_narrow;
use crate::host_memory::Memory;
use crate::model::{BlockGradients, ShardedBlocks};
use crate::ranks::{RankError, Ranks};
use crate::training::split_weight::nearest;

/// How the state is cut.
#[derive(Debug)]
pub(super) struct Sharding {
    pub(super) ranks: Ranks,
    /// The model's own.
    pub(super) parameters: Vec<Tensor>,
    /// Their shapes while they are whole.
    pub(super) shapes: Vec<Vec<i64>>,
    pub(super) units: Vec<Unit>,
    /// Where the state lies, and gradients come to.
    pub(super) memory: Memory,
    /// Of each unit, which one of the model's it is, if one.
    pub(super) of_model: Vec<Option<usize>>,
    /// What is stepped of this rank's shard of each unit, `[elements]`: the parameters, or master weights in their place. The
    /// optimiser's own tensors are views of it.
    pub(super) flat: Vec<Tensor>,
    /// Which parameter each of these is of.
    pub(super) owners: Vec<usize>,
    /// The model's blocks, where those are cut too: there updated parameters go.
    pub(super) blocks: Option<Rc<ShardedBlocks>>,
    /// Where the gradients of blocks come from, where the backward pass has summed them already.
    pub(super) gradients: Option<Rc<BlockGradients>>,
}

impl Sharding {
    /// Shape of the parameter that piece `index` is of.
    pub(super) fn shape(&self, index: usize) -> &[i64] {
        &self.shapes[self.owners[index]]
    }

    /// Parameters in all.
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
        let of = |parameter: &Tensor| {
            let gradient = parameter.grad();
            let gradient = if gradient.defined() { gradient } else { parameter.zeros_like() };
            if is_narrow(parameter) { gradient.to_kind(Kind::Float) } else { gradient }
        };
        let _no_grad = tch::no_grad_guard();
        let parts: Vec<Tensor> = self.parameters[unit.parameters.clone()].iter().map(of).collect();
        self.ranks.sum_shard("sum of gradients", &parts)
    }

    /// Brings every parameter from the shards of all ranks.
    pub(super) fn gather_parameters(&self) -> Result<(), RankError> {
        let _no_grad = tch::no_grad_guard();
        for ((unit, of_model), own) in self.units.iter().zip(&self.of_model).zip(&self.flat) {
            if let (Some(blocks), Some(of_model)) = (&self.blocks, *of_model) {
                let shard = blocks.shard(of_model);
                // Where they are of one kind, they are one tensor.
                if shard.kind() != own.kind() {
                    shard.shallow_clone().copy_(&nearest(own));
                } else if self.memory.is_host() {
                    shard.shallow_clone().copy_(own);
                }
                continue;
            }
            let parameters = &self.parameters[unit.parameters.clone()];
            let is_own = own.kind() == parameters[0].kind();
            let own = if is_own { own.shallow_clone() } else { nearest(own) };
            let own = own.to_device(parameters[0].device());
            let whole = self.ranks.gather_shards("updated parameters", &own)?;
            let mut first = 0;
            for parameter in parameters {
                let values = whole.narrow(0, first, size(parameter)).view_as(parameter);
                parameter.shallow_clone().copy_(&values);
                first += size(parameter);
            }
        }
        Ok(())
    }
}

/// Elements of a tensor.
pub(super) fn size(tensor: &Tensor) -> i64 {
    i64::try_from(tensor.numel()).expect("a tensor's size")
}
