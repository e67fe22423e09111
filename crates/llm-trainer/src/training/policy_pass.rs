//! Passes of the policy over sequences: per-token statistics, and the pull-back of per-token cotangents.

use std::ops::Range;

use serde::{Deserialize, Serialize};
use tch::{Device, Kind, Tensor};
use torch_ext::TorchError;

use super::packed::{PackedSequences, first_tokens};
use super::recording::{Recording, statistics_of};
use crate::host_memory::Memory;
use crate::kept_tokens::KeptTokens;
use crate::model::Decoder;

/// A prompt and what followed it. Only response tokens are trained.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sequence {
    /// Token ids of the prompt; at least one.
    pub prompt: Vec<u32>,
    /// Token ids of the response, its end-of-sequence token included where it has one.
    pub response: Vec<u32>,
    /// What each response token was drawn from, where that was not the whole vocabulary; one list a token.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept: Option<KeptTokens>,
}

impl Sequence {
    /// A response drawn from, or scored over, the whole vocabulary.
    pub fn new(prompt: Vec<u32>, response: Vec<u32>) -> Self {
        Self { prompt, response, kept: None }
    }

    /// Tokens of prompt and response.
    pub(super) fn len(&self) -> usize {
        self.prompt.len() + self.response.len()
    }
}

/// Statistics of every response token, laid end to end in the order of the sequences.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Statistics {
    /// `log π(y_t)` at the sampling temperature, in nats; over [`Sequence::kept`] where that is given.
    pub log_prob: Vec<f64>,
    /// Exact entropy at the sampling temperature over the whole vocabulary, in nats.
    pub entropy: Vec<f64>,
}

impl Statistics {
    /// The statistics of a run of tokens.
    #[must_use]
    pub fn of_tokens(&self, tokens: Range<usize>) -> Self {
        Self {
            log_prob: self.log_prob[tokens.clone()].to_vec(),
            entropy: self.entropy[tokens].to_vec(),
        }
    }

    /// Mean entropy of the tokens, in nats.
    pub fn mean_entropy(&self) -> f64 {
        self.entropy.iter().sum::<f64>() / self.entropy.len() as f64
    }

    /// The statistics of some of `sequences`, in the order of `chosen`.
    #[must_use]
    pub fn of_sequences(&self, sequences: &[&Sequence], chosen: &[usize]) -> Self {
        let of = |column| column_of_sequences(column, sequences, chosen);
        Self { log_prob: of(&self.log_prob), entropy: of(&self.entropy) }
    }
}

/// The part of a column of response tokens that belongs to some of `sequences`, in the order of `chosen`.
pub fn column_of_sequences(column: &[f64], sequences: &[&Sequence], chosen: &[usize]) -> Vec<f64> {
    let first_token = first_tokens(sequences);
    let tokens =
        |&index: &usize| first_token[index]..first_token[index] + sequences[index].response.len();
    chosen.iter().flat_map(|index| column[tokens(index)].iter().copied()).collect()
}

/// `∂L/∂(statistic)` of every response token, laid out as [`Statistics`].
#[derive(Debug, Clone, PartialEq)]
pub struct Cotangent {
    /// `∂L/∂ log π(y_t)`.
    pub log_prob: Vec<f64>,
    /// `∂L/∂H_t`, where the loss has an entropy term.
    pub entropy: Option<Vec<f64>>,
}

/// How a policy is evaluated: the model, its temperature, and what fits in memory at once.
#[derive(Debug, Clone, Copy)]
pub struct PolicyPass<'a> {
    /// The policy.
    pub model: &'a Decoder,
    /// Sampling temperature that log-probabilities and entropies refer to.
    pub temperature: f64,
    /// Most tokens that run through a block together.
    pub micro_batch_tokens: usize,
    /// Memory, in bytes, for what blocks computed and the backward pass needs; what does not fit is computed again.
    pub activation_bytes: usize,
    /// Where the inputs of blocks lie until the backward pass comes to them.
    pub block_inputs: Memory,
}

impl<'a> PolicyPass<'a> {
    /// Log-probability and entropy of every response token, without a graph.
    pub fn statistics(&self, sequences: &[&Sequence]) -> Statistics {
        let (micro_batches, last) = self.forward(sequences);
        statistics_of(self, &micro_batches, &last, response_tokens(sequences))
    }

    /// A forward pass that can be differentiated.
    pub fn record(&self, sequences: &[&Sequence]) -> Recording<'a> {
        Recording::new(*self, self.micro_batches(sequences), response_tokens(sequences))
    }

    /// Full log-probabilities `[tokens, vocab]` (`f32`, at the sampling temperature) of each micro-batch.
    ///
    /// For probes of a bounded number of tokens; training never forms this matrix.
    pub fn distributions(&self, sequences: &[&Sequence]) -> Vec<Tensor> {
        let _no_grad = tch::no_grad_guard();
        let (micro_batches, last) = self.forward(sequences);
        let _open = self.model.open_head(false);
        let distribution = |(part, x): (&PackedSequences, &Tensor)| {
            let logits = self.model.logits(&part.predicting_states(self.model, x));
            (logits / self.temperature).log_softmax(-1, Kind::Float)
        };
        micro_batches.iter().zip(&last).map(distribution).collect()
    }

    /// Adds the gradient of `Σ_t cotangent_t · statistic_t` to `.grad` of every trainable parameter, and returns the
    /// log-probabilities met on the way.
    ///
    /// # Errors
    ///
    /// As [`Recording::backward`].
    ///
    /// # Panics
    ///
    /// If a cotangent does not hold one value per response token.
    pub fn accumulate_gradient(
        &self,
        sequences: &[&Sequence],
        cotangent: &Cotangent,
    ) -> Result<Vec<f64>, TorchError> {
        self.record(sequences).backward(cotangent)
    }

    fn micro_batches(&self, sequences: &[&Sequence]) -> Vec<PackedSequences> {
        PackedSequences::split(self.model, sequences, self.micro_batch_tokens)
    }

    /// Micro-batches and what the last block leaves of each, without a graph.
    fn forward(&self, sequences: &[&Sequence]) -> (Vec<PackedSequences>, Vec<Tensor>) {
        let _no_grad = tch::no_grad_guard();
        let micro_batches = self.micro_batches(sequences);
        let mut states: Vec<Tensor> = {
            let _open = self.model.open_embedding();
            micro_batches.iter().map(|part| part.embed(self.model)).collect()
        };
        for index in 0..self.model.block_count() {
            let _open = self.model.open_block(index, Some(self.model.after_block(index)));
            for (part, x) in micro_batches.iter().zip(&mut states) {
                *x = part.block(self.model, index, x);
            }
        }
        (micro_batches, states)
    }
}

fn response_tokens(sequences: &[&Sequence]) -> usize {
    sequences.iter().map(|sequence| sequence.response.len()).sum()
}

pub(super) fn to_f64(column: &Tensor) -> Vec<f64> {
    Vec::try_from(column.to_kind(Kind::Double).to_device(Device::Cpu))
        .expect("a one-dimensional tensor of f64")
}
