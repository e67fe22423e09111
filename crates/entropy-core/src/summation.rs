//! Compensated summation: sums over a vocabulary lose no digits to their length.

/// Sum with a running compensation for the rounding of each addition (Knuth's two-sum), so that the
/// relative error does not grow with the number of terms.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Accumulator {
    sum: f64,
    lost: f64,
}

impl Accumulator {
    pub(crate) fn add(&mut self, term: f64) {
        let sum = self.sum + term;
        let of_term = sum - self.sum;
        self.lost += (self.sum - (sum - of_term)) + (term - of_term);
        self.sum = sum;
    }

    pub(crate) fn total(self) -> f64 {
        self.sum + self.lost
    }
}

/// Compensated sum of `terms`; 0 for none.
pub(crate) fn sum(terms: impl IntoIterator<Item = f64>) -> f64 {
    let mut accumulator = Accumulator::default();
    for term in terms {
        accumulator.add(term);
    }
    accumulator.total()
}

/// Arithmetic mean of `values`; 0 for none.
pub(crate) fn mean(values: &[f64]) -> f64 {
    if values.is_empty() { 0.0 } else { sum(values.iter().copied()) / values.len() as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_term_survives_between_two_large_ones() {
        assert!((sum([1e16, 1.0, -1e16]) - 1.0).abs() < f64::EPSILON);
    }
}
