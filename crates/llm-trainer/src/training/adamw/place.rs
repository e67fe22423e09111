//! Place of a stepped tensor within the model's parameters.

use decoder::model::{Placement, TensorShard};

/// Place of one stepped tensor: a parameter, a tensor-parallel shard of it, or a run of elements of either.
#[derive(Debug, Clone)]
pub(super) struct Place {
    pub(super) name: String,
    /// Shape of the parameter on this rank.
    pub(super) shape: Vec<i64>,
    /// This rank's tensor-parallel shard; `None` if it has all of the parameter.
    pub(super) shard: Option<TensorShard>,
    /// True if this rank writes and counts the tensor; other ranks may hold the same values.
    pub(super) is_owner: bool,
    /// First element of a run; `None` for all elements.
    pub(super) run: Option<i64>,
}

impl Place {
    /// All that this rank has of parameter `name`, of that shape here.
    pub(super) fn of(placement: &Placement, name: &str, shape: Vec<i64>) -> Self {
        let (shard, is_owner) = (placement.shard_of(name), placement.is_owner(name));
        Self { name: name.to_owned(), shape, shard, is_owner, run: None }
    }

    /// First element of the tensor within the parameter on this rank.
    pub(super) fn start(&self) -> i64 {
        self.run.unwrap_or(0)
    }

    /// Shape of the parameter over all ranks.
    pub(super) fn full_shape(&self) -> Vec<i64> {
        self.shard.map_or(self.shape.clone(), |shard| shard.full_shape(&self.shape))
    }

    /// The name with the shard, as in `NAME[0:1/2]`: shard 1 of 2 along dimension 0.
    pub(super) fn name_with_shard(&self) -> String {
        let name = &self.name;
        match self.shard {
            None => name.clone(),
            Some(TensorShard { dimension, index, count }) => {
                format!("{name}[{dimension}:{index}/{count}]")
            }
        }
    }

    /// The place as it is written, as in `NAME[0:1/2]@START` for a run.
    pub(super) fn written(&self) -> String {
        let name = self.name_with_shard();
        self.run.map_or(name.clone(), |start| format!("{name}@{start}"))
    }
}

/// Splits a written name into the name and its part, as [`Place::name_with_shard`] writes it.
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
