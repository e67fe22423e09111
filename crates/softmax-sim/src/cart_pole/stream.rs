//! Streams of random numbers, one per purpose.

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

/// Purpose of a stream of random numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// First parameters of the networks.
    Parameters = 0,
    /// First states of the episodes of one environment.
    Starts = 1,
    /// Actions in one environment.
    Actions = 2,
    /// Order of the steps in the epochs of one iteration.
    Order = 3,
    /// Tokens that Clip-Cov drops in one optimiser step.
    Selection = 4,
    /// First states of evaluation episodes.
    EvaluationStarts = 5,
    /// Actions in evaluation episodes.
    EvaluationActions = 6,
}

/// Returns stream `index` of a purpose; it depends on seed, purpose and index alone.
pub fn stream(seed: u64, purpose: Purpose, index: u64) -> ChaCha8Rng {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    rng.set_stream(((purpose as u64) << 48) | index);
    rng
}
