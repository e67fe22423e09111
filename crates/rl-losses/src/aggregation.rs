//! How per-token terms become one number: a weight per token.

use serde::{Deserialize, Serialize};

use crate::{ParameterError, fast::spread::Spread, parameter::check_positive};

/// Rule that turns per-token terms into a scalar, `L = Σ_t w_t ℓ_t`.
///
/// A rule is nothing but its weights, so it applies to value and gradient alike and to any split of
/// the batch: the weights are computed once for the optimiser step, then sliced. `N` is the number
/// of tokens, `S` that of sequences with at least one token, `n_i` the length of sequence `i`.
///
/// Names and definitions are verl's (`loss_agg_mode`), without its `1e-8`: row 17 of
/// `docs/paper-vs-code.md`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Aggregation {
    /// `1 / N`: long sequences weigh more (DAPO, and every script of the paper).
    #[default]
    TokenMean,
    /// `1 / (S n_i)`: each sequence weighs the same (GRPO).
    SeqMeanTokenMean,
    /// `1 / S`: the sum over a sequence, averaged over sequences.
    SeqMeanTokenSum,
    /// `1 / (S divisor)`: a fixed length in place of the sequence's own (Dr. GRPO).
    SeqMeanTokenSumNorm {
        /// Tokens, above 0, that divide the sum over a sequence; otherwise as
        /// `"seq-mean-token-sum"`.
        divisor: Divisor,
    },
}

/// A positive length that token sums are divided by.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(try_from = "f64", into = "f64")]
pub struct Divisor(f64);

impl TryFrom<f64> for Divisor {
    type Error = ParameterError;

    fn try_from(tokens: f64) -> Result<Self, ParameterError> {
        check_positive("divisor", tokens).map(Self)
    }
}

impl From<Divisor> for f64 {
    fn from(divisor: Divisor) -> Self {
        divisor.0
    }
}

impl Aggregation {
    /// The weights of the tokens of some sequences, in a mini-batch of `tokens` and `sequences`.
    pub(crate) fn spread(
        &self,
        sequence_lengths: &[usize],
        tokens: usize,
        sequences: usize,
    ) -> Spread {
        let (tokens, sequences) = (tokens as f64, sequences as f64);
        match self {
            Self::TokenMean => Spread::Uniform(1.0 / tokens),
            Self::SeqMeanTokenMean => {
                let weights = sequence_lengths.iter().map(|&n| 1.0 / (sequences * n as f64));
                Spread::per_sequence(weights.collect(), sequence_lengths)
            }
            Self::SeqMeanTokenSum => Spread::Uniform(1.0 / sequences),
            Self::SeqMeanTokenSumNorm { divisor } => Spread::Uniform(1.0 / (sequences * divisor.0)),
        }
    }
}
