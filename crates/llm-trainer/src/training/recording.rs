//! One forward pass of a whole mini-batch, block by block, that remembers enough to be differentiated.

use tch::Tensor;
use torch_ext::TorchError;

use super::packed::PackedSequences;
use super::policy_pass::{Cotangent, PolicyPass, Sequence, Statistics, statistics_of, to_f64};
use super::token_layout::TokenLayout;
use crate::head::{WeightGradient, pull_back, statistics_kind};
use crate::host_memory::{bring_back, send_away};
use crate::model::Decoder;

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
        // A graph that is kept would keep its block whole.
        let is_cut = model.sharded_blocks().is_some() || model.group().is_some();
        let mut room = if is_cut { 0 } else { pass.activation_bytes };
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
            let gradient = pull_back(
                &hidden.detach(),
                model.whole_head(),
                (&part.targets, part.kept.as_ref()),
                pass.temperature,
                (&column(&cotangent.log_prob), cotangent.entropy.as_deref().map(column).as_ref()),
                head.as_mut().map(|head| &mut head.sum),
            );
            layout.scatter(&to_f64(&gradient.log_prob), &part.rows, &mut log_prob);
            torch_ext::backward(&[&hidden], &[&gradient.hidden])?;
            gradients.push(input.grad());
        }
        let table = head.map_or(Ok(None), |head| head.finish(model))?;
        drop(open_head);
        while let Some(runs) = blocks.pop() {
            let index = blocks.len();
            let _open = model.open_block(index, index.checked_sub(1));
            let mut sum = model.block_gradients().map(|blocks| (blocks, blocks.zeros(index)));
            for ((part, run), gradient) in micro_batches.iter().zip(runs).zip(&mut gradients) {
                let BlockRun { mut input, output } = run;
                if output.is_none() && pass.block_inputs.is_host() {
                    input = leaf(&bring_back(&input, model.device()));
                }
                let mut pull = |pulled: (&Tensor, &Tensor), input: &Tensor| {
                    if let Some((blocks, sum)) = &mut sum {
                        return blocks.pull_back(index, pulled, input, sum);
                    }
                    torch_ext::backward(&[pulled.0], &[pulled.1])?;
                    Ok(input.grad())
                };
                *gradient = if let Some(group) = model.group() {
                    part.pull_back(model, (index, group), &input, gradient, pull)?
                } else {
                    let output = output.unwrap_or_else(|| part.block(model, index, &input));
                    pull((&output, gradient), &input)?
                };
            }
            if let Some((blocks, sum)) = sum {
                blocks.reduce(index, &sum);
            }
        }
        add_embedding_gradients(model, &micro_batches, &gradients, table)?;
        Ok(log_prob)
    }
}

/// The gradient of the head's weight, summed over micro-batches.
struct HeadSum {
    sum: WeightGradient,
    /// Whether it is the weight's `.grad` itself.
    in_place: bool,
}

impl HeadSum {
    /// `None` where the head is not trained.
    fn of(model: &Decoder) -> Result<Option<Self>, TorchError> {
        let weight = model.head();
        if !weight.requires_grad() {
            return Ok(None);
        }
        if let Some(blocks) = model.block_gradients() {
            let sum = blocks.zeros(model.head_unit()).remove(0).view_as(weight);
            return Ok(Some(Self { sum: WeightGradient::over(&sum), in_place: false }));
        }
        let kind = statistics_kind(weight);
        if weight.kind() != kind {
            return Ok(Some(Self { sum: WeightGradient::empty(), in_place: false }));
        }
        let own = weight.grad();
        if own.defined() {
            return Ok(Some(Self { sum: WeightGradient::over(&own), in_place: true }));
        }
        let sum = Tensor::zeros(weight.size(), (kind, weight.device()));
        torch_ext::set_gradient(weight, Some(&sum))?;
        Ok(Some(Self { sum: WeightGradient::over(&sum), in_place: true }))
    }

    /// Hands the sum on; where it is the embedding's too and goes to shards, the answer is what that has to be added to.
    fn finish(self, model: &Decoder) -> Result<Option<Tensor>, TorchError> {
        let Some(sum) = self.sum.into_tensor().filter(|_| !self.in_place) else {
            return Ok(None);
        };
        if let Some(blocks) = model.block_gradients() {
            if model.head_unit() == model.embedding_unit() {
                return Ok(Some(sum));
            }
            blocks.reduce(model.head_unit(), &[sum]);
            return Ok(None);
        }
        let weight = model.head();
        let gradient = sum.to_kind(weight.kind());
        drop(sum);
        if weight.grad().defined() {
            // A leaf: naming it as an output adds to its `.grad`, tied or not.
            torch_ext::backward(&[weight], &[&gradient])?;
        } else {
            // As it is: a backward pass would copy it.
            torch_ext::set_gradient(weight, Some(&gradient))?;
        }
        Ok(None)
    }
}

/// Adds the gradient of the embedding table, from those of the embedding vectors of each micro-batch: to its `.grad`, or, where
/// gradients go to shards, to the `table` that the head has left.
fn add_embedding_gradients(
    model: &Decoder,
    micro_batches: &[PackedSequences],
    gradients: &[Tensor],
    table: Option<Tensor>,
) -> Result<(), TorchError> {
    if !model.trains_embedding() {
        return Ok(());
    }
    let table = match (table, model.block_gradients()) {
        (Some(table), _) => table,
        (None, Some(blocks)) => {
            let width = i64::try_from(model.config().hidden_size).expect("a checked config");
            blocks.zeros(model.embedding_unit()).remove(0).view([-1, width])
        }
        (None, None) => model.embedding_gradient(),
    };
    for (part, gradient) in micro_batches.iter().zip(gradients) {
        part.add_embedding_gradient(model, gradient, &table)?;
    }
    if let Some(blocks) = model.block_gradients() {
        blocks.reduce(model.embedding_unit(), &[table]);
    }
    Ok(())
}

fn leaf(x: &Tensor) -> Tensor {
    x.detach().set_requires_grad(true)
}

fn activation_bytes_per_token(model: &Decoder) -> usize {
    trainer_core::plan::activation_bytes_per_token(model.config(), model.kind().elt_size_in_bytes())
}
