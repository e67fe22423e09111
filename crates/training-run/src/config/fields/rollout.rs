//! How responses are sampled, what they earn, and which of them count.

use crate::config::field::{Row, field};

pub(super) const ROLLOUT: &[Row] = &[
    field("rollout.prompts_per_step", "Questions asked in one training step."),
    field(
        "rollout.group_size",
        "Responses sampled to each question; at least 2 where the advantage compares them.",
    ),
    field("rollout.max_response_tokens", "Longest response, its end-of-sequence token included."),
    field(
        "rollout.temperature",
        "Softmax temperature of sampling, above 0; log-probabilities and entropy are taken at the same one.",
    ),
    field(
        "rollout.top_k",
        "Draw only this many of the likeliest tokens; 0 is all. Where sampling leaves tokens out, the policy is the softmax over those kept: log-probabilities, current, old and of the reference, are taken over them ([sampling](rollout.md#truncated-sampling)); the entropy stays that of the whole vocabulary.",
    ),
    field(
        "rollout.top_p",
        "Draw only the likeliest tokens whose probabilities first add up to this, above 0 and at most 1; 1 is all. Applied after `top_k`.",
    ),
    field(
        "rollout.min_p",
        "Draw only tokens at least this times as likely as the likeliest, at least 0 and below 1; 0 is all. Applied after `top_p`.",
    ),
    field(
        "rollout.stop",
        "Texts that end a response, beside the end-of-sequence tokens of the model. They are found wherever tokens cut them; the text is judged without them, the tokens stay and are trained on.",
    ),
    field("rollout.stop_token_ids", "Token ids that end a response, beside those of the model."),
    field(
        "rollout.rows",
        "Sequences that decode together: as one ends, the next begins in its place. Each has memory for the longest prompt and `max_response_tokens`. Changes speed and memory, never the tokens drawn.",
    ),
    field(
        "rollout.cpu_kernels",
        "On the CPU, decode by matrix products made for few rows in place of libtorch's: a row gives the same bits whatever decodes beside it. Where many rows decode together, slower or faster by the processor.",
    ),
    field(
        "rollout.engine",
        "What samples the responses that are trained on: `\"own\"`, the trainer with the weights it trains, or `\"openai\"`, another process with OpenAI's interface, which is sent the weights before each step that follows an update (`docs/rollout.md`).",
    ),
    field(
        "rollout.engine.openai.url",
        "Where it listens, without `/v1` and without a slash at its end. No encryption: for this machine, or behind a proxy.",
    ),
    field(
        "rollout.engine.openai.model",
        "What requests call the model; empty takes the first of `/v1/models`.",
    ),
    field("rollout.engine.openai.concurrency", "Requests at once, one a prompt, 1 to 1024."),
    field(
        "rollout.engine.openai.timeout_seconds",
        "Longest wait for one answer, above 0 and at most 86400.",
    ),
    field(
        "rollout.engine.openai.retries",
        "How often a request is sent again after a lost connection, a full queue (429) or a server's error (5xx), after 0.5, 1, 2, … s; at most 20.",
    ),
    field(
        "rollout.engine.openai.reload_path",
        "Path of the request by which the engine loads weights that the trainer has written.",
    ),
    field(
        "rollout.engine.openai.reload_field",
        "Name of the field of that request that holds the path.",
    ),
    field(
        "rollout.engine.openai.weights_directory",
        "Folder that the weights are written to, which the engine must be able to read; empty takes `engine-weights` in the folder of the run.",
    ),
    field(
        "rollout.engine.openai.corrected",
        "Whether tokens weigh by importance, `old_log_prob` against the engine's own log-probability.",
    ),
    field(
        "rollout.engine.openai.correction",
        "How: `level` is `\"token\"`, `\"sequence\"` or `\"geometric\"`; `bound` is `{ truncate = { high } }`, `{ mask = { low, high } }`, `{ reject = { low, high } }` or `\"off\"`; `normalise` divides by the mean; a response with a token whose ratio is below `veto` weighs 0.",
    ),
    field(
        "reward.kind",
        "How a response is compared with the known answer: `\"math\"`, `\"multiple-choice\"` (one letter, A to J), `\"exact-match\"`, or with a setting `{ exact-match = { normalisation = \"words\" } }`: `\"none\"`, `\"whitespace\"` (the default), `\"case\"` (and white space), `\"words\"` (and ASCII punctuation, a, an, the); `\"code\"` runs the unit tests of the row against the program in the response (`docs/code-rewards.md`), and needs `reward.code.interpreter`. The answer of the response is found by `reward.grading` for every other kind. Known answers that are none of their kind are refused as `data.train.file.bad_rows` says.",
    ),
    field(
        "reward.kind_by_source",
        "Kinds for the questions of a source (`data_source` of a row), in place of `kind`: `{ triviaqa = { exact-match = { normalisation = \"words\" } } }`.",
    ),
    field(
        "reward.threads",
        "Threads that judge responses while others are still sampled; 0 takes one per core. Changes speed, never a reward.",
    ),
    field("reward.values.right", "Reward of a right answer; above `wrong`."),
    field("reward.values.wrong", "Reward of a wrong answer."),
    field("reward.values.unparsed", "Reward where no answer could be read."),
    field("reward.grading.strict", "Only `\\boxed{…}` and `\\fbox{…}` count as an answer."),
    field(
        "reward.grading.last_number",
        "Where nothing else is found, take the last formula or number of the response.",
    ),
    field(
        "reward.grading.fuel",
        "Steps of work that one verification may spend, at least 1. A count, never a clock.",
    ),
    field(
        "reward.code.interpreter",
        "Python 3 that runs the programs of responses, a path or a name; empty runs none and refuses the kind `\"code\"`. Each runs in a process of its own, without files, network, other processes and signals; a run that cannot have that here does not start.",
    ),
    field(
        "reward.code.wall_seconds",
        "Wall time of all tests of one response, above 0 and at most 86400.",
    ),
    field("reward.code.cpu_seconds", "Processor time of one process, at least 1."),
    field(
        "reward.code.memory_bytes",
        "Address space of one process, at least 67108864; up to `reward.threads` of them run at once.",
    ),
    field(
        "reward.code.file_bytes",
        "Size of a file that a program writes, and of all its files together, at least 4096.",
    ),
    field(
        "reward.code.output_bytes",
        "Most that a process may write to standard output, and to standard error, at least 4096.",
    ),
    field("reward.code.open_files", "Files open at once, at least 16."),
    field(
        "reward.code.allow_weak_sandbox",
        "Run programs even where the host lacks a protection; what a program can do there is said at the start.",
    ),
    field(
        "reward.overlong",
        "What becomes of responses that reach `rollout.max_response_tokens`: `\"none\"`, `\"mask\"` (their tokens have no gradient), or the next rows.",
    ),
    field(
        "reward.overlong.soft-buffer.buffer_tokens",
        "Tokens before the limit over which the reward falls; at most `rollout.max_response_tokens`.",
    ),
    field(
        "reward.overlong.soft-buffer.penalty_factor",
        "What is taken off a response of full length, in reward, at least 0.",
    ),
    field(
        "dynamic_sampling.enabled",
        "Train on groups whose rewards differ only, and ask for others in place of the rest.",
    ),
    field(
        "dynamic_sampling.accuracy_low",
        "Lowest share of right responses in a group that is kept, in 0..=1.",
    ),
    field(
        "dynamic_sampling.accuracy_high",
        "Highest such share, in 0..=1, not below `accuracy_low`.",
    ),
    field(
        "dynamic_sampling.oversampling",
        "Prompts asked for each group that is missing, at least 1: more of them need fewer rounds.",
    ),
    field("dynamic_sampling.max_batches", "Most rollout batches of one step, at least 1."),
    field(
        "dynamic_sampling.carry_steps",
        "Steps that a group beyond what its own step needed may wait for another; 0 throws it away.",
    ),
    field(
        "dynamic_sampling.when_short",
        "What a step with too few groups after `max_batches` does: `\"train\"` on those there are, or `\"stop\"` the run.",
    ),
];
