//! Worlds to train a softmax policy in, small enough that everything about it is known exactly.
//!
//! All share one shape: a set of prompts, a response of a fixed number of tokens to each, a softmax
//! policy at every (prompt, position) that does not see the tokens before it, and a reward of 0 or 1
//! drawn with the product of the chosen tokens' qualities. So the expected reward and the entropy of
//! a policy are sums over states, without sampling.
//!
//! | environment | parameters | for |
//! |---|---|---|
//! | [`TabularSetting`] | one logit per state and action | bandits (one position), tokens with credit to assign |
//! | [`SharedSetting`] | a few weights of shared features | generalisation to held-out prompts |
//! | [`SizeSetting`] | the same, over part of the features | models of growing size |
//! | [`LongTailSetting`] | one logit per state and action | one batch with few decisive tokens among filler |

mod long_tail;
mod questions;
mod shared;
mod size_family;
mod tabular;

pub use long_tail::LongTailSetting;
pub use questions::{Features, Parameters, Questions, Shape};
pub use shared::SharedSetting;
pub use size_family::SizeSetting;
pub use tabular::TabularSetting;

use ndarray_rand::rand_distr::{Distribution, StandardNormal};
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Training questions, validation questions if there are any, and the starting policy.
#[derive(Debug, Clone, PartialEq)]
pub struct Environment {
    /// Questions to train on; entropy is measured on them.
    pub training: Questions,
    /// Questions to measure reward on, if not the training questions.
    pub validation: Option<Questions>,
    /// Parameters before training, and the reference policy of a reference KL.
    pub start: Vec<f64>,
}

impl Environment {
    /// The questions that reward is measured on.
    pub fn examined(&self) -> &Questions {
        self.validation.as_ref().unwrap_or(&self.training)
    }
}

/// The stream of prompt `prompt` of an environment drawn from `seed`: a prompt is the same in an
/// environment of any size.
fn prompt_rng(seed: u64, prompt: usize) -> ChaCha8Rng {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    rng.set_stream(prompt as u64);
    rng
}

fn normal(rng: &mut impl Rng) -> f64 {
    StandardNormal.sample(rng)
}

/// An action drawn from `softmax(logits)`.
fn draw_action(logits: &[f64], rng: &mut impl Rng) -> usize {
    let highest = logits.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let total: f64 = logits.iter().map(|z| (z - highest).exp()).sum();
    let mut left = rng.random::<f64>() * total;
    for (action, z) in logits.iter().enumerate() {
        left -= (z - highest).exp();
        if left < 0.0 {
            return action;
        }
    }
    // The sum of the parts may fall short of the total by rounding.
    logits.len() - 1
}
