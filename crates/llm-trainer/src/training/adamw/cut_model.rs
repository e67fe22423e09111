//! Parameters of which other ranks hold the other parts.

use std::rc::Rc;

use tch::Tensor;

use super::AdamW;
use super::over_ranks::gradient_of;
use crate::model::{Decoder, Part, TensorGroup};
use crate::ranks::{RankError, Ranks};
use crate::training::update::UpdateError;

/// Where a model is cut over ranks that hold it together.
#[derive(Debug)]
pub(super) struct CutModel {
    group: Rc<TensorGroup>,
    /// Of each parameter, or piece of one, the part that this rank holds; `None` where every rank has the whole.
    parts: Vec<Option<Part>>,
    /// Of each, whether this rank speaks for it: another may have the same.
    speaks: Vec<bool>,
    /// Those of whose gradient each rank has a part of a sum, by the ranks to sum over.
    partial: Vec<(Ranks, Vec<usize>)>,
}

impl CutModel {
    /// Of parameters with these names.
    pub(super) fn of(model: &Decoder, names: &[String]) -> Option<Self> {
        let group = Rc::clone(model.group()?);
        let parts = names.iter().map(|name| group.part_of(name)).collect();
        let speaks = names.iter().map(|name| group.speaks_for(name)).collect();
        let mut partial: Vec<(Ranks, Vec<usize>)> = Vec::new();
        for (index, name) in names.iter().enumerate() {
            let Some(ranks) = group.sums(name) else { continue };
            match partial.iter_mut().find(|(found, _)| found.count() == ranks.count()) {
                Some((_, indices)) => indices.push(index),
                None => partial.push((ranks.clone(), vec![index])),
            }
        }
        Some(Self { group, parts, speaks, partial })
    }
}

impl AdamW {
    /// Whether other ranks hold parts of the model.
    pub fn is_cut(&self) -> bool {
        self.cut.is_some()
    }

    /// The part of the parameter that tensor `index` is of; `None` where this rank has the whole.
    pub(super) fn part(&self, index: usize) -> Option<Part> {
        self.cut.as_ref()?.parts[index]
    }

    /// Whether this rank speaks for tensor `index`: another may have the same.
    pub(super) fn speaks_for(&self, index: usize) -> bool {
        self.cut.as_ref().is_none_or(|cut| cut.speaks[index])
    }

    /// Sums the gradients of which each rank of the model has a part.
    pub(super) fn sum_partial_gradients(&self) -> Result<(), UpdateError> {
        for (ranks, indices) in self.cut.iter().flat_map(|cut| &cut.partial) {
            let gradients: Vec<Tensor> = indices
                .iter()
                .map(|&index| match self.gradients.get(index) {
                    Some(own) => Ok(own.shallow_clone()),
                    None => gradient_of(&self.parameters[index]),
                })
                .collect::<Result<_, _>>()?;
            ranks.sum("gradients of what ranks of a model share", &gradients)?;
        }
        Ok(())
    }

    /// The name of tensor `index`, with the part that it is, as in `NAME[0:1/2]`: of dimension 0, part 1 of 2.
    pub(super) fn name_with_part(&self, index: usize) -> String {
        let name = &self.names[index];
        match self.part(index) {
            None => name.clone(),
            Some(Part { dimension, index, count }) => {
                format!("{name}[{dimension}:{index}/{count}]")
            }
        }
    }

    /// Euclidean norm of the gradient over the whole model: of what all ranks of the group hold, each number once, and of all shards
    /// of `ranks`, where the state is cut over those.
    pub(super) fn gradient_norm_over(&self, ranks: &Ranks) -> Result<f64, RankError> {
        const WHAT: &str = "norm of the gradient";
        if !self.is_cut() && !self.is_sharded() {
            return Ok(self.gradient_norm());
        }
        let mut square = self.gradient_square(|index| self.speaks_for(index));
        if self.is_sharded() {
            square = ranks.total(WHAT, square)?;
        }
        if let Some(cut) = &self.cut {
            square = cut.group.ranks().total(WHAT, square)?;
        }
        Ok(square.sqrt())
    }
}

/// The part that a name ends in, as [`AdamW::name_with_part`] writes it, and the name before it.
pub(super) fn split_part(written: &str) -> (&str, Option<Part>) {
    let parse = || {
        let (name, rest) = written.strip_suffix(']')?.rsplit_once('[')?;
        let (dimension, rest) = rest.split_once(':')?;
        let (index, count) = rest.split_once('/')?;
        let part = Part {
            dimension: dimension.parse().ok()?,
            index: index.parse().ok()?,
            count: count.parse().ok()?,
        };
        let is_part = (0..2).contains(&part.dimension) && (0..part.count).contains(&part.index);
        is_part.then_some((name, Some(part)))
    };
    parse().unwrap_or((written, None))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_read_as_it_is_written() {
        let part = Part { dimension: 1, index: 2, count: 4 };
        assert_eq!(split_part("a.weight[1:2/4]"), ("a.weight", Some(part)));
        for written in ["a.weight", "a.weight[1:4/4]", "a.weight[2:0/4]", "a[b]", "a[0:0/x]"] {
            assert_eq!(split_part(written), (written, None));
        }
    }
}
