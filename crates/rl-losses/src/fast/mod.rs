//! Speed: plans and losses of a million tokens in less than a millisecond, the same bits on any number of threads.
//!
//! | file | what it holds |
//! |---|---|
//! | `real` | `f64` and `f32` as one kind of number, with an exponential that runs in vectors |
//! | `threads` | pieces of a large batch, on the caller's threads |
//! | `spread` | one number per token, stored as seldom as it changes |
//! | `exact_sum` | sums that do not depend on the order of their terms |
//! | `draw` | the random number of each token |
//! | `candidates` | the tokens of highest priority, without a sort of the rest |
//! | `scan` | the pass over the tokens that finds those |
//!
//! [`PolicyLoss::plan`](crate::PolicyLoss::plan) and [`PolicyLoss::evaluate`](crate::PolicyLoss::evaluate) are the way in.

pub(crate) mod candidates;
pub(crate) mod draw;
pub(crate) mod exact_sum;
pub(crate) mod real;
pub(crate) mod scan;
pub(crate) mod spread;
pub(crate) mod threads;
