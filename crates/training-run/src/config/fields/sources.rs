//! The run, its model and its questions.

use crate::config::field::{Row, field, required};

pub(super) const SOURCES: &[Row] = &[
    required("name", "Name of the run: letters, digits, `.`, `_`, `-`."),
    field(
        "seed",
        "Seed of everything random in the run: the same seed, configuration and machine give the same run.",
    ),
    field(
        "output_directory",
        "Folder of the run; `{name}` stands for the name. Relative to the working directory.",
    ),
    required("model.path", "Hugging Face model directory."),
    field(
        "model.dtype",
        "Number format of weights and activations, `\"f32\"` or `\"bf16\"`; the optimiser steps in f32. `\"f64\"`, optimiser included, is for comparisons to the last digits.",
    ),
    field(
        "model.device",
        "`\"auto\"` (as `\"cuda\"` where a GPU is, else the CPU; an error where a GPU or its driver shows and cannot be used), `\"cpu\"`, `\"cuda\"` (a CUDA device for each rank of a machine, the first for one process) or `\"cuda:N\"`. `CUDA_VISIBLE_DEVICES=` hides all devices: `\"auto\"` is then the CPU.",
    ),
    field("model.threads", "CPU threads; 0 takes one per core, or what `OMP_NUM_THREADS` says."),
    required(
        "data.train.file.path",
        "Questions to train on. From a file: JSON lines (`.jsonl`, `.jsonl.zst`), a JSON list (`.json`) or a table (`.csv`, `.parquet`).",
    ),
    field(
        "data.train.file.problem_field",
        "Column that holds the problem (text, or turns that end in the user's); dots lead inside. Empty takes `problem`, `question`, `prompt` or `messages`.",
    ),
    field(
        "data.train.file.answer_field",
        "Column that holds the answer: text, a number, or a solution that ends in `#### answer`. Empty takes `answer`, `reward_model.ground_truth` or `ground_truth`; `messages` without any of them are answered in their last turn.",
    ),
    field("data.train.file.limit", "Read only the first so many good rows; 0 reads all."),
    field(
        "data.train.file.bad_rows",
        "What a row without question or without an answer that the verifier can read does: `\"error\"` refuses the file with all such rows in one message, `\"drop\"` leaves the row out and counts it.",
    ),
    field(
        "data.train.file.duplicates",
        "What a question that stands there more than once does: `\"keep\"`, `\"drop\"` (the first stays; none where the answers differ) or `\"error\"`.",
    ),
    field(
        "data.train.arithmetic.operations",
        "Questions to train on. Made up: operations to choose from, of `\"add\"`, `\"subtract\"`, `\"multiply\"`.",
    ),
    field("data.train.arithmetic.digits", "Fewest and most digits of an operand, 1 to 9."),
    field(
        "data.train.arithmetic.word_problems",
        "A short story about each sum in place of `47+38=`.",
    ),
    field("data.train.arithmetic.count", "How many questions, at least 1."),
    field(
        "data.train.arithmetic.seed",
        "Seed of the questions. Questions of `train` and `evaluation` never coincide, whatever the seeds.",
    ),
    required(
        "data.evaluation.file.path",
        "Questions to evaluate on. From a file: JSON lines (`.jsonl`, `.jsonl.zst`), a JSON list (`.json`) or a table (`.csv`, `.parquet`).",
    ),
    field(
        "data.evaluation.file.problem_field",
        "Column that holds the problem (text, or turns that end in the user's); dots lead inside. Empty takes `problem`, `question`, `prompt` or `messages`.",
    ),
    field(
        "data.evaluation.file.answer_field",
        "Column that holds the answer: text, a number, or a solution that ends in `#### answer`. Empty takes `answer`, `reward_model.ground_truth` or `ground_truth`; `messages` without any of them are answered in their last turn.",
    ),
    field("data.evaluation.file.limit", "Read only the first so many good rows; 0 reads all."),
    field(
        "data.evaluation.file.bad_rows",
        "What a row without question or without an answer that the verifier can read does: `\"error\"` refuses the file with all such rows in one message, `\"drop\"` leaves the row out and counts it.",
    ),
    field(
        "data.evaluation.file.duplicates",
        "What a question that stands there more than once does: `\"keep\"`, `\"drop\"` (the first stays; none where the answers differ) or `\"error\"`.",
    ),
    field(
        "data.evaluation.arithmetic.operations",
        "Questions to evaluate on. Made up: operations to choose from, of `\"add\"`, `\"subtract\"`, `\"multiply\"`.",
    ),
    field("data.evaluation.arithmetic.digits", "Fewest and most digits of an operand, 1 to 9."),
    field(
        "data.evaluation.arithmetic.word_problems",
        "A short story about each sum in place of `47+38=`.",
    ),
    field("data.evaluation.arithmetic.count", "How many questions, at least 1."),
    field(
        "data.evaluation.arithmetic.seed",
        "Seed of the questions. Questions of `train` and `evaluation` never coincide, whatever the seeds.",
    ),
    field("data.prompt.system", "System message; empty for none. Needs `chat = true`."),
    field("data.prompt.template", "Text of the question; `{problem}` stands for the problem."),
    field(
        "data.prompt.chat",
        "Whether that text is a user's turn in the model's chat template; otherwise it is the prompt as it stands.",
    ),
    field("data.max_prompt_tokens", "Longest prompt, at least 1."),
    field(
        "data.over_long_prompts",
        "What a longer prompt does: `\"error\"` stops the run before it starts, `\"drop\"` leaves the question out and counts it, `\"truncate-left\"` cuts its first tokens off.",
    ),
];
