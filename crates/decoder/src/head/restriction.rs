//! Sampling masks of the tokens of a chunk.

use tch::{Device, Tensor};
use torch_ext::size;

use crate::model::TensorGroup;

pub(super) struct Restriction {
    /// Kept ids, padded with 0, i64 `[length, widest]`.
    pub(super) ids: Tensor,
    /// Log-probability of each kept token within its mask, `-inf` for padding, `[length, widest]`.
    pub(super) log_prob: Tensor,
    /// Log-probability of all kept tokens, 0 for the full vocabulary, `[length, 1]`.
    pub(super) log_mass: Tensor,
    /// 1 where the mask keeps the full vocabulary, else 0, `[length, 1]`.
    pub(super) full: Tensor,
}

/// Lists of ids as padded tensors.
pub(super) struct Lists {
    /// Kept ids, padded with 0, i64 `[length, widest]`.
    pub(super) ids: Tensor,
    /// True for padding, `[length, widest]`.
    absent: Tensor,
    /// True for an empty list, which stands for the full vocabulary, `[length, 1]`.
    pub(super) full: Tensor,
}

impl Lists {
    pub(super) fn new(lists: &[&[u32]], device: Device) -> Self {
        let widest = lists.iter().map(|list| list.len()).max().unwrap_or(0).max(1);
        let mut ids = Vec::with_capacity(lists.len() * widest);
        let mut absent = Vec::with_capacity(lists.len() * widest);
        for list in lists {
            let filling = widest - list.len();
            ids.extend(list.iter().map(|&id| i64::from(id)).chain(std::iter::repeat_n(0, filling)));
            absent.extend((0..widest).map(|place| place >= list.len()));
        }
        let is_full: Vec<bool> = lists.iter().map(|list| list.is_empty()).collect();
        let width = size(widest);
        Self {
            ids: Tensor::from_slice(&ids).view([-1, width]).to_device(device),
            absent: Tensor::from_slice(&absent).view([-1, width]).to_device(device),
            full: Tensor::from_slice(&is_full).view([-1, 1]).to_device(device),
        }
    }

    /// The lists as a vocabulary shard of so many tokens has them: indices there, arbitrary for tokens of other shards, which are absent.
    pub(super) fn within(self, group: &TensorGroup, tokens: i64) -> Self {
        let (ids, here) = group.local_ids(&self.ids, tokens);
        Self { ids, absent: self.absent.logical_or(&here.logical_not()), full: self.full }
    }

    /// The values, `[length, vocab]`, of the kept tokens, `-inf` for absent ones, `[length, widest]`.
    pub(super) fn gather(&self, values: &Tensor) -> Tensor {
        values.gather(1, &self.ids, false).masked_fill(&self.absent, f64::NEG_INFINITY)
    }
}

impl Restriction {
    /// Builds the masks. `log_prob` is `[length, vocab]`; `lists` has `length` entries, an empty one for the full vocabulary.
    pub(super) fn new(log_prob: &Tensor, lists: &[&[u32]]) -> Self {
        let kind = log_prob.kind();
        let lists = Lists::new(lists, log_prob.device());
        let kept_log_prob = lists.gather(log_prob);
        let Lists { ids, full, .. } = lists;
        let log_mass = kept_log_prob.logsumexp([1i64].as_slice(), true).masked_fill(&full, 0.0);
        Self { log_prob: kept_log_prob - &log_mass, ids, log_mass, full: full.to_kind(kind) }
    }

    /// Returns `-g_t π_k` for the kept tokens, 0 elsewhere.
    pub(super) fn d_logits(&self, prob: &Tensor, gradient: &Tensor) -> Tensor {
        let over_all = -(prob * (gradient * &self.full));
        over_all.scatter_add(1, &self.ids, &-(self.log_prob.exp() * gradient))
    }
}
