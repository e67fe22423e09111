//! One module per statement of the theory; each takes the formula it checks as an argument, so that a
//! wrong one can be shown to fail.

pub mod bound;
pub mod clip_cov;
pub mod clipped;
pub mod clock;
mod entropy_prediction;
pub mod estimator;
pub mod exchange;
pub mod flow;
pub mod generalised_entropy;
pub mod identity;
pub mod kl_cov;
pub mod law;
pub mod lemma1;
mod order;
mod process;
pub mod proposition1;
mod recorded;
pub mod regulariser;
pub mod sampled;
pub mod sequence;
pub mod shared_features;
pub mod sign;
pub mod stale;
pub mod theorems;
mod token_loss;
mod vectors;

/// Claim of each statement, for the heading above its checks.
const CLAIMS: [(&str, &str); 21] = [
    ("Lemma 1", "ΔH ≈ -Cov(log π, δ) along any small step δ of the logits"),
    ("Finite-step identities", "ΔH of any step, by relative entropies"),
    ("Remainder bound", "|ΔH + Cov(log π, δ)| ≤ C_n range(δ)²"),
    ("Proposition 1", "the policy gradient moves the logits by η π (A - E A)"),
    ("Theorem 1", "policy gradient: ΔH ≈ -η Cov(log π, π (A - E A))"),
    ("Theorem 2", "natural policy gradient: ΔH ≈ -η Cov(log π, A)"),
    ("Signs by hand", "small policies; Theorem 1 and Theorem 2 may disagree in sign"),
    ("Sampled gradient", "a batch changes H as Theorem 1 says on average, with known variance"),
    ("Clipped surrogate", "away from π_old: step η π (m A - E[m A]), ΔH ≈ -η Σ π m A G"),
    ("Regularisers", "entropy bonus: ΔH ≈ η α Σ π² (log π + H)²; penalties on KL to a reference"),
    ("GRPO clock", "with binary rewards the expected step is m_G(μ) times the policy gradient's"),
    ("Flows", "vanishing steps: natural and vanilla policy-gradient flow in closed form"),
    ("Reward and entropy", "ΔR ≈ η Cov(A, δ); right or wrong: H = h(R) + R H_c + (1 - R) H_w"),
    ("Sequences", "H(Y) = Σ E H(s_t), and it answers log π(a|s) less the entropy to go"),
    ("Shared features", "logits Φ w: states move each other by -Cov_s(log π, φ)ᵀ Cov_s'(φ, A)"),
    ("Other entropies", "Tsallis: ΔS ≈ -q/(q - 1) Cov(π^(q - 1), δ); Rényi: that over Σ π^q"),
    ("Estimator", "batch-centred token covariance, its bias and variance"),
    ("Clip-Cov", "detaching a token changes ΔH by +η A_a G_a / N"),
    ("KL-Cov", "the penalty changes ΔH by +η β sign(log ratio) G_a / N, and by nothing at ratio 1"),
    (
        "Stale rollouts",
        "n updates after μ: the step of π; effects of the tokens do not grow with n",
    ),
    ("Law", "even rewards, natural flow: R = b + Δ/2 - (Δ/e) exp(H), best reward b, spacing Δ"),
];

/// Claim of the statement `statement`; none for an unknown name.
pub(crate) fn claim(statement: &str) -> Option<&'static str> {
    CLAIMS.iter().find(|(name, _)| *name == statement).map(|(_, claim)| *claim)
}
