//! `[algorithm]`, but the settings of losses and estimators.

use crate::config::field::{Row, field, required};

pub(super) const ALGORITHM: &[Row] = &[
    field(
        "algorithm.advantage",
        "How rewards become advantages: a name, or a table with settings; see [advantage estimators](#advantage-estimators).",
    ),
    field(
        "algorithm.aggregation",
        "How token terms become one number: `\"token-mean\"`, `\"seq-mean-token-mean\"`, `\"seq-mean-token-sum\"`, or the next row.",
    ),
    required(
        "algorithm.aggregation.seq-mean-token-sum-norm.divisor",
        "As `\"seq-mean-token-sum\"`, divided by this length in tokens, above 0.",
    ),
    field(
        "algorithm.mini_batch_prompts",
        "Prompts of one optimiser step; divides `rollout.prompts_per_step`.",
    ),
    field("algorithm.epochs", "Passes over the responses of a step."),
    field(
        "algorithm.entropy_coefficient",
        "Weight of the entropy bonus in the loss, reward per nat.",
    ),
    field(
        "algorithm.drop_uninformative_groups",
        "Leave out groups whose rewards are all equal: they carry no gradient.",
    ),
    field(
        "algorithm.reference_kl.placement",
        "With `[algorithm.reference_kl]` the policy before the run is kept as a frozen reference, which costs its memory once more. `\"loss\"`: the divergence is a term of the loss; `\"reward\"`: it is taken off the rewards, token by token.",
    ),
    field(
        "algorithm.reference_kl.estimator",
        "Estimator of the divergence of a token: `\"k1\"`, `\"k2\"`, `\"k3\"`, `\"abs\"`, or with a `+` its value with the gradient of k2.",
    ),
    field(
        "algorithm.reference_kl.coefficient.fixed",
        "What the divergence is multiplied by, reward per nat, at least 0.",
    ),
    field(
        "algorithm.reference_kl.coefficient.adaptive.initial",
        "In its place: a coefficient that starts here and is moved by the divergence measured, above 0.",
    ),
    field(
        "algorithm.reference_kl.coefficient.adaptive.target",
        "Divergence to hold, in nats, above 0.",
    ),
    field(
        "algorithm.reference_kl.coefficient.adaptive.horizon",
        "Responses over which a constant error changes the coefficient by about a fifth, above 0.",
    ),
    required(
        "algorithm.thermostat.knob",
        "With `[algorithm.thermostat]` one number of the policy loss holds an entropy: `\"fraction\"`, `\"coefficient\"` or `\"clip-ratio-high\"`. It starts where the loss has it.",
    ),
    required(
        "algorithm.thermostat.target.start",
        "Entropy held at the first step, in nats, above 0; best that of the untrained policy.",
    ),
    required("algorithm.thermostat.target.end", "Entropy held at the end, in nats, above 0."),
    required(
        "algorithm.thermostat.target.steps",
        "Steps from the one to the other, geometrically.",
    ),
    field(
        "algorithm.thermostat.accuracy_edges",
        "Accuracies of a group between buckets of difficulty, ascending. `[0.25, 0.75]` makes hard, middle and easy prompts; the thermostat holds the entropy of each by a `fraction` of its own tokens.",
    ),
    required("algorithm.thermostat.low", "Smallest knob, above 0."),
    required("algorithm.thermostat.high", "Largest knob, above `low`."),
    field(
        "algorithm.thermostat.proportional",
        "Relative change of the knob per relative error of the entropy, at least 0.",
    ),
    field("algorithm.thermostat.integral", "The same for each step it lasts, at least 0."),
    field(
        "algorithm.thermostat.smoothing",
        "Weight of the past in the measured entropy, at least 0 and below 1.",
    ),
    field(
        "algorithm.thermostat.largest_step",
        "The most the logarithm of the knob moves in a step, above 0.",
    ),
    field(
        "algorithm.adaptive_entropy.target",
        "With `[algorithm.adaptive_entropy]` the weight of the entropy bonus moves by steps: up while the entropy is below this, in nats, above 0; else down, and none is used. In place of `entropy_coefficient` and of a thermostat.",
    ),
    field(
        "algorithm.adaptive_entropy.step",
        "What a training step adds to the weight or takes off, reward per nat, above 0.",
    ),
    field("algorithm.adaptive_entropy.maximum", "Largest weight, reward per nat, above 0."),
    field("algorithm.adaptive_entropy.initial", "Weight in the first step, at most `maximum`."),
];
