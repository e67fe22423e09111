//! Noise that depends on what it is for, never on when or beside what it is drawn.
//!
//! [`uniform`] is a pure function of its key, so the tokens a sample draws are the same for every batch
//! shape, slot order and number of ranks. [`step_rng`] makes a generator for the few places that need a
//! stream (selection of tokens, order of questions).

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;

/// What one uniform number is drawn for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct NoiseKey {
    /// Seed of the run.
    pub seed: u64,
    /// Training step; an evaluation uses a seed of its own (see [`Purpose::Evaluation`]).
    pub step: u64,
    /// Index of the prompt within the whole rollout batch of the step, over all ranks.
    pub prompt: u64,
    /// Index of the sample within its group.
    pub sample: u64,
    /// Index of the token within its response.
    pub position: u64,
}

/// One number in `[0, 1)` with 53 random bits, a pure function of `key`.
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
/// use trainer_core::counter_rng::{NoiseKey, uniform};
/// let key = NoiseKey { seed: 1, step: 2, prompt: 3, sample: 4, position: 5 };
/// assert!((0.0..1.0).contains(&uniform(key)));
/// ```
pub fn uniform(key: NoiseKey) -> f64 {
    (hash([key.seed, key.step, key.prompt, key.sample, key.position]) >> 11) as f64
        * (1.0 / 9_007_199_254_740_992.0)
}

/// Mixes words into one; the order matters.
pub(crate) fn hash<const WORDS: usize>(words: [u64; WORDS]) -> u64 {
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

/// What a stream of randomness is for: two purposes never share one.
///
/// The numbers are part of the format of a run: never reuse or renumber one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u64)]
pub enum Purpose {
    /// Which tokens Clip-Cov drops.
    TokenSelection = 1,
    /// The order of the questions in an epoch.
    QuestionOrder = 2,
    /// Made-up arithmetic questions.
    Arithmetic = 3,
    /// Sampling in an evaluation.
    Evaluation = 4,
    /// Initial weights of a model.
    Initialisation = 5,
    /// Order and content of the supervised warm-up.
    Warmup = 6,
    /// The order of mini-batches within a step.
    MiniBatchOrder = 7,
}

/// A generator for one purpose of one step; `step` may be any index (an epoch, a question).
pub fn step_rng(seed: u64, step: u64, purpose: Purpose) -> ChaCha8Rng {
    let mut key = [0; 32];
    key[..8].copy_from_slice(&seed.to_le_bytes());
    key[8..16].copy_from_slice(&step.to_le_bytes());
    key[16..24].copy_from_slice(&(purpose as u64).to_le_bytes());
    key[24..].copy_from_slice(b"llmtrain");
    ChaCha8Rng::from_seed(key)
}

/// A seed for [`NoiseKey::seed`] that belongs to one purpose, so that an evaluation at step 7 draws other noise
/// than the rollout of step 7.
pub fn purpose_seed(seed: u64, purpose: Purpose) -> u64 {
    hash([seed, purpose as u64])
}
