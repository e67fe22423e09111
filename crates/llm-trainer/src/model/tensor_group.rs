//! Tensor parallelism: one model over several ranks, each with a part of every large matrix.
//!
//! Queries, keys and values are cut by heads, gate and up by rows, output and down by columns, embedding and head by tokens of
//! the vocabulary; norms are on every rank. The residual stream is whole on every rank: what output, down and embedding leave
//! is summed over the group, and so is the gradient of what the first three and gate and up read.
//!
//! Source: Shoeybi et al. 2019, *Megatron-LM*, [arXiv:1909.08053](https://arxiv.org/abs/1909.08053), Sec. 3.

use std::cell::RefCell;

use tch::Tensor;
use torch_ext::ReduceOp;
use trainer_core::model_config::ModelConfig;

use super::error::DecoderError;
use crate::ranks::{RankError, Ranks};

/// The ranks that hold one model together.
///
/// What fails between them is kept until it is asked for by [`check`](Self::check): a pass of the model answers with tensors, and
/// what it answers after a failure is worth nothing.
#[derive(Debug)]
pub(crate) struct TensorGroup {
    ranks: Ranks,
    failure: RefCell<Option<RankError>>,
}

/// Which part of a parameter a rank holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Part {
    /// The dimension that is cut, 0 or 1.
    pub(crate) dimension: i64,
    /// Which of the equal parts.
    pub(crate) index: i64,
    /// How many there are.
    pub(crate) count: i64,
}

impl TensorGroup {
    /// A group for models of this shape.
    ///
    /// # Errors
    ///
    /// [`DecoderError::Uncut`] if a count of the model cannot be cut into as many equal parts as there are ranks.
    pub(crate) fn new(ranks: &Ranks, config: &ModelConfig) -> Result<Self, DecoderError> {
        let parts = ranks.count();
        let counts = [
            ("num_attention_heads", config.num_attention_heads),
            ("num_key_value_heads", config.num_key_value_heads),
            ("intermediate_size", config.intermediate_size),
            ("vocab_size", config.vocab_size),
        ];
        if let Some((field, found)) = counts.into_iter().find(|(_, count)| count % parts != 0) {
            return Err(DecoderError::Uncut { field, found, parts });
        }
        if config.attention_output_bias {
            return Err(DecoderError::OutputBias { parts });
        }
        Ok(Self { ranks: ranks.clone(), failure: RefCell::default() })
    }

    /// Which rank of the group this is, from 0.
    pub(crate) fn index(&self) -> i64 {
        integer(self.ranks.rank())
    }

    /// Ranks of the group.
    pub(crate) fn count(&self) -> i64 {
        integer(self.ranks.count())
    }

    /// The ranks themselves.
    pub(crate) fn ranks(&self) -> &Ranks {
        &self.ranks
    }

    /// The part of parameter `name` that this rank holds; `None` where every rank has the whole.
    pub(crate) fn part_of(&self, name: &str) -> Option<Part> {
        let dimension = dimension_of(name)?;
        Some(Part { dimension, index: self.index(), count: self.count() })
    }

    /// The sum over the group, the same bits on every rank, outside of any graph. `own` may be overwritten.
    ///
    /// # Panics
    ///
    /// If `own` has a graph, which would end here.
    pub(crate) fn sum(&self, own: &Tensor) -> Tensor {
        assert!(!own.requires_grad(), "a sum over ranks has no derivative");
        self.reduce(own, ReduceOp::Sum)
    }

    /// The largest over the group, element by element. `own` may be overwritten.
    pub(crate) fn largest(&self, own: &Tensor) -> Tensor {
        self.reduce(own, ReduceOp::Max)
    }

    fn reduce(&self, own: &Tensor, op: ReduceOp) -> Tensor {
        let own = own.contiguous();
        if self.has_failed() {
            return own;
        }
        if let Err(error) = self.ranks.reduce_in_place("part of the model", &own, op) {
            self.fail(error);
        }
        own
    }

    /// What every rank has, one after the other in a new first dimension.
    pub(crate) fn gather(&self, own: &Tensor) -> Tensor {
        let _no_grad = tch::no_grad_guard();
        let flat = own.contiguous().view(-1);
        let shape: Vec<i64> = std::iter::once(self.count()).chain(own.size()).collect();
        let gathered = if self.has_failed() {
            None
        } else {
            self.ranks.gather_shards("part of the model", &flat).map_err(|e| self.fail(e)).ok()
        };
        let whole = gathered.unwrap_or_else(|| flat.repeat([self.count()]));
        whole.view(shape.as_slice())
    }

    /// The whole of what is cut by its last dimension.
    pub(crate) fn gather_columns(&self, own: &Tensor) -> Tensor {
        Tensor::cat(&self.gather(own).unbind(0), -1)
    }

    /// The whole parameter of which every rank has a part.
    pub(crate) fn gather_part(&self, own: &Tensor, part: Part) -> Tensor {
        Tensor::cat(&self.gather(own).unbind(0), part.dimension)
    }

    /// Of ids of the whole vocabulary: their ids within this rank's part, `tokens` long, any id of it for those of other parts,
    /// and where they are of it.
    pub(crate) fn own_ids(&self, ids: &Tensor, tokens: i64) -> (Tensor, Tensor) {
        let local = ids - self.index() * tokens;
        let here = local.ge(0).logical_and(&local.lt(tokens));
        (local.clamp(0, tokens - 1), here)
    }

    /// What has gone wrong since the last question.
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

impl Part {
    /// The part of a whole parameter, in memory of its own.
    pub(crate) fn of(self, whole: &Tensor) -> Tensor {
        let length = whole.size()[self.axis()] / self.count;
        whole.narrow(self.dimension, self.index * length, length).copy()
    }

    /// Where in the whole parameter the part lies.
    pub(crate) fn within(self, whole: &Tensor) -> Tensor {
        let length = whole.size()[self.axis()] / self.count;
        whole.narrow(self.dimension, self.index * length, length)
    }

    /// Shape of the part of a parameter with this shape.
    pub(crate) fn shape(self, whole: &[i64]) -> Vec<i64> {
        let mut shape = whole.to_vec();
        shape[self.axis()] /= self.count;
        shape
    }

    /// Shape of the parameter whose part has this shape.
    pub(crate) fn whole_shape(self, own: &[i64]) -> Vec<i64> {
        let mut shape = own.to_vec();
        shape[self.axis()] *= self.count;
        shape
    }

    fn axis(self) -> usize {
        usize::try_from(self.dimension).expect("0 or 1")
    }
}

/// The dimension in which a parameter is cut, as its name in a checkpoint says.
fn dimension_of(name: &str) -> Option<i64> {
    const ROWS: [&str; 5] = ["q_proj", "k_proj", "v_proj", "gate_proj", "up_proj"];
    const COLUMNS: [&str; 2] = ["o_proj", "down_proj"];
    let module = name.rsplit('.').nth(1)?;
    if ROWS.contains(&module) || ["embed_tokens", "lm_head"].contains(&module) {
        Some(0)
    } else if COLUMNS.contains(&module) {
        Some(1)
    } else {
        None
    }
}

fn integer(count: usize) -> i64 {
    i64::try_from(count).expect("a number of processes")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn matrices_are_cut_and_norms_are_not() {
        let of = |name| dimension_of(&format!("model.layers.3.{name}"));
        assert_eq!(of("self_attn.q_proj.bias"), Some(0));
        assert_eq!(of("mlp.up_proj.weight"), Some(0));
        assert_eq!(of("self_attn.o_proj.weight"), Some(1));
        assert_eq!(of("mlp.down_proj.weight"), Some(1));
        assert_eq!(of("input_layernorm.weight"), None);
        assert_eq!(dimension_of("model.embed_tokens.weight"), Some(0));
        assert_eq!(dimension_of("lm_head.weight"), Some(0));
        assert_eq!(dimension_of("model.norm.weight"), None);
    }

    #[test]
    fn parts_make_the_whole_again() {
        let whole = Tensor::arange(24, tch::kind::INT64_CPU).view([4, 6]);
        for dimension in [0, 1] {
            let parts = [0, 1].map(|index| Part { dimension, index, count: 2 });
            let own = parts.map(|part| part.of(&whole));
            assert!(Tensor::cat(&own, dimension).equal(&whole));
            assert_eq!(parts[1].shape(&[4, 6]), own[1].size());
            assert_eq!(parts[1].whole_shape(&own[1].size()), [4, 6]);
        }
    }

    #[test]
    fn an_id_is_of_one_part() {
        let config = ModelConfig::read(std::path::Path::new(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/tests/fixtures/tiny_qwen2_tied/config.json"
        )));
        let group = TensorGroup::new(&Ranks::single(), &config.unwrap()).unwrap();
        let (own, here) = group.own_ids(&Tensor::from_slice(&[0i64, 7, 8]), 8);
        assert_eq!(Vec::<i64>::try_from(&own).unwrap(), [0, 7, 7]);
        assert_eq!(Vec::<bool>::try_from(&here).unwrap(), [true, true, false]);
    }
}
