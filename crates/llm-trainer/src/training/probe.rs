//! Measures the entropy change of an update on fixed states, and predicts it to first order from the change in logits.

use model_files::buffer_limits::{PROBE_LOGITS, READ_TOKENS_PER_PROBED};
use rand::Rng;
use rand::seq::{SliceRandom, index};
use tch::{Kind, Tensor};

use super::policy_pass::{PolicyPass, Sequence};
use super::sequence::TokenLayout;
use crate::host_memory::Memory;

/// States of the policy before an update, drawn at random from a step, and the head before it.
#[derive(Debug)]
pub struct EntropyProbe {
    states: ProbedStates,
    /// Final-normed hidden states before the update, `[states, hidden]`.
    hidden: Tensor,
    /// The head's weight before the update, or this rank's shard of it, in the host's memory: it is as large as a block's.
    head: Tensor,
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
    /// Records the states that predict `count` response tokens, drawn at random with `rng`; all if there are fewer.
    ///
    /// Returns `None` if there are none.
    pub fn before(
        pass: &PolicyPass<'_>,
        sequences: &[&Sequence],
        count: usize,
        rng: &mut impl Rng,
    ) -> Option<Self> {
        let states = ProbedStates::draw(sequences, count, rng)?;
        let (hidden, head) =
            states.of_policy(pass, |hidden| (hidden, Memory::Host.place(pass.model.head())));
        Some(Self { states, hidden, head })
    }

    /// Measures the change against the policy after the update.
    pub fn after(&self, pass: &PolicyPass<'_>) -> EntropyChange {
        self.states.of_policy(pass, |hidden| self.change(pass, &hidden))
    }

    /// The change from `self.hidden` to `hidden`, both `[states, hidden]`, chunk by chunk of the head.
    fn change(&self, pass: &PolicyPass<'_>, hidden: &Tensor) -> EntropyChange {
        let head = self.head.to_device(hidden.device());
        let count = self.states.tokens.len();
        let log_prob = |hidden: &Tensor, head: &Tensor| {
            let logits = pass.model.logits_with(hidden, head) / pass.temperature;
            logits.log_softmax(-1, Kind::Float).to_kind(Kind::Double)
        };
        let vocab = i64::try_from(pass.model.config().vocab_size).unwrap_or(i64::MAX);
        let rows = (i64::from(PROBE_LOGITS) / vocab).max(1);
        let (mut measured, mut predicted) = (0.0, 0.0);
        for (before, after) in self.hidden.split(rows, 0).iter().zip(hidden.split(rows, 0)) {
            let before = log_prob(before, &head);
            let after = log_prob(&after, pass.model.head());
            // Log-probabilities differ from logits by a constant per state, which leaves covariances unchanged.
            let step = &after - &before;
            let prob = before.exp();
            let mean = |x: &Tensor| (&prob * x).sum_dim_intlist(-1, true, Kind::Double);
            let covariance = mean(&((&before - mean(&before)) * (&step - mean(&step))));
            predicted -= covariance.sum(Kind::Double).double_value(&[]);
            let entropy = |log_prob: &Tensor| -(log_prob.exp() * log_prob).sum(Kind::Double);
            measured += (entropy(&after) - entropy(&before)).double_value(&[]);
        }
        let mean = |sum: f64| sum / count as f64;
        EntropyChange { measured: mean(measured), predicted_lemma1: mean(predicted), tokens: count }
    }
}

/// Response tokens, by the sequences that lead to them.
#[derive(Debug)]
struct ProbedStates {
    /// Sequences, each cut behind its last probed token: under causal attention, later tokens do not change a state.
    sequences: Vec<Sequence>,
    /// Probed tokens, ascending, in the layout of `sequences`.
    tokens: Vec<usize>,
}

impl ProbedStates {
    /// Draws `count` tokens of sequences that are drawn first, until they have [`READ_TOKENS_PER_PROBED`] times as many.
    fn draw(sequences: &[&Sequence], count: usize, rng: &mut impl Rng) -> Option<Self> {
        let mut order: Vec<usize> =
            (0..sequences.len()).filter(|&row| !sequences[row].response.is_empty()).collect();
        order.shuffle(rng);
        let mut left = count.saturating_mul(READ_TOKENS_PER_PROBED as usize);
        order.retain(|&row| {
            let is_read = left > 0;
            left = left.saturating_sub(sequences[row].len());
            is_read
        });
        order.sort_unstable();
        let read: Vec<&Sequence> = order.iter().map(|&row| sequences[row]).collect();
        let layout = TokenLayout::of(read.iter().copied());
        let mut drawn = index::sample(rng, layout.tokens(), count.min(layout.tokens())).into_vec();
        drawn.sort_unstable();

        let (mut cut, mut tokens, mut first) = (Vec::new(), Vec::new(), 0);
        for (row, sequence) in read.iter().enumerate() {
            let range = layout.range(row);
            let of_sequence = drawn.iter().filter(|token| range.contains(token));
            let places: Vec<usize> = of_sequence.map(|token| token - range.start).collect();
            let Some(last) = places.last() else { continue };
            tokens.extend(places.iter().map(|place| first + place));
            first += last + 1;
            cut.push(sequence.until(last + 1));
        }
        (!tokens.is_empty()).then_some(Self { sequences: cut, tokens })
    }

    /// Passes the final-normed states that predict the tokens, `[states, hidden]`, to `use_head`; their order is always the same.
    fn of_policy<T>(&self, pass: &PolicyPass<'_>, use_head: impl FnOnce(Tensor) -> T) -> T {
        let sequences: Vec<&Sequence> = self.sequences.iter().collect();
        pass.predicting_states(&sequences, &self.tokens, use_head)
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    use super::*;

    fn drawn(response_lengths: &[usize], count: usize, seed: u64) -> Option<ProbedStates> {
        let all: Vec<Sequence> = response_lengths
            .iter()
            .enumerate()
            .map(|(row, &length)| Sequence::new(vec![u32::try_from(row).unwrap()], vec![2; length]))
            .collect();
        let all: Vec<&Sequence> = all.iter().collect();
        ProbedStates::draw(&all, count, &mut ChaCha8Rng::seed_from_u64(seed))
    }

    fn lengths(states: &ProbedStates) -> Vec<usize> {
        states.sequences.iter().map(|sequence| sequence.response.len()).collect()
    }

    #[test]
    fn everything_is_probed_where_there_is_no_more() {
        let states = drawn(&[3, 0, 4], 7, 1).unwrap();
        assert_eq!((lengths(&states), states.tokens), (vec![3, 4], (0..7).collect()));
        assert!(drawn(&[0, 0], 7, 1).is_none() && drawn(&[3], 0, 1).is_none());
    }

    /// Every place of every response is as likely: 400 draws of 6 of 60 tokens; five standard deviations are 30.
    #[test]
    fn tokens_are_drawn_from_the_whole_step() {
        let mut places = vec![0; 60];
        for seed in 0..400 {
            let states = drawn(&[20; 3], 6, seed).unwrap();
            assert_eq!(states.tokens.len(), 6);
            let layout = TokenLayout::of(&states.sequences);
            for &token in &states.tokens {
                let row = layout.sequence_of(token);
                let sequence = usize::try_from(states.sequences[row].prompt[0]).unwrap();
                places[sequence * 20 + token - layout.range(row).start] += 1;
            }
        }
        assert!(places.iter().all(|count: &i32| (count - 40).abs() <= 30), "{places:?}");
    }

    #[test]
    fn sequences_are_read_only_as_far_as_they_are_probed() {
        let states = drawn(&[100; 50], 10, 3).unwrap();
        let read: usize = states.sequences.iter().map(Sequence::len).sum();
        assert_eq!(states.tokens.len(), 10);
        assert!(read <= 10 * READ_TOKENS_PER_PROBED as usize + 101, "{read}");
        let layout = TokenLayout::of(&states.sequences);
        for row in 0..states.sequences.len() {
            assert!(states.tokens.contains(&(layout.range(row).end - 1)));
        }
    }
}
