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
//! Derivations: `docs/theory.md#lemma-1`; the same formulas for one state in `f64` are
//! [`entropy_core::Categorical::pull_back`] and [`entropy_core::Categorical::pull_back_entropy`].

use tch::{Kind, Tensor};

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
    /// With respect to the head's weight, `[vocab, hidden]`, where that requires gradients.
    pub weight: Option<Tensor>,
    /// `log π(y_t)`, met on the way, `[tokens]`.
    pub log_prob: Tensor,
}

/// Log-probability and entropy of `targets` under `softmax(hidden · weightᵀ / temperature)`, without a graph.
///
/// Shapes: `hidden` `[tokens, hidden]`, `weight` `[vocab, hidden]`, `targets` `[tokens]` of `i64`.
///
/// # Panics
///
/// If the shapes do not fit or a target is no index of the vocabulary.
pub fn token_statistics(
    hidden: &Tensor,
    weight: &Tensor,
    targets: &Tensor,
    temperature: f64,
) -> TokenStatistics {
    let _no_grad = tch::no_grad_guard();
    let (mut log_probs, mut entropies) = (Vec::new(), Vec::new());
    for (start, length) in chunks(targets.size()[0], weight.size()[0]) {
        let chunk = Chunk::new(hidden, weight, targets, temperature, start, length);
        log_probs.push(chunk.target_log_prob());
        entropies.push(chunk.entropy());
    }
    let empty = || Tensor::zeros([0], (statistics_kind(hidden), hidden.device()));
    TokenStatistics { log_prob: join(&log_probs, empty), entropy: join(&entropies, empty) }
}

/// Pulls cotangents of log-probability and entropy back to hidden states and weight.
///
/// Shapes as in [`token_statistics`]; `d_log_prob` and `d_entropy` are `[tokens]`. Sums over tokens are taken in the
/// kind of the statistics; gradients have the kind of `hidden` and `weight`.
///
/// # Panics
///
/// As [`token_statistics`].
pub fn token_statistics_backward(
    hidden: &Tensor,
    weight: &Tensor,
    targets: &Tensor,
    temperature: f64,
    d_log_prob: &Tensor,
    d_entropy: Option<&Tensor>,
) -> HeadGradient {
    let _no_grad = tch::no_grad_guard();
    let (mut d_hidden, mut log_probs) = (Vec::new(), Vec::new());
    let kind = statistics_kind(hidden);
    let mut d_weight =
        weight.requires_grad().then(|| Tensor::zeros(weight.size(), (kind, weight.device())));
    for (start, length) in chunks(targets.size()[0], weight.size()[0]) {
        let chunk = Chunk::new(hidden, weight, targets, temperature, start, length);
        let column = |values: &Tensor| values.narrow(0, start, length).unsqueeze(1).to_kind(kind);
        let gradient = column(d_log_prob);
        log_probs.push(chunk.target_log_prob());
        let prob = chunk.log_prob.exp();
        let mut d_logits = -(&prob * &gradient);
        if let Some(d_entropy) = d_entropy {
            let score = &prob * (&chunk.log_prob + chunk.entropy().unsqueeze(1));
            d_logits -= score * column(d_entropy);
        }
        let d_logits = d_logits.scatter_add(1, &chunk.targets, &gradient) / temperature;
        let d_logits = d_logits.to_kind(hidden.kind());
        d_hidden.push(d_logits.matmul(weight));
        if let Some(d_weight) = &mut d_weight {
            *d_weight += d_logits.tr().matmul(&hidden.narrow(0, start, length)).to_kind(kind);
        }
    }
    HeadGradient {
        hidden: join(&d_hidden, || hidden.zeros_like()),
        weight: d_weight.map(|gradient| gradient.to_kind(weight.kind())),
        log_prob: join(&log_probs, || Tensor::zeros([0], (kind, hidden.device()))),
    }
}

fn join(parts: &[Tensor], empty: impl FnOnce() -> Tensor) -> Tensor {
    if parts.is_empty() { empty() } else { Tensor::cat(parts, 0) }
}

/// `f32` at least, whatever the model's own kind.
fn statistics_kind(hidden: &Tensor) -> Kind {
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
}

impl Chunk {
    fn new(
        hidden: &Tensor,
        weight: &Tensor,
        targets: &Tensor,
        temperature: f64,
        start: i64,
        length: i64,
    ) -> Self {
        let kind = statistics_kind(hidden);
        let logits = hidden.narrow(0, start, length).matmul(&weight.tr()).to_kind(kind);
        let logits = if (temperature - 1.0).abs() > 0.0 { logits / temperature } else { logits };
        Self {
            log_prob: logits.log_softmax(-1, kind),
            targets: targets.narrow(0, start, length).unsqueeze(1),
        }
    }

    fn target_log_prob(&self) -> Tensor {
        self.log_prob.gather(1, &self.targets, false).squeeze_dim(1)
    }

    fn entropy(&self) -> Tensor {
        // A token of probability 0 adds nothing: 0 · (-∞) must not become NaN.
        let finite = self.log_prob.clamp_min(f64::from(f32::MIN));
        -(finite.exp() * &finite).sum_dim_intlist(-1, false, finite.kind())
    }
}
