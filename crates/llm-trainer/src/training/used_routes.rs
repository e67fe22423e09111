//! The experts that a pass used, recorded for later passes that replay them.

use decoder::model::Routing;
use decoder::routes::{Routes, count_rerouted};
use serde::{Deserialize, Serialize};
use tch::{Device, Kind, Tensor};

use super::packed::PackedSequences;
use super::sequence::Sequence;

/// Experts of every block of a pass, in the making.
#[derive(Debug, Default)]
pub(super) struct RouteRecord {
    /// Experts of each micro-batch in each block that has some, i32 `[tokens, per token]`; none where all are recorded before.
    used: Vec<Vec<Tensor>>,
    /// Sums of [`count_rerouted`], `[2]`.
    counts: Option<Tensor>,
}

/// The experts that a pass used.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct UsedRoutes {
    /// For each sequence: its experts, where none were recorded before.
    pub(super) added: Vec<Option<Routes>>,
    /// Number of recorded experts that the router would not have chosen.
    other: i64,
    /// Number of recorded experts.
    recorded: i64,
}

impl RouteRecord {
    /// Adds the choice of experts in the next block that micro-batch `number` has passed; `lacks` if some of its sequences come without.
    pub(super) fn add(&mut self, number: usize, lacks: bool, routing: Routing) {
        let Routing { replayed, taken: Some(taken) } = routing else { return };
        if let Some(replayed) = replayed {
            let counts = count_rerouted(&replayed, &taken);
            self.counts = Some(match self.counts.take() {
                None => counts,
                Some(before) => before + counts,
            });
        }
        let [_, used] = taken;
        if self.used.len() <= number {
            self.used.resize_with(number + 1, Vec::new);
        }
        if lacks {
            self.used[number].push(used.to_kind(Kind::Int));
        }
    }

    /// The experts of each sequence, whose tokens are in `micro_batches`.
    pub(super) fn finish(
        self,
        micro_batches: &[PackedSequences],
        sequences: &[&Sequence],
    ) -> UsedRoutes {
        let mut added = vec![None; sequences.len()];
        for (part, used) in micro_batches.iter().zip(&self.used) {
            let Some(routes) = Routes::of_blocks(used) else { continue };
            let lengths: Vec<usize> = part.rows.iter().map(|&row| sequences[row].len()).collect();
            for (&row, routes) in part.rows.iter().zip(routes.split(&lengths)) {
                added[row] = sequences[row].routes.is_none().then_some(routes);
            }
        }
        let counts = self.counts.map(|counts| counts.to_device(Device::Cpu));
        let counts = counts.and_then(|counts| Vec::<i64>::try_from(counts).ok());
        let [other, recorded] = counts.and_then(|two| two.try_into().ok()).unwrap_or_default();
        UsedRoutes { added, other, recorded }
    }
}

impl UsedRoutes {
    /// Joins the parts of all ranks, of which each has the sequences of its `shards`, of `count` in all.
    pub(super) fn joined(parts: Vec<Self>, shards: &[Vec<usize>], count: usize) -> Self {
        let mut all = Self { added: vec![None; count], ..Self::default() };
        for (part, shard) in parts.into_iter().zip(shards) {
            all.other += part.other;
            all.recorded += part.recorded;
            for (routes, &sequence) in part.added.into_iter().zip(shard) {
                all.added[sequence] = routes;
            }
        }
        all
    }

    /// Fraction of the recorded experts that the router would not have chosen; `None` if none were recorded.
    pub(super) fn rerouted_fraction(&self) -> Option<f64> {
        (self.recorded > 0).then(|| self.other as f64 / self.recorded as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The second rank has the first sequence.
    #[test]
    fn parts_of_ranks_come_back_in_the_order_of_the_batch() {
        let routes = |expert: i64| Routes::of_blocks(&[Tensor::from_slice(&[expert]).view([1, 1])]);
        let first = UsedRoutes { added: vec![routes(2), None], other: 1, recorded: 3 };
        let second = UsedRoutes { added: vec![routes(1)], other: 0, recorded: 5 };
        let all = UsedRoutes::joined(vec![first, second], &[vec![1, 2], vec![0]], 3);
        assert_eq!(all.added, [routes(1), routes(2), None]);
        assert_eq!(all.rerouted_fraction(), Some(0.125));
        assert_eq!(UsedRoutes::default().rerouted_fraction(), None);
    }
}
