//! The output head: log-probability and exact entropy of chosen tokens, and their pull-back, in chunks.
//!
//! The whole `[tokens, vocab]` matrix never exists: at most [`CHUNK_LOGITS`] logits are alive at a time. The backward
//! pass is closed-form, so the chunks need no graph:
//!
//! ```text
//! ∂ log π(y) / ∂ z_k =  (1[k = y] - π_k) / T
//! ∂ H        / ∂ z_k = -π_k (log π_k + H) / T
//! ```
//!
//! A token that was drawn from a part of the vocabulary has its log-probability within that part: `π_k` of the first line
//! is then 0 outside it and normalised over it ([`KeptTokens`]).
//!
//! Derivations: `docs/theory.md#lemma-1`; the same formulas for one state in `f64` are
//! [`entropy_core::Categorical::pull_back`] and [`entropy_core::Categorical::pull_back_entropy`].

use tch::{Kind, Tensor};

use crate::kept_tokens::KeptTokens;

/// Most logits of a chunk: 64 MiB in `f32`, a few such buffers live at once.
pub const CHUNK_LOGITS: i64 = 1 << 24;

/// What a policy says of each chosen token, both `[tokens]`; `f64` for an `f64` model, else `f32`.
#[derive(Debug)]
pub struct TokenStatistics {
    /// `log π(y_t)` at the given temperature, in nats.
    pub log_prob: Tensor,
    /// Exact entropy over the whole vocabulary at the given temperature, in nats.
    pub entropy: Tensor,
}

/// Gradients of `Σ_t (d_log_prob_t · log π(y_t) + d_entropy_t · H_t)`.
#[derive(Debug)]
pub struct HeadGradient {
    /// With respect to the hidden states, `[tokens, hidden]`.
    pub hidden: Tensor,
    /// `log π(y_t)`, met on the way, `[tokens]`.
    pub log_prob: Tensor,
}

/// Log-probability and entropy of `targets` under `softmax(hidden · weightᵀ / temperature)`, without a graph.
///
/// Shapes: `hidden` `[tokens, hidden]`, `weight` `[vocab, hidden]`, `targets` `[tokens]` of `i64`. Where the targets come
/// with lists of [`KeptTokens`], one a token, the log-probability is that of the softmax over the list; the entropy is
/// always that over the whole vocabulary.
///
/// # Panics
///
/// If the shapes do not fit or a token is no index of the vocabulary.
pub fn token_statistics(
    hidden: &Tensor,
    weight: &Tensor,
    targets: (&Tensor, Option<&KeptTokens>),
    temperature: f64,
) -> TokenStatistics {
    let _no_grad = tch::no_grad_guard();
    let (mut log_probs, mut entropies) = (Vec::new(), Vec::new());
    for (start, length) in chunks(targets.0.size()[0], weight.size()[0]) {
        let chunk = Chunk::new(hidden, weight, targets, temperature, start, length);
        log_probs.push(chunk.target_log_prob());
        entropies.push(chunk.entropy());
    }
    let empty = || Tensor::zeros([0], (statistics_kind(hidden), hidden.device()));
    TokenStatistics { log_prob: join(&log_probs, empty), entropy: join(&entropies, empty) }
}

/// Pulls cotangents of log-probability and entropy back to hidden states and weight.
///
/// Shapes as in [`token_statistics`]; `d_log_prob` and `d_entropy` are `[tokens]`. The gradient with respect to the weight
/// is added to `d_weight`, `[vocab, hidden]` of [`statistics_kind`], where there is one; that of `hidden` has its kind.
///
/// # Panics
///
/// As [`token_statistics`], or if `d_weight` has another shape or kind.
pub fn token_statistics_backward(
    hidden: &Tensor,
    weight: &Tensor,
    targets: (&Tensor, Option<&KeptTokens>),
    temperature: f64,
    d_log_prob: &Tensor,
    d_entropy: Option<&Tensor>,
    mut d_weight: Option<&mut Tensor>,
) -> HeadGradient {
    let _no_grad = tch::no_grad_guard();
    let (mut d_hidden, mut log_probs) = (Vec::new(), Vec::new());
    let kind = statistics_kind(hidden);
    for (start, length) in chunks(targets.0.size()[0], weight.size()[0]) {
        let chunk = Chunk::new(hidden, weight, targets, temperature, start, length);
        let column = |values: &Tensor| values.narrow(0, start, length).unsqueeze(1).to_kind(kind);
        let gradient = column(d_log_prob);
        log_probs.push(chunk.target_log_prob());
        // Buffers of a chunk are large: what can be is done in place.
        let prob = chunk.log_prob.exp();
        let score = d_entropy.map(|d_entropy| {
            let mut score = &chunk.log_prob + chunk.entropy().unsqueeze(1);
            score *= &prob;
            score *= column(d_entropy);
            score
        });
        let mut d_logits = match &chunk.restriction {
            None => {
                let mut d_logits = prob;
                d_logits *= -&gradient;
                d_logits
            }
            Some(restriction) => restriction.d_logits(&prob, &gradient),
        };
        if let Some(score) = score {
            d_logits -= score;
        }
        let _same = d_logits.scatter_add_(1, &chunk.targets, &gradient);
        if (temperature - 1.0).abs() > 0.0 {
            d_logits /= temperature;
        }
        let d_logits = d_logits.to_kind(hidden.kind());
        d_hidden.push(d_logits.matmul(weight));
        if let Some(d_weight) = &mut d_weight {
            add_product(d_weight, &d_logits.tr(), &hidden.narrow(0, start, length));
        }
    }
    HeadGradient {
        hidden: join(&d_hidden, || hidden.zeros_like()),
        log_prob: join(&log_probs, || Tensor::zeros([0], (kind, hidden.device()))),
    }
}

/// Most rows of a product that is widened before it is added: few enough that its buffers are small.
const WIDENED_ROWS: i64 = 1 << 13;

/// `sum += left · right`; the product is taken in its own kind, the sum in that of `sum`.
fn add_product(sum: &mut Tensor, left: &Tensor, right: &Tensor) {
    if sum.kind() == left.kind() {
        let _same = sum.addmm_(left, right);
        return;
    }
    for (mut part, left) in sum.split(WIDENED_ROWS, 0).into_iter().zip(left.split(WIDENED_ROWS, 0))
    {
        part += left.matmul(right).to_kind(part.kind());
    }
}

fn join(parts: &[Tensor], empty: impl FnOnce() -> Tensor) -> Tensor {
    if parts.is_empty() { empty() } else { Tensor::cat(parts, 0) }
}

/// What statistics of a model and sums of its gradients are taken in: `f32` at least, whatever the model's own kind.
pub fn statistics_kind(hidden: &Tensor) -> Kind {
    if hidden.kind() == Kind::Double { Kind::Double } else { Kind::Float }
}

/// Runs of tokens whose logits fit [`CHUNK_LOGITS`].
fn chunks(tokens: i64, vocab: i64) -> impl Iterator<Item = (i64, i64)> {
    let rows = (CHUNK_LOGITS / vocab).max(1);
    (0..tokens)
        .step_by(usize::try_from(rows).expect("a positive count"))
        .map(move |start| (start, rows.min(tokens - start)))
}

/// Log-probabilities of a run of tokens, `[length, vocab]` in `f32`.
struct Chunk {
    log_prob: Tensor,
    /// `[length, 1]`.
    targets: Tensor,
    restriction: Option<Restriction>,
}

/// The parts of the vocabulary that the tokens of a chunk were drawn from.
struct Restriction {
    /// Kept ids, filled up with 0, i64 `[length, widest]`.
    ids: Tensor,
    /// Log-probability of each kept token within its part, `-inf` where filled up, `[length, widest]`.
    log_prob: Tensor,
    /// Log-probability of the part, 0 where it is the whole vocabulary, `[length, 1]`.
    log_mass: Tensor,
    /// 1 where the part is the whole vocabulary, else 0, `[length, 1]`.
    whole: Tensor,
}

impl Restriction {
    /// `log_prob` is `[length, vocab]`; `lists` has `length` entries, an empty one for the whole vocabulary.
    fn new(log_prob: &Tensor, lists: &[&[u32]]) -> Self {
        let widest = lists.iter().map(|list| list.len()).max().unwrap_or(0).max(1);
        let mut ids = Vec::with_capacity(lists.len() * widest);
        let mut absent = Vec::with_capacity(lists.len() * widest);
        for list in lists {
            let filling = widest - list.len();
            ids.extend(list.iter().map(|&id| i64::from(id)).chain(std::iter::repeat_n(0, filling)));
            absent.extend((0..widest).map(|place| place >= list.len()));
        }
        let (device, kind) = (log_prob.device(), log_prob.kind());
        let shape = [log_prob.size()[0], -1];
        let ids = Tensor::from_slice(&ids).view(shape).to_device(device);
        let absent = Tensor::from_slice(&absent).view(shape).to_device(device);
        let whole: Vec<bool> = lists.iter().map(|list| list.is_empty()).collect();
        let whole = Tensor::from_slice(&whole).view(shape).to_device(device);
        let own = log_prob.gather(1, &ids, false).masked_fill(&absent, f64::NEG_INFINITY);
        let log_mass = own.logsumexp([1i64].as_slice(), true).masked_fill(&whole, 0.0);
        Self { log_prob: own - &log_mass, ids, log_mass, whole: whole.to_kind(kind) }
    }

    /// `-g_t π_k` over the part of each token, 0 elsewhere.
    fn d_logits(&self, prob: &Tensor, gradient: &Tensor) -> Tensor {
        let over_all = -(prob * (gradient * &self.whole));
        over_all.scatter_add(1, &self.ids, &-(self.log_prob.exp() * gradient))
    }
}

impl Chunk {
    fn new(
        hidden: &Tensor,
        weight: &Tensor,
        (targets, kept): (&Tensor, Option<&KeptTokens>),
        temperature: f64,
        start: i64,
        length: i64,
    ) -> Self {
        let kind = statistics_kind(hidden);
        let logits = hidden.narrow(0, start, length).matmul(&weight.tr()).to_kind(kind);
        let logits = if (temperature - 1.0).abs() > 0.0 { logits / temperature } else { logits };
        let log_prob = logits.log_softmax(-1, kind);
        let restriction = kept.and_then(|kept| {
            let first = usize::try_from(start).expect("chunks start at 0 or later");
            let last = first + usize::try_from(length).expect("chunks have tokens");
            let lists: Vec<&[u32]> = (first..last).map(|token| kept.of(token)).collect();
            let restricted = lists.iter().any(|list| !list.is_empty());
            restricted.then(|| Restriction::new(&log_prob, &lists))
        });
        Self { log_prob, targets: targets.narrow(0, start, length).unsqueeze(1), restriction }
    }

    fn target_log_prob(&self) -> Tensor {
        let log_prob = self.log_prob.gather(1, &self.targets, false);
        let log_prob = match &self.restriction {
            None => log_prob,
            Some(restriction) => log_prob - &restriction.log_mass,
        };
        log_prob.squeeze_dim(1)
    }

    fn entropy(&self) -> Tensor {
        // A token of probability 0 adds nothing: 0 · (-∞) must not become NaN.
        let finite = self.log_prob.clamp_min(f64::from(f32::MIN));
        -(finite.exp() * &finite).sum_dim_intlist(-1, false, finite.kind())
    }
}
