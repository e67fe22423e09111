//! The published runs.

use rl_losses::PolicyLoss;
use toml::{Table, Value};
use training_run::config::{RUN_PRESETS, Run, SHARED_PRESET, fields, preset};

fn given(more: &[&str]) -> Vec<String> {
    let open = ["model.path=models/m", "data.train=questions.parquet"];
    open.iter().chain(more).map(|&argument| argument.to_owned()).collect()
}

fn run(name: &str) -> Run {
    Run::from_preset(name, &given(&[])).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn every_preset_is_a_run_once_model_and_questions_are_given() {
    for preset in RUN_PRESETS {
        let run = run(preset.name);
        assert_eq!(run.config().name, preset.name);
        assert_eq!(run.warnings(), [""; 0], "{}", preset.name);
        let rollout = &run.config().rollout;
        assert_eq!((rollout.prompts_per_step, rollout.group_size), (256, 8), "Sec. 4.3");
        assert_eq!(run.optimizer_steps_per_step(), 8, "8 updates a rollout, Sec. 4.3");
    }
}

/// The numbers of the losses stand in `rl-losses` too, from the same sources.
#[test]
fn the_losses_are_those_of_the_published_runs() {
    let cases = [
        ("grpo", "grpo"),
        ("clip-higher", "clip-higher"),
        ("clip-cov", "paper-SIZE-clip-cov"),
        ("kl-cov", "paper-SIZE-kl-cov"),
    ];
    for size in ["7b", "32b"] {
        for (method, published) in cases {
            let loss = run(&format!("qwen2.5-{size}-{method}")).config().algorithm.policy_loss;
            let expected = PolicyLoss::preset(&published.replace("SIZE", size)).unwrap();
            assert_eq!(loss, expected, "{size} {method}");
        }
    }
}

#[test]
fn the_sizes_differ_in_learning_rate_and_length() {
    for preset in RUN_PRESETS {
        let run = run(preset.name);
        let (rate, steps) = if preset.name.contains("32b") { (1e-6, 1100) } else { (5e-7, 2500) };
        assert!((run.config().optimizer.learning_rate - rate).abs() < 1e-20, "{}", preset.name);
        assert_eq!(run.config().training.steps, steps);
    }
}

/// Each line that sets a value names its source, except the name of the run.
#[test]
fn every_value_has_its_source_beside_it() {
    for text in RUN_PRESETS.iter().map(|preset| preset.text).chain([SHARED_PRESET]) {
        for line in text.lines().filter(|line| line.contains(" = ") && !line.starts_with('#')) {
            let sourced = line.rsplit_once(" # ").is_some_and(|(_, source)| {
                ["paper", "fork", "verl", "Qwen2.5", "ours: "]
                    .iter()
                    .any(|known| source.contains(known))
            });
            assert!(sourced || line.starts_with("name = "), "no source: {line}");
        }
    }
}

/// Presets set known fields alone, and none that the shared file sets.
#[test]
fn presets_set_known_fields_and_none_twice() {
    fn leaves(table: &Table, prefix: &str, paths: &mut Vec<String>) {
        for (key, value) in table {
            let path = if prefix.is_empty() { key.clone() } else { format!("{prefix}.{key}") };
            match value {
                Value::Table(inner) => leaves(inner, &path, paths),
                _ => paths.push(path),
            }
        }
    }
    let leaves_of = |text: &str| {
        let mut paths = Vec::new();
        leaves(&text.parse().expect("it is TOML"), "", &mut paths);
        paths
    };
    let shared = leaves_of(SHARED_PRESET);
    for preset in RUN_PRESETS {
        let preset_leaves = leaves_of(preset.text);
        for path in shared.iter().chain(&preset_leaves) {
            assert!(fields().iter().any(|field| field.path == *path), "{path}");
        }
        assert!(preset_leaves.iter().all(|path| !shared.contains(path)), "{}", preset.name);
    }
}

#[test]
fn all_that_is_missing_or_wrong_is_said_at_once() {
    let overrides = ["optimizer.learning_rate=-1", "rollout.rows=0"].map(str::to_owned);
    assert_eq!(
        Run::from_preset("qwen2.5-7b-kl-cov", &overrides).unwrap_err().to_string(),
        "--preset qwen2.5-7b-kl-cov: `model.path` is missing, expected a Hugging Face model directory: --set \
         model.path=DIR\n  `data.train` is missing, expected questions: --set data.train=FILE\n  \
         `rollout.rows` is 0, expected 1 to 65536\n  \
         `optimizer.learning_rate` is -1.0, expected a finite number above 0"
    );
}

#[test]
fn overrides_win_over_the_preset() {
    let more = [
        "algorithm.policy_loss.kl-cov.fraction=0.01",
        "data.train.file.limit=7",
        "reward.overlong.soft-buffer.buffer_tokens=2048",
    ];
    let run = Run::from_preset("qwen2.5-7b-grpo", &given(&more)).unwrap();
    assert_eq!(run.config().algorithm.policy_loss.name(), "kl-cov");
    let text = toml::to_string(run.config()).unwrap();
    assert!(text.contains("path = \"questions.parquet\"\n"), "{text}");
    assert!(text.contains("limit = 7\n"), "{text}");
    assert!(text.contains("buffer_tokens = 2048\n"), "{text}");
}

#[test]
fn an_unknown_preset_is_answered_with_those_that_begin_so_or_all_each_with_what_it_is() {
    assert_eq!(
        preset("qwen2.5-7b-k").unwrap_err().to_string(),
        "--preset qwen2.5-7b-k: there is no published run of that name, expected one of\n  \
         qwen2.5-7b-kl-cov       Qwen2.5-7B, GRPO with KL-Cov: arXiv:2505.22617, Table 2"
    );
    let listed = |name: &str| preset(name).unwrap_err().to_string().lines().count() - 1;
    assert_eq!([listed("qwen2.5-7b"), listed("llama"), listed("")], [4, 8, 8]);
    let text = preset("").unwrap_err().to_string();
    assert!(
        text.starts_with("--preset has no name, expected one of\n  qwen2.5-7b-grpo "),
        "{text}"
    );
}

#[test]
fn the_arithmetic_is_written_out() {
    insta::assert_snapshot!(run("qwen2.5-7b-kl-cov").batch_arithmetic().join("\n"));
}

#[test]
fn the_questions_are_counted_and_what_is_odd_about_them_is_said() {
    let row = |n: usize| format!("{{\"problem\": \"{n}?\", \"answer\": {n}}}\n");
    let mut lines: String = (0..1000).map(row).collect::<Vec<_>>().concat();
    lines.push_str("{\"problem\": \"7 ?\", \"answer\": 8}\n");
    let folder = workspace_tests::files::folder(&[("set.jsonl", &lines)]);
    let train = format!("data.train=\"{}\"", folder.path().join("set.jsonl").display());
    let held_out = "data.evaluation.arithmetic.count=5";
    let overrides = ["model.path=m", &train, held_out, "training.steps=10"].map(str::to_owned);
    let run = Run::from_preset("qwen2.5-7b-grpo", &overrides).unwrap();
    assert_eq!(
        run.describe_data().unwrap(),
        [
            "data.train: 1,001 questions, trained on 2.6 times each",
            "data.train: 1 questions stand there more than once, 1 of them with different answers; 0 rows were left out \
             for it",
            "data.evaluation: 5 questions",
        ]
    );
}

#[test]
fn what_is_probably_not_meant_is_said() {
    let warnings = |more: &[&str]| {
        Run::from_preset("qwen2.5-7b-kl-cov", &given(more)).unwrap().warnings().join("\n")
    };
    let once = warnings(&["algorithm.mini_batch_prompts=256"]);
    assert!(once.starts_with("kl-cov does nothing: with one optimiser step a rollout"), "{once}");
    assert_eq!(warnings(&["algorithm.mini_batch_prompts=256", "algorithm.epochs=2"]), "");
    let percent = warnings(&["algorithm.policy_loss.kl-cov.fraction=0.2"]);
    assert!(
        percent.starts_with("kl-cov treats a share of 0.2 of all tokens; published"),
        "{percent}"
    );
    let few = ["rollout.max_response_tokens=1", "algorithm.mini_batch_prompts=32"];
    let none = warnings(&few);
    assert!(none.starts_with("kl-cov selects less than one token"), "{none}");
    let lonely = warnings(&["rollout.group_size=1", "algorithm.advantage=reinforce"]);
    assert!(lonely.contains("dynamic_sampling does nothing"), "{lonely}");
}
