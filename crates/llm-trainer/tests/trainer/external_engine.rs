//! Runs whose responses another process samples.

use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::Output;

use serde_json::{Value, json};
use workspace_tests::processes::Port;

use crate::one_request;
use crate::serve::Server;
use crate::training_run::{assert_success, column, steps, train_process};

const TWO_STEPS: [&str; 3] = ["training.steps=2", "evaluation.every=0", "checkpoint.every=0"];

fn train_with(root: &Path, url: &str, more: &[&str]) -> Output {
    let url = format!("rollout.engine.openai.url={url:?}");
    train_process(root, &[&TWO_STEPS, more, &[&url]].concat())
}

/// Two processes of ours: before each step the server loads the weights of the last one, so that what it draws is as likely to
/// the trainer as to itself, and no token is corrected.
#[test]
fn a_server_of_our_own_draws_with_the_weights_of_each_step() {
    let folder = tempfile::tempdir().unwrap();
    let weights = folder.path().join("run/engine-weights");
    std::fs::create_dir_all(folder.path().join("weights")).unwrap();
    let root = folder.path().join("weights").display().to_string();
    let server = Server::tiny(&["--reload-root", &root]);
    let place = format!("rollout.engine.openai.weights_directory={root:?}");
    // Rates at which one update shows.
    let more = [place.as_str(), "optimizer.learning_rate=0.01", "rollout.temperature=0.9"];
    assert_success(&train_with(folder.path(), &server.url(), &more));
    let steps = steps(folder.path());
    assert_eq!(steps.len(), 2);
    for name in ["rollout/mismatch_kl", "rollout/mismatch_k3"] {
        assert!(column(&steps, name).iter().all(|mismatch| mismatch.abs() < 1e-5), "{steps:?}");
    }
    for name in ["rollout/correction_weight", "rollout/correction_effective_fraction"] {
        assert!(column(&steps, name).iter().all(|one| (one - 1.0).abs() < 1e-4), "{steps:?}");
    }
    assert_eq!(column(&steps, "rollout/retokenised_fraction"), [0.0, 0.0]);
    assert!(column(&steps, "actor/grad_norm")[0] > 0.0, "the first update must move the weights");
    let left: Vec<String> = std::fs::read_dir(&root)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    assert_eq!(left, ["weights-2"], "only what the engine has loaded last is kept");
    assert!(!weights.exists());
    // The server has the weights before the second step; those after the first update are others than the fixture's.
    let greedy = |server: &Server| {
        let body = json!({"model": "tiny", "prompt": "1+", "max_tokens": 1, "temperature": 0, "logprobs": 0, "ignore_eos": true});
        server.post("/v1/completions", &body).1["choices"][0]["logprobs"]["token_logprobs"][0]
            .clone()
    };
    assert_ne!(greedy(&server), greedy(&Server::tiny(&[])));
}

#[test]
fn an_engine_that_cannot_be_used_is_named() {
    let server = Server::tiny(&[]);
    for (more, expected) in [
        (&[][..], "status 403"),
        (&["rollout.engine.openai.reload_path=/health"][..], "status 405"),
        (
            &["rollout.engine.openai.model=other"][..],
            "rollout.engine.openai.model is \"other\", expected one of those that the engine has: [\"tiny\"]",
        ),
        (
            &["rollout.top_k=5"][..],
            "`rollout.engine` is \"openai\", expected \"own\" where rollout.top_k",
        ),
        (&["rollout.engine.openai.concurrency=0"][..], "`rollout.engine.openai.concurrency` is 0"),
        (
            &["algorithm.ratio_to=rollout"][..],
            "`algorithm.ratio_to` is \"rollout\", expected \"old\", or rollout.engine.openai.corrected = false",
        ),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let output = train_with(folder.path(), &server.url(), more);
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && text.contains(expected), "{more:?}: {text}");
    }
    drop(server);
    let folder = tempfile::tempdir().unwrap();
    let nobody = Port::reserve();
    let url = format!("http://127.0.0.1:{}", nobody.number());
    let output = train_with(folder.path(), &url, &["rollout.engine.openai.retries=1"]);
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(text.contains(&url) && text.contains("no answer in 2 tries"), "{text}");
}

/// Starts an engine of another make: it tells no token ids, says that it is full at first, and draws by other odds than the policy's.
fn another_engine() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let url = format!("http://{}", listener.local_addr().expect("a bound address"));
    std::thread::spawn(move || {
        for (number, stream) in listener.incoming().enumerate() {
            answer(stream.expect("a connection"), number);
        }
    });
    url
}

/// The mean log-ratio of the one update is how far the engine is from the policy, or 0 where ratios are to the policy before it.
#[test]
fn ratios_are_taken_to_the_policy_or_to_the_engine() {
    let one_update = [
        "rollout.engine.openai.concurrency=1",
        "algorithm.epochs=1",
        "algorithm.mini_batch_prompts=4",
    ];
    let run = |ratio_to: &str| {
        let folder = tempfile::tempdir().unwrap();
        let ratio_to = format!("algorithm.ratio_to={ratio_to}");
        let more =
            [&one_update[..], &[&ratio_to, "rollout.engine.openai.corrected=false"]].concat();
        assert_success(&train_with(folder.path(), &another_engine(), &more));
        let steps = steps(folder.path());
        (column(&steps, "actor/ppo_kl")[0], column(&steps, "rollout/mismatch_kl")[0])
    };
    let (to_old, _) = run("old");
    assert!(to_old.abs() < 1e-5, "{to_old}");
    let (to_engine, mismatch) = run("rollout");
    assert!(mismatch > 1.0 && (to_engine - mismatch).abs() < 1e-5, "{to_engine} {mismatch}");
}

#[test]
fn tokens_that_are_not_told_are_read_from_the_text_and_counted() {
    let url = another_engine();
    let folder = tempfile::tempdir().unwrap();
    assert_success(&train_with(folder.path(), &url, &["rollout.engine.openai.concurrency=1"]));
    let steps = steps(folder.path());
    // One of three responses has a token more than its text.
    assert!(
        column(&steps, "rollout/retokenised_fraction")
            .iter()
            .all(|f| (f - 1.0 / 3.0).abs() < 1e-12),
        "{steps:?}"
    );
    // The engine says that each token has half the odds; to random weights of 256 tokens it has about one in 256.
    let mismatch = column(&steps, "rollout/mismatch_kl");
    assert!(mismatch.iter().all(|&mismatch| mismatch > 1.0), "{mismatch:?}");
    assert!(column(&steps, "rollout/correction_weight").iter().all(|&weight| weight < 0.5));
}

/// Answers one request of a connection.
fn answer(stream: TcpStream, number: usize) {
    let (first, body) = one_request::receive(&stream);
    let asked: Value = serde_json::from_slice(&body).unwrap_or_default();
    let choice = |index: u64| {
        let told = vec![-std::f64::consts::LN_2; if index == 2 { 4 } else { 3 }];
        json!({"index": index, "text": "a7b", "finish_reason": "length", "logprobs": {"token_logprobs": told}})
    };
    let (status, value) = if number == 1 {
        ("429 Too Many Requests", json!({"error": "full"}))
    } else if first.contains("/v1/models") {
        ("200 OK", json!({"data": [{"id": "some"}]}))
    } else if first.contains("/v1/completions") {
        let count = asked["n"].as_u64().expect("a group's size");
        ("200 OK", json!({"choices": (0..count).map(choice).collect::<Vec<Value>>()}))
    } else {
        ("200 OK", json!({}))
    };
    one_request::answer(stream, status, &value.to_string());
}
