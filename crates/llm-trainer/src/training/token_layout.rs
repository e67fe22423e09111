//! Ragged columns: one value per response token, sequence after sequence, without padding.

use std::ops::Range;

use super::sequence::Sequence;

/// Maps sequences to ranges of the columns that hold one value for each of their response tokens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TokenLayout {
    /// Number of response tokens of each sequence, `[sequences]`.
    lengths: Vec<usize>,
    /// First token of each sequence, then the number of all tokens, `[sequences + 1]`.
    bounds: Vec<usize>,
}

impl TokenLayout {
    /// The layout of columns over the response tokens of `sequences`.
    pub(super) fn of<'a>(sequences: impl IntoIterator<Item = &'a Sequence>) -> Self {
        Self::new(sequences.into_iter().map(|sequence| sequence.response.len()).collect())
    }

    /// The layout of sequences with these numbers of response tokens, `[sequences]`.
    pub(super) fn new(lengths: Vec<usize>) -> Self {
        let ends = lengths.iter().scan(0, |end, length| {
            *end += length;
            Some(*end)
        });
        let bounds = std::iter::once(0).chain(ends).collect();
        Self { lengths, bounds }
    }

    /// Number of response tokens of each sequence, `[sequences]`.
    pub(super) fn lengths(&self) -> &[usize] {
        &self.lengths
    }

    /// Number of response tokens of all sequences.
    pub(super) fn tokens(&self) -> usize {
        self.bounds[self.lengths.len()]
    }

    /// Column range of one sequence.
    pub(super) fn range(&self, sequence: usize) -> Range<usize> {
        self.span(sequence..sequence + 1)
    }

    /// Column range of neighbouring sequences.
    pub(super) fn span(&self, sequences: Range<usize>) -> Range<usize> {
        self.bounds[sequences.start]..self.bounds[sequences.end]
    }

    /// Index of the sequence to which a token belongs.
    pub(super) fn sequence_of(&self, token: usize) -> usize {
        self.bounds.partition_point(|&first| first <= token) - 1
    }

    /// Splits a column into the parts of each sequence, in order.
    pub(super) fn split<'c>(&self, column: &'c [f64]) -> impl Iterator<Item = &'c [f64]> {
        self.bounds.windows(2).map(|bounds| &column[bounds[0]..bounds[1]])
    }

    /// The sum of a column over each sequence, `[sequences]`.
    pub(super) fn sums(&self, column: &[f64]) -> Vec<f64> {
        self.split(column).map(|of_sequence| of_sequence.iter().sum()).collect()
    }

    /// The parts of a column that belong to the `chosen` sequences, in their order.
    pub(super) fn select(&self, column: &[f64], chosen: &[usize]) -> Vec<f64> {
        chosen.iter().flat_map(|&index| column[self.range(index)].iter().copied()).collect()
    }

    /// Writes `values`, as [`select`](Self::select) returns them for `chosen`, back to a column.
    ///
    /// # Panics
    ///
    /// If the number of values is not the number of tokens of the chosen sequences.
    pub(super) fn scatter(&self, values: &[f64], chosen: &[usize], column: &mut [f64]) {
        let mut rest = values;
        for &index in chosen {
            let (of_sequence, after) = rest.split_at(self.lengths[index]);
            column[self.range(index)].copy_from_slice(of_sequence);
            rest = after;
        }
        assert!(rest.is_empty(), "a value more than tokens");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COLUMN: [f64; 6] = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0];

    #[test]
    fn empty_sequences_have_no_tokens_and_others_all() {
        let layout = TokenLayout::new(vec![0, 2, 0, 3, 1, 0]);
        assert_eq!(layout.tokens(), 6);
        assert_eq!(layout.split(&COLUMN).collect::<Vec<_>>().concat(), COLUMN);
        assert_eq!(layout.sums(&COLUMN), [0.0, 3.0, 0.0, 12.0, 6.0, 0.0]);
        let owners: Vec<usize> = (0..6).map(|token| layout.sequence_of(token)).collect();
        assert_eq!(owners, [1, 1, 3, 3, 3, 4]);
        assert_eq!(layout.span(1..4), 0..5);
    }

    #[test]
    fn what_is_selected_goes_back_to_its_places() {
        let layout = TokenLayout::new(vec![2, 1, 3]);
        let chosen = [2, 0];
        let selected = layout.select(&COLUMN, &chosen);
        assert_eq!(selected, [4.0, 5.0, 6.0, 1.0, 2.0]);
        let mut column = vec![0.0; 6];
        layout.scatter(&selected, &chosen, &mut column);
        assert_eq!(column, [1.0, 2.0, 0.0, 4.0, 5.0, 6.0]);
    }
}
