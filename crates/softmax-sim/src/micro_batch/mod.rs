//! Selection by micro-batch, as published, beside selection by mini-batch: what Clip-Cov and KL-Cov lose.
//!
//! GRPO gives all tokens of a response one advantage. Within a micro-batch of one response the advantage does not vary,
//! so every covariance is 0: no token lies in Clip-Cov's band, and KL-Cov orders rounding errors.
//!
//! Source: row 1 of `docs/paper-vs-code.md`.

mod compare;
mod mini_batch;

pub use compare::{Comparison, Row, compare};
pub use mini_batch::{MadeUp, MiniBatch, MiniBatchError};
