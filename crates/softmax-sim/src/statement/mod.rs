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
pub mod regulariser;
pub mod sampled;
pub mod sequence;
pub mod shared_features;
pub mod sign;
pub mod stale;
pub mod theorems;
mod token_loss;
mod vectors;

/// Claim of the statement `statement`, for the heading above its checks; none for an unknown name.
pub(crate) fn claim(statement: &str) -> Option<&'static str> {
    let mut rows = include_str!("claims.tsv").lines().filter_map(|row| row.split_once('\t'));
    rows.find_map(|(name, claim)| (name == statement).then_some(claim))
}
