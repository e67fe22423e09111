//! Tensor parallelism: one model over several ranks, each with a shard of every large matrix.
//!
//! [`ShardSpec`](super::tensor_shard::ShardSpec) defines the split of each parameter. The residual stream is replicated: the
//! results of output, down and embedding are summed over the group, and so is the gradient of the inputs of query-key-value and
//! gate-up.
//!
//! If there are more ranks than key-value heads, neighbours hold copies of one head, each for its own queries; a rank's
//! gradient of it is then a partial sum, and so is that of the replicated factor of a low-rank correction.
//!
//! Source: Shoeybi et al. 2019, *Megatron-LM*, [arXiv:1909.08053](https://arxiv.org/abs/1909.08053), Sec. 3.

use std::cell::RefCell;

use model_files::model_config::ModelConfig;
use tch::Tensor;
use torch_ext::{ReduceOp, size};

use super::error::DecoderError;
use ranks::{RankError, Ranks};

/// The tensor-parallel ranks of one model.
///
/// Failures are stored until `check` asks for them, because a pass of the model returns tensors. Its results after a
/// failure are invalid.
#[derive(Debug)]
pub(crate) struct TensorGroup {
    pub(super) ranks: Ranks,
    /// The ranks that hold the same key-value heads as this one.
    pub(super) kv_replicas: Ranks,
    failure: RefCell<Option<RankError>>,
}

impl TensorGroup {
    /// Makes a group for models of this shape; all its ranks must call it.
    ///
    /// Fails if a count of the model is not divisible by the number of ranks, or if a rank does not take part.
    pub(crate) fn new(ranks: &Ranks, config: &ModelConfig) -> Result<Self, DecoderError> {
        let shards = ranks.count();
        config.check_shards(shards)?;
        let copies = (shards / config.num_key_value_heads).max(1);
        let first = ranks.rank() - ranks.rank() % copies;
        let kv_replicas: Vec<usize> = (first..first + copies).collect();
        let kv_replicas = ranks.among(&kv_replicas)?;
        Ok(Self { ranks: ranks.clone(), kv_replicas, failure: RefCell::default() })
    }

    /// Index of this rank in the group, from 0.
    pub(crate) fn index(&self) -> i64 {
        size(self.ranks.rank())
    }

    pub(crate) fn count(&self) -> i64 {
        size(self.ranks.count())
    }

    /// Number of equal shards of keys and values.
    pub(crate) fn key_value_shards(&self) -> usize {
        self.ranks.count() / self.kv_replicas.count()
    }

    /// Sum over the group, bit-identical on every rank, without a graph. `own` may be overwritten.
    ///
    /// # Panics
    ///
    /// If `own` has a graph, which would be lost.
    pub(crate) fn sum(&self, own: &Tensor) -> Tensor {
        assert!(!own.requires_grad(), "a sum over ranks has no derivative");
        self.reduce(own, ReduceOp::Sum)
    }

    /// Element-wise maximum over the group. `own` may be overwritten.
    pub(crate) fn largest(&self, own: &Tensor) -> Tensor {
        self.reduce(own, ReduceOp::Max)
    }

    fn reduce(&self, own: &Tensor, op: ReduceOp) -> Tensor {
        let reduced = own.contiguous();
        if self.has_failed() {
            return reduced;
        }
        if let Err(error) = self.ranks.reduce_in_place("part of the model", &reduced, op) {
            self.fail(error);
        }
        reduced
    }

    /// Gathers the tensors of all ranks in a new first dimension.
    pub(crate) fn gather(&self, own: &Tensor) -> Tensor {
        let _no_grad = tch::no_grad_guard();
        let flat = own.contiguous().view(-1);
        let shape: Vec<i64> = std::iter::once(self.count()).chain(own.size()).collect();
        let gathered = if self.has_failed() {
            None
        } else {
            self.ranks.gather_shards("part of the model", &flat).map_err(|e| self.fail(e)).ok()
        };
        let all = gathered.unwrap_or_else(|| flat.repeat([self.count()]));
        all.view(shape.as_slice())
    }

    /// Gathers a tensor that is split by its last dimension.
    pub(crate) fn gather_columns(&self, own: &Tensor) -> Tensor {
        Tensor::cat(&self.gather(own).unbind(0), -1)
    }

    /// Maps vocabulary ids to indices in this rank's shard of `tokens` rows; also returns where they are in it. Ids of other
    /// shards map to arbitrary valid indices.
    pub(crate) fn local_ids(&self, ids: &Tensor, tokens: i64) -> (Tensor, Tensor) {
        let local = ids - self.index() * tokens;
        let here = local.ge(0).logical_and(&local.lt(tokens));
        (local.clamp(0, tokens - 1), here)
    }

    /// Returns the first failure since the last call.
    pub(crate) fn check(&self) -> Result<(), RankError> {
        self.failure.borrow_mut().take().map_or(Ok(()), Err)
    }

    fn has_failed(&self) -> bool {
        self.failure.borrow().is_some()
    }

    fn fail(&self, error: RankError) {
        self.failure.borrow_mut().get_or_insert(error);
    }
}

/// Sum of a tensor over the ranks of a group, if there is one, without a graph; see [`TensorGroup::sum`].
pub(crate) fn sum_over(group: Option<&TensorGroup>, own: Tensor) -> Tensor {
    match group {
        None => own,
        Some(group) => group.sum(&own),
    }
}
