//! One forward pass of a whole mini-batch, block by block, that remembers enough to be differentiated.

use tch::Tensor;
use torch_ext::TorchError;

use super::packed::PackedSequences;
use super::policy_pass::{Cotangent, PolicyPass, Sequence, Statistics, statistics_of, to_f64};
use super::token_layout::TokenLayout;
use crate::head::{TokenCotangent, token_statistics_backward};
use crate::host_memory::{bring_back, send_away};
use crate::model::{Decoder, EmbeddingSum, HeadSum};

/// A forward pass over a mini-batch.
///
/// Blocks are outside, micro-batches inside, forwards and backwards: what a block needs, such as its gathered weights, is
/// needed once a pass. Of each block only its input stays; it is computed again under autograd when its turn comes, unless
/// the memory for activations had room to keep its graph, and may lie in the host's memory until then. The gradient is the same
/// to the bit either way.
#[derive(Debug)]
pub struct Recording<'a> {
    pass: PolicyPass<'a>,
    micro_batches: Vec<PackedSequences>,
    /// Of each block, of each micro-batch.
    blocks: Vec<Vec<BlockRun>>,
    /// What the last block leaves, of each micro-batch.
    last: Vec<Tensor>,
    /// Where the tokens of each sequence lie in columns of the mini-batch.
    layout: TokenLayout,
}

/// One block on one micro-batch.
#[derive(Debug)]
struct BlockRun {
    /// A leaf that takes a gradient, or, in the host's memory, the values of one.
    input: Tensor,
    /// The output with its graph, where there was room for it.
    output: Option<Tensor>,
}

impl<'a> PolicyPass<'a> {
    /// A forward pass that can be differentiated.
    pub fn record(&self, sequences: &[&Sequence]) -> Recording<'a> {
        let layout = TokenLayout::of(sequences.iter().copied());
        Recording::new(*self, self.micro_batches(sequences), layout)
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
}

impl<'a> Recording<'a> {
    fn new(pass: PolicyPass<'a>, micro_batches: Vec<PackedSequences>, layout: TokenLayout) -> Self {
        let model = pass.model;
        let bytes_per_token = activation_bytes_per_token(model);
        let mut room = if model.may_keep_graphs() { pass.activation_bytes } else { 0 };
        let mut last: Vec<Tensor> = {
            let _open = model.open_embedding();
            micro_batches.iter().map(|part| tch::no_grad(|| part.embed(model))).collect()
        };
        let count = model.block_count();
        let mut blocks = Vec::with_capacity(count);
        for index in 0..count {
            let _open = model.open_block(index, Some(model.after_block(index)));
            let run = |(part, x): (&PackedSequences, &mut Tensor)| {
                let mut input = leaf(x);
                let needed = part.tokens().saturating_mul(bytes_per_token);
                let output = (needed <= room).then(|| {
                    room -= needed;
                    part.block(model, index, &input)
                });
                *x = match &output {
                    Some(output) => output.detach(),
                    None => tch::no_grad(|| part.block(model, index, &input)),
                };
                if output.is_none() && pass.block_inputs.is_host() {
                    input = send_away(&input);
                }
                BlockRun { input, output }
            };
            blocks.push(micro_batches.iter().zip(&mut last).map(run).collect());
        }
        Self { pass, micro_batches, blocks, last, layout }
    }

    /// Log-probability and entropy of every response token.
    pub fn statistics(&self) -> Statistics {
        statistics_of(&self.pass, &self.micro_batches, &self.last, &self.layout)
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
    pub fn backward(self, cotangent: &Cotangent) -> Result<Vec<f64>, TorchError> {
        let Self { pass, micro_batches, mut blocks, last, layout } = self;
        let model = pass.model;
        assert_eq!(cotangent.log_prob.len(), layout.tokens(), "one value per response token");
        let mut log_prob = vec![0.0; layout.tokens()];
        let mut gradients = Vec::with_capacity(last.len());
        let open_head = model.open_head(true);
        let mut head = HeadSum::of(model)?;
        for (part, x) in micro_batches.iter().zip(last) {
            let input = leaf(&x);
            let hidden = part.predicting_states(model, &input);
            let column = |values: &[f64]| {
                Tensor::from_slice(&layout.select(values, &part.rows)).to_device(model.device())
            };
            let d_log_prob = column(&cotangent.log_prob);
            let d_entropy = cotangent.entropy.as_deref().map(column);
            let gradient = token_statistics_backward(
                &hidden.detach(),
                model.whole_head(),
                part.targets(),
                pass.temperature,
                TokenCotangent { log_prob: &d_log_prob, entropy: d_entropy.as_ref() },
                head.as_mut().map(|head| &mut head.sum),
            );
            layout.scatter(&to_f64(&gradient.log_prob), &part.rows, &mut log_prob);
            torch_ext::backward(&[&hidden], &[&gradient.hidden])?;
            gradients.push(input.grad());
        }
        let table = head.map_or(Ok(None), |head| head.finish(model))?;
        drop(open_head);
        while let Some(runs) = blocks.pop() {
            let mut block = model.begin_backward(blocks.len());
            for ((part, run), gradient) in micro_batches.iter().zip(runs).zip(&mut gradients) {
                let BlockRun { mut input, output } = run;
                if output.is_none() && pass.block_inputs.is_host() {
                    input = leaf(&bring_back(&input, model.device()));
                }
                *gradient = part.block_backward(&mut block, &input, output, gradient)?;
            }
            block.finish();
        }
        if let Some(sum) = EmbeddingSum::of(model, table) {
            for (part, gradient) in micro_batches.iter().zip(&gradients) {
                part.embedding_backward(&sum, gradient)?;
            }
            sum.finish();
        }
        Ok(log_prob)
    }
}

fn leaf(x: &Tensor) -> Tensor {
    x.detach().set_requires_grad(true)
}

fn activation_bytes_per_token(model: &Decoder) -> usize {
    run_plan::plan::activation_bytes_per_token(model.config(), model.kind().elt_size_in_bytes())
}
