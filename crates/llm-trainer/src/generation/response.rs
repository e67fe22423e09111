//! Responses as they were drawn, and who is told of them.

use crate::kept_tokens::KeptTokens;

/// Why a response ended.
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
    /// As it stands in files.
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
    /// Of the distribution that the token was drawn from, in nats; of greedy choices that at temperature 1 and over all.
    pub drawn_from: f64,
    /// Of the whole vocabulary at temperature 1, in nats.
    pub at_temperature_1: f64,
    /// Logits were divided by it; 0 for greedy choices.
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
    /// Entropies at each token, where [`GenerationOptions::measure_entropy`](super::GenerationOptions::measure_entropy) asks for them; else none.
    pub entropy: Vec<TokenEntropy>,
    /// What each token was drawn from, where tokens may have been left out.
    pub kept: Option<KeptTokens>,
    /// Why it ended.
    pub finish: Finish,
}

/// How far a generation has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Tally {
    /// Responses in all.
    pub total: usize,
    /// Responses that ended.
    pub finished: usize,
    /// Of these, how many were cut at the longest length.
    pub truncated: usize,
    /// Tokens drawn.
    pub tokens: usize,
}

/// Who is told what a generation has come to, on the thread that generates.
pub trait Listener {
    /// Response `index`, of `samples` to each prompt, has ended; they end in any order.
    fn finished(&mut self, index: usize, response: Generated);

    /// Every row has drawn a token.
    fn progress(&mut self, _tally: &Tally) {}

    /// Whether to go on; else what has not ended is given up. Where ranks share the model all say the same.
    fn goes_on(&self) -> bool {
        true
    }
}
