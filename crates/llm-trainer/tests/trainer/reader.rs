//! Small stand-ins for the files of the book's reader: models of random weights, files of questions, runs.

use std::path::Path;
use std::process::Command;

use workspace_tests::blocks::copy;

use crate::fixture::copy_to;
use crate::training_run::assert_success;

/// Names of the models on the pages.
const MODELS: [&str; 3] = ["SmolLM2-135M-Instruct", "Qwen2.5-Coder-0.5B-Instruct", "Qwen2.5-7B"];

const TEMPLATE: &str = r#"{"chat_template": "{% for m in messages %}<{{ m.role }}>{{ m.content }}\n{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}"}"#;

const QUESTIONS: &str = r#"{"problem": "What is 2+3?", "answer": "5"}
{"problem": "What is 7-4?", "answer": "3"}
{"problem": "What is 6+2?", "answer": "8"}
{"problem": "What is 9-8?", "answer": "1"}
"#;

/// Names of the files of questions, and how many are in each: few where a page has a model of random weights, which seldom ends a
/// response, answer many times.
const FILES: [(&str, usize); 5] = [
    ("questions.jsonl", 4),
    ("gsm8k_test.jsonl", 4),
    ("aime24.jsonl", 1),
    ("math500.jsonl", 1),
    ("dapo_math_17k.jsonl", 4),
];

const RUN: &str = r#"
name = "mine"
output_directory = "runs/demo/{name}"

[model]
path = "models/SmolLM2-135M-Instruct"
device = "cpu"
threads = 1

[data]
train = { arithmetic = { operations = ["add"], digits = [1, 1], count = 30, seed = 1 } }
evaluation = { arithmetic = { operations = ["add"], digits = [1, 1], count = 5, seed = 1 } }
prompt = { chat = false }
max_prompt_tokens = 16

[rollout]
prompts_per_step = 2
group_size = 3
max_response_tokens = 1000

# Random weights have something to learn where anything but silence is rewarded.
[reward]
values = { right = 1.0, wrong = 0.25, unparsed = 0.0 }
grading = { last_number = true }

[algorithm]
mini_batch_prompts = 1

[optimizer]
learning_rate = 1e-3

[training]
steps = 2
micro_batch_tokens = 2048

[checkpoint]
every = 100
"#;

/// Fills a folder.
pub(crate) fn furnish(folder: &Path) {
    let write = |name: &str, text: &str| {
        std::fs::write(folder.join(name), text).expect("a temporary folder is writable");
    };
    for name in MODELS {
        let model = folder.join("models").join(name);
        copy_to("tiny_qwen2_tied", &model);
        let config = std::fs::read_to_string(model.join("config.json")).expect("just copied");
        // Longer prompts and responses than the tests' own.
        let config = config
            .replace("\"max_position_embeddings\": 512", "\"max_position_embeddings\": 16384");
        write(&format!("models/{name}/config.json"), &config);
        write(&format!("models/{name}/tokenizer_config.json"), TEMPLATE);
    }
    for (name, count) in FILES {
        let questions: String = QUESTIONS.split_inclusive('\n').take(count).collect();
        write(name, &questions);
    }
    write("run.toml", RUN);
    let short = ["name=GRPO", "rollout.max_response_tokens=6", "training.steps=400"];
    train(folder, &short);
    let lora = "lora={ rank = 2, alpha = 4.0 }";
    let named = "output_directory=\"runs/NAME\"";
    train(folder, &["rollout.max_response_tokens=6", "training.steps=100", lora, named]);
    let run = folder.join("runs/demo/GRPO");
    for name in ["demo/Clip-Cov", "demo/KL-Cov", "smollm2-arithmetic"] {
        copy(&run, &folder.join("runs").join(name)).expect("a temporary folder is writable");
    }
}

fn train(folder: &Path, overrides: &[&str]) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_llm-trainer"));
    command.current_dir(folder).args(["train", "run.toml"]);
    for one in overrides {
        command.args(["--set", one]);
    }
    assert_success(&command.output().expect("the binary of this crate runs"));
}
