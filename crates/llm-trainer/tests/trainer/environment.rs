//! Runs whose rollouts a harness plays: turns and tools over OpenAI's interface.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

use crate::fixture::copy_to;
use crate::ranks::same_run::is_the_run_of_one;
use crate::training_run::{
    assert_success, column, comparable_metrics, steps, train_command, weights,
};

/// A calculator: the policy answers, a tool reports a number, and the policy answers again. It logs ids as a client sees them.
const HARNESS: &str = include_str!("environment/calculator.py");

/// A turn ends with the end-of-sequence token, a zero byte.
const APPENDS: &str = "{% for m in messages %}{{ m.role[0] }}:{{ m.content }}\0{% endfor %}a:";
/// Former answers are left out, as some templates leave out thoughts.
const FORGETS: &str = "{% for m in messages %}{{ m.role[0] }}:{% if m.role != 'assistant' %}{{ m.content }}{% endif %}\0{% endfor %}a:";

struct Environment {
    folder: tempfile::TempDir,
    overrides: Vec<String>,
}

impl Environment {
    fn new(template: &str) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let model = folder.path().join("model");
        copy_to("tiny_qwen2_tied", &model);
        std::fs::write(model.join("chat_template.jinja"), template).expect("it is writable");
        std::fs::write(folder.path().join("calculator.py"), HARNESS).expect("it is writable");
        let [script, log] = ["calculator.py", "served.jsonl"]
            .map(|name| folder.path().join(name).display().to_string());
        let overrides = [
            format!("model.path={:?}", model.display().to_string()),
            format!(
                "rollout.environment={{ command = [\"python3\", {script:?}, {log:?}], workers = 3, context_tokens = 64 }}"
            ),
            "evaluation.every=0".to_owned(),
        ];
        Self { folder, overrides: overrides.into() }
    }

    fn root(&self) -> &Path {
        self.folder.path()
    }

    fn command(&self, more: &[&str]) -> Command {
        let mut overrides: Vec<&str> = self.overrides.iter().map(String::as_str).collect();
        overrides.extend(more);
        train_command(self.root(), &overrides)
    }

    fn train(&self, more: &[&str]) -> Output {
        self.command(more).output().expect("the binary of this crate runs")
    }

    /// Requests of one rollout in the order in which they were served, as the harness has logged them.
    fn served(&self, rollout: &str) -> Vec<Value> {
        let text = std::fs::read_to_string(self.root().join("served.jsonl")).expect("a log");
        let lines =
            text.lines().map(|line| serde_json::from_str::<Value>(line).expect("a line of JSON"));
        lines.filter(|line| line["rollout"] == rollout).collect()
    }
}

fn ids(value: &Value) -> Vec<u32> {
    serde_json::from_value(value.clone()).expect("token ids")
}

/// The responses of a step with the ids of their rollouts.
fn saved(folder: &Path, step: u64) -> Vec<(String, Value)> {
    let text = std::fs::read_to_string(folder.join(format!("step-{step}.jsonl"))).expect("saved");
    let lines =
        text.lines().map(|line| serde_json::from_str::<Value>(line).expect("a line of JSON"));
    let groups = lines.filter(|line| line["responses"]["samples"].is_array());
    let mut samples = Vec::new();
    for (group, line) in groups.enumerate() {
        let of_group = line["responses"]["samples"].as_array().expect("a list").iter().enumerate();
        samples.extend(
            of_group.map(|(member, one)| (format!("{step}-{group}-{member}"), one.clone())),
        );
    }
    samples
}

/// The client of the interface was served what is trained, token for token and bit for bit: drawn tokens are those of the answers,
/// the others those that the prompts added.
#[test]
fn trained_ids_are_the_served_ones() {
    for template in [APPENDS, FORGETS] {
        let environment = Environment::new(template);
        let rollouts = environment.root().join("rollouts");
        let mut command = environment.command(&["training.steps=2", "checkpoint.every=0"]);
        assert_success(&command.arg("--save-rollouts").arg(&rollouts).output().unwrap());
        let (mut unreadable, mut splits) = (0, 0);
        for (rollout, sample) in (1..=2).flat_map(|step| saved(&rollouts, step)) {
            let served = environment.served(&rollout);
            assert_eq!(served.len(), 2, "{rollout}");
            // Kept open, the harnesses' connections would keep out later ones until they are timed out.
            assert!(served.iter().all(|turn| turn["closes"] == true), "{served:?}");
            let turn = |turn: &Value| (ids(&turn["prompt_ids"]), ids(&turn["ids"]));
            let ((first_prompt, first), (second_prompt, second)) =
                (turn(&served[0]), turn(&served[1]));
            let sequence = &sample["sequence"];
            assert_eq!(ids(&sequence["prompt"]), first_prompt);
            assert_eq!(ids(&sequence["response"]), [first.clone(), second].concat());
            let given = &sequence["given"][0];
            assert_eq!(given["before"], first.len());
            let recorded = [first_prompt, first].concat();
            if second_prompt.starts_with(&recorded) {
                assert_eq!([recorded, ids(&given["token_ids"])].concat(), second_prompt);
                assert_eq!(given["restarts"], false);
            } else {
                assert_eq!(ids(&given["token_ids"]), second_prompt);
                assert_eq!(given["restarts"], true);
                splits += 1;
            }
            let log_probs = served.iter().flat_map(|turn| turn["log_probs"].as_array().unwrap());
            let log_probs: Vec<Value> = log_probs.cloned().collect();
            assert_eq!(sample["rollout_log_prob"], Value::Array(log_probs));
            assert_eq!(sample["reward"], served[1]["reward"]);
            // Bytes that are no character: their text, encoded again, would be other tokens.
            unreadable += usize::from(served[0]["content"].as_str().unwrap().contains('\u{fffd}'));
        }
        assert!(unreadable > 5, "{unreadable}");
        // An empty answer is one that the template does not forget.
        assert!(if template == APPENDS { splits == 0 } else { splits > 18 }, "{splits}");
        let steps = steps(environment.root());
        let told: f64 = column(&steps, "rollout/split_sequences").iter().sum();
        assert!((told - f64::from(splits)).abs() < 0.5, "{told}");
        assert_eq!(column(&steps, "rollout/turns"), [2.0, 2.0]);
        assert_eq!(column(&steps, "rollout/dropped_groups"), [0.0, 0.0]);
        let mismatch = column(&steps, "rollout/mismatch_kl");
        assert!(mismatch.iter().all(|kl| kl.abs() < 1e-6), "{mismatch:?}");
    }
}

#[test]
fn a_run_with_a_harness_repeats_and_resumes_to_the_bit() {
    let environment = Environment::new(APPENDS);
    assert_success(&environment.train(&[]));
    let (metrics, end) = (comparable_metrics(environment.root()), weights(environment.root()));
    let earlier = environment.root().join("run/checkpoints/step-2");
    let resumed = environment.command(&[]).arg("--resume").arg(&earlier).output().unwrap();
    assert_success(&resumed);
    assert_eq!(comparable_metrics(environment.root()), metrics);
    assert!(weights(environment.root()) == end, "the weights differ");
    // Other turns had other noise.
    let [first, second] = [0, 1].map(|turn| ids(&environment.served("1-0-0")[turn]["ids"]));
    assert_ne!(first, second);
}

/// Rollout `2-1-0` fails in four ways; its group is left out, and the others are trained on.
#[test]
fn a_harness_that_fails_drops_its_group() {
    for (failure, expected) in [
        ("exit", "the program ended after 0 of 1 rewards: exit status: 3"),
        ("hang", "0 of 1 rewards in 15 s"),
        ("silence", "\"{}\" has no reward, expected a finite number"),
        ("nothing", "the policy was asked nothing"),
    ] {
        let environment = Environment::new(APPENDS);
        let timeout =
            if failure == "hang" { "rollout.environment.timeout_seconds=15" } else { "seed=3" };
        let mut command = environment.command(&["training.steps=3", "checkpoint.every=0", timeout]);
        let output = command.env("FAILS", failure).env("FAILING", "2-1-0").output().unwrap();
        assert_success(&output);
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(text.contains("1 groups are left out: rollout 2-1-0: "), "{failure}: {text}");
        assert!(text.contains(expected), "{failure}: {text}");
        let steps = steps(environment.root());
        assert_eq!(column(&steps, "rollout/dropped_groups"), [0.0, 1.0, 0.0], "{failure}");
        let samples = environment.root().join("run/samples/step-2.jsonl");
        assert_eq!(std::fs::read_to_string(samples).unwrap().lines().count(), 9, "{failure}");
    }
}

#[test]
fn a_harness_that_always_fails_ends_the_run() {
    let environment = Environment::new(APPENDS);
    let mut command = environment.command(&["training.steps=3"]);
    let output = command.env("FAILS", "exit").env("FAILING", "1-").output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(text.contains("step 1: all groups are left out, 4 because"), "{text}");
}

/// Requests that would draw from another distribution, or out of turn, are refused; the harness is told which.
#[test]
fn requests_that_the_run_cannot_train_on_are_refused() {
    let environment = Environment::new(APPENDS);
    let overrides = ["training.steps=1", "rollout.environment.max_turns=2"];
    let mut command = environment.command(&overrides);
    assert_success(&command.env("PROBES", "1").output().unwrap());
    let probes = environment.served("probes");
    let told: Vec<(u64, &str)> = probes
        .iter()
        .map(|line| (line["status"].as_u64().unwrap(), line["about"].as_str().unwrap()))
        .collect();
    let expected = [
        (400, "temperature"),
        (400, "seed"),
        (400, "n"),
        (404, "other rollout"),
        (403, "no rollout"),
        (401, "key"),
        (403, "third turn"),
    ];
    assert_eq!(told[..7], expected);
}

#[test]
fn settings_that_do_not_fit_are_named() {
    let environment = Environment::new(APPENDS);
    for (setting, expected) in [
        (
            "rollout.environment.command=[]",
            "`rollout.environment.command` is [], expected a program",
        ),
        ("rollout.top_p=0.9", "`rollout.top_p` is 0.9, expected"),
        ("rollout.engine=vllm", "expected \"own\" with rollout.environment"),
        (
            "training.micro_batch_tokens=63",
            "expected at least rollout.environment.context_tokens = 64",
        ),
        (
            "rollout.environment.context_tokens=1000",
            "context_tokens is 1000, expected at most max_position_embeddings = 512",
        ),
        ("reward.custom={ command = [\"true\"] }", "`reward.custom` is given, expected absent"),
        ("rollout.environment.command=[\"/no/such/program\"]", "cannot start /no/such/program"),
    ] {
        let more =
            if setting.contains("1000") { "training.micro_batch_tokens=2000" } else { "seed=3" };
        let output = environment.train(&[more, setting]);
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{setting}: {text}");
        assert!(text.contains(expected), "{setting}: {text}");
    }
}

/// Keys and values of two layers, each two heads of width 16 in f32, for three harnesses of 64 tokens.
#[test]
fn a_plan_knows_the_context_of_the_harnesses() {
    let environment = Environment::new(APPENDS);
    let _config = environment.command(&[]);
    let mut command = Command::new(env!("CARGO_BIN_EXE_llm-trainer"));
    command.arg("plan").arg("--config").arg(environment.root().join("tiny.toml")).arg("--json");
    for assignment in &environment.overrides {
        command.arg("--set").arg(assignment);
    }
    let output = command.output().unwrap();
    assert_success(&output);
    let plan: Value = serde_json::from_slice(&output.stdout).unwrap();
    let phases = plan["memory"]["phases"].as_array().unwrap();
    let items = phases.iter().flat_map(|phase| phase["items"].as_array().unwrap());
    let cache = items.clone().find(|item| item["name"] == "KV cache");
    let expected = 2 * 2 * 2 * 16 * 4 * 3 * 64;
    assert_eq!(cache.unwrap()["bytes"], expected, "{:?}", items.collect::<Vec<_>>());
}

/// Each rank serves its own harnesses; which of them plays a rollout changes no token and no gradient.
#[test]
fn ranks_with_harnesses_are_the_run_of_one() {
    let environment = Environment::new(APPENDS);
    let overrides: Vec<&str> = environment.overrides.iter().map(String::as_str).collect();
    is_the_run_of_one(&overrides, &[(2, &[]), (3, &["parallel.zero=3"])]);
}

/// The reward is that of the harnesses; where one fails, its question is left out.
#[test]
fn evaluations_are_played_too() {
    let evaluates = ["training.steps=2", "evaluation.every=2", "evaluation.samples=2"];
    let cold = [&evaluates[..], &["evaluation.temperature=1e-4"]].concat();
    for (failing, questions) in [("none", 5), ("evaluation-2-1-", 4)] {
        let environment = Environment::new(APPENDS);
        let mut command = environment.command(&cold);
        let output = command.env("FAILS", "exit").env("FAILING", failing).output().unwrap();
        assert_success(&output);
        let text = String::from_utf8_lossy(&output.stderr);
        let warning = "step 2: 1 questions of the evaluation are left out: rollout evaluation-2-1-";
        assert_eq!(text.contains(warning), questions < 5, "{text}");
        let mut rewards = Vec::new();
        for question in 0..5 {
            let [first, second] = [0, 1]
                .map(|member| environment.served(&format!("evaluation-2-{question}-{member}")));
            if first.len() < 2 || second.len() < 2 {
                continue;
            }
            // At this temperature both rollouts are the likeliest; those that are trained differ.
            let drawn =
                |served: &[Value]| served.iter().map(|turn| ids(&turn["ids"])).collect::<Vec<_>>();
            assert_eq!(drawn(&first), drawn(&second), "{question}");
            rewards.extend([&first, &second].map(|served| served[1]["reward"].as_f64().unwrap()));
        }
        assert_eq!(rewards.len(), 2 * questions, "{failing}");
        let steps = steps(environment.root());
        let told = steps[1].get("val-core/arithmetic/reward/mean@2").unwrap();
        let mean = rewards.iter().sum::<f64>() / rewards.len() as f64;
        assert!((told - mean).abs() < 1e-12, "{told} {mean}");
        assert!(steps[1].get("val-core/arithmetic/acc/mean@2").is_some());
    }
    let environment = Environment::new(APPENDS);
    let mut command = environment.command(&evaluates);
    let output = command.env("FAILS", "exit").env("FAILING", "evaluation-").output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(
        text.contains("evaluation after step 0: the harness of every question failed"),
        "{text}"
    );
}
