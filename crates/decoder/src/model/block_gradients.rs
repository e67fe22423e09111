//! Gradients of blocks, and of embedding and head as further blocks, reduced to shards as soon as the backward pass leaves a block.
//!
//! `ZeRO`, stage 2, in a layer-major loop: blocks are outside and micro-batches inside, so the gradient of a block is complete
//! before the next block begins. It is reduced once, whatever the number of micro-batches, overlapping with the next block;
//! no rank holds the full gradients of more than two blocks.
//!
//! Source: Rajbhandari et al. 2020, *`ZeRO`*, [arXiv:1910.02054](https://arxiv.org/abs/1910.02054), Sec. 5.2.

use std::cell::RefCell;

use tch::Tensor;
use torch_ext::TorchError;

use crate::head::statistics_kind;
use ranks::{Exchange, RankError, Ranks};

/// The gradients of one decoder's blocks.
#[derive(Debug)]
pub(super) struct BlockGradients {
    ranks: Ranks,
    /// The decoder's tensors, which have no elements while their block is closed, and their elements when gathered.
    blocks: Vec<Vec<(Tensor, i64)>>,
    state: RefCell<State>,
}

#[derive(Debug)]
struct State {
    /// A running reduction and its block.
    leaving: Option<(usize, Exchange)>,
    /// This rank's shard of each block's gradient, once reduced.
    shards: Vec<Option<Tensor>>,
    failure: Option<RankError>,
}

/// Returns the number of the block in a parameter's name.
pub fn block_of(name: &str) -> Option<usize> {
    let (_, rest) = name.split_once("layers.")?;
    rest.split('.').next()?.parse().ok()
}

impl BlockGradients {
    /// Starts without gradients; the trained parameters of each block must be gathered.
    pub(super) fn new(ranks: &Ranks, parameters_of_blocks: Vec<Vec<Tensor>>) -> Self {
        let trained = |parameter: Tensor| {
            let elements = parameter.size().iter().product();
            (parameter, elements)
        };
        let blocks: Vec<Vec<(Tensor, i64)>> = parameters_of_blocks
            .into_iter()
            .map(|parameters| parameters.into_iter().map(trained).collect())
            .collect();
        let shards = blocks.iter().map(|_| None).collect();
        let state = State { leaving: None, shards, failure: None };
        Self { ranks: ranks.clone(), blocks, state: RefCell::new(state) }
    }

    /// Allocates the gradient of block `index` over all micro-batches, at least f32; each parameter's is flattened.
    pub(crate) fn zeros(&self, index: usize) -> Vec<Tensor> {
        let _no_grad = tch::no_grad_guard();
        let zeros = |(parameter, elements): &(Tensor, i64)| {
            Tensor::zeros([*elements], (statistics_kind(parameter), parameter.device()))
        };
        self.blocks[index].iter().map(zeros).collect()
    }

    /// Runs the backward pass of a block to its input, and adds the gradients of its parameters to `sum`.
    pub(crate) fn vjp(
        &self,
        index: usize,
        output: &Tensor,
        cotangent: &Tensor,
        input: &Tensor,
        sum: &mut [Tensor],
    ) -> Result<Tensor, TorchError> {
        let parameters = self.blocks[index].iter().map(|(parameter, _)| parameter);
        let inputs: Vec<&Tensor> = std::iter::once(input).chain(parameters).collect();
        let gradients = torch_ext::vector_jacobian_product(&[output], &[cotangent], &inputs)?;
        let _no_grad = tch::no_grad_guard();
        let mut gradients = gradients.into_iter();
        let of_input = gradients.next().flatten().unwrap_or_else(|| input.zeros_like());
        for (sum, gradient) in sum.iter_mut().zip(gradients) {
            if let Some(gradient) = gradient {
                *sum += gradient.reshape(-1).to_kind(sum.kind());
            }
        }
        Ok(of_input)
    }

    /// Starts the reduction of a block's gradient to shards.
    pub(crate) fn reduce(&self, index: usize, sum: &[Tensor]) {
        let mut state = self.state.borrow_mut();
        self.land(&mut state);
        match self.ranks.start_sum_shard("gradient of a block", sum) {
            Ok(leaving) => state.leaving = Some((index, leaving)),
            Err(error) => drop(state.failure.get_or_insert(error)),
        }
    }

    /// Returns this rank's shard of the gradient of block `index`; 0 if none was reduced. Fails if a rank failed in this exchange or an
    /// earlier one.
    pub(super) fn take(&self, index: usize) -> Result<Tensor, RankError> {
        let mut state = self.state.borrow_mut();
        self.land(&mut state);
        if let Some(error) = state.failure.take() {
            return Err(error);
        }
        let none = || self.ranks.local_shard(&self.zeros(index));
        Ok(state.shards[index].take().unwrap_or_else(none))
    }

    /// Waits for the running reduction.
    fn land(&self, state: &mut State) {
        if let Some((index, leaving)) = state.leaving.take() {
            match self.ranks.finish(leaving) {
                Ok(shard) => state.shards[index] = Some(shard),
                Err(error) => drop(state.failure.get_or_insert(error)),
            }
        }
    }
}
