//! The program as its users see it: data on standard output, one line on standard error, exit code 0 or 2.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

use crate::fixture::{Expected, copy_to, directory, said_beside_the_device};

fn run(arguments: &[&str], input: &str) -> Output {
    let mut child = Command::new(env!("CARGO_BIN_EXE_llm-trainer"))
        .args(arguments)
        .env("OMP_NUM_THREADS", "1")
        .env("HF_HUB_OFFLINE", "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary was built for this test");
    // A command that fails early does not read its input.
    let _ = child.stdin.take().expect("piped").write_all(input.as_bytes());
    child.wait_with_output().expect("the program ends")
}

fn objects(output: &Output) -> Vec<Value> {
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8_lossy(&output.stdout);
    text.lines().map(|line| serde_json::from_str(line).expect("one object a line")).collect()
}

/// The one line of a refusal, with `model`'s path as `DIR`.
fn refusal(output: &Output, model: &Path) -> String {
    assert_eq!(output.status.code(), Some(2));
    assert!(output.stdout.is_empty(), "{}", String::from_utf8_lossy(&output.stdout));
    let text = said_beside_the_device(&output.stderr);
    assert_eq!(text.lines().count(), 1, "{text}");
    text.trim_end().replace(&model.display().to_string(), "DIR")
}

fn text_of(path: &Path) -> &str {
    path.to_str().expect("a path in UTF-8")
}

#[test]
fn doctor_tests_itself_and_says_ok() {
    let no_gpu = tempfile::tempdir().unwrap();
    let mut doctor = Command::new(env!("CARGO_BIN_EXE_llm-trainer"));
    let output = doctor.arg("doctor").env("LLM_TRAINER_NVIDIA_ROOT", no_gpu.path()).output();
    let output = output.expect("the binary was built for this test");
    assert_eq!(output.status.code(), Some(0));
    let text = String::from_utf8_lossy(&output.stdout);
    for expected in [
        "libtorch     built against 2.",
        "CUDA  ",
        "driver  ",
        "threads  ",
        "memory  ",
        "self-test    cpu: ok",
    ] {
        assert!(text.contains(expected), "{expected} in {text}");
    }
}

#[test]
fn without_questions_generate_says_so() {
    for input in ["", "\n\n"] {
        let output = run(&["generate", "--model", "nowhere", "--input", "-"], input);
        assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(0), &b""[..]));
        let expected = "warning: -: no questions, so there is nothing to answer\n";
        assert_eq!(String::from_utf8_lossy(&output.stderr), expected);
    }
}

#[test]
fn score_gives_the_recorded_log_probs_and_entropies() {
    let (model, expected) = (directory("tiny_qwen2_untied"), Expected::load("tiny_qwen2_untied"));
    let input = "{\"text\": \"What is 2 + 3? \\\\boxed{5}\"}\n\n{\"token_ids\": [65]}\n";
    let output = run(&["score", "--model", text_of(&model), "--input", "-"], input);
    let scores = objects(&output);
    assert_eq!(scores.len(), 2);
    let numbers = |value: &Value| -> Vec<f64> {
        value.as_array().unwrap().iter().map(|number| number.as_f64().unwrap()).collect()
    };
    assert_eq!(scores[0]["token_ids"].as_array().unwrap().len(), expected.ids("seq0.ids").len());
    for (column, name) in [("log_prob", "seq0.logprob"), ("entropy", "seq0.entropy")] {
        let recorded = Vec::<f64>::try_from(expected.get(name).to_kind(tch::Kind::Double)).unwrap();
        let values = numbers(&scores[0][column]);
        assert_eq!(values.len(), expected.ids("seq0.ids").len() - 1);
        for (value, recorded) in values.iter().zip(recorded) {
            assert!((value - recorded).abs() < 1e-4, "{column}: {value} {recorded}");
        }
    }
    assert_eq!(scores[1], serde_json::json!({"token_ids": [65], "log_prob": [], "entropy": []}));
}

#[test]
fn generate_gives_the_recorded_greedy_tokens() {
    let (model, expected) = (directory("tiny_qwen2_tied"), Expected::load("tiny_qwen2_tied"));
    let arguments = ["generate", "--model", text_of(&model), "--temperature", "0"];
    let prompt = ["--max-new-tokens", "24", "--prompt", "What is 2 + 3? \\boxed{5}"];
    let drawn = objects(&run(&[arguments.as_slice(), &prompt].concat(), ""));
    let tokens: Vec<u32> = serde_json::from_value(drawn[0]["token_ids"].clone()).unwrap();
    let greedy = expected.ids("greedy.ids");
    let end = greedy.iter().position(|&id| id == 0).map_or(greedy.len(), |at| at + 1);
    assert_eq!(tokens, greedy[..end]);
}

#[test]
fn generate_repeats_itself_for_a_seed_and_numbers_its_samples() {
    let model = directory("tiny_qwen2_tied");
    let with_rows = |rows: &str| {
        let arguments = ["generate", "--model", text_of(&model), "--input", "-", "--samples", "3"];
        let more = ["--max-new-tokens", "5", "--seed", "8", "--rows", rows];
        let input = "{\"prompt\": \"one\"}\n{\"prompt\": \"three\"}\n";
        objects(&run(&[arguments.as_slice(), &more].concat(), input))
    };
    let (few, many) = (with_rows("2"), with_rows("6"));
    let places: Vec<(u64, u64)> = few
        .iter()
        .map(|object| (object["prompt"].as_u64().unwrap(), object["sample"].as_u64().unwrap()))
        .collect();
    assert_eq!(places, [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2)]);
    for (few, many) in few.iter().zip(&many) {
        assert_eq!(few["token_ids"], many["token_ids"]);
    }
}

#[test]
fn a_truncated_weight_file_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    copy_to("tiny_qwen2_tied", folder.path());
    let weights = folder.path().join("model.safetensors");
    let bytes = fs::read(&weights).unwrap();
    fs::write(&weights, &bytes[..bytes.len() - 1]).unwrap();
    let output = run(&["score", "--model", text_of(folder.path()), "--input", "-"], "");
    let line = refusal(&output, folder.path());
    assert!(line.starts_with("error: DIR/model.safetensors: truncated: tensor `model."), "{line}");
    assert!(line.ends_with("ends at byte 365408, the file at 365407"), "{line}");
}

#[test]
fn a_missing_weight_file_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    copy_to("tiny_qwen2_tied", folder.path());
    fs::remove_file(folder.path().join("model.safetensors")).unwrap();
    let output = run(&["score", "--model", text_of(folder.path()), "--input", "-"], "");
    assert_eq!(
        refusal(&output, folder.path()),
        "error: DIR: no weights found, expected model.safetensors or model.safetensors.index.json"
    );
}

#[test]
fn a_missing_model_is_refused() {
    let output = run(&["generate", "--model", "nowhere", "--prompt", "x"], "");
    assert_eq!(
        refusal(&output, Path::new("nowhere")),
        "error: DIR: no model is there, expected a Hugging Face directory with config.json"
    );
    let output = run(&["generate", "--model", "Qwen/Qwen2.5-0.5B", "--prompt", "x"], "");
    let line = refusal(&output, Path::new("Qwen/Qwen2.5-0.5B"));
    assert!(line.starts_with("error: DIR: no directory here, not in the hub's cache "), "{line}");
    assert!(
        line.ends_with("(`hf download DIR` fills the cache where there is a network)"),
        "{line}"
    );
}

#[test]
fn a_config_of_another_architecture_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    copy_to("tiny_qwen2_tied", folder.path());
    let config = folder.path().join("config.json");
    let text = fs::read_to_string(&config).unwrap();
    fs::write(&config, text.replace("Qwen2ForCausalLM", "GPT2LMHeadModel")).unwrap();
    let output = run(&["generate", "--model", text_of(folder.path()), "--prompt", "x"], "");
    assert_eq!(
        refusal(&output, folder.path()),
        "error: DIR/config.json: field `architectures` is [\"GPT2LMHeadModel\"], expected \
         [\"Qwen2ForCausalLM\"] or [\"Qwen3ForCausalLM\"] or [\"Qwen3MoeForCausalLM\"] or [\"LlamaForCausalLM\"] or \
         [\"MistralForCausalLM\"] or [\"Gemma3ForCausalLM\"]"
    );
}

#[test]
fn a_tokenizer_larger_than_the_model_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    copy_to("tiny_qwen2_tied", folder.path());
    let path = folder.path().join("tokenizer.json");
    let mut tokenizer: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
    tokenizer["model"]["vocab"]["extra"] = 256.into();
    fs::write(&path, tokenizer.to_string()).unwrap();
    let output = run(&["generate", "--model", text_of(folder.path()), "--prompt", "x"], "");
    assert_eq!(
        refusal(&output, folder.path()),
        "error: DIR/tokenizer.json: token id 256 is outside the model's vocabulary, expected ids below vocab_size = 256"
    );
}

#[test]
fn a_bad_line_of_input_is_named_by_file_and_number() {
    let model = directory("tiny_qwen2_tied");
    let folder = tempfile::tempdir().unwrap();
    let input = folder.path().join("input.jsonl");
    let with = |text: &str| {
        fs::write(&input, text).unwrap();
        let output = run(&["score", "--model", text_of(&model), "--input", text_of(&input)], "");
        refusal(&output, folder.path())
    };
    assert!(
        with("\u{feff}{\"texts\": \"x\"}\n")
            .starts_with("error: DIR/input.jsonl: line 1: unknown variant `texts`"),
    );
    assert_eq!(
        with("\n{\"token_ids\": [1, 256]}\n"),
        "error: DIR/input.jsonl: line 2: token id 256, expected ids below vocab_size = 256"
    );
}

#[test]
fn an_unknown_device_is_refused() {
    let model = directory("tiny_qwen2_tied");
    let arguments = ["generate", "--model", text_of(&model), "--prompt", "x", "--device", "tpu"];
    let output = run(&arguments, "");
    assert_eq!(output.status.code(), Some(2));
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(
        text.contains(r#"device is "tpu", expected "auto", "cpu", "cuda" or "cuda:N""#),
        "{text}"
    );
}

#[test]
fn a_cuda_device_that_is_not_there_is_refused() {
    let model = directory("tiny_qwen2_tied");
    let arguments =
        ["generate", "--model", text_of(&model), "--prompt", "x", "--device", "cuda:99"];
    let text = refusal(&run(&arguments, ""), &model);
    assert!(text.starts_with("error: device is cuda:99, "), "{text}");
}

#[test]
fn a_file_that_is_no_gguf_is_refused_and_nothing_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("model.gguf");
    std::fs::write(&file, b"GGUX and no more").unwrap();
    let target = folder.path().join("model");
    let text = refusal(&run(&["import-gguf", text_of(&file), text_of(&target)], ""), folder.path());
    assert!(text.starts_with("error: DIR/model.gguf: "), "{text}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "only the file itself");
}

/// Runs `data check --json` on five rows of two sources.
fn data_check(folder: &Path, more: &[&str]) -> Output {
    let rows = [
        r#"{"problem": "Which is a city?", "answer": "(B)", "data_source": "choices"}"#,
        r#"{"problem": "Which is a river?", "answer": "Seine", "data_source": "choices"}"#,
        r#"{"problem": "Who wrote Emma?", "answer": "Jane Austen", "data_source": "names"}"#,
        r#"{"problem": "Who wrote Emma?", "answer": "The Jane Austen", "data_source": "names"}"#,
        r#"{"problem": "And of Ulysses?", "answer": "\\frac{1}{0}", "data_source": "names"}"#,
    ];
    let file = folder.join("questions.jsonl");
    fs::write(&file, rows.join("\n")).expect("a temporary folder is writable");
    let arguments = ["data", "check", text_of(&file), "--json"];
    run(&[&arguments[..], more].concat(), "")
}

#[test]
fn data_check_reads_answers_as_the_run_does() {
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("run.toml");
    let text = "name = 'x'\nmodel.path = 'none'\ndata.train.file.path = 'none'\ntraining.steps = 1\n\
                reward.kind = 'multiple-choice'\n\
                reward.kind_by_source.names.exact-match.normalisation = 'words'\n";
    fs::write(&config, text).unwrap();
    let report = |more: &[&str]| -> Value {
        serde_json::from_slice(&data_check(folder.path(), more).stdout).expect("an object")
    };
    let rows = |more: &[&str], findings: &str| -> Vec<u64> {
        let report = report(more);
        let findings = report[findings].as_array().unwrap();
        findings.iter().map(|finding| finding["row"].as_u64().unwrap()).collect()
    };
    let conflicts =
        |more: &[&str]| -> usize { report(more)["conflicts"].as_array().unwrap().len() };
    assert!(rows(&[], "unreadable_answers").contains(&5), "as mathematics");
    let by_run = ["--config", text_of(&config)];
    assert_eq!(rows(&by_run, "unreadable_answers"), [2]);
    assert_eq!(conflicts(&by_run), 0, "an article does not count");
    // Named on the command line, whose settings are the defaults, it does.
    let named = ["--kind", "multiple-choice", "--kind", "names=exact-match"];
    assert_eq!(rows(&named, "unreadable_answers"), [2]);
    assert_eq!(conflicts(&named), 1);
    let over = [&by_run[..], &["--kind", "choices=exact-match"]].concat();
    assert!(rows(&over, "unreadable_answers").is_empty());

    let line = refusal(&data_check(folder.path(), &["--kind", "names=letters"]), folder.path());
    assert!(
        line.starts_with(
            "error: --kind names=letters: kind of reward is \"letters\", expected \"math\""
        ),
        "{line}"
    );
}

#[test]
fn data_check_fails_where_a_run_would_refuse_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("run.toml");
    let write = |rule: &str| {
        let text =
            "name = 'x'\nmodel.path = 'none'\ntraining.steps = 1\nreward.kind = 'exact-match'\n";
        fs::write(&config, format!("{text}data.train.file = {{ path = 'none', {rule} }}\n"))
            .unwrap();
    };
    let last_line = |more: &[&str]| {
        let output = data_check(folder.path(), more);
        assert!(!output.stdout.is_empty(), "the report is printed all the same");
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        (output.status.code(), text.trim_end().replace(text_of(folder.path()), "DIR"))
    };
    let (code, line) = last_line(&["--kind", "multiple-choice"]);
    assert_eq!(code, Some(2));
    assert_eq!(
        line,
        "error: DIR/questions.jsonl: 4 of 5 rows are invalid, rows 2, 3, 4, 5: a run refuses the file, unless \
         data.train.file.bad_rows is \"drop\""
    );
    let by_run = ["--config", text_of(&config)];
    let dropped = [&by_run[..], &["--kind", "multiple-choice"]].concat();
    write("bad_rows = 'drop'");
    assert_eq!(last_line(&dropped), (Some(0), String::new()));
    write("duplicates = 'error'");
    let (code, line) = last_line(&by_run);
    assert_eq!(code, Some(2));
    assert!(line.ends_with("1 questions stand there more than once, rows 3 = 4: a run refuses the file where duplicates is \"error\""), "{line}");
}

#[test]
fn a_negative_number_is_a_value_that_the_command_judges() {
    let model = directory("tiny_qwen2_tied");
    let arguments =
        ["generate", "--model", text_of(&model), "--prompt", "x", "--temperature", "-1"];
    let line = refusal(&run(&arguments, ""), &model);
    assert!(line.contains("temperature is -1, expected 0 or at least 0.000001"), "{line}");
}

/// The error stands below what the command has printed, where a terminal shows both.
#[test]
fn an_error_stands_below_the_output() {
    let terminal = tempfile::NamedTempFile::new().unwrap();
    let append = || fs::OpenOptions::new().append(true).open(terminal.path()).unwrap();
    let status = Command::new(env!("CARGO_BIN_EXE_llm-trainer"))
        .args(["train", "--preset", "qwen2.5-7b-kl-cov", "--dry-run"])
        .args(["--set", "model.path=/nowhere", "--set", "data.train=nowhere.jsonl"])
        .stdout(append())
        .stderr(append())
        .status()
        .unwrap();
    assert_eq!(status.code(), Some(2));
    let shown = fs::read_to_string(terminal.path()).unwrap();
    let (printed, error) = shown.split_once("error: ").unwrap();
    assert!(printed.starts_with("name = ") && !error.contains('#'), "{shown}");
}

#[test]
fn config_shows_fields_and_their_schema() {
    let text = |output: &Output| String::from_utf8_lossy(&output.stdout).into_owned();
    let field = run(&["config", "rollout.rows"], "");
    assert!(text(&field).starts_with("rollout.rows = 64 (1 to 65536)\n    "), "{}", text(&field));
    let schema: Value = serde_json::from_slice(&run(&["config", "--schema"], "").stdout).unwrap();
    assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema");
    assert_eq!(schema["$defs"]["RolloutSection"]["properties"]["rows"]["minimum"], 1);
    let line = refusal(&run(&["config", "rolout.rows"], ""), Path::new("/nowhere"));
    assert!(line.contains("near: rollout.rows"), "{line}");
}

#[test]
fn presets_are_listed_where_none_is_named() {
    for arguments in [&["train", "--preset"][..], &["train", "--preset", "--dry-run"]] {
        let output = run(arguments, "");
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!((output.status.code(), text.lines().count()), (Some(2), 9), "{text}");
        assert!(
            text.contains("\n  qwen2.5-32b-kl-cov      Qwen2.5-32B, GRPO with KL-Cov: "),
            "{text}"
        );
    }
}

/// Closes standard output at once, as `… | head -0` does.
#[test]
fn a_command_that_nobody_reads_ends_quietly() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("checkpoints")).unwrap();
    fs::write(folder.path().join("metrics.jsonl"), "{\"step\":1,\"actor/entropy\":1.5}\n").unwrap();
    let model = directory("tiny_qwen2_tied");
    let generate =
        ["generate", "--model", text_of(&model), "--prompt", "x", "--max-new-tokens", "1"];
    let export = ["export", text_of(folder.path()), "--csv", "-"];
    for arguments in [&export[..], &generate, &["man"]] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let mut command = Command::new(env!("CARGO_BIN_EXE_llm-trainer"));
        command.args(arguments).env("OMP_NUM_THREADS", "1").stdout(writer).stderr(Stdio::piped());
        let output = command.spawn().unwrap().wait_with_output().unwrap();
        let text = said_beside_the_device(&output.stderr);
        assert_eq!((output.status.code(), &*text), (Some(141), ""), "{arguments:?}");
    }
}
