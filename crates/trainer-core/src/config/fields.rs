//! Every field of a configuration, with its default and meaning: the source of `docs/configuration.md`.

use std::borrow::Cow;
use std::sync::LazyLock;

use super::algorithm_fields::algorithm_fields;

/// One field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    /// Dotted path.
    pub path: Cow<'static, str>,
    /// Its default as TOML; `required` where there is none.
    pub default: Cow<'static, str>,
    /// What it is, and what is allowed.
    pub meaning: &'static str,
}

const fn field(path: &'static str, default: &'static str, meaning: &'static str) -> Field {
    Field { path: Cow::Borrowed(path), default: Cow::Borrowed(default), meaning }
}

/// Every field: the run's own, then the settings of every policy loss and advantage estimator.
pub fn fields() -> &'static [Field] {
    static FIELDS: LazyLock<Vec<Field>> =
        LazyLock::new(|| OWN.iter().cloned().chain(algorithm_fields()).collect());
    &FIELDS
}

/// The mark of a field without a default.
pub(super) const REQUIRED: &str = "required";

/// The fields that are the run's own.
pub(super) const OWN: &[Field] = &[
    field("name", "required", "Name of the run: letters, digits, `.`, `_`, `-`."),
    field(
        "seed",
        "0",
        "Seed of everything random in the run: the same seed, configuration and machine give the same run.",
    ),
    field(
        "output_directory",
        "\"runs/{name}\"",
        "Folder of the run; `{name}` stands for the name. Relative to the working directory.",
    ),
    field(
        "model.path",
        "required",
        "Hugging Face model directory. Relative to the folder of the configuration.",
    ),
    field(
        "model.dtype",
        "\"f32\"",
        "Number format of weights and activations, `\"f32\"` or `\"bf16\"`; the optimiser keeps f32.",
    ),
    field(
        "model.device",
        "\"auto\"",
        "`\"auto\"` (the first CUDA device, else the CPU), `\"cpu\"` or `\"cuda:N\"`.",
    ),
    field("model.threads", "0", "CPU threads; 0 takes one per core."),
    field(
        "data.train.file.path",
        "required",
        "Questions to train on. From a file: JSON lines, `.jsonl` or `.jsonl.zst`, or a table, `.parquet`. Relative to the folder of the configuration.",
    ),
    field(
        "data.train.file.problem_field",
        "\"\"",
        "Column that holds the problem (text, or turns that end in the user's); dots lead inside. Empty takes `problem`, `question`, `prompt` or `messages`.",
    ),
    field(
        "data.train.file.answer_field",
        "\"\"",
        "Column that holds the answer: text, a number, or a solution that ends in `#### answer`. Empty takes `answer`, `reward_model.ground_truth` or `ground_truth`; `messages` without any of them are answered in their last turn.",
    ),
    field("data.train.file.limit", "0", "Read only the first so many good rows; 0 reads all."),
    field(
        "data.train.file.bad_rows",
        "\"error\"",
        "What a row without question or without an answer that the verifier can read does: `\"error\"` refuses the file with all such rows in one message, `\"drop\"` leaves the row out and counts it.",
    ),
    field(
        "data.train.file.duplicates",
        "\"keep\"",
        "What a question that stands there more than once does: `\"keep\"`, `\"drop\"` (the first stays; none where the answers differ) or `\"error\"`.",
    ),
    field(
        "data.train.arithmetic.operations",
        "[\"add\", \"subtract\"]",
        "Questions to train on. Made up: operations to choose from, of `\"add\"`, `\"subtract\"`, `\"multiply\"`.",
    ),
    field(
        "data.train.arithmetic.digits",
        "[1, 2]",
        "Fewest and most digits of an operand, 1 to 9.",
    ),
    field(
        "data.train.arithmetic.word_problems",
        "false",
        "A short story about each sum in place of `47+38=`.",
    ),
    field("data.train.arithmetic.count", "2048", "How many questions, at least 1."),
    field(
        "data.train.arithmetic.seed",
        "0",
        "Seed of the questions. Questions of `train` and `evaluation` never coincide, whatever the seeds.",
    ),
    field(
        "data.evaluation.file.path",
        "required",
        "Questions to evaluate on. From a file: JSON lines, `.jsonl` or `.jsonl.zst`, or a table, `.parquet`. Relative to the folder of the configuration.",
    ),
    field(
        "data.evaluation.file.problem_field",
        "\"\"",
        "Column that holds the problem (text, or turns that end in the user's); dots lead inside. Empty takes `problem`, `question`, `prompt` or `messages`.",
    ),
    field(
        "data.evaluation.file.answer_field",
        "\"\"",
        "Column that holds the answer: text, a number, or a solution that ends in `#### answer`. Empty takes `answer`, `reward_model.ground_truth` or `ground_truth`; `messages` without any of them are answered in their last turn.",
    ),
    field("data.evaluation.file.limit", "0", "Read only the first so many good rows; 0 reads all."),
    field(
        "data.evaluation.file.bad_rows",
        "\"error\"",
        "What a row without question or without an answer that the verifier can read does: `\"error\"` refuses the file with all such rows in one message, `\"drop\"` leaves the row out and counts it.",
    ),
    field(
        "data.evaluation.file.duplicates",
        "\"keep\"",
        "What a question that stands there more than once does: `\"keep\"`, `\"drop\"` (the first stays; none where the answers differ) or `\"error\"`.",
    ),
    field(
        "data.evaluation.arithmetic.operations",
        "[\"add\", \"subtract\"]",
        "Questions to evaluate on. Made up: operations to choose from, of `\"add\"`, `\"subtract\"`, `\"multiply\"`.",
    ),
    field(
        "data.evaluation.arithmetic.digits",
        "[1, 2]",
        "Fewest and most digits of an operand, 1 to 9.",
    ),
    field(
        "data.evaluation.arithmetic.word_problems",
        "false",
        "A short story about each sum in place of `47+38=`.",
    ),
    field("data.evaluation.arithmetic.count", "2048", "How many questions, at least 1."),
    field(
        "data.evaluation.arithmetic.seed",
        "0",
        "Seed of the questions. Questions of `train` and `evaluation` never coincide, whatever the seeds.",
    ),
    field("data.prompt.system", "\"\"", "System message; empty for none. Needs `chat = true`."),
    field(
        "data.prompt.template",
        "\"{problem}\"",
        "Text of the question; `{problem}` stands for the problem.",
    ),
    field(
        "data.prompt.chat",
        "true",
        "Whether that text is a user's turn in the model's chat template; otherwise it is the prompt as it stands.",
    ),
    field("data.max_prompt_tokens", "1024", "Longest prompt, at least 1."),
    field(
        "data.over_long_prompts",
        "\"error\"",
        "What a longer prompt does: `\"error\"` stops the run before it starts, `\"drop\"` leaves the question out and counts it, `\"truncate-left\"` cuts its first tokens off.",
    ),
    field("rollout.prompts_per_step", "32", "Questions asked in one training step."),
    field(
        "rollout.group_size",
        "8",
        "Responses sampled to each question; at least 2 where the advantage compares them.",
    ),
    field(
        "rollout.max_response_tokens",
        "1024",
        "Longest response, its end-of-sequence token included.",
    ),
    field(
        "rollout.temperature",
        "1.0",
        "Softmax temperature of sampling, above 0; log-probabilities and entropy are taken at the same one.",
    ),
    field(
        "rollout.rows",
        "64",
        "Sequences that decode together. Changes speed and memory, never the tokens drawn.",
    ),
    field("reward.values.right", "1.0", "Reward of a right answer; above `wrong`."),
    field("reward.values.wrong", "0.0", "Reward of a wrong answer."),
    field("reward.values.unparsed", "0.0", "Reward where no answer could be read."),
    field(
        "reward.grading.strict",
        "false",
        "Only `\\boxed{…}` and `\\fbox{…}` count as an answer.",
    ),
    field(
        "reward.grading.last_number",
        "false",
        "Where nothing else is found, take the last formula or number of the response.",
    ),
    field(
        "reward.grading.fuel",
        "100000",
        "Steps of work that one verification may spend, at least 1. A count, never a clock.",
    ),
    field(
        "reward.overlong",
        "\"none\"",
        "What becomes of responses that reach `rollout.max_response_tokens`: `\"none\"`, `\"mask\"` (their tokens have no gradient), or the next rows.",
    ),
    field(
        "reward.overlong.soft-buffer.buffer_tokens",
        "4096",
        "Tokens before the limit over which the reward falls; at most `rollout.max_response_tokens`.",
    ),
    field(
        "reward.overlong.soft-buffer.penalty_factor",
        "1.0",
        "What is taken off a response of full length, in reward, at least 0.",
    ),
    field(
        "dynamic_sampling.enabled",
        "false",
        "Train on groups whose rewards differ only, and ask for others in place of the rest.",
    ),
    field(
        "dynamic_sampling.accuracy_low",
        "0.0",
        "Lowest share of right responses in a group that is kept, in 0..=1.",
    ),
    field(
        "dynamic_sampling.accuracy_high",
        "1.0",
        "Highest such share, in 0..=1, not below `accuracy_low`.",
    ),
    field(
        "dynamic_sampling.oversampling",
        "1.0",
        "Prompts asked for each group that is missing, at least 1: more of them need fewer rounds.",
    ),
    field("dynamic_sampling.max_batches", "10", "Most rollout batches of one step, at least 1."),
    field(
        "dynamic_sampling.carry_steps",
        "1",
        "Steps that a group beyond what its own step needed may wait for another; 0 throws it away.",
    ),
    field(
        "dynamic_sampling.when_short",
        "\"train\"",
        "What a step with too few groups after `max_batches` does: `\"train\"` on those there are, or `\"stop\"` the run.",
    ),
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
    field("optimizer.learning_rate", "1e-6", "Peak learning rate of AdamW, above 0."),
    field("optimizer.weight_decay", "0.0", "Decoupled weight decay, at least 0."),
    field(
        "optimizer.betas",
        "[0.9, 0.999]",
        "Decay of the first and second moment, each at least 0 and below 1.",
    ),
    field("optimizer.epsilon", "1e-8", "Added to the root of the second moment, above 0."),
    field(
        "optimizer.max_grad_norm",
        "1.0",
        "The gradient is scaled down to this L2 norm, above 0.",
    ),
    field(
        "optimizer.warmup_steps",
        "0",
        "Optimiser steps below the peak at the start: step k of them runs at (k + 1) / (warmup_steps + 1).",
    ),
    field(
        "optimizer.schedule",
        "\"constant\"",
        "Learning rate afterwards: `\"constant\"`, `\"linear\"` or `\"cosine\"`, the latter two towards 0 at the end of the run.",
    ),
    field("training.steps", "required", "Training steps, at least 1; each is one rollout batch."),
    field(
        "training.micro_batch_tokens",
        "16384",
        "Tokens that run through a block at once; at least `data.max_prompt_tokens + rollout.max_response_tokens`.",
    ),
    field(
        "training.activation_bytes",
        "2147483648",
        "Memory for what blocks computed and the backward pass needs; what does not fit is computed again. Changes speed and memory, not a bit of the result.",
    ),
    field(
        "evaluation.every",
        "0",
        "Evaluate before training, after every so many steps and at the end; 0 is never. Needs `data.evaluation`.",
    ),
    field("evaluation.questions", "0", "Questions asked, the first ones; 0 is all."),
    field("evaluation.samples", "1", "Responses to each question; 1 where `temperature` is 0."),
    field("evaluation.temperature", "0.0", "Softmax temperature; 0 takes the likeliest token."),
    field(
        "checkpoint.every",
        "0",
        "Save after every so many steps; the last step is always saved.",
    ),
    field("checkpoint.keep", "2", "Checkpoints kept, the last ones; 0 keeps all."),
    field(
        "checkpoint.keep_every",
        "0",
        "Kept beside them: checkpoints whose step is a multiple of this; 0 keeps none for it.",
    ),
    field(
        "checkpoint.keep_best",
        "0",
        "Kept beside them: the so many best by `best_metric`; 0 keeps none for it.",
    ),
    field(
        "checkpoint.best_metric",
        "\"critic/rewards/mean\"",
        "Metric by which a checkpoint is better, the higher it is: a name of [metrics](metrics.md), or `val-core/…`.",
    ),
    field(
        "metrics.probe_bytes",
        "67108864",
        "Memory for the logits kept to measure and predict the change of entropy; 0 switches that off.",
    ),
    field(
        "guard.entropy_min",
        "0.0",
        "Entropy, in nats, below which the policy counts as collapsed; 0 is never.",
    ),
    field(
        "guard.entropy_max",
        "inf",
        "Entropy, in nats, above which it counts as lost; `inf` is never.",
    ),
    field(
        "guard.action",
        "\"warn\"",
        "Outside these bounds: `\"warn\"`; `\"back-off\"`, which halves the learning rate at each such step and doubles it back within bounds; `\"stop\"`, which saves and ends the run.",
    ),
    field(
        "guard.skipped_updates",
        "3",
        "Optimiser steps in a row whose gradient is not finite (they change nothing), after which the run ends; 0 is never.",
    ),
];
