//! One value per token, stored as seldom as it changes.

use std::ops::Range;

use super::real::Real;

/// One value per token: one for all, one for each sequence, or one for each.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Spread {
    /// One value for all tokens.
    Uniform(f64),
    /// One value for each sequence; `ends` are the positions at which their tokens end.
    PerSequence { values: Vec<f64>, ends: Vec<usize> },
    /// One value for each token.
    PerToken(Vec<f64>),
}

impl Spread {
    /// One value for the tokens of each sequence.
    pub(crate) fn per_sequence(values: Vec<f64>, lengths: &[usize]) -> Self {
        let ends = lengths.iter().scan(0, |end, length| {
            *end += length;
            Some(*end)
        });
        Self::PerSequence { values, ends: ends.collect() }
    }

    /// Writes the values of `tokens` to `into`, which is as long.
    #[inline(always)]
    pub(crate) fn fill<R: Real>(&self, tokens: Range<usize>, into: &mut [R]) {
        match self {
            Self::Uniform(value) => into.fill(R::of(*value)),
            Self::PerSequence { values, ends } => {
                let mut position = tokens.start;
                let mut sequence = ends.partition_point(|&end| end <= position);
                while position < tokens.end {
                    let until = ends[sequence].min(tokens.end);
                    into[position - tokens.start..until - tokens.start]
                        .fill(R::of(values[sequence]));
                    (position, sequence) = (until, sequence + 1);
                }
            }
            Self::PerToken(values) => {
                for (into, value) in std::iter::zip(into, &values[tokens]) {
                    *into = R::of(*value);
                }
            }
        }
    }

    /// The values of `tokens`, `[tokens]`.
    pub(crate) fn values(&self, tokens: Range<usize>) -> Vec<f64> {
        let mut values = vec![0.0; tokens.len()];
        self.fill(tokens, &mut values);
        values
    }
}
