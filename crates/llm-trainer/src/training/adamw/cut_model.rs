//! Parameters of which other ranks hold the other parts.

use std::rc::Rc;

use crate::model::{Decoder, Part, TensorGroup};
use crate::ranks::Ranks;

/// Where a model is cut over ranks that hold it together.
#[derive(Debug)]
pub(super) struct CutModel {
    pub(super) group: Rc<TensorGroup>,
    /// Of each parameter, or piece of one, the part that this rank holds; `None` where every rank has the whole.
    pub(super) parts: Vec<Option<Part>>,
    /// Of each, whether this rank speaks for it: another may have the same.
    pub(super) speaks: Vec<bool>,
    /// Those of whose gradient each rank has a part of a sum, by the ranks to sum over.
    pub(super) partial: Vec<(Ranks, Vec<usize>)>,
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

/// The part that a name ends in, as [`AdamW::name_with_part`](super::AdamW::name_with_part) writes it, and the name before it.
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
