//! How responses are sampled, what they earn, and which of them count.

use super::{Field, field};

pub(super) const ROLLOUT: &[Field] = &[
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
        "rollout.top_k",
        "0",
        "Draw only this many of the likeliest tokens; 0 is all. Where sampling leaves tokens out, the policy is the softmax over those kept: log-probabilities, current, old and of the reference, are taken over them ([sampling](rollout.md#truncated-sampling)); the entropy stays that of the whole vocabulary.",
    ),
    field(
        "rollout.top_p",
        "1.0",
        "Draw only the likeliest tokens whose probabilities first add up to this, above 0 and at most 1; 1 is all. Applied after `top_k`.",
    ),
    field(
        "rollout.min_p",
        "0.0",
        "Draw only tokens at least this times as likely as the likeliest, at least 0 and below 1; 0 is all. Applied after `top_p`.",
    ),
    field(
        "rollout.stop",
        "[]",
        "Texts that end a response, beside the end-of-sequence tokens of the model. They are found wherever tokens cut them; the text is judged without them, the tokens stay and are trained on.",
    ),
    field(
        "rollout.stop_token_ids",
        "[]",
        "Token ids that end a response, beside those of the model.",
    ),
    field(
        "rollout.rows",
        "64",
        "Sequences that decode together: as one ends, the next begins in its place. Each has memory for the longest prompt and `max_response_tokens`. Changes speed and memory, never the tokens drawn.",
    ),
    field(
        "rollout.cpu_kernels",
        "false",
        "On the CPU, decode by matrix products made for few rows in place of libtorch's: a row gives the same bits whatever decodes beside it. Slower where many rows decode together. The weights are copied for the time of a rollout.",
    ),
    field(
        "reward.kind",
        "\"math\"",
        "How a response is compared with the known answer: `\"math\"`, `\"multiple-choice\"` (one letter, A to J), `\"exact-match\"`, or with a setting `{ exact-match = { normalisation = \"words\" } }`: `\"none\"`, `\"whitespace\"` (the default), `\"case\"` (and white space), `\"words\"` (and ASCII punctuation, a, an, the). The answer of the response is found by `reward.grading` for every kind. Known answers that are none of their kind are refused as `data.train.file.bad_rows` says.",
    ),
    field(
        "reward.kind_by_source",
        "{}",
        "Kinds for the questions of a source (`data_source` of a row), in place of `kind`: `{ triviaqa = { exact-match = { normalisation = \"words\" } } }`.",
    ),
    field(
        "reward.threads",
        "0",
        "Threads that judge responses while others are still sampled; 0 takes one per core. Changes speed, never a reward.",
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
];
