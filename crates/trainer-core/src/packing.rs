//! Sequences to micro-batches that fit in memory.

/// Sequences that run through the model together, padded to the longest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MicroBatch {
    /// Indices into the caller's sequences, longest first.
    pub rows: Vec<usize>,
    /// Length of the longest row, in tokens: the padded width.
    pub width: usize,
}

impl MicroBatch {
    /// Tokens it occupies, padding included.
    pub fn padded_tokens(&self) -> usize {
        self.rows.len() * self.width
    }
}

/// Splits sequences into micro-batches of at most `budget_tokens` padded tokens.
///
/// Rows are sorted by length (longest first, ties by index), so that a micro-batch holds sequences of like
/// length and the result depends on nothing but the lengths. A sequence longer than the budget gets a
/// micro-batch of its own: memory is the caller's promise, dropping data silently is not ours to make.
/// Every index occurs once; results are put back in order by [`scatter`].
///
/// ```
/// use trainer_core::packing::pack;
/// let parts = pack(&[3, 9, 4, 2], 10);
/// let rows: Vec<_> = parts.iter().map(|part| part.rows.clone()).collect();
/// assert_eq!(rows, [vec![1], vec![2, 0], vec![3]]);
/// ```
pub fn pack(lengths: &[usize], budget_tokens: usize) -> Vec<MicroBatch> {
    let mut order: Vec<usize> = (0..lengths.len()).collect();
    order.sort_by_key(|&index| std::cmp::Reverse(lengths[index]));
    let mut parts: Vec<MicroBatch> = Vec::new();
    for index in order {
        match parts.last_mut() {
            Some(part) if (part.rows.len() + 1) * part.width <= budget_tokens => {
                part.rows.push(index);
            }
            _ => parts.push(MicroBatch { rows: vec![index], width: lengths[index] }),
        }
    }
    parts
}

/// Puts per-row results, listed micro-batch by micro-batch, back into the caller's order.
///
/// # Panics
///
/// If `results` does not hold one value for each row of `parts`, or `parts` does not come from [`pack`].
pub fn scatter<T>(parts: &[MicroBatch], results: impl IntoIterator<Item = T>) -> Vec<T> {
    let rows: Vec<usize> = parts.iter().flat_map(|part| part.rows.iter().copied()).collect();
    let mut slots: Vec<Option<T>> = Vec::new();
    slots.resize_with(rows.len(), || None);
    let mut count = 0;
    for (result, &row) in results.into_iter().zip(&rows) {
        slots[row] = Some(result);
        count += 1;
    }
    assert_eq!(count, rows.len(), "one result per row");
    slots.into_iter().map(|slot| slot.expect("each row occurs once in what pack returns")).collect()
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
                let longest = part.rows.iter().map(|&row| lengths[row]).max().unwrap();
                prop_assert_eq!(part.width, longest);
                prop_assert!(part.rows.len() == 1 || part.rows.len() * longest <= budget);
            }
        }

        #[test]
        fn two_neighbouring_parts_never_fit_in_one(
            lengths in prop::collection::vec(1_usize..200, 0..60),
            budget in 1_usize..600,
        ) {
            for pair in pack(&lengths, budget).windows(2) {
                prop_assert!((pair[0].rows.len() + pair[1].rows.len()) * pair[0].width > budget);
            }
        }

        #[test]
        fn scatter_restores_the_order(
            lengths in prop::collection::vec(0_usize..50, 0..40),
            budget in 1_usize..200,
        ) {
            let parts = pack(&lengths, budget);
            let results = parts.iter().flat_map(|part| part.rows.iter().map(|&row| row * 10));
            let expected: Vec<usize> = (0..lengths.len()).map(|row| row * 10).collect();
            prop_assert_eq!(scatter(&parts, results), expected);
        }
    }

    #[test]
    fn a_sequence_longer_than_the_budget_stands_alone() {
        let parts = pack(&[100, 3, 3], 10);
        assert_eq!(parts[0], MicroBatch { rows: vec![0], width: 100 });
        assert_eq!(parts[1], MicroBatch { rows: vec![1, 2], width: 3 });
        assert_eq!(parts[1].padded_tokens(), 6);
    }

    #[test]
    #[should_panic(expected = "one result per row")]
    fn a_missing_result_is_a_bug() {
        scatter(&pack(&[1, 2], 10), [1]);
    }
}
