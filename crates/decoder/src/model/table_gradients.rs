//! Gradients of the embedding and of the head, one table if they are tied; they go to `.grad`, or to the shards of
//! ranks.

use tch::Tensor;
use torch_ext::{TorchError, size};

use super::decoder::Decoder;
use crate::head::{WeightGradient, statistics_kind};

/// The gradient of the head's weight, summed over micro-batches.
#[derive(Debug)]
pub struct HeadSum {
    /// The sum so far.
    pub sum: WeightGradient,
    /// True if it is the weight's `.grad` itself.
    in_place: bool,
}

impl HeadSum {
    /// Starts without gradients; `None` if the head is not trained.
    ///
    /// # Errors
    ///
    /// [`TorchError`] if libtorch refuses.
    pub fn of(model: &Decoder) -> Result<Option<Self>, TorchError> {
        let weight = model.head();
        if !weight.requires_grad() {
            return Ok(None);
        }
        if let Some(blocks) = &model.placement.gradients {
            let sum = blocks.zeros(model.head_unit()).remove(0).view_as(weight);
            return Ok(Some(Self { sum: WeightGradient::over(&sum), in_place: false }));
        }
        if weight.kind() != statistics_kind(weight) {
            return Ok(Some(Self { sum: WeightGradient::Empty, in_place: false }));
        }
        if !weight.grad().defined() {
            torch_ext::set_gradient(weight, Some(&weight.detach().zeros_like()))?;
        }
        Ok(Some(Self { sum: WeightGradient::over(&weight.grad()), in_place: true }))
    }

    /// Passes the sum on; a tied head's sum for sharded gradients is returned, to be added to the embedding's.
    ///
    /// # Errors
    ///
    /// [`TorchError`] if libtorch refuses.
    pub fn finish(self, model: &Decoder) -> Result<Option<Tensor>, TorchError> {
        let Some(sum) = self.sum.into_tensor().filter(|_| !self.in_place) else {
            return Ok(None);
        };
        if let Some(blocks) = &model.placement.gradients {
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

/// The gradient of the embedding table, summed over micro-batches.
#[derive(Debug)]
pub struct EmbeddingSum<'a> {
    model: &'a Decoder,
    /// `[vocab, hidden]`; undefined until the first backward pass creates it.
    table: Tensor,
}

impl<'a> EmbeddingSum<'a> {
    /// Starts from the head's sum `left`, see [`HeadSum::finish`]; `None` if the embedding is not trained.
    pub fn of(model: &'a Decoder, left: Option<Tensor>) -> Option<Self> {
        if !model.embedding.requires_grad() {
            return None;
        }
        let table = match (left, &model.placement.gradients) {
            (Some(table), _) => table,
            (None, Some(blocks)) => {
                let width = size(model.config().hidden_size);
                blocks.zeros(model.embedding_unit()).remove(0).view([-1, width])
            }
            (None, None) => model.embedding.grad(),
        };
        Some(Self { model, table })
    }

    /// Adds the gradient of the embedding vectors of `token_ids`, i64 `[1, tokens]`; `gradient` is `[1, tokens, hidden]`.
    ///
    /// # Errors
    ///
    /// [`TorchError`] if libtorch refuses.
    pub fn add(&self, token_ids: &Tensor, gradient: &Tensor) -> Result<(), TorchError> {
        let Self { model, table } = self;
        let scaled = model.embedding_scale().map(|scale| gradient * scale);
        let gradient = scaled.as_ref().unwrap_or(gradient);
        if !table.defined() || table.kind() != statistics_kind(table) {
            let embedded = model.embed_local(token_ids);
            return torch_ext::backward(&[&embedded], &[gradient]);
        }
        // Only the rows of these tokens; autograd would make a table of zeros around them.
        let _no_grad = tch::no_grad_guard();
        let (ids, rows) = (token_ids.squeeze_dim(0), gradient.squeeze_dim(0));
        let (ids, rows) = match model.taught_rows(&ids) {
            None => (ids, rows),
            Some((places, own)) => (own, rows.index_select(0, &places)),
        };
        let rows = rows.to_kind(table.kind());
        let _same = table.shallow_clone().index_add_(0, &ids, &rows);
        Ok(())
    }

    /// Passes the sum on.
    pub fn finish(self) {
        if let Some(blocks) = &self.model.placement.gradients {
            blocks.reduce(self.model.embedding_unit(), &[self.table]);
        }
    }
}
