//! The implicit process reward model of PRIME.

use crate::config::field::{Row, field};

pub(super) const REWARD_MODEL: &[Row] = &[
    field(
        "reward_model.path",
        "With `algorithm.advantage = \"prime\"` a second language model `φ` gives every token the reward `β (log π_φ - log π_ref)` (log-probabilities at temperature 1, over the whole vocabulary), and learns by the cross-entropy of the responses' outcomes, right or wrong, under the logistic function of their sums; `β` is `algorithm.advantage.prime.beta`. This is the Hugging Face directory it starts from, with the policy's tokens. Empty takes `model.path`: the policy before the run. It costs the policy's memory again, weights, gradient and moments; with `[lora]` it is trained through an adapter of its own. Format, device and `training.micro_batch_tokens` are those of the policy.",
    ),
    field(
        "reward_model.reference",
        "Hugging Face directory of `π_ref`, which never moves. Empty takes `model.path`; the same directory as that of `[algorithm.reference_kl]`, and with `[lora]` the policy's own, costs no second copy.",
    ),
    field(
        "reward_model.update",
        "When it learns from a step's responses: `\"before\"` it judges them (two forward passes), `\"after\"`, each mini-batch judged by the pass that it is then learnt by (one forward pass), or `\"none\"`.",
    ),
    field(
        "reward_model.mini_batch_prompts",
        "Prompts of one of its optimiser steps, a divisor of `rollout.prompts_per_step`; 0 takes `algorithm.mini_batch_prompts`.",
    ),
    field(
        "reward_model.optimizer.learning_rate",
        "Its AdamW; the fields are those of [`[optimizer]`](#optimizer). Peak learning rate, above 0.",
    ),
    field("reward_model.optimizer.weight_decay", "Decoupled weight decay, at least 0."),
    field(
        "reward_model.optimizer.betas",
        "Decay of the first and second moment, each at least 0 and below 1.",
    ),
    field("reward_model.optimizer.epsilon", "Added to the root of the second moment."),
    field("reward_model.optimizer.master", "What stands behind a parameter in bf16."),
    field("reward_model.optimizer.moments", "Number format of both moments."),
    field(
        "reward_model.optimizer.max_grad_norm",
        "The gradient is scaled down to this L2 norm, above 0; PRIME's script for Eurus-2-7B has 10.",
    ),
    field(
        "reward_model.optimizer.warmup_steps",
        "Its optimiser steps below the peak at the start.",
    ),
    field("reward_model.optimizer.schedule", "Learning rate afterwards."),
];
