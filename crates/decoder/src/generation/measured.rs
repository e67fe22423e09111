//! Entropies of the distributions that tokens are drawn from.

use tch::{Kind, Tensor};

use super::request::GenerationOptions;
use super::response::TokenEntropy;

/// Entropies of the rows, if requested.
#[derive(Default)]
pub(super) struct Measured {
    /// Entropy of each row over the full vocabulary at temperature 1; empty if nothing is measured.
    at_temperature_1: Vec<f64>,
    of_source: Vec<f64>,
    temperature: Vec<f64>,
}

impl Measured {
    pub(super) fn new(logits: &Tensor, options: &GenerationOptions) -> Self {
        if !options.measure_entropy {
            return Self::default();
        }
        let log_prob = logits.log_softmax(-1, Kind::Double);
        let at_temperature_1 = entropies(&log_prob.exp(), &log_prob);
        Self { at_temperature_1, ..Self::default() }
    }

    pub(super) fn greedy(&mut self, rows: usize) {
        self.of_source = self.at_temperature_1.clone();
        self.temperature = vec![0.0; rows];
    }

    /// Records the entropies of `probability`, `[rows, vocab]`, normalised; `log_prob` is its logarithm where it is not 0.
    pub(super) fn drawn_from(
        &mut self,
        probability: &Tensor,
        log_prob: &Tensor,
        temperature: Vec<f64>,
    ) {
        if !self.at_temperature_1.is_empty() {
            self.of_source = entropies(probability, log_prob);
        }
        self.temperature = temperature;
    }

    pub(super) fn of_row(&self, row: usize) -> Option<TokenEntropy> {
        Some(TokenEntropy {
            at_temperature_1: *self.at_temperature_1.get(row)?,
            drawn_from: self.of_source[row],
            temperature: self.temperature[row],
        })
    }
}

/// Entropy of each row of probabilities, in nats; 0 ln 0 is 0.
///
/// Uses the given logarithms: libtorch's `special_entr` would compute each again, one by one.
fn entropies(probability: &Tensor, log_prob: &Tensor) -> Vec<f64> {
    let terms = (probability * log_prob).masked_fill(&probability.eq(0.0), 0.0);
    let sums = -terms.sum_dim_intlist(-1, false, Kind::Double);
    sums.try_into().expect("a one-dimensional tensor of f64")
}
