//! One checkpointed forward pass of a whole mini-batch, block by block, for a later backward pass.

use tch::{Device, Tensor};
use torch_ext::TorchError;

use super::packed::PackedSequences;
use super::policy_pass::{Cotangent, PolicyPass, Sequence, Statistics, statistics_of, to_f64};
use super::sequence::TokenLayout;
use crate::host_memory::sent;
use decoder::head::{TokenCotangent, token_statistics_backward};
use decoder::model::{EmbeddingSum, HeadSum};
use run_plan::plan::activation_bytes_per_token;

/// A forward pass over a mini-batch.
///
/// The outer loop runs over blocks and the inner loop over micro-batches, in both directions. So a block's needs, such as its
/// gathered weights, are met once per pass. Each block keeps only its input and is recomputed under autograd in the backward
/// pass, unless the activation memory has room for its graph. Inputs may wait in the host's memory. The gradient is
/// bit-identical in every case.
#[derive(Debug)]
pub struct CheckpointedForward<'a> {
    pass: PolicyPass<'a>,
    micro_batches: Vec<PackedSequences>,
    /// Input and graph of each block, for each micro-batch: `[blocks][micro-batches]`.
    blocks: Vec<Vec<BlockRun>>,
    /// Output of the last block, for each micro-batch.
    last: Vec<Tensor>,
    /// Maps sequences to ranges of the mini-batch's columns.
    layout: TokenLayout,
}

/// One block's pass over one micro-batch.
#[derive(Debug)]
struct BlockRun {
    /// The block's input: a leaf that takes a gradient, or its values in the host's memory.
    input: Tensor,
    /// The output with its graph, if there was room for it.
    output: Option<Tensor>,
}

impl<'a> PolicyPass<'a> {
    /// Runs a forward pass that can be differentiated.
    pub fn checkpointed_forward(&self, sequences: &[&Sequence]) -> CheckpointedForward<'a> {
        let (pass, model) = (*self, self.model);
        let layout = TokenLayout::of(sequences.iter().copied());
        let scalar_bytes = model.kind().elt_size_in_bytes();
        let bytes_per_token = activation_bytes_per_token(model.config(), scalar_bytes);
        let mut room = if model.is_local() { pass.activation_bytes } else { 0 };
        let mut blocks: Vec<_> = (0..model.block_count()).map(|_| Vec::new()).collect();
        let (micro_batches, last) = self.through_blocks(sequences, |index, _, part, x| {
            let mut input = leaf(x);
            let needed = part.tokens().saturating_mul(bytes_per_token);
            let output = (needed <= room).then(|| {
                room -= needed;
                part.block(model, index, &input)
            });
            let next = match &output {
                Some(output) => output.detach(),
                None => tch::no_grad(|| part.block(model, index, &input)),
            };
            if output.is_none() && pass.block_inputs.is_host() {
                input = sent(&input, Device::Cpu);
            }
            blocks[index].push(BlockRun { input, output });
            next
        });
        CheckpointedForward { pass, micro_batches, blocks, last, layout }
    }
}

impl CheckpointedForward<'_> {
    /// Log-probability and entropy of every response token.
    pub fn statistics(&self) -> Statistics {
        statistics_of(&self.pass, &self.micro_batches, &self.last, &self.layout)
    }

    /// Adds the gradient of `Σ_t cotangent_t · statistic_t` to `.grad` of every trainable parameter. Returns the
    /// log-probabilities of the response tokens.
    ///
    /// The sum over micro-batches does not depend on the split into micro-batches, beyond rounding.
    ///
    /// # Errors
    ///
    /// [`TorchError`] if the model is not trainable.
    ///
    /// # Panics
    ///
    /// If a cotangent does not have one value per response token.
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
                model.full_head(),
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
                    input = leaf(&sent(&input, model.device()));
                }
                *gradient = part.block_backward(&mut block, &input, output, gradient)?;
            }
            block.finish();
        }
        if let Some(sum) = EmbeddingSum::of(model, table) {
            for (part, gradient) in micro_batches.iter().zip(&gradients) {
                sum.add(&part.token_ids, gradient)?;
            }
            sum.finish();
        }
        Ok(log_prob)
    }
}

fn leaf(x: &Tensor) -> Tensor {
    x.detach().set_requires_grad(true)
}
