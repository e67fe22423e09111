//! A mixture of experts in place of a block's MLP.

use tch::Tensor;
use torch_ext::size;

use super::mlp::Mlp;
use super::operand::Operand;
use super::shape::numbers;
use crate::bf16_matmul::linear;
use crate::head::statistics_kind;

/// Router of a mixture of experts, of which each token goes to those that it rates highest:
///
/// ```text
/// p = softmax(W x)        y = Σ_{e ∈ chosen} w_e · mlp_e(x)        w_e = p_e, or p_e / Σ_{chosen} p
/// ```
///
/// No loss balances the experts: the auxiliary loss is for pretraining.
#[derive(Debug)]
pub(super) struct Router {
    /// `[experts, hidden]`.
    pub(super) weight: Tensor,
    /// Experts that a token goes to.
    pub(super) per_token: i64,
    /// True if the weights of a token's experts are divided by their sum.
    pub(super) normalised: bool,
}

/// Choice of experts in one pass of a block.
///
/// With replayed experts, gradients flow through their weights under the current router: "rollout routing replay", arXiv:2510.11370.
#[derive(Debug, Default)]
pub struct Routing {
    /// Experts to use, i64 `[tokens, per token]`; rows of -1 where the router chooses.
    pub replayed: Option<Tensor>,
    /// Experts that the router chose and experts that were used, i64 `[tokens, per token]`, ascending; `None` for a block without experts.
    pub taken: Option<[Tensor; 2]>,
}

impl Routing {
    /// Replays these experts, see [`replayed`](Self::replayed).
    pub fn replay(experts: &Tensor) -> Self {
        Self { replayed: Some(experts.shallow_clone()), taken: None }
    }

    /// The experts of each token, by its probabilities, `[tokens, experts]`.
    fn choose(&mut self, probabilities: &Tensor, per_token: i64) -> Tensor {
        let _no_grad = tch::no_grad_guard();
        // Ascending: the order of the sum does not depend on the order of the probabilities.
        let chosen = probabilities.topk(per_token, -1, true, false).1.sort(-1, false).0;
        let used = match &self.replayed {
            None => chosen.shallow_clone(),
            Some(replayed) => replayed.where_self(&replayed.ge(0), &chosen),
        };
        self.taken = Some([chosen, used.shallow_clone()]);
        used
    }
}

impl Router {
    /// Maps `[.., hidden]` to the same shape. The result does not depend on the order of atomic additions, on any device.
    pub(super) fn forward(&self, mlps: &[Mlp], x: &Operand, routing: &mut Routing) -> Tensor {
        let x = x.with_graph();
        let (kind, width) = (x.kind(), x.size()[x.dim() - 1]);
        let tokens = x.reshape([-1, width]);
        let wide = statistics_kind(&x);
        let probabilities = linear(&tokens, &self.weight, None).softmax(-1, wide);
        let used = routing.choose(&probabilities, self.per_token);
        let weights = probabilities.gather(1, &used, false);
        let weights = if self.normalised {
            &weights / weights.sum_dim_intlist(-1, true, wide)
        } else {
            weights
        };
        // A copy of each token for each of its experts, expert after expert. Every index occurs once.
        let copies = tokens.unsqueeze(1).expand([-1, self.per_token, -1], false);
        let used = used.reshape([-1]);
        let order = used.argsort_stable(true, -1, false);
        let mixed = apply(mlps, &copies.reshape([-1, width]).index_select(0, &order), &used);
        let mixed = mixed.index_select(0, &order.argsort(-1, false));
        let mixed = mixed.view([-1, self.per_token, width]) * weights.to_kind(kind).unsqueeze(-1);
        mixed.sum_dim_intlist(1, false, kind).view_as(&x)
    }
}

/// Applies each expert to its rows of `inputs`, `[tokens · per token, hidden]`, which are sorted by `experts`.
fn apply(mlps: &[Mlp], inputs: &Tensor, experts: &Tensor) -> Tensor {
    let counts = experts.bincount(None::<&Tensor>, size(mlps.len()));
    let parts = inputs.split_with_sizes(numbers::<i64>(&counts), 0);
    // With a graph, an expert without tokens has a gradient too, of 0.
    let needed = |part: &Tensor| part.size()[0] > 0 || inputs.requires_grad();
    let rows = mlps.iter().zip(parts).filter(|(_, part)| needed(part));
    let rows = rows.map(|(mlp, part)| mlp.forward(&Operand::plain(part)));
    Tensor::cat(&rows.collect::<Vec<_>>(), 0)
}
