//! Partition of sequences and prompts over the ranks.

use std::cmp::Reverse;
use std::ops::Range;

/// Partitions items so that no rank has much more work than another: the costliest first, each to the rank with the least load
/// so far. Ties go to the earlier item and to the lower rank, so that every rank computes the same partition from the costs.
///
/// Returns the items of each rank, ascending; every item occurs once. No load exceeds the mean plus one item, nor 4/3 of the
/// best partition's.
///
/// Source: Graham 1969, *Bounds on multiprocessing timing anomalies*, "longest processing time first".
///
/// ```
/// use training_run::partition::balanced_partition;
/// assert_eq!(balanced_partition(&[3, 9, 4, 2], 2), [vec![1], vec![0, 2, 3]]);
/// ```
///
/// # Panics
///
/// If there are no ranks.
pub fn balanced_partition(costs: &[u128], ranks: usize) -> Vec<Vec<usize>> {
    assert!(ranks > 0, "somebody to deal to");
    let mut order: Vec<usize> = (0..costs.len()).collect();
    order.sort_by_key(|&item| Reverse(costs[item]));
    let mut loads = vec![0_u128; ranks];
    let mut shards = vec![Vec::new(); ranks];
    for item in order {
        let least = (0..ranks).min_by_key(|&rank| loads[rank]).expect("there are ranks");
        loads[least] = loads[least].saturating_add(costs[item]);
        shards[least].push(item);
    }
    for shard in &mut shards {
        shard.sort_unstable();
    }
    shards
}

/// Range of the `count` items that `rank` has when every rank takes consecutive ones: sizes differ by one at most.
///
/// # Panics
///
/// If `rank` is not below `ranks`.
pub fn run_of(count: usize, rank: usize, ranks: usize) -> Range<usize> {
    assert!(rank < ranks, "rank {rank} of {ranks}");
    let (each, more) = (count / ranks, count % ranks);
    let first = |rank: usize| rank * each + rank.min(more);
    first(rank)..first(rank + 1)
}

/// Cost of one forward pass over a sequence, in multiply-adds of one block: `parameters` for each token, and for attention the
/// `width` of queries, keys and values for each pair of tokens.
///
/// ```text
/// cost = tokens · parameters + tokens² · width
/// ```
pub fn sequence_cost(tokens: usize, parameters: usize, width: usize) -> u128 {
    let (tokens, parameters, width) = (tokens as u128, parameters as u128, width as u128);
    tokens * parameters + tokens * tokens * width
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn every_item_is_dealt_once_and_nobody_has_more_than_the_mean_and_one_item(
            costs in prop::collection::vec(0_u128..1000, 0..50), ranks in 1_usize..9,
        ) {
            let shards = balanced_partition(&costs, ranks);
            prop_assert_eq!(shards.len(), ranks);
            let mut all = shards.concat();
            prop_assert!(shards.iter().all(|shard| shard.is_sorted()));
            all.sort_unstable();
            prop_assert_eq!(all, (0..costs.len()).collect::<Vec<_>>());
            let total: u128 = costs.iter().sum();
            let largest = costs.iter().copied().max().unwrap_or(0);
            for shard in shards {
                let load: u128 = shard.iter().map(|&item| costs[item]).sum();
                prop_assert!(load * ranks as u128 <= total + largest * ranks as u128);
            }
        }

        #[test]
        fn runs_follow_each_other_and_differ_by_one(count in 0_usize..100, ranks in 1_usize..9) {
            let runs: Vec<_> = (0..ranks).map(|rank| run_of(count, rank, ranks)).collect();
            prop_assert_eq!((runs[0].start, runs[ranks - 1].end), (0, count));
            prop_assert!(runs.windows(2).all(|pair| pair[0].end == pair[1].start));
            let sizes: Vec<usize> = runs.iter().map(ExactSizeIterator::len).collect();
            prop_assert!(sizes.iter().max().unwrap() - sizes.iter().min().unwrap() <= 1);
        }
    }

    /// A long response costs more than its tokens: attention looks at pairs.
    #[test]
    fn pairs_of_tokens_count() {
        assert_eq!(sequence_cost(10, 7, 2), 70 + 200);
        assert!(sequence_cost(2000, 100, 1) > 2 * sequence_cost(1000, 100, 1));
    }
}
