//! Sampled responses, and the listener that receives them.

use crate::routes::Routes;
use crate::sampling_mask::SamplingMask;

/// Reason that a response ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Finish {
    /// It ended with a stop token.
    Stop,
    /// Its last token completed a stop string.
    StopString,
    /// It reached the longest length allowed.
    Length,
}

impl Finish {
    /// Name in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Stop => "stop",
            Self::StopString => "stop_string",
            Self::Length => "length",
        }
    }
}

/// Entropies at one token.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TokenEntropy {
    /// Entropy of the distribution that the token was drawn from, in nats; for greedy choices the same as `at_temperature_1`.
    pub drawn_from: f64,
    /// Entropy over the full vocabulary at temperature 1, in nats.
    pub at_temperature_1: f64,
    /// Divisor of the logits; 0 for greedy choices.
    pub temperature: f64,
}

/// One response.
#[derive(Debug, Clone, PartialEq)]
pub struct Generated {
    /// The response's tokens, the stop token and those of a stop string included.
    pub token_ids: Vec<u32>,
    /// Log-probability of each token in nats, at the temperature and over the tokens it was drawn from; at temperature 1 and
    /// over all for greedy choices. Within an entropy band the temperature is that of the token, not of the options.
    pub log_prob: Vec<f64>,
    /// Entropies at each token, where [`measure_entropy`](super::GenerationOptions::measure_entropy) asks for them; else none.
    pub entropy: Vec<TokenEntropy>,
    /// Sampling mask: the tokens that each was drawn from, if some may have been left out.
    pub mask: Option<SamplingMask>,
    /// Experts of the prompt's tokens and of the response's but the last, which was not read, where
    /// [`GenerationOptions::record_routes`](super::GenerationOptions::record_routes) asks for them.
    pub routes: Option<Routes>,
    /// Reason that it ended.
    pub finish: Finish,
}

/// Progress of a generation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tally {
    /// Responses in total.
    pub total: usize,
    /// Responses that ended.
    pub finished: usize,
    /// Ended responses that were truncated at the longest length.
    pub truncated: usize,
    /// Tokens drawn.
    pub tokens: usize,
}

/// Receiver of responses and progress, on the thread that generates.
pub trait Listener {
    /// Takes response `index`, of `samples` per prompt; responses end in any order.
    fn finished(&mut self, index: usize, response: Generated);

    /// Reports progress after every row has drawn a token.
    fn progress(&mut self, _tally: &Tally) {}

    /// Returns true to continue; otherwise unfinished responses are dropped. Ranks that share the model must all return the same.
    fn goes_on(&self) -> bool {
        true
    }
}
