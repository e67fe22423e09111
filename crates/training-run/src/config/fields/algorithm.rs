//! `[algorithm]`, but the settings of losses and estimators.

use crate::config::field::{Field, field};

pub(super) const ALGORITHM: &[Field] = &[
    field(
        "algorithm.advantage",
        "\"grpo\"",
        "How rewards become advantages: a name, or a table with settings; see [advantage estimators](#advantage-estimators).",
    ),
    field(
        "algorithm.aggregation",
        "\"token-mean\"",
        "How token terms become one number: `\"token-mean\"`, `\"seq-mean-token-mean\"`, `\"seq-mean-token-sum\"`, or the next row.",
    ),
    field(
        "algorithm.aggregation.seq-mean-token-sum-norm.divisor",
        "required",
        "As `\"seq-mean-token-sum\"`, divided by this length in tokens, above 0.",
    ),
    field(
        "algorithm.mini_batch_prompts",
        "8",
        "Prompts of one optimiser step; divides `rollout.prompts_per_step`.",
    ),
    field("algorithm.epochs", "1", "Passes over the responses of a step."),
    field(
        "algorithm.entropy_coefficient",
        "0.0",
        "Weight of the entropy bonus in the loss, reward per nat.",
    ),
    field(
        "algorithm.drop_uninformative_groups",
        "false",
        "Leave out groups whose rewards are all equal: they carry no gradient.",
    ),
    field(
        "algorithm.reference_kl.placement",
        "\"loss\"",
        "With `[algorithm.reference_kl]` the policy before the run is kept as a frozen reference, which costs its memory once more. `\"loss\"`: the divergence is a term of the loss; `\"reward\"`: it is taken off the rewards, token by token.",
    ),
    field(
        "algorithm.reference_kl.estimator",
        "\"k3\"",
        "Estimator of the divergence of a token: `\"k1\"`, `\"k2\"`, `\"k3\"`, `\"abs\"`, or with a `+` its value with the gradient of k2.",
    ),
    field(
        "algorithm.reference_kl.coefficient.fixed",
        "0.001",
        "What the divergence is multiplied by, reward per nat, at least 0.",
    ),
    field(
        "algorithm.reference_kl.coefficient.adaptive.initial",
        "0.001",
        "In its place: a coefficient that starts here and is moved by the divergence measured, above 0.",
    ),
    field(
        "algorithm.reference_kl.coefficient.adaptive.target",
        "0.1",
        "Divergence to hold, in nats, above 0.",
    ),
    field(
        "algorithm.reference_kl.coefficient.adaptive.horizon",
        "10000.0",
        "Responses over which a constant error changes the coefficient by about a fifth, above 0.",
    ),
    field(
        "algorithm.thermostat.knob",
        "required",
        "With `[algorithm.thermostat]` one number of the policy loss holds an entropy: `\"fraction\"`, `\"coefficient\"` or `\"clip-ratio-high\"`. It starts where the loss has it.",
    ),
    field(
        "algorithm.thermostat.target.start",
        "required",
        "Entropy held at the first step, in nats, above 0; best that of the untrained policy.",
    ),
    field(
        "algorithm.thermostat.target.end",
        "required",
        "Entropy held at the end, in nats, above 0.",
    ),
    field(
        "algorithm.thermostat.target.steps",
        "required",
        "Steps from the one to the other, geometrically.",
    ),
    field("algorithm.thermostat.low", "required", "Smallest knob, above 0."),
    field("algorithm.thermostat.high", "required", "Largest knob, above `low`."),
    field(
        "algorithm.thermostat.proportional",
        "1.5",
        "Relative change of the knob per relative error of the entropy, at least 0.",
    ),
    field("algorithm.thermostat.integral", "0.03", "The same for each step it lasts, at least 0."),
    field(
        "algorithm.thermostat.smoothing",
        "0.0",
        "Weight of the past in the measured entropy, at least 0 and below 1.",
    ),
    field(
        "algorithm.thermostat.largest_step",
        "0.5",
        "The most the logarithm of the knob moves in a step, above 0.",
    ),
    field(
        "algorithm.adaptive_entropy.target",
        "0.2",
        "With `[algorithm.adaptive_entropy]` the weight of the entropy bonus moves by steps: up while the entropy is below this, in nats, above 0; else down, and none is used. In place of `entropy_coefficient` and of a thermostat.",
    ),
    field(
        "algorithm.adaptive_entropy.step",
        "0.0001",
        "What a training step adds to the weight or takes off, reward per nat, above 0.",
    ),
    field(
        "algorithm.adaptive_entropy.maximum",
        "0.005",
        "Largest weight, reward per nat, above 0.",
    ),
    field(
        "algorithm.adaptive_entropy.initial",
        "0.0",
        "Weight in the first step, at most `maximum`.",
    ),
];
