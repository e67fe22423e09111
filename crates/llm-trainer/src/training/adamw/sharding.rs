//! Optimiser state of which each rank keeps a shard.
//!
//! Stage 1 of `ZeRO` ([arXiv:1910.02054](https://arxiv.org/abs/1910.02054)): each rank keeps master weights and moments only
//! for its shard of each unit. Gradients are reduce-scattered to the shards, and updated parameters all-gathered.
//!
//! Parameters that are exchanged together make a unit: those of a block, or a single one. A unit is concatenated and split into
//! as many equal shards as there are ranks; the last shard may end in padding.

use std::ops::Range;

use tch::{Kind, Tensor};
use torch_ext::size;

use crate::host_memory::Memory;
use crate::training::split_weight::{is_narrow, nearest};
use decoder::model::{Placement, block_of};
use ranks::{RankError, Ranks};

/// Layout of the sharded state.
#[derive(Debug)]
pub(super) struct Sharding {
    pub(super) ranks: Ranks,
    pub(super) parameters: Vec<Tensor>,
    pub(super) units: Vec<UnitShard>,
    /// Memory of the state, to which gradients are copied.
    pub(super) memory: Memory,
}

/// This rank's shard of a unit.
#[derive(Debug)]
pub(super) struct UnitShard {
    /// Indices of the unit's parameters.
    pub(super) parameters: Range<usize>,
    /// The model's unit behind it, if there is one.
    pub(super) of_model: Option<usize>,
    /// Numbers of elements of the pieces of parameters in the shard, in order.
    pub(super) lengths: Vec<i64>,
    /// The shard as it is stepped, `[elements]`: parameters, or master weights in their place. The optimiser's tensors are views of it.
    pub(super) shard: Tensor,
}

impl Sharding {
    /// This rank's pieces of the sum of all gradients, in the memory of the state; the parameters' own are cleared.
    pub(super) fn take_gradients(&self, placement: &Placement) -> anyhow::Result<Vec<Tensor>> {
        let mut pieces = Vec::new();
        for unit in &self.units {
            let reduced = match unit.of_model {
                Some(of_model) => placement.take_gradient_of_unit(of_model)?,
                None => None,
            };
            let shard = reduced.map_or_else(|| self.sum_gradients(unit), Ok)?;
            pieces.extend(views(&self.memory.place(&shard), &unit.lengths));
        }
        for parameter in &self.parameters {
            torch_ext::set_gradient(parameter, None)?;
        }
        Ok(pieces)
    }

    /// This rank's shard of the sum of a unit's gradients.
    fn sum_gradients(&self, unit: &UnitShard) -> Result<Tensor, RankError> {
        let gradient_of = |parameter: &Tensor| {
            let gradient = parameter.grad();
            let gradient = if gradient.defined() { gradient } else { parameter.zeros_like() };
            if is_narrow(parameter) { gradient.to_kind(Kind::Float) } else { gradient }
        };
        let _no_grad = tch::no_grad_guard();
        let parts: Vec<Tensor> =
            self.parameters[unit.parameters.clone()].iter().map(gradient_of).collect();
        self.ranks.finish(self.ranks.start_sum_shard("sum of gradients", &parts)?)
    }

    /// Gathers every parameter from the shards of all ranks; parameters that the model shards itself are copied to its shards.
    pub(super) fn gather_parameters(&self, placement: &Placement) -> Result<(), RankError> {
        let _no_grad = tch::no_grad_guard();
        for UnitShard { parameters, of_model, shard: stepped, .. } in &self.units {
            if let Some(shard) = of_model.and_then(|unit| placement.shard_of_unit(unit)) {
                // Tensors of one kind are the same tensor.
                if shard.kind() != stepped.kind() {
                    shard.shallow_clone().copy_(&nearest(stepped));
                } else if self.memory.is_host() {
                    shard.shallow_clone().copy_(stepped);
                }
                continue;
            }
            let parameters = &self.parameters[parameters.clone()];
            let is_own = stepped.kind() == parameters[0].kind();
            let stepped = if is_own { stepped.shallow_clone() } else { nearest(stepped) };
            let stepped = stepped.to_device(parameters[0].device());
            let gathered = self.ranks.gather_shards("updated parameters", &stepped)?;
            let lengths: Vec<i64> = parameters.iter().map(|tensor| size(tensor.numel())).collect();
            for (parameter, values) in parameters.iter().zip(views(&gathered, &lengths)) {
                parameter.shallow_clone().copy_(&values.view_as(parameter));
            }
        }
        Ok(())
    }
}

/// Views of consecutive runs of a flat tensor, which may be longer.
pub(super) fn views(flat: &Tensor, lengths: &[i64]) -> Vec<Tensor> {
    let mut first = 0;
    let view = |length: &i64| {
        let view = flat.narrow(0, first, *length);
        first += length;
        view
    };
    lengths.iter().map(view).collect()
}

/// Ranges of the parameters of these names that make a unit.
pub(super) fn units(names: &[String]) -> Vec<Range<usize>> {
    let mut end = 0;
    let mut range = |unit: &[String]| {
        end += unit.len();
        end - unit.len()..end
    };
    let is_one = |a: &String, b: &String| block_of(a).is_some() && block_of(a) == block_of(b);
    names.chunk_by(is_one).map(&mut range).collect()
}

/// A run of elements of one parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Piece {
    /// Index within its unit.
    pub(super) parameter: usize,
    /// First element, in the parameter's memory order.
    pub(super) start: i64,
    pub(super) length: i64,
}

/// The pieces of the shard of `rank`, in order, of a unit whose parameters have `sizes` elements.
pub(super) fn pieces(sizes: &[i64], rank: usize, ranks: usize) -> Vec<Piece> {
    let [rank, ranks] = [rank, ranks].map(size);
    let shard = (sizes.iter().sum::<i64>() + ranks - 1) / ranks;
    let (mut pieces, mut begin) = (Vec::new(), 0);
    for (parameter, size) in sizes.iter().enumerate() {
        let end = begin + size;
        let (from, to) = (begin.max(rank * shard), end.min((rank + 1) * shard));
        if from < to {
            pieces.push(Piece { parameter, start: from - begin, length: to - from });
        }
        begin = end;
    }
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_a_unit_and_so_is_what_is_in_none() {
        let names =
            ["embed", "model.layers.0.a", "model.layers.0.b", "model.layers.10.a", "norm", "head"];
        assert_eq!(units(&names.map(str::to_owned)), [0..1, 1..3, 3..4, 4..5, 5..6]);
    }

    #[test]
    fn every_element_is_in_one_piece() {
        for (sizes, ranks) in [&[7, 2, 3, 5, 1, 4][..], &[2, 3], &[1]]
            .into_iter()
            .flat_map(|s| (1..7).map(move |r| (s, r)))
        {
            let elements: Vec<(usize, i64)> =
                (0..).zip(sizes).flat_map(|(i, &size)| (0..size).map(move |e| (i, e))).collect();
            let mut held = Vec::new();
            for rank in 0..ranks {
                let before = held.len();
                for Piece { parameter, start, length } in pieces(sizes, rank, ranks) {
                    held.extend((start..start + length).map(|element| (parameter, element)));
                }
                assert!(held.len() - before <= elements.len().div_ceil(ranks));
            }
            assert_eq!(held, elements, "{ranks} ranks");
        }
    }
}
