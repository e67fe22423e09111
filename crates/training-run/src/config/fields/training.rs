//! The optimiser, how long, and what is measured and kept.

use crate::config::field::{Row, field, required};

pub(super) const TRAINING: &[Row] = &[
    field("optimizer.learning_rate", "Peak learning rate of AdamW, above 0."),
    field("optimizer.weight_decay", "Decoupled weight decay, at least 0."),
    field("optimizer.betas", "Decay of the first and second moment, each at least 0 and below 1."),
    field("optimizer.epsilon", "Added to the root of the second moment, above 0."),
    field(
        "optimizer.master",
        "What stands behind a parameter in bf16, which is too coarse for small steps: `\"f32\"`, the parameter in f32, 4 bytes beside it; `\"split\"`, the lower half of that f32, whose upper half the parameter is, 2 bytes and the same results to the bit; `\"none\"`, nothing, what a step makes of a parameter is rounded up or down at random as moments in bf16 are. With moments in bf16 parameter, gradient and state take 10 bytes with `\"split\"` and 8 with `\"none\"`. The latter two need `model.dtype = \"bf16\"`.",
    ),
    field(
        "optimizer.moments",
        "Number format of both moments: `\"f32\"`, 8 bytes a parameter, or `\"bf16\"`, 4 bytes, rounded up or down at random so that the mean is exact. The noise is keyed by seed, optimiser step, parameter and element: the same on any number of threads and after a resume.",
    ),
    field("optimizer.max_grad_norm", "The gradient is scaled down to this L2 norm, above 0."),
    field(
        "optimizer.warmup_steps",
        "Optimiser steps below the peak at the start: step k of them runs at (k + 1) / (warmup_steps + 1).",
    ),
    field(
        "optimizer.schedule",
        "Learning rate afterwards: `\"constant\"`, `\"linear\"` or `\"cosine\"`, the latter two towards 0 at the end of the run.",
    ),
    field(
        "lora.rank",
        "With `[lora]` the model stays as it is, and a product of two narrow matrices is trained beside each projection: their common width, at least 1. There is no dropout. Checkpoints are PEFT adapters, which `llm-trainer merge` adds to the model; a reference policy costs no second copy.",
    ),
    field("lora.alpha", "The product is multiplied by `alpha / rank`, above 0."),
    field("lora.targets", "The projections that have one."),
    required("training.steps", "Training steps, at least 1; each is one rollout batch."),
    field(
        "training.micro_batch_tokens",
        "Tokens that run through a block at once; at least `data.max_prompt_tokens + rollout.max_response_tokens`.",
    ),
    field(
        "training.activation_bytes",
        "Memory for what blocks computed and the backward pass needs; what does not fit is computed again. Changes speed and memory, not a bit of the result.",
    ),
    field(
        "parallel.zero",
        "With several processes: what is cut over them in place of being on each, as the stages of ZeRO ([arXiv:1910.02054](https://arxiv.org/abs/1910.02054)): `0` nothing, `1` the optimiser's state, `2` the gradients of blocks, embedding and head too, `3` also their parameters: a block is whole only while it is computed, and all are while responses are sampled. Changes memory and speed, and results by rounding alone; a run may go on with another.",
    ),
    field(
        "parallel.tensor",
        "With several processes: how many hold one model together, each a part of every large matrix (tensor parallelism); a divisor of their number and of the model's heads, of `intermediate_size` and of `vocab_size`, and a divisor or a multiple of its heads of keys and values. The others hold copies, over which `zero` cuts. A run may go on with another.",
    ),
    field(
        "parallel.overlap",
        "With several processes: gradients and parameters of blocks travel while others are computed. `false` waits for each, to see what it is worth; the numbers are the same.",
    ),
    field(
        "parallel.offload_optimizer",
        "Master weights, in f32 (`optimizer.master`), and both moments lie in the host's memory, and the optimiser steps there; the device keeps the parameters. The numbers are those of the CPU's optimiser, on the CPU to the bit.",
    ),
    field(
        "parallel.offload_block_inputs",
        "Inputs of blocks wait in the host's memory for the backward pass, but those whose graphs `training.activation_bytes` keeps; the numbers are the same.",
    ),
    field(
        "parallel.timeout_seconds",
        "With several processes ([distributed runs](distributed.md)): the longest that a rank waits for another, at least 1; then the run ends on every rank and says who was missing, where, and at what.",
    ),
    field(
        "parallel.connect_seconds",
        "With several processes: the longest that a rank waits at its start until the store is served, at least 1. Give more where the first rank may start later than that, as in a job whose nodes do not start together.",
    ),
    field(
        "evaluation.every",
        "Evaluate before training, after every so many steps and at the end; 0 is never. Needs `data.evaluation`.",
    ),
    field("evaluation.questions", "Questions asked, the first ones; 0 is all."),
    field("evaluation.samples", "Responses to each question; 1 where `temperature` is 0."),
    field("evaluation.temperature", "Softmax temperature; 0 takes the likeliest token."),
    field("checkpoint.every", "Save after every so many steps; the last step is always saved."),
    field("checkpoint.keep", "Checkpoints kept, the last ones; 0 keeps all."),
    field(
        "checkpoint.keep_every",
        "Kept beside them: checkpoints whose step is a multiple of this; 0 keeps none for it.",
    ),
    field(
        "checkpoint.keep_best",
        "Kept beside them: the so many best by `best_metric`; 0 keeps none for it.",
    ),
    field(
        "checkpoint.best_metric",
        "Metric by which a checkpoint is better, the higher it is: a name of [metrics](metrics.md), or `val-core/…`.",
    ),
    field(
        "metrics.probe_bytes",
        "Memory for the logits kept to measure and predict the change of entropy; 0 switches that off.",
    ),
    field(
        "metrics.tensorboard",
        "Whether every metric and the lengths of the responses are written for TensorBoard too, to `events/` ([observability](observability.md)).",
    ),
    field(
        "metrics.token_groups",
        "Groups of each step whose responses are recorded token by token, about 60 bytes a token, for `llm-trainer inspect`: the first whose rewards differ, then others; 0 is none.",
    ),
    field(
        "guard.entropy_min",
        "Entropy, in nats, below which the policy counts as collapsed; 0 is never.",
    ),
    field("guard.entropy_max", "Entropy, in nats, above which it counts as lost; `inf` is never."),
    field(
        "guard.action",
        "Outside these bounds: `\"warn\"`; `\"back-off\"`, which halves the learning rate at each such step and doubles it back within bounds; `\"stop\"`, which saves and ends the run.",
    ),
    field(
        "guard.skipped_updates",
        "Optimiser steps in a row whose gradient is not finite (they change nothing), after which the run ends; 0 is never.",
    ),
];
