//! Packing of sequences into micro-batches that fit in memory.

/// Splits sequences into micro-batches of at most `budget` tokens, none of them padding. Each is a list of indices of sequences,
/// longest first.
///
/// First fit, longest first, ties by index: the result depends on the lengths alone, and no two micro-batches would fit into
/// one. A sequence longer than the budget gets a micro-batch of its own: it is never dropped, and the caller answers for the
/// memory. Every index occurs once.
///
/// ```
/// use training_run::packing::pack;
/// assert_eq!(pack(&[3, 9, 4, 2], 10), [vec![1], vec![2, 0, 3]]);
/// ```
pub fn pack(lengths: &[usize], budget: usize) -> Vec<Vec<usize>> {
    let mut order: Vec<usize> = (0..lengths.len()).collect();
    order.sort_by_key(|&index| std::cmp::Reverse(lengths[index]));
    let mut parts: Vec<(usize, Vec<usize>)> = Vec::new();
    for index in order {
        let length = lengths[index];
        match parts.iter_mut().find(|(tokens, _)| tokens.saturating_add(length) <= budget) {
            Some((tokens, rows)) => {
                *tokens += length;
                rows.push(index);
            }
            None => parts.push((length, vec![index])),
        }
    }
    parts.into_iter().map(|(_, rows)| rows).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn tokens(rows: &[usize], lengths: &[usize]) -> usize {
        rows.iter().map(|&row| lengths[row]).sum()
    }

    proptest! {
        #[test]
        fn every_row_occurs_once_and_no_part_of_several_rows_exceeds_the_budget(
            lengths in prop::collection::vec(0_usize..200, 0..60),
            budget in 1_usize..600,
        ) {
            let parts = pack(&lengths, budget);
            let mut rows = parts.concat();
            rows.sort_unstable();
            prop_assert_eq!(rows, (0..lengths.len()).collect::<Vec<_>>());
            for rows in &parts {
                prop_assert!(rows.len() == 1 || tokens(rows, &lengths) <= budget);
                prop_assert!(rows.is_sorted_by_key(|&row| std::cmp::Reverse(lengths[row])));
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
                    prop_assert!(tokens(first, &lengths) + tokens(second, &lengths) > budget);
                }
            }
        }
    }
}
