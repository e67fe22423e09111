//! Measures the entropy change of an update on fixed states, and predicts it to first order from the change in logits.

use tch::{Kind, Tensor};

use super::policy_pass::{PolicyPass, Sequence};

/// Bytes of one log-probability of a probe.
const BYTES_PER_LOGIT: usize = 4;

/// Full distributions of the policy at the states of a few sequences, before an update.
#[derive(Debug)]
pub struct EntropyProbe {
    sequences: Vec<Sequence>,
    log_prob: Vec<Tensor>,
}

/// Entropy change of one update, as means over the probe's states, in nats per token.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EntropyChange {
    /// `H(after) - H(before)`.
    pub measured: f64,
    /// `-Cov_{a~π}(log π(a), Δz_a)`, with `Δz` the actual change in logits: Lemma 1, `docs/theory.md#lemma-1`.
    pub predicted_lemma1: f64,
    /// Number of response tokens whose states were probed.
    pub tokens: usize,
}

impl EntropyProbe {
    /// Records distributions at response tokens of evenly spaced sequences, as many as fit in `bytes`.
    ///
    /// Returns `None` if not even one token fits, or there are none.
    pub fn before(pass: &PolicyPass<'_>, sequences: &[&Sequence], bytes: usize) -> Option<Self> {
        let vocab = pass.model.config().vocab_size;
        let budget = bytes / (BYTES_PER_LOGIT * vocab);
        let chosen = evenly_spaced_within(sequences, budget);
        if chosen.is_empty() {
            return None;
        }
        let log_prob = pass.distributions(&chosen.iter().collect::<Vec<_>>());
        Some(Self { sequences: chosen, log_prob })
    }

    /// Measures the change against the policy after the update.
    pub fn after(&self, pass: &PolicyPass<'_>) -> EntropyChange {
        let _no_grad = tch::no_grad_guard();
        let sequences: Vec<&Sequence> = self.sequences.iter().collect();
        let (mut measured, mut predicted) = (0.0, 0.0);
        for (before, after) in self.log_prob.iter().zip(pass.distributions(&sequences)) {
            let (before, after) = (before.to_kind(Kind::Double), after.to_kind(Kind::Double));
            // Log-probabilities differ from logits by a constant per state, which leaves covariances unchanged.
            let step = &after - &before;
            let prob = before.exp();
            let mean = |x: &Tensor| (&prob * x).sum_dim_intlist(-1, true, Kind::Double);
            let covariance = mean(&((&before - mean(&before)) * (&step - mean(&step))));
            predicted -= covariance.sum(Kind::Double).double_value(&[]);
            let entropy = |log_prob: &Tensor| -(log_prob.exp() * log_prob).sum(Kind::Double);
            measured += (entropy(&after) - entropy(&before)).double_value(&[]);
        }
        let tokens = self.sequences.iter().map(|sequence| sequence.response.len()).sum();
        let mean = |sum: f64| sum / tokens as f64;
        EntropyChange { measured: mean(measured), predicted_lemma1: mean(predicted), tokens }
    }
}

/// Evenly spaced sequences of the batch, with at most `budget` response tokens in total.
///
/// The last one may be truncated: under causal attention, later tokens do not change a state.
fn evenly_spaced_within(sequences: &[&Sequence], budget: usize) -> Vec<Sequence> {
    let total: usize = sequences.iter().map(|sequence| sequence.response.len()).sum();
    let stride = total.div_ceil(budget.max(1)).max(1);
    let mut left = budget;
    let mut chosen = Vec::new();
    let candidates = sequences.iter().filter(|sequence| !sequence.response.is_empty());
    for sequence in candidates.step_by(stride) {
        let taken = sequence.response.len().min(left);
        if taken == 0 {
            break;
        }
        left -= taken;
        chosen.push(Sequence::new(sequence.prompt.clone(), sequence.response[..taken].to_vec()));
    }
    chosen
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lengths(response_lengths: &[usize], budget: usize) -> Vec<usize> {
        let all: Vec<Sequence> = response_lengths
            .iter()
            .map(|&length| Sequence::new(vec![1], vec![2; length]))
            .collect();
        let all: Vec<&Sequence> = all.iter().collect();
        evenly_spaced_within(&all, budget).iter().map(|s| s.response.len()).collect()
    }

    #[test]
    fn everything_is_probed_where_it_fits() {
        assert_eq!(lengths(&[3, 0, 4], 7), [3, 4]);
    }

    #[test]
    fn a_response_longer_than_the_budget_is_cut_not_dropped() {
        assert_eq!(lengths(&[300, 200], 110), [110]);
        assert_eq!(lengths(&[4, 4, 4, 4], 6), [4, 2]);
        assert_eq!(lengths(&[4, 9, 4], 10), [4, 4]);
        assert!(lengths(&[4], 0).is_empty());
    }
}
