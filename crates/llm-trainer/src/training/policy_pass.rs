//! Passes of the policy over sequences: per-token statistics, and the pull-back of per-token cotangents.

use std::ops::Range;

use tch::{Device, Kind, Tensor};
use torch_ext::TorchError;
use trainer_core::packing::pack;

use crate::head::{TokenStatistics, token_statistics, token_statistics_backward};
use crate::model::Decoder;

/// A prompt and what followed it. Only response tokens are trained.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sequence {
    /// Token ids of the prompt; at least one.
    pub prompt: Vec<u32>,
    /// Token ids of the response, its end-of-sequence token included where it has one.
    pub response: Vec<u32>,
}

impl Sequence {
    fn len(&self) -> usize {
        self.prompt.len() + self.response.len()
    }
}

/// Statistics of every response token, laid end to end in the order of the sequences.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Statistics {
    /// `log π(y_t)` at the sampling temperature, in nats.
    pub log_prob: Vec<f64>,
    /// Exact entropy at the sampling temperature, in nats.
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
    let tokens = |&index: &usize| first_token[index]..first_token[index] + sequences[index].response.len();
    chosen.iter().flat_map(|index| column[tokens(index)].iter().copied()).collect()
}

/// Where each sequence's response begins among all response tokens.
fn first_tokens(sequences: &[&Sequence]) -> Vec<usize> {
    let mut next = 0;
    let begin = |sequence: &&Sequence| {
        let first = next;
        next += sequence.response.len();
        first
    };
    sequences.iter().map(begin).collect()
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
    /// Most tokens, padding included, of one forward pass.
    pub micro_batch_tokens: usize,
}

impl PolicyPass<'_> {
    /// Log-probability and entropy of every response token, without a graph.
    pub fn statistics(&self, sequences: &[&Sequence]) -> Statistics {
        let _no_grad = tch::no_grad_guard();
        let total = sequences.iter().map(|sequence| sequence.response.len()).sum();
        let mut all = Statistics { log_prob: vec![0.0; total], entropy: vec![0.0; total] };
        self.for_each_micro_batch(sequences, |rows| {
            let hidden = rows.predicting_states(self.model);
            let TokenStatistics { log_prob, entropy } =
                token_statistics(&hidden, self.model.head(), &rows.targets, self.temperature);
            rows.scatter(&to_f64(&log_prob), &mut all.log_prob);
            rows.scatter(&to_f64(&entropy), &mut all.entropy);
        });
        all
    }

    /// Mean entropy at temperature 1, in nats per token: that of `own`, the statistics at the pass's own temperature,
    /// where that is 1, else of a pass more.
    pub fn mean_entropy_at_temperature_1(&self, sequences: &[&Sequence], own: &Statistics) -> f64 {
        let mean = |entropy: &[f64]| entropy.iter().sum::<f64>() / entropy.len() as f64;
        if (self.temperature - 1.0).abs() > 0.0 {
            mean(&PolicyPass { temperature: 1.0, ..*self }.statistics(sequences).entropy)
        } else {
            mean(&own.entropy)
        }
    }

    /// Full log-probabilities `[tokens, vocab]` (`f32`, at the sampling temperature) of each micro-batch.
    ///
    /// For probes of a bounded number of tokens; training never forms this matrix.
    pub fn distributions(&self, sequences: &[&Sequence]) -> Vec<Tensor> {
        let _no_grad = tch::no_grad_guard();
        let mut parts = Vec::new();
        self.for_each_micro_batch(sequences, |rows| {
            let hidden = rows.predicting_states(self.model);
            let logits = hidden.matmul(&self.model.head().tr());
            parts.push((logits / self.temperature).log_softmax(-1, Kind::Float));
        });
        parts
    }

    /// Adds the gradient of `Σ_t cotangent_t · statistic_t` to `.grad` of every trainable parameter, and returns the
    /// log-probabilities met on the way.
    ///
    /// The sum over micro-batches does not depend on how the sequences are split, beyond rounding.
    ///
    /// # Errors
    ///
    /// [`TorchError`] if the model is not trainable.
    ///
    /// # Panics
    ///
    /// If a cotangent does not hold one value per response token.
    pub fn accumulate_gradient(
        &self,
        sequences: &[&Sequence],
        cotangent: &Cotangent,
    ) -> Result<Vec<f64>, TorchError> {
        let mut log_prob = vec![0.0; cotangent.log_prob.len()];
        let mut result = Ok(());
        self.for_each_micro_batch(sequences, |rows| {
            if result.is_ok() {
                result = self
                    .pull_back(rows, cotangent)
                    .map(|part| rows.scatter(&to_f64(&part), &mut log_prob));
            }
        });
        result.map(|()| log_prob)
    }

    fn pull_back(&self, rows: &PaddedRows, cotangent: &Cotangent) -> Result<Tensor, TorchError> {
        let device = self.model.device();
        let column = |values: &[f64]| rows.gather(values).to_device(device);
        let hidden = rows.predicting_states(self.model);
        let gradient = token_statistics_backward(
            &hidden.detach(),
            self.model.head(),
            &rows.targets,
            self.temperature,
            &column(&cotangent.log_prob),
            cotangent.entropy.as_deref().map(column).as_ref(),
        );
        // The head's weight is a leaf: naming it as an output adds its share to `.grad`, tied or not.
        torch_ext::backward(&[&hidden, self.model.head()], &[&gradient.hidden, &gradient.weight])?;
        Ok(gradient.log_prob)
    }

    fn for_each_micro_batch(&self, sequences: &[&Sequence], mut visit: impl FnMut(&PaddedRows)) {
        let first_token = first_tokens(sequences);
        let lengths: Vec<usize> = sequences.iter().map(|sequence| sequence.len()).collect();
        for part in pack(&lengths, self.micro_batch_tokens) {
            if part.rows.iter().any(|&row| !sequences[row].response.is_empty()) {
                let device = self.model.device();
                visit(&PaddedRows::new(sequences, &part.rows, &first_token, device));
            }
        }
    }
}

/// Sequences side by side, padded on the right: under causal attention padding there changes nothing to its left.
struct PaddedRows {
    /// `[rows, longest]`.
    token_ids: Tensor,
    /// Where in `[rows · longest]` the state stands that predicts each response token.
    positions: Tensor,
    /// The response tokens.
    targets: Tensor,
    /// Runs of tokens of the whole batch that this micro-batch holds, in its order.
    runs: Vec<Range<usize>>,
}

impl PaddedRows {
    fn new(sequences: &[&Sequence], rows: &[usize], first_token: &[usize], device: Device) -> Self {
        let longest = rows.iter().map(|&row| sequences[row].len()).max().unwrap_or(0);
        let mut token_ids = vec![0i64; rows.len() * longest];
        let (mut positions, mut targets, mut runs) = (Vec::new(), Vec::new(), Vec::new());
        for (i, &row) in rows.iter().enumerate() {
            let sequence = sequences[row];
            let tokens = sequence.prompt.iter().chain(&sequence.response);
            for (slot, &token) in token_ids[i * longest..].iter_mut().zip(tokens) {
                *slot = i64::from(token);
            }
            let first = i * longest + sequence.prompt.len() - 1;
            positions.extend((first..first + sequence.response.len()).map(index_of));
            targets.extend(sequence.response.iter().map(|&token| i64::from(token)));
            runs.push(first_token[row]..first_token[row] + sequence.response.len());
        }
        let shape = [index_of(rows.len()), index_of(longest)];
        Self {
            token_ids: Tensor::from_slice(&token_ids).view(shape).to_device(device),
            positions: Tensor::from_slice(&positions).to_device(device),
            targets: Tensor::from_slice(&targets).to_device(device),
            runs,
        }
    }

    /// Final hidden states that predict the response tokens, `[tokens, hidden]`.
    fn predicting_states(&self, model: &Decoder) -> Tensor {
        let hidden = model.forward(&self.token_ids);
        hidden.flatten(0, 1).index_select(0, &self.positions)
    }

    fn scatter(&self, values: &[f64], into: &mut [f64]) {
        let mut rest = values;
        for run in &self.runs {
            let (own, after) = rest.split_at(run.len());
            into[run.clone()].copy_from_slice(own);
            rest = after;
        }
    }

    fn gather(&self, values: &[f64]) -> Tensor {
        let own: Vec<f64> =
            self.runs.iter().flat_map(|run| values[run.clone()].iter().copied()).collect();
        Tensor::from_slice(&own)
    }
}

fn to_f64(column: &Tensor) -> Vec<f64> {
    Vec::try_from(column.to_kind(Kind::Double).to_device(Device::Cpu))
        .expect("a one-dimensional tensor of f64")
}

fn index_of(count: usize) -> i64 {
    i64::try_from(count).expect("fewer tokens than i64 holds")
}
