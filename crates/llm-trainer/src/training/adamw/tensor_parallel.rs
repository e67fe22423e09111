//! Parameters that are split over tensor-parallel ranks.

use std::rc::Rc;

use decoder::model::{Decoder, TensorGroup, TensorShard};
use ranks::Ranks;

/// The split of a model over tensor-parallel ranks.
#[derive(Debug)]
pub(super) struct TensorParallel {
    pub(super) group: Rc<TensorGroup>,
    /// This rank's part of each parameter, or piece of one; `None` where every rank has all of it.
    pub(super) shards: Vec<Option<TensorShard>>,
    /// True for each parameter that this rank writes and counts; other ranks may hold the same values.
    pub(super) is_owner: Vec<bool>,
    /// Parameters whose gradient is a partial sum on each rank, by the ranks to sum over.
    pub(super) partial: Vec<(Ranks, Vec<usize>)>,
}

impl TensorParallel {
    /// The split of parameters with these names; `None` if the model is not split.
    pub(super) fn of(model: &Decoder, names: &[String]) -> Option<Self> {
        let group = Rc::clone(model.group()?);
        let shards = names.iter().map(|name| group.shard_of(name)).collect();
        let is_owner = names.iter().map(|name| group.is_owner(name)).collect();
        let mut partial: Vec<(Ranks, Vec<usize>)> = Vec::new();
        for (index, name) in names.iter().enumerate() {
            let Some(ranks) = group.sums(name) else { continue };
            match partial.iter_mut().find(|(other, _)| other.count() == ranks.count()) {
                Some((_, indices)) => indices.push(index),
                None => partial.push((ranks.clone(), vec![index])),
            }
        }
        Some(Self { group, shards, is_owner, partial })
    }
}

/// Splits a written name into the name and its part, as [`AdamW::name_with_shard`](super::AdamW::name_with_shard) writes it.
pub(super) fn split_shard(written: &str) -> (&str, Option<TensorShard>) {
    let parse = || {
        let (name, rest) = written.strip_suffix(']')?.rsplit_once('[')?;
        let (dimension, rest) = rest.split_once(':')?;
        let (index, count) = rest.split_once('/')?;
        let shard = TensorShard {
            dimension: dimension.parse().ok()?,
            index: index.parse().ok()?,
            count: count.parse().ok()?,
        };
        let is_shard = (0..2).contains(&shard.dimension) && (0..shard.count).contains(&shard.index);
        is_shard.then_some((name, Some(shard)))
    };
    parse().unwrap_or((written, None))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_read_as_it_is_written() {
        let shard = TensorShard { dimension: 1, index: 2, count: 4 };
        assert_eq!(split_shard("a.weight[1:2/4]"), ("a.weight", Some(shard)));
        for written in ["a.weight", "a.weight[1:4/4]", "a.weight[2:0/4]", "a[b]", "a[0:0/x]"] {
            assert_eq!(split_shard(written), (written, None));
        }
    }
}
