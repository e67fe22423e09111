//! `eval`: sets, intervals, going on after a kill, comparisons.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;
use workspace_tests::processes::wait_until;

use crate::fixture::{directory, said_beside_the_device};
use crate::in_process;
use crate::training_run::{assert_success, train};

/// Questions with one-digit answers, which a model without training rarely gives.
fn write_questions(path: &Path, count: usize) {
    let row = |index: usize| {
        let (left, right) = (index % 10, index / 10);
        format!(
            "{{\"id\": \"q{index}\", \"problem\": \"{left}+{right}=\", \"answer\": \"{}\"}}\n",
            left + right
        )
    };
    fs::write(path, (0..count).map(row).collect::<String>()).expect("a writable folder");
}

fn eval(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_llm-trainer"));
    command.arg("eval").args(arguments).env("OMP_NUM_THREADS", "1").env("RAYON_NUM_THREADS", "2");
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn text_of(path: &Path) -> &str {
    path.to_str().expect("a path in UTF-8")
}

/// Two sets, one sampled and one greedy, into `output`.
fn arguments(folder: &Path, output: &str) -> Vec<String> {
    let (sampled, greedy) = (folder.join("sampled.jsonl"), folder.join("greedy.jsonl"));
    write_questions(&sampled, 30);
    write_questions(&greedy, 5);
    [
        text_of(&directory("tiny_qwen2_tied")),
        "--set",
        &format!("sampled={}:n=3,temperature=0.9,entropy_ceiling=3.5", sampled.display()),
        "--set",
        &format!("greedy={}", greedy.display()),
        "--plain",
        "--max-response-tokens",
        "12",
        "--rows",
        "2",
        "--threads",
        "1",
        "--seed",
        "5",
        "--output",
        text_of(&folder.join(output)),
    ]
    .map(str::to_owned)
    .to_vec()
}

fn run(arguments: &[String], more: &[&str]) -> Output {
    let arguments: Vec<&str> =
        arguments.iter().map(String::as_str).chain(more.iter().copied()).collect();
    let mut command = Command::new(env!("CARGO_BIN_EXE_llm-trainer"));
    in_process::run(command.arg("eval").args(arguments))
}

fn json(output: &Output) -> Value {
    assert_success(output);
    serde_json::from_slice(&output.stdout).expect("JSON on standard output")
}

fn error(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(2));
    String::from_utf8_lossy(&output.stderr).trim_end().to_owned()
}

fn lines(path: &Path) -> Vec<Value> {
    let text = fs::read_to_string(path).expect("written by the evaluation");
    text.lines().map(|line| serde_json::from_str(line).expect("one object a line")).collect()
}

fn measure(results: &Value, set: usize, name: &str) -> f64 {
    let measures = results["sets"][set]["measures"].as_array().expect("measures");
    let measure = measures.iter().find(|measure| measure["name"] == name);
    measure.unwrap_or_else(|| panic!("no {name}"))["estimate"]["value"].as_f64().expect("a number")
}

#[test]
fn results_are_what_the_samples_say() {
    let folder = tempfile::tempdir().unwrap();
    let arguments = arguments(folder.path(), "out");
    let results = json(&run(&arguments, &["--json"]));
    let samples = lines(&folder.path().join("out/samples/sampled.jsonl"));
    assert_eq!(
        (samples.len(), lines(&folder.path().join("out/samples/greedy.jsonl")).len()),
        (90, 5)
    );
    let mean = |of: &dyn Fn(&Value) -> f64| samples.iter().map(of).sum::<f64>() / 90.0;
    let number = |value: &Value| value.as_f64().expect("a number");
    let tokens = mean(&|sample| number(&sample["tokens"]));
    assert!((measure(&results, 0, "response_tokens") - tokens).abs() < 1e-12);
    let entropy = mean(&|sample| number(&sample["entropy"]));
    assert!((measure(&results, 0, "entropy") - entropy).abs() < 1e-12);
    assert!(
        samples.iter().all(|sample| number(&sample["entropy"]) < 3.5 + 1e-9),
        "the ceiling holds"
    );
    let truncated = mean(&|sample| f64::from(u8::from(sample["truncated"] == true)));
    assert!((measure(&results, 0, "truncated_fraction") - truncated).abs() < 1e-12);
    assert!(measure(&results, 0, "avg@3") <= measure(&results, 0, "pass@2") + 1e-12);
    assert_eq!(results["sets"][1]["problems"], 5);
    let settings = &results["settings"];
    assert_eq!(settings["sets"][0]["sampling"]["temperature"], 0.9);
    assert_eq!(settings["sets"][0]["sampling"]["entropy_ceiling"], 3.5);
    assert_eq!(settings["sets"][0]["surprise_of"], "softmax(z / T of each token) over all tokens");
    assert_eq!(settings["program"]["llm_trainer"], env!("CARGO_PKG_VERSION"));
    let table = fs::read_to_string(folder.path().join("out/table.md")).unwrap();
    let head = "| model | sampled (avg@3) | greedy (avg@1) | plain mean of the columns |";
    assert!(table.contains(head), "{table}");
    // Again: nothing is sampled, the same is said.
    let written =
        fs::metadata(folder.path().join("out/samples/sampled.jsonl")).unwrap().modified().unwrap();
    assert_eq!(json(&run(&arguments, &["--json"])), results);
    let after =
        fs::metadata(folder.path().join("out/samples/sampled.jsonl")).unwrap().modified().unwrap();
    assert_eq!(written, after);
    // Random weights seldom say a number.
    let shown = String::from_utf8(run(&arguments, &[]).stdout).unwrap();
    for (index, name) in ["sampled", "greedy"].into_iter().enumerate() {
        let read = measure(&results, index, "extracted_fraction");
        let hint = format!("\n{name}: an answer could be read in {read:.3} of the responses; ");
        assert!(read < 0.5 && shown.contains(&hint), "{shown}");
    }
    let refused = error(&run(&arguments, &["--min-p", "0.1"]));
    assert!(refused.contains("other settings, expected the same"), "{refused}");
    assert!(refused.ends_with("`sets.0.sampling.min_p` was 0.0, and is 0.1"), "{refused}");
}

fn wait_for_lines(child: &mut Child, path: &Path, count: usize) {
    wait_until("the evaluation gets on", || {
        assert!(child.try_wait().expect("a child").is_none(), "it ended before it was killed");
        fs::read_to_string(path).map_or(0, |text| text.lines().count()) >= count
    });
}

/// Kills evaluations and tells them to end, and compares with one that goes through.
fn goes_on_to_the_same_bytes(options: &[&str]) {
    let folder = tempfile::tempdir().expect("a folder");
    let arguments = |output: &str| {
        let options = options.iter().map(ToString::to_string);
        let all = arguments(folder.path(), output).into_iter().chain(options).collect::<Vec<_>>();
        // Many more than are done by the time that a signal takes to come.
        write_questions(&folder.path().join("sampled.jsonl"), 200);
        all
    };
    let expected = json(&run(&arguments("whole"), &["--json"]));
    let parts = arguments("parts");
    let strings: Vec<&str> = parts.iter().map(String::as_str).collect();
    let samples = folder.path().join("parts/samples/sampled.jsonl");
    for (signal, lines) in [("-KILL", 9), ("-KILL", 18), ("-TERM", 27)] {
        let mut child = eval(&strings).spawn().expect("the binary of this crate runs");
        wait_for_lines(&mut child, &samples, lines);
        let sent = Command::new("kill").args([signal, &child.id().to_string()]).status();
        assert!(sent.expect("kill is there").success());
        let ended = child.wait().expect("it ends");
        assert!(signal == "-KILL" || ended.code() == Some(143), "{ended}");
        // As a kill in the middle of a write would leave it.
        let mut text = fs::read_to_string(&samples).expect("samples");
        text.push_str("{\"problem\":");
        fs::write(&samples, text).expect("samples");
    }
    assert!(!folder.path().join("parts/results.json").exists());
    assert_eq!(json(&run(&parts, &["--json"])), expected);
    for name in [
        "results.json",
        "table.md",
        "samples/sampled.jsonl",
        "samples/greedy.jsonl",
        "settings.json",
    ] {
        let read = |root: &str| fs::read(folder.path().join(root).join(name)).expect("a file");
        assert!(read("whole") == read("parts"), "{name} differs");
    }
}

/// Problem by problem: what decodes beside a response changes no bit of it.
#[test]
fn killed_and_told_to_end_it_goes_on_to_the_same_bytes() {
    goes_on_to_the_same_bytes(&[]);
}

/// In groups of 8 / 3 → 3 problems, 9 lines, that are always sampled together: libtorch's products depend on the rows beside.
#[test]
fn without_products_of_its_own_it_goes_on_to_the_same_bytes_too() {
    goes_on_to_the_same_bytes(&["--no-cpu-kernels"]);
}

#[test]
fn two_evaluations_are_compared_by_problem() {
    let folder = tempfile::tempdir().unwrap();
    assert_success(&run(&arguments(folder.path(), "first"), &[]));
    let mut other = arguments(folder.path(), "second");
    other[2] = other[2].replace("n=3", "n=4");
    other[4] = other[4].replace("greedy=", "alone=");
    assert_success(&run(&other, &[]));
    let [first, second] = ["first", "second"].map(|name| folder.path().join(name));
    let paths = [text_of(&first), text_of(&second)];
    let compare = |more: &[&str]| {
        eval(&[&["compare"], &paths[..], more].concat()).output().expect("the binary runs")
    };
    let comparison = json(&compare(&["--json"]));
    assert_eq!(comparison["left_out"], serde_json::json!(["greedy", "alone"]));
    let set = &comparison["sets"][0];
    assert_eq!((&set["set"], &set["measure"]), (&"sampled".into(), &"avg@3, avg@4".into()));
    assert_eq!(set["problems"], 30);
    let number = |value: &Value| value.as_f64().expect("a number");
    let difference = number(&set["second"]) - number(&set["first"]);
    assert!((number(&set["difference"]["value"]) - difference).abs() < 1e-12);
    // The first three responses have the noise they had: a measure of both that cannot differ much.
    let tokens = json(&compare(&["--json", "--measure", "response_tokens"]));
    let (a, b) = (number(&tokens["sets"][0]["first"]), number(&tokens["sets"][0]["second"]));
    assert!(a > 0.0 && b > 0.0 && a <= 12.0 && b <= 12.0);
    let text = compare(&[]);
    assert_success(&text);
    let text = String::from_utf8_lossy(&text.stdout).into_owned();
    assert!(text.contains("| set | measure | first | second | difference |"), "{text}");
    assert!(text.contains("Only one of the two has: greedy, alone"), "{text}");
    let refused = error(&compare(&["--measure", "pass@64"]));
    assert!(
        refused.contains("no measure `pass@64` in the first, expected one of avg@3"),
        "{refused}"
    );
}

#[test]
fn a_finished_run_is_evaluated_with_its_own_prompts_and_lengths() {
    let folder = tempfile::tempdir().unwrap();
    let settings = ["training.steps=2", "evaluation.samples=2", "evaluation.every=1"];
    assert_success(&train(folder.path(), &settings));
    let metrics = training_run::metrics::read_metrics(&folder.path().join("run/metrics.jsonl"));
    for step in metrics.expect("a run leaves metrics") {
        let get = |name: &str| {
            step.get(&format!("val-{name}"))
                .unwrap_or_else(|| panic!("{name} is missing: {step:?}"))
        };
        let (mean, pass) = (get("core/arithmetic/acc/mean@2"), get("core/arithmetic/acc/pass@2"));
        let majority = get("core/arithmetic/acc/maj@2");
        assert!(mean <= majority + 1e-12 || mean <= pass + 1e-12);
        assert!(mean <= pass && pass <= 1.0 && majority <= pass);
        let (low, high) =
            (get("aux/arithmetic/acc/mean@2/low"), get("aux/arithmetic/acc/mean@2/high"));
        assert!(low <= mean && mean <= high);
        assert!((0.0..=1.0).contains(&get("aux/arithmetic/extracted_fraction")));
        assert!((0.0..=1.0).contains(&get("aux/arithmetic/truncated_fraction")));
    }
    let questions = folder.path().join("questions.jsonl");
    write_questions(&questions, 4);
    let run_folder = folder.path().join("run");
    let set = format!("digits={}", questions.display());
    let output = eval(&[text_of(&run_folder), "--set", &set, "--json"]).output().unwrap();
    let results = json(&output);
    let settings = &results["settings"];
    assert!(settings["model"]["path"].as_str().unwrap().ends_with("run/checkpoints/step-2"));
    assert_eq!(settings["prompt"]["chat"], false);
    assert_eq!(settings["grading"]["last_number"], true);
    assert_eq!(settings["sets"][0]["sampling"]["max_response_tokens"], 6);
    assert!(run_folder.join("evaluations/step-2/table.md").is_file());
    let none = eval(&[text_of(&run_folder), "--step", "7", "--set", &set]).output().unwrap();
    assert!(error(&none).ends_with("step-7: no such checkpoint"));
}

#[test]
fn what_cannot_be_evaluated_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let questions = folder.path().join("questions.jsonl");
    write_questions(&questions, 2);
    let model = directory("tiny_qwen2_tied");
    let refuse = |arguments: &[&str]| error(&eval(arguments).output().expect("the binary runs"));
    let set = format!("x={}", questions.display());
    let none = refuse(&[text_of(&model)]);
    assert_eq!(none, "error: no set, expected --set NAME=FILE or [[set]] in a file");
    let chat = refuse(&[text_of(&model), "--set", &set]);
    assert!(
        chat.contains(
            "set `x`: prompt: chat is true, but the model directory has no chat template"
        ),
        "{chat}"
    );
    let greedy = refuse(&[text_of(&model), "--set", &set, "-n", "2"]);
    assert!(greedy.contains("temperature is 0, expected above 0 with 2 samples"), "{greedy}");
    let long =
        refuse(&[text_of(&model), "--set", &set, "--plain", "--max-response-tokens", "99999"]);
    assert!(
        long.contains("set `x`: question q0: ") && long.contains("= 99999, expected at most"),
        "{long}"
    );
    let missing = refuse(&[text_of(&folder.path().join("no")), "--set", &set]);
    assert!(
        missing.ends_with("no: not a folder, expected a Hugging Face directory or a run"),
        "{missing}"
    );
    let unfinished = refuse(&["compare", text_of(folder.path()), text_of(folder.path())]);
    assert!(
        unfinished.ends_with("holds no finished evaluation, expected results.json"),
        "{unfinished}"
    );
}

#[test]
fn a_file_of_sets_is_read_from_its_own_folder() {
    let folder = tempfile::tempdir().unwrap();
    write_questions(&folder.path().join("questions.jsonl"), 3);
    let file = folder.path().join("sets.toml");
    let text = "seed = 3\n[sampling]\nsamples = 2\ntemperature = 1.0\nmax_response_tokens = 4\n\
                [prompt]\nchat = false\ntemplate = \"Q: {problem}\"\n\
                [[set]]\nname = \"x\"\nquestions = { file = { path = \"questions.jsonl\", limit = 2 } }\n";
    fs::write(&file, text).unwrap();
    let (model, output) = (directory("tiny_qwen2_tied"), folder.path().join("out"));
    let arguments =
        [text_of(&model), "--config", text_of(&file), "--output", text_of(&output), "--json"];
    let results = json(&eval(&arguments).output().unwrap());
    assert_eq!(
        (&results["sets"][0]["problems"], &results["sets"][0]["samples"]),
        (&2.into(), &2.into())
    );
    assert_eq!(results["settings"]["prompt"]["template"], "Q: {problem}");
    fs::write(
        &file,
        "[sampling]\nheat = 1\n[[set]]\nname = \"x\"\nquestions = { arithmetic = {} }\n",
    )
    .unwrap();
    let unknown = error(&eval(&arguments).output().unwrap());
    assert!(unknown.contains("set `x`: unknown field `heat`"), "{unknown}");
}

#[test]
fn a_limit_holds_for_made_up_questions_too_and_takes_the_first() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("sets.toml");
    let text = "[sampling]\nmax_response_tokens = 2\n[prompt]\nchat = false\n\
                [[set]]\nname = \"x\"\nquestions = \"arithmetic\"\n";
    fs::write(&file, text).unwrap();
    let model = directory("tiny_qwen2_tied");
    let problems = |limit: &str| {
        let output = folder.path().join(limit);
        let arguments = [text_of(&model), "--config", text_of(&file), "--limit", limit];
        let more = ["--output", text_of(&output), "--json"];
        let results = json(&eval(&[&arguments[..], &more].concat()).output().unwrap());
        assert_eq!(results["sets"][0]["problems"].to_string(), limit);
        let samples = lines(&output.join("samples/x.jsonl"));
        samples.iter().map(|line| line["problem"].to_string()).collect::<Vec<_>>()
    };
    let more = problems("5");
    assert_eq!(problems("3"), more[..3]);
}

#[test]
fn a_run_stands_for_its_latest_checkpoint_wherever_a_model_is_named() {
    let folder = tempfile::tempdir().unwrap();
    assert_success(&train(folder.path(), &["training.steps=1", "evaluation.every=0"]));
    let run = folder.path().join("run");
    let checkpoint = run.join("checkpoints/step-1");
    let generate = |model: &Path| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_llm-trainer"));
        command.args(["generate", "--model", text_of(model), "--prompt", "1+1="]);
        command.args(["--max-new-tokens", "3"]).env("OMP_NUM_THREADS", "1");
        let output = command.output().expect("the binary of this crate runs");
        assert_success(&output);
        output
    };
    let (of_run, of_checkpoint) = (generate(&run), generate(&checkpoint));
    assert!(!of_run.stdout.is_empty());
    assert_eq!(of_run.stdout, of_checkpoint.stdout);
    let message = said_beside_the_device(&of_run.stderr);
    let expected = format!("its latest checkpoint is taken: {}", checkpoint.display());
    assert!(message.trim_end().ends_with(&expected), "{message}");
    assert_eq!(said_beside_the_device(&of_checkpoint.stderr), "");
}
