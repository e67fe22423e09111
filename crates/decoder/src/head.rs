//! The output head: log-probability and exact entropy of chosen tokens, and their backward pass, in chunks.
//!
//! The full `[tokens, vocab]` matrix never exists: at most [`CHUNK_LOGITS`] logits are alive at a time, or more where one
//! kernel (`head/fused.rs`) needs no other buffers. The backward pass is closed-form, so the chunks need no graph:
//!
//! ```text
//! ∂ log π(y) / ∂ z_k =  (1[k = y] - π_k) / T
//! ∂ H        / ∂ z_k = -π_k (log π_k + H) / T
//! ```
//!
//! The log-probability of a token with a sampling mask is normalised over its kept tokens: `π_k` of the first line is then 0 outside
//! them ([`SamplingMask`]).
//!
//! With vocabulary-parallel ranks, each computes the logits of its own shard. Two all-reductions combine them: the largest logit, then
//! the sums of `exp` and of logit times `exp`. No rank sees another's logits.
//!
//! Derivations: `docs/theory.md#lemma-1`; the same formulas for one state in `f64` are
//! [`entropy_core::Categorical::vjp_log_prob`] and [`entropy_core::Categorical::vjp_entropy`].

use model_files::buffer_limits::{CHUNK_LOGITS, WAITING_LOGITS};
use tch::Tensor;

#[cfg(test)]
mod agreement;
mod fused;
mod restriction;
mod shards;
mod weight_sum;

use self::fused::FusedHead;
pub use self::fused::test_fused_head;
use self::restriction::Restriction;
use self::weight_sum::WeightSum;
pub use self::weight_sum::{WeightGradient, statistics_kind};
use crate::bf16_matmul::matmul;
use crate::model::{TensorGroup, sum_over};
use crate::sampling_mask::SamplingMask;

/// The head's weight, or this rank's vocabulary shard of it.
#[derive(Debug, Clone, Copy)]
pub struct Head<'a> {
    /// `[vocab, hidden]`; for a shard, its own tokens.
    pub(crate) weight: &'a Tensor,
    /// The ranks that hold the other vocabulary shards, in order.
    pub(crate) group: Option<&'a TensorGroup>,
}

impl<'a> From<&'a Tensor> for Head<'a> {
    fn from(weight: &'a Tensor) -> Self {
        Self { weight, group: None }
    }
}

/// Tokens whose statistics are computed.
#[derive(Debug, Clone, Copy)]
pub struct Targets<'a> {
    /// Token ids, i64 `[tokens]`.
    pub ids: &'a Tensor,
    /// Sampling mask of each token: the ids it was drawn from, if not the full vocabulary; one list per token.
    pub mask: Option<&'a SamplingMask>,
    /// True to compute [`TokenStatistics::squared_score`] too.
    pub with_squared_scores: bool,
}

impl<'a> From<&'a Tensor> for Targets<'a> {
    fn from(ids: &'a Tensor) -> Self {
        Self { ids, mask: None, with_squared_scores: false }
    }
}

/// `∂L/∂(statistic)` of each target, both `[tokens]`.
#[derive(Debug, Clone, Copy)]
pub struct TokenCotangent<'a> {
    /// `∂L/∂ log π(y_t)`.
    pub log_prob: &'a Tensor,
    /// `∂L/∂H_t`, where the loss has an entropy term.
    pub entropy: Option<&'a Tensor>,
}

/// Statistics of each chosen token, each `[tokens]`; `f64` for an `f64` model, else `f32`.
#[derive(Debug)]
pub struct TokenStatistics {
    /// `log π(y_t)` at the given temperature, in nats.
    pub log_prob: Tensor,
    /// Exact entropy over the full vocabulary at the given temperature, in nats.
    pub entropy: Tensor,
    /// `Σ_k (1[k = y_t] - π_k)²`, the squared norm of the derivative of `log π(y_t)` by the logits over the temperature, if the targets
    /// ask for it. With a sampling mask, `π` is that of the kept tokens.
    pub squared_score: Option<Tensor>,
}

/// Gradients of `Σ_t (d_log_prob_t · log π(y_t) + d_entropy_t · H_t)`.
#[derive(Debug)]
pub struct HeadGradient {
    /// With respect to the hidden states, `[tokens, hidden]`.
    pub hidden: Tensor,
    /// `log π(y_t)`, a by-product, `[tokens]`.
    pub log_prob: Tensor,
}

/// Log-probability and entropy of `targets` under `softmax(hidden · weightᵀ / temperature)`, without a graph.
///
/// Shapes: `hidden` `[tokens, hidden]`, `weight` `[vocab, hidden]`. If the targets have a sampling mask ([`SamplingMask`]), the
/// log-probability is that of the softmax over the kept tokens; the entropy is always over the full vocabulary.
///
/// # Panics
///
/// If the shapes do not fit or a token is no index of the vocabulary.
pub fn token_statistics<'a>(
    hidden: &Tensor,
    head: impl Into<Head<'a>>,
    targets: impl Into<Targets<'a>>,
    temperature: f64,
) -> TokenStatistics {
    let _no_grad = tch::no_grad_guard();
    let (head, targets) = (head.into(), targets.into());
    let with_squared_scores = targets.with_squared_scores;
    let fused = fused_head(hidden, head, targets, temperature);
    let empty = || Tensor::zeros([0], (statistics_kind(hidden), hidden.device()));
    let mut columns: [Vec<Tensor>; 3] = Default::default();
    for (start, length) in chunks(targets.ids.size()[0], rows(fused.as_ref(), head)) {
        let by_kernel =
            fused.as_ref().and_then(|fused| Some(fused.compute(start, length, None)?.1));
        let statistics = by_kernel.unwrap_or_else(|| {
            let chunk = Chunk::new(hidden, head, targets, temperature, start, length);
            let (log_prob, entropy) = (chunk.target_log_prob(), chunk.entropy());
            let squares = with_squared_scores.then(|| chunk.squared_score(head.group));
            [log_prob, entropy, squares.unwrap_or_else(empty)]
        });
        columns.iter_mut().zip(statistics).for_each(|(column, part)| column.push(part));
    }
    let [log_prob, entropy, squares] = columns.each_ref().map(|parts| join(parts, empty));
    TokenStatistics { log_prob, entropy, squared_score: with_squared_scores.then_some(squares) }
}

/// Backward pass: from cotangents of log-probability and entropy to gradients of hidden states and weight.
///
/// Shapes as in [`token_statistics`]. The gradient of the weight is added to `d_weight`, if given; that of `hidden` has the kind of
/// `hidden`.
///
/// # Panics
///
/// Those of [`token_statistics`]; also if `d_weight` is a sum of another shape.
pub fn token_statistics_backward<'a>(
    hidden: &Tensor,
    head: impl Into<Head<'a>>,
    targets: impl Into<Targets<'a>>,
    temperature: f64,
    cotangent: TokenCotangent<'_>,
    d_weight: Option<&mut WeightGradient>,
) -> HeadGradient {
    let _no_grad = tch::no_grad_guard();
    let (head, targets) = (head.into(), targets.into());
    let (mut d_hidden, mut log_probs) = (Vec::new(), Vec::new());
    let kind = statistics_kind(hidden);
    let fused = fused_head(hidden, head, targets, temperature);
    // The kernel's chunks are large.
    let room = fused.is_none().then(|| [tokens_of(WAITING_LOGITS, head), head.weight.size()[0]]);
    let mut d_weight = d_weight.map(|gradient| WeightSum::new(gradient, hidden, room));
    for (start, length) in chunks(targets.ids.size()[0], rows(fused.as_ref(), head)) {
        let by_kernel = fused.as_ref().and_then(|fused| {
            fused.backward((start, length), cotangent.log_prob, cotangent.entropy)
        });
        let (d_logits, log_prob) = by_kernel.unwrap_or_else(|| {
            let chunk = Chunk::new(hidden, head, targets, temperature, start, length);
            let column =
                |values: &Tensor| values.narrow(0, start, length).unsqueeze(1).to_kind(kind);
            let log_prob = chunk.target_log_prob();
            let mut d_logits =
                chunk.d_logits(column(cotangent.log_prob), cotangent.entropy.map(column));
            if (temperature - 1.0).abs() > 0.0 {
                d_logits /= temperature;
            }
            (d_logits.to_kind(hidden.kind()), log_prob)
        });
        log_probs.push(log_prob);
        d_hidden.push(sum_over(head.group, matmul(&d_logits, head.weight)));
        if let Some(d_weight) = &mut d_weight {
            d_weight.add(&d_logits);
        }
    }
    if let Some(d_weight) = d_weight {
        d_weight.finish();
    }
    HeadGradient {
        hidden: join(&d_hidden, || hidden.zeros_like()),
        log_prob: join(&log_probs, || Tensor::zeros([0], (kind, hidden.device()))),
    }
}

fn join(parts: &[Tensor], empty: impl FnOnce() -> Tensor) -> Tensor {
    if parts.is_empty() { empty() } else { Tensor::cat(parts, 0) }
}

/// The kernel for these tokens; `None` without one, with vocabulary shards, and with sampling masks.
fn fused_head<'a>(
    hidden: &'a Tensor,
    head: Head<'a>,
    targets: Targets<'a>,
    temperature: f64,
) -> Option<FusedHead<'a>> {
    let is_masked = targets.mask.is_some_and(|mask| mask.iter().any(|list| !list.is_empty()));
    if head.group.is_some() || is_masked {
        return None;
    }
    FusedHead::new(hidden, head.weight, targets.ids, temperature)
}

/// Most tokens of a chunk: the kernel needs no other buffers.
fn rows(fused: Option<&FusedHead<'_>>, head: Head<'_>) -> i64 {
    tokens_of(if fused.is_some() { WAITING_LOGITS } else { CHUNK_LOGITS }, head)
}

/// Tokens that have so many logits.
fn tokens_of(logits: u32, head: Head<'_>) -> i64 {
    (i64::from(logits) / head.weight.size()[0]).max(1)
}

/// Ranges of `rows` tokens at most, as start and length.
fn chunks(tokens: i64, rows: i64) -> impl Iterator<Item = (i64, i64)> {
    (0..tokens)
        .step_by(usize::try_from(rows).expect("a positive count"))
        .map(move |start| (start, rows.min(tokens - start)))
}

/// Log-probabilities of a range of tokens.
struct Chunk {
    /// `[length, vocab]`, in `f32` at least; with vocabulary shards, this rank's own.
    log_prob: Tensor,
    /// Column of each target in it, `[length, 1]`.
    targets: Tensor,
    restriction: Option<Restriction>,
    /// Statistics reduced over all vocabulary shards, if there are several.
    over_shards: Option<OverShards>,
}

/// Statistics reduced over all vocabulary shards.
struct OverShards {
    /// 1 where the target is in this shard, else 0, `[length, 1]`.
    is_here: Tensor,
    /// `log π(y_t)` over the full vocabulary, `[length, 1]`.
    target_log_prob: Tensor,
    /// Entropy of each token in nats, `[length]`.
    entropy: Tensor,
}

impl Chunk {
    fn new(
        hidden: &Tensor,
        Head { weight, group }: Head<'_>,
        Targets { ids, mask, .. }: Targets<'_>,
        temperature: f64,
        start: i64,
        length: i64,
    ) -> Self {
        let kind = statistics_kind(hidden);
        let logits = matmul(&hidden.narrow(0, start, length), &weight.tr()).to_kind(kind);
        let logits = if (temperature - 1.0).abs() > 0.0 { logits / temperature } else { logits };
        let targets = ids.narrow(0, start, length).unsqueeze(1);
        let lists: Option<Vec<&[u32]>> = mask.map(|mask| {
            let first = usize::try_from(start).expect("chunks start at 0 or later");
            let last = first + usize::try_from(length).expect("chunks have tokens");
            (first..last).map(|token| mask.of(token)).collect()
        });
        let lists = lists.filter(|lists| lists.iter().any(|list| !list.is_empty()));
        if let Some(group) = group {
            return Self::of_shard(&logits, &targets, lists.as_deref(), group);
        }
        let log_prob = logits.log_softmax(-1, kind);
        let restriction = lists.map(|lists| Restriction::new(&log_prob, &lists));
        Self { log_prob, targets, restriction, over_shards: None }
    }

    /// Returns the gradient of the logits divided by the temperature, `[length, vocab]`, from cotangents `[length, 1]`.
    fn d_logits(&self, d_log_prob: Tensor, d_entropy: Option<Tensor>) -> Tensor {
        // Buffers of a chunk are large: what can be is done in place.
        let prob = self.log_prob.exp();
        let score = d_entropy.map(|d_entropy| {
            let mut score = &self.log_prob + self.entropy().unsqueeze(1);
            score *= &prob;
            score *= d_entropy;
            score
        });
        let mut d_logits = match &self.restriction {
            None => {
                let mut d_logits = prob;
                d_logits *= -&d_log_prob;
                d_logits
            }
            Some(restriction) => restriction.d_logits(&prob, &d_log_prob),
        };
        if let Some(score) = score {
            d_logits -= score;
        }
        let of_target = match &self.over_shards {
            None => d_log_prob,
            Some(OverShards { is_here, .. }) => d_log_prob * is_here,
        };
        let _same = d_logits.scatter_add_(1, &self.targets, &of_target);
        d_logits
    }

    /// Squared norm of the derivative of the log-probability, `[length]`: no difference of near numbers where a token is certain.
    fn squared_score(&self, group: Option<&TensorGroup>) -> Tensor {
        let score = self.d_logits(self.targets.ones_like().to_kind(self.log_prob.kind()), None);
        sum_over(group, score.square().sum_dim_intlist(-1, false, score.kind()))
    }

    fn target_log_prob(&self) -> Tensor {
        let log_prob = match &self.over_shards {
            None => self.log_prob.gather(1, &self.targets, false),
            Some(over_shards) => over_shards.target_log_prob.shallow_clone(),
        };
        let log_prob = match &self.restriction {
            None => log_prob,
            Some(restriction) => log_prob - &restriction.log_mass,
        };
        log_prob.squeeze_dim(1)
    }

    fn entropy(&self) -> Tensor {
        if let Some(over_shards) = &self.over_shards {
            return over_shards.entropy.shallow_clone();
        }
        // A token of probability 0 adds nothing: 0 · (-∞) must not become NaN.
        let finite = self.log_prob.clamp_min(f64::from(f32::MIN));
        -(finite.exp() * &finite).sum_dim_intlist(-1, false, finite.kind())
    }
}
