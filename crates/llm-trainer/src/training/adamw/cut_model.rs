//! Parameters of which other ranks hold the other parts.

use std::rc::Rc;

use super::AdamW;
use crate::model::{Decoder, Part, TensorGroup};
use crate::ranks::{RankError, Ranks};

/// Where a model is cut over ranks that hold it together.
#[derive(Debug)]
pub(super) struct CutModel {
    group: Rc<TensorGroup>,
    /// Of each parameter, or piece of one, the part that this rank holds; `None` where every rank has the whole.
    parts: Vec<Option<Part>>,
}

impl CutModel {
    /// Of parameters with these names.
    pub(super) fn of(model: &Decoder, names: &[String]) -> Option<Self> {
        let group = Rc::clone(model.group()?);
        let parts = names.iter().map(|name| group.part_of(name)).collect();
        Some(Self { group, parts })
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
        let is_first = self.cut.as_ref().is_none_or(|cut| cut.group.index() == 0);
        is_first || self.part(index).is_some()
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

    /// Euclidean norm of the gradient over the whole model: of the parts of all ranks of the group, of what each has whole once,
    /// and of all shards of `ranks`, where the state is cut over those.
    pub(super) fn gradient_norm_over(&self, ranks: &Ranks) -> Result<f64, RankError> {
        const WHAT: &str = "norm of the gradient";
        let Some(cut) = &self.cut else {
            let own = self.gradient_norm();
            return if self.is_sharded() {
                Ok(ranks.total(WHAT, own * own)?.sqrt())
            } else {
                Ok(own)
            };
        };
        let squares = [true, false]
            .map(|is_part| self.gradient_square(|index| self.part(index).is_some() == is_part));
        let mut squares = squares.to_vec();
        if self.is_sharded() {
            let all = ranks.gather_column(WHAT, &squares)?;
            squares = (0..2).map(|column| all.iter().map(|own| own[column]).sum()).collect();
        }
        let all = cut.group.ranks().gather_column(WHAT, &squares)?;
        let of_parts: f64 = all.iter().map(|own| own[0]).sum();
        Ok((of_parts + all[0][1]).sqrt())
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
