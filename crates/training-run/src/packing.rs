//! Packing of sequences into micro-batches that fit in memory.

/// Sequences that run through the model together, laid end to end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MicroBatch {
    /// Indices into the caller's sequences, longest first.
    pub rows: Vec<usize>,
    /// Number of tokens of all of them.
    pub tokens: usize,
}

/// Splits sequences into micro-batches of at most `budget` tokens, none of them padding.
///
/// First fit, longest first, ties by index: the result depends on the lengths alone, and no two micro-batches would fit into
/// one. A sequence longer than the budget gets a micro-batch of its own: it is never dropped, and the caller answers for the
/// memory. Every index occurs once.
///
/// ```
/// use training_run::packing::pack;
/// let parts = pack(&[3, 9, 4, 2], 10);
/// let rows: Vec<_> = parts.iter().map(|part| part.rows.clone()).collect();
/// assert_eq!(rows, [vec![1], vec![2, 0, 3]]);
/// ```
pub fn pack(lengths: &[usize], budget: usize) -> Vec<MicroBatch> {
    let mut order: Vec<usize> = (0..lengths.len()).collect();
    order.sort_by_key(|&index| std::cmp::Reverse(lengths[index]));
    let mut parts: Vec<MicroBatch> = Vec::new();
    for index in order {
        let length = lengths[index];
        let fits = |part: &&mut MicroBatch| part.tokens.saturating_add(length) <= budget;
        match parts.iter_mut().find(fits) {
            Some(part) => {
                part.rows.push(index);
                part.tokens += length;
            }
            None => parts.push(MicroBatch { rows: vec![index], tokens: length }),
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_row_occurs_once_and_no_part_of_several_rows_exceeds_the_budget(
            lengths in prop::collection::vec(0_usize..200, 0..60),
            budget in 1_usize..600,
        ) {
            let parts = pack(&lengths, budget);
            let mut rows: Vec<usize> = parts.iter().flat_map(|part| part.rows.clone()).collect();
            rows.sort_unstable();
            prop_assert_eq!(rows, (0..lengths.len()).collect::<Vec<_>>());
            for part in &parts {
                let tokens: usize = part.rows.iter().map(|&row| lengths[row]).sum();
                prop_assert_eq!(part.tokens, tokens);
                prop_assert!(part.rows.len() == 1 || tokens <= budget);
                prop_assert!(part.rows.is_sorted_by_key(|&row| std::cmp::Reverse(lengths[row])));
            }
        }

        #[test]
        fn no_two_parts_fit_in_one(
            lengths in prop::collection::vec(1_usize..200, 0..60),
            budget in 1_usize..600,
        ) {
            let parts = pack(&lengths, budget);
            for (i, first) in parts.iter().enumerate() {
                for second in &parts[i + 1..] {
                    prop_assert!(first.tokens + second.tokens > budget);
                }
            }
        }
    }
}
