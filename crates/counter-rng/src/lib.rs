//! Counter-based noise: a number depends only on its key, never on the time of the draw or its place in a batch.
//!
//! [`uniform`] is a pure function of its key, so the tokens a sample draws are the same for every batch
//! shape, slot order and number of ranks. [`step_rng`] makes a generator for the few places that need a
//! stream (selection of tokens, order of questions).

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;

/// Key of one uniform number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct NoiseKey {
    /// Seed of the run.
    pub seed: u64,
    /// Training step; an evaluation uses its own seed (see [`Purpose::Evaluation`]).
    pub step: u64,
    /// Index of the prompt within the whole rollout batch of the step, over all ranks.
    pub prompt: u64,
    /// Index of the sample within its group.
    pub sample: u64,
    /// Index of the token within its response.
    pub position: u64,
}

/// Returns a number in `[0, 1)` with 53 random bits, a pure function of `key`.
///
/// ```text
/// h_0 = mix(c_0),  h_{i+1} = mix((h_i ⊕ k_i) + c_{i+1}),  u = ⌊h_5 / 2^11⌋ / 2^53
/// ```
///
/// over `k = (seed, step, prompt, sample, position)`; `mix` is the finaliser of `SplitMix64` and
/// `c_i` the multiples of its golden-gamma constant. Each round is a bijection of the word `k_i`, so two keys
/// that differ in one field only never collide.
///
/// Source: Steele, Lea, Flood 2014, *Fast splittable pseudorandom number generators*, Fig. 17
/// (the variant of `mix64` by Stafford, "Mix13").
///
/// ```
/// use counter_rng::{NoiseKey, uniform};
/// let key = NoiseKey { seed: 1, step: 2, prompt: 3, sample: 4, position: 5 };
/// assert!((0.0..1.0).contains(&uniform(key)));
/// ```
pub fn uniform(key: NoiseKey) -> f64 {
    (hash([key.seed, key.step, key.prompt, key.sample, key.position]) >> 11) as f64
        * (1.0 / 9_007_199_254_740_992.0)
}

/// Mixes words into one; the order matters.
pub fn hash<const WORDS: usize>(words: [u64; WORDS]) -> u64 {
    const GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;
    words.into_iter().zip(2_u64..).fold(mix(GAMMA), |state, (word, round)| {
        mix((state ^ word).wrapping_add(GAMMA.wrapping_mul(round)))
    })
}

/// Stafford's "Mix13", the finaliser of `SplitMix64`: a bijection.
fn mix(mut word: u64) -> u64 {
    word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}

/// Purpose of a stream of random numbers: two purposes never share a stream.
///
/// The numbers are part of the format of a run: never reuse or renumber one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u64)]
pub enum Purpose {
    /// Tokens that Clip-Cov drops.
    TokenSelection = 1,
    /// Order of the questions in an epoch.
    QuestionOrder = 2,
    /// Generated arithmetic questions.
    Arithmetic = 3,
    /// Sampling in an evaluation.
    Evaluation = 4,
    /// Initial weights of a model.
    Initialisation = 5,
    /// Order and content of the supervised warm-up.
    Warmup = 6,
    // 7 is left free: the numbers are part of the format of a run.
    /// Rounding of the optimiser's moments.
    MomentRounding = 8,
    /// Initial weights of an adapter.
    Adapter = 9,
    /// All randomness of an implicit reward model.
    RewardModel = 10,
    /// Problems that a bootstrap interval resamples.
    Bootstrap = 11,
    /// Stochastic rounding of weights without a master copy of higher precision.
    WeightRounding = 12,
    /// Tokens at which the change of entropy is measured.
    Probe = 13,
    /// Sampling at one request of a rollout with several turns.
    Turn = 14,
}

/// Returns a generator for one purpose and step; `step` may be any index (an epoch, a question).
pub fn step_rng(seed: u64, step: u64, purpose: Purpose) -> ChaCha8Rng {
    let mut key = [0; 32];
    key[..8].copy_from_slice(&seed.to_le_bytes());
    key[8..16].copy_from_slice(&step.to_le_bytes());
    key[16..24].copy_from_slice(&(purpose as u64).to_le_bytes());
    key[24..].copy_from_slice(b"llmtrain");
    ChaCha8Rng::from_seed(key)
}

/// Returns a seed for [`NoiseKey::seed`] that belongs to one purpose.
///
/// An evaluation at step 7 thus draws other noise than the rollout of step 7.
pub fn purpose_seed(seed: u64, purpose: Purpose) -> u64 {
    hash([seed, purpose as u64])
}

/// Returns the [`purpose_seed`] of one named item, such as an evaluation set.
///
/// It depends on the name, not on the item's place in a list.
pub fn named_seed(seed: u64, purpose: Purpose, name: &str) -> u64 {
    hash_text(hash([seed, purpose as u64, name.len() as u64]), name)
}

/// Mixes the bytes of a text into `start`.
fn hash_text(start: u64, text: &str) -> u64 {
    text.as_bytes().chunks(8).fold(start, |state, bytes| {
        let mut word = [0; 8];
        word[..bytes.len()].copy_from_slice(bytes);
        hash([state, u64::from_le_bytes(word)])
    })
}

/// Key of the noise that rounds `parameter`, or its moments, in optimiser step `step`, as two 32-bit words.
///
/// It depends on the parameter's name, not on its place in a list, so it survives any sharding of parameters.
pub fn rounding_key(seed: u64, purpose: Purpose, step: u64, parameter: &str) -> [u32; 2] {
    let start = hash([seed, purpose as u64, step, parameter.len() as u64]);
    let bytes = hash_text(start, parameter).to_le_bytes();
    let (words, _none) = bytes.as_chunks::<4>();
    [u32::from_le_bytes(words[0]), u32::from_le_bytes(words[1])]
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use rand::Rng;

    use super::*;

    fn key(words: [u64; 5]) -> NoiseKey {
        let [seed, step, prompt, sample, position] = words;
        NoiseKey { seed, step, prompt, sample, position }
    }

    #[test]
    fn first_output_of_split_mix_64_is_the_published_one() {
        assert_eq!(mix(0x9e37_79b9_7f4a_7c15), 0xe220_a839_7b1d_cdaf);
    }

    /// A run of another build must draw the same tokens. The expected values come from the formula in Python.
    #[test]
    fn recorded_numbers_stay() {
        let recorded = [
            ([0; 5], 0.461_673_199_146_367_95),
            ([1, 2, 3, 4, 5], 0.891_265_624_402_627_5),
            ([u64::MAX; 5], 0.561_351_948_306_128_3),
            ([42, 7, 31, 7, 1023], 0.639_494_909_733_123_8),
        ];
        for (words, expected) in recorded {
            assert!((uniform(key(words)) - expected).abs() < 1e-16, "{words:?}");
        }
    }

    /// χ² over 256 bins against its 99.9999 % quantile (255 degrees of freedom: 255 + 4.75·√510 + …).
    #[test]
    fn numbers_along_each_field_are_uniform() {
        for field in 0..5 {
            let mut bins = [0_u32; 256];
            let draws = 65_536_u64;
            for value in 0..draws {
                let mut words = [3, 1, 4, 1, 5];
                words[field] = value;
                #[expect(
                    clippy::cast_possible_truncation,
                    clippy::cast_sign_loss,
                    reason = "a number in 0..256"
                )]
                let bin = (uniform(key(words)) * 256.0) as usize;
                bins[bin] += 1;
            }
            let expected = draws as f64 / 256.0;
            let statistic: f64 =
                bins.iter().map(|&n| (f64::from(n) - expected).powi(2) / expected).sum();
            assert!((150.0..380.0).contains(&statistic), "field {field}: χ² = {statistic}");
        }
    }

    /// Correlation of neighbours is within 5 standard errors of 0, along every field.
    #[test]
    fn neighbours_along_each_field_are_uncorrelated() {
        let draws = 40_000_u64;
        for field in 0..5 {
            let noise = |value| {
                let mut words = [7; 5];
                words[field] = value;
                uniform(key(words)) - 0.5
            };
            let sum: f64 = (0..draws).map(|value| noise(value) * noise(value + 1)).sum();
            let correlation = sum / draws as f64 * 12.0;
            let bound = 5.0 / (draws as f64).sqrt();
            assert!(correlation.abs() < bound, "field {field}: {correlation}");
        }
    }

    #[test]
    fn streams_of_two_purposes_steps_or_seeds_differ() {
        let first = |seed, step, purpose| step_rng(seed, step, purpose).random::<u64>();
        let numbers = HashSet::from([
            first(1, 1, Purpose::TokenSelection),
            first(1, 1, Purpose::QuestionOrder),
            first(1, 2, Purpose::TokenSelection),
            first(2, 1, Purpose::TokenSelection),
        ]);
        assert_eq!(numbers.len(), 4);
        assert_eq!(first(1, 1, Purpose::Warmup), first(1, 1, Purpose::Warmup));
        assert_ne!(purpose_seed(1, Purpose::Evaluation), 1);
        let named = |seed, name| named_seed(seed, Purpose::Evaluation, name);
        let seeds = HashSet::from([named(1, "a"), named(1, "b"), named(2, "a"), named(1, "a\0")]);
        assert_eq!(seeds.len(), 4);
    }

    #[test]
    fn keys_of_two_parameters_purposes_steps_or_seeds_differ() {
        let moments = |seed, step, name| rounding_key(seed, Purpose::MomentRounding, step, name);
        let keys = HashSet::from([
            moments(1, 1, "model.norm.weight"),
            moments(1, 1, "model.norm.weighs"),
            moments(1, 1, "model.norm.weight\0"),
            moments(1, 2, "model.norm.weight"),
            moments(2, 1, "model.norm.weight"),
            rounding_key(1, Purpose::WeightRounding, 1, "model.norm.weight"),
        ]);
        assert_eq!(keys.len(), 6);
    }
}
