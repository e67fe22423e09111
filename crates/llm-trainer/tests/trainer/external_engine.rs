//! Runs whose responses other processes sample.

use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::Output;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Value, json};
use workspace_tests::processes::Port;

use crate::fixture::directory;
use crate::one_request;
use crate::ranks::same_run::draws_the_tokens_of_one;
use crate::serve::Server;
use crate::training_run::{
    assert_success, column, comparable_metrics, goes_on_bit_for_bit, steps, train_process, weights,
};

const TWO_STEPS: [&str; 3] = ["training.steps=2", "evaluation.every=0", "checkpoint.every=0"];

/// Two steps with an engine at these addresses.
fn train_with(engine: &str, root: &Path, urls: &[&str], more: &[&str]) -> Output {
    let (engine, urls) = (named(engine), at(urls));
    train_process(root, &[&TWO_STEPS, more, &[&engine, &urls]].concat())
}

fn named(engine: &str) -> String {
    format!("rollout.engine={engine}")
}

fn at(urls: &[&str]) -> String {
    format!("rollout.servers.urls={urls:?}")
}

/// A server that loads weights from a folder, and the setting that puts the weights there.
struct Reloading {
    server: Server,
    place: String,
    root: tempfile::TempDir,
}

impl Reloading {
    fn tiny() -> Self {
        let root = tempfile::tempdir().expect("a temporary folder");
        let shown = root.path().display().to_string();
        let server = Server::tiny(&["--reload-root", &shown]);
        Self { server, place: format!("rollout.servers.weights_directory={shown:?}"), root }
    }

    /// Settings of a run that it samples for.
    fn settings(&self) -> [String; 3] {
        [named("llm-trainer"), at(&[&self.server.url()]), self.place.clone()]
    }
}

/// Two processes of ours: before each step the server loads the weights of the last one, so that what it draws is as likely to
/// the trainer as to itself, and no token is corrected.
#[test]
fn a_server_of_our_own_draws_with_the_weights_of_each_step() {
    let folder = tempfile::tempdir().unwrap();
    let engine = Reloading::tiny();
    // Rates at which one update shows.
    let more = [engine.place.as_str(), "optimizer.learning_rate=0.01", "rollout.temperature=0.9"];
    assert_success(&train_with("llm-trainer", folder.path(), &[&engine.server.url()], &more));
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
    let left: Vec<String> = std::fs::read_dir(engine.root.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    assert_eq!(left, ["weights-2"], "only what the engine has loaded last is kept");
    assert!(!folder.path().join("run/engine-weights").exists());
    // The server has the weights before the second step; those after the first update are others than the fixture's.
    let greedy = |server: &Server| {
        let body = json!({"model": "tiny", "prompt": "1+", "max_tokens": 1, "temperature": 0, "logprobs": 0, "ignore_eos": true});
        server.post("/v1/completions", &body).1["choices"][0]["logprobs"]["token_logprobs"][0]
            .clone()
    };
    assert_ne!(greedy(&engine.server), greedy(&Server::tiny(&[])));
}

#[test]
fn an_engine_that_cannot_be_used_is_named() {
    let server = Server::tiny(&[]);
    for (engine, more, expected) in [
        ("llm-trainer", &[][..], "status 403"),
        ("openai", &["rollout.servers.reload_path=/health"][..], "status 405"),
        ("vllm", &[][..], "/collective_rpc: status 404"),
        ("sglang", &[][..], "/update_weights_from_disk: status 404"),
        (
            "llm-trainer",
            &["rollout.servers.model=other"][..],
            "rollout.servers.model is \"other\", expected one of those that the engine has: [\"tiny\"]",
        ),
        (
            "vllm",
            &["rollout.top_k=5"][..],
            "`rollout.engine` is \"vllm\", expected \"own\" where rollout.top_k",
        ),
        ("openai", &["lora={}"][..], "how others load an adapter is not known"),
        ("openai", &["rollout.servers.reload_body='{}'"][..], "JSON in which a text holds {path}"),
        ("vllm", &["rollout.servers.concurrency=0"][..], "`rollout.servers.concurrency` is 0"),
        (
            "llm-trainer",
            &["rollout.servers.in_flight=continue", "rollout.staleness=2"][..],
            "or rollout.engine = \"vllm\" and rollout.staleness at least 2",
        ),
        (
            "vllm",
            &["rollout.servers.sleeps=true", "rollout.staleness=1"][..],
            "and rollout.staleness = 0",
        ),
        ("own", &[][..], "expected the engine whose servers [rollout.servers] names"),
        (
            "vllm",
            &["algorithm.ratio_to=rollout", "rollout.correction={}"][..],
            "`algorithm.ratio_to` is \"rollout\", expected \"old\" where rollout.correction is given",
        ),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let output = train_with(engine, folder.path(), &[&server.url()], more);
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && text.contains(expected), "{more:?}: {text}");
    }
    let folder = tempfile::tempdir().unwrap();
    let none = train_with("vllm", folder.path(), &[], &[]);
    let text = String::from_utf8_lossy(&none.stderr);
    assert!(text.contains("`rollout.servers.urls` is [], expected at least one"), "{text}");
    drop(server);
    let folder = tempfile::tempdir().unwrap();
    let nobody = Port::reserve();
    let url = format!("http://127.0.0.1:{}", nobody.number());
    let output = train_with("vllm", folder.path(), &[&url], &["rollout.servers.retries=1"]);
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(text.contains(&url) && text.contains("no answer in 2 tries"), "{text}");
}

/// A server that answers by a function of the request's number, first line and body.
fn serve(
    answer: impl Fn(usize, &str, &[u8]) -> Option<(&'static str, Value)> + Send + 'static,
) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let url = format!("http://{}", listener.local_addr().expect("it is bound"));
    std::thread::spawn(move || {
        for (number, stream) in listener.incoming().enumerate() {
            let stream: TcpStream = stream.expect("a connection");
            let (first, body) = one_request::receive(&stream);
            // Without an answer the connection is closed, as by a process that dies.
            if let Some((status, value)) = answer(number, &first, &body) {
                one_request::answer(stream, status, &value.to_string());
            }
        }
    });
    url
}

/// The reload that it understands.
const RELOAD: &str = r#"rollout.servers.reload_body='{"weights": {"at": "{path}"}}'"#;

/// Starts an engine of another make: it tells no token ids, says that it is full at first, and draws by other odds than the policy's.
fn another_engine() -> String {
    serve(|number, first, body| {
        let asked: Value = serde_json::from_slice(body).unwrap_or_default();
        let choice = |index: u64| {
            let told = vec![-std::f64::consts::LN_2; if index == 2 { 4 } else { 3 }];
            json!({"index": index, "text": "a7b", "finish_reason": "length", "logprobs": {"token_logprobs": told}})
        };
        Some(if number == 1 {
            ("429 Too Many Requests", json!({"error": "full"}))
        } else if first.contains("/v1/models") {
            ("200 OK", json!({"data": [{"id": "some"}]}))
        } else if first.contains("/v1/completions") {
            let count = asked["n"].as_u64().expect("a group's size");
            ("200 OK", json!({"choices": (0..count).map(choice).collect::<Vec<Value>>()}))
        } else {
            assert!(
                asked["weights"]["at"].as_str().is_some_and(|at| at.starts_with('/')),
                "{first}"
            );
            ("200 OK", json!({}))
        })
    })
}

/// The mean log-ratio of the one update is how far the engine is from the policy, or 0 where ratios are to the policy before it.
#[test]
fn ratios_are_taken_to_the_policy_or_to_the_engine() {
    let one_update =
        ["rollout.servers.concurrency=1", "algorithm.epochs=1", "algorithm.mini_batch_prompts=4"];
    let run = |ratio_to: &str| {
        let folder = tempfile::tempdir().unwrap();
        let ratio_to = format!("algorithm.ratio_to={ratio_to}");
        let more = [&one_update[..], &[RELOAD, &ratio_to]].concat();
        let more = if ratio_to.ends_with("old") {
            [&more[..], &["rollout.correction.bound=off"]].concat()
        } else {
            more
        };
        assert_success(&train_with("openai", folder.path(), &[&another_engine()], &more));
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
    let more = ["rollout.servers.concurrency=1", RELOAD, "guard.mismatched_steps=9"];
    assert_success(&train_with("openai", folder.path(), &[&url], &more));
    let steps = steps(folder.path());
    // One of three responses has a token more than its text.
    assert!(
        column(&steps, "rollout/retokenised_fraction")
            .iter()
            .all(|f| (f - 1.0 / 3.0).abs() < 1e-12),
        "{steps:?}"
    );
    // A run that was killed has left weights; the next one in its folder begins without them.
    let weights = folder.path().join("run/engine-weights");
    std::fs::create_dir_all(weights.join("weights-77")).unwrap();
    let more = [&more[..], &["training.steps=3"]].concat();
    assert_success(&train_with("openai", folder.path(), &[&another_engine()], &more));
    let left: Vec<_> =
        std::fs::read_dir(&weights).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left, ["weights-4"]);
    // The engine says that each token has half the odds; to random weights of 256 tokens it has about one in 256.
    let mismatch = column(&steps, "rollout/mismatch_kl");
    assert!(mismatch.iter().all(|&mismatch| mismatch > 1.0), "{mismatch:?}");
    assert!(column(&steps, "rollout/correction_weight").iter().all(|&weight| weight < 0.5));
}

/// The one that dies while it is asked is named, the other answers its prompts, and the run draws what it would have drawn.
#[test]
fn the_prompts_of_a_server_that_dies_are_asked_elsewhere() {
    let engine = Reloading::tiny();
    let more = ["rollout.servers.retries=0", engine.place.as_str()];
    let [alone, both] = [(); 2].map(|()| tempfile::tempdir().unwrap());
    assert_success(&train_with("openai", alone.path(), &[&engine.server.url()], &more));
    let dying = serve(|_, first, _| match first {
        first if first.contains("/v1/models") => {
            Some(("200 OK", json!({"data": [{"id": "tiny"}]})))
        }
        first if first.contains("/v1/reload") => Some(("200 OK", json!({}))),
        _ => None,
    });
    let output = train_with("openai", both.path(), &[&dying, &engine.server.url()], &more);
    assert_success(&output);
    let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    assert!(text.contains(&format!("{dying} is left out until it answers")), "{text}");
    assert!(text.contains(&format!("{dying} is back")), "each step tries it again: {text}");
    assert_eq!(comparable_metrics(alone.path()), comparable_metrics(both.path()));
    // One is not there from the start.
    let (nobody, begun) = (Port::reserve(), tempfile::tempdir().unwrap());
    let absent = format!("http://127.0.0.1:{}", nobody.number());
    let output = train_with("openai", begun.path(), &[&absent, &engine.server.url()], &more);
    assert_success(&output);
    let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    assert!(text.contains(&format!("{absent} is left out until it answers")), "{text}");
    assert_eq!(comparable_metrics(alone.path()), comparable_metrics(begun.path()));
    // Nobody is left.
    let output =
        train_with("openai", both.path(), &[&dying], &[&more[..], &["name=again"]].concat());
    assert!(!output.status.success());
}

/// An answer from the server behind, with the status as it was.
fn passed_on(address: &str, first: &str, body: &[u8]) -> (&'static str, Value) {
    let path = first.split(' ').nth(1).expect("a path");
    let agent: ureq::Agent = ureq::Agent::config_builder().build().into();
    let url = format!("http://{address}{path}");
    let answer = if first.starts_with("GET") {
        agent.get(&url).call()
    } else {
        agent.post(&url).content_type("application/json").send(body)
    };
    let text = answer.expect("the server answers").into_body().read_to_string().expect("a text");
    ("200 OK", serde_json::from_str(&text).expect("JSON"))
}

/// It says that it has loaded the weights and draws with those that it was started with.
#[test]
fn a_server_that_ignores_a_reload_is_named_at_the_first_step_after_an_update() {
    let server = Server::tiny(&[]);
    let address = server.address.clone();
    let url = serve(move |_, first, body| {
        let reloads = first.contains("/v1/reload");
        Some(if reloads { ("200 OK", json!({})) } else { passed_on(&address, first, body) })
    });
    let folder = tempfile::tempdir().unwrap();
    let output = train_with("llm-trainer", folder.path(), &[&url], &["model.dtype=f64"]);
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{text}");
    assert!(text.contains("weights of step 2: http://"), "{text}");
    assert!(text.contains("it still serves all of the weights of before the update"), "{text}");
    // Another model is named before anything is sampled.
    let another = Server::of(&directory("tiny_qwen2_untied"), &[]);
    let address = another.address.clone();
    let url = serve(move |_, first, body| {
        let reloads = first.contains("/v1/reload");
        Some(if reloads { ("200 OK", json!({})) } else { passed_on(&address, first, body) })
    });
    let folder = tempfile::tempdir().unwrap();
    let output = train_with("llm-trainer", folder.path(), &[&url], &[]);
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(text.contains("it serves another model or other weights"), "{text}");
}

/// It answers nothing while it sleeps but the request that wakes it.
#[test]
fn servers_sleep_while_the_policy_is_updated() {
    let engine = Reloading::tiny();
    let (address, asleep) = (engine.server.address.clone(), AtomicBool::new(false));
    let url = serve(move |_, first, body| {
        let asked = |path: &str| first.starts_with(&format!("POST {path}"));
        if asked("/sleep") || asked("/wake_up") {
            let was_asleep = asleep.fetch_xor(true, Ordering::Relaxed);
            assert_eq!(was_asleep, asked("/wake_up"), "{first}");
            return Some(("200 OK", json!({})));
        }
        assert!(!asleep.load(Ordering::Relaxed), "{first}");
        Some(if asked("/reset_prefix_cache") {
            ("200 OK", json!({"success": true}))
        } else if asked("/collective_rpc") {
            let asked: Value = serde_json::from_slice(body).expect("JSON");
            let path = json!({"path": asked["kwargs"]["weights_path"]}).to_string();
            passed_on(&address, "POST /v1/reload", path.as_bytes())
        } else {
            passed_on(&address, first, body)
        })
    });
    let [plain, slept] = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let more = ["rollout.servers.evaluations=true", engine.place.as_str(), "training.steps=2"];
    let (ours, vllm) = (named("llm-trainer"), named("vllm"));
    let (before, behind) = (at(&[&url]), at(&[&engine.server.url()]));
    let settings = [&more[..], &[&ours, &behind]].concat();
    assert_success(&train_process(plain.path(), &settings));
    let settings = [&more[..], &[&vllm, &before, "rollout.servers.sleeps=true"]].concat();
    assert_success(&train_process(slept.path(), &settings));
    assert_eq!(comparable_metrics(plain.path()), comparable_metrics(slept.path()));
}

/// Every rank asks for its own prompts, and the weights are written once.
#[test]
fn the_servers_draw_for_many_ranks_as_for_one() {
    let engine = Reloading::tiny();
    let settings = engine.settings();
    let settings: Vec<&str> = settings.iter().map(String::as_str).collect();
    draws_the_tokens_of_one(&settings, &[(2, &["parallel.zero=3"]), (2, &["parallel.tensor=2"])]);
    let further = ["rollout.staleness=1", "lora.rank=4", "rollout.servers.evaluations=true"];
    draws_the_tokens_of_one(&[&settings[..], &further].concat(), &[(2, &["parallel.zero=1"])]);
}

/// With 0 a run is the synchronous one; ahead by one it trains on what the weights of the step before have drawn, and all that is
/// drawn is trained on, whatever its length.
#[test]
fn a_run_ahead_trains_on_all_that_is_drawn_and_goes_on_bit_for_bit() {
    let engine = Reloading::tiny();
    let settings = engine.settings();
    let settings: Vec<&str> = settings.iter().map(String::as_str).collect();
    let with = |more: &[&str]| {
        let folder = tempfile::tempdir().unwrap();
        assert_success(&train_process(folder.path(), &[&settings[..], more].concat()));
        folder
    };
    let (plain, zero) = (with(&[]), with(&["rollout.staleness=0"]));
    assert_eq!(comparable_metrics(plain.path()), comparable_metrics(zero.path()));
    assert!(weights(plain.path()) == weights(zero.path()), "the weights differ");
    // Tokens that the server has drawn so far.
    let drawn = || -> u64 {
        let (_, text) = engine.server.exchange("GET", "/metrics", "text/plain", "");
        let told =
            text.lines().find_map(|line| line.strip_prefix("llm_trainer_drawn_tokens_total "));
        told.expect("a counter").parse().expect("a number")
    };
    for staleness in [1.0, 2.0] {
        let before = drawn();
        let ahead = with(&[&format!("rollout.staleness={staleness}")]);
        let steps = steps(ahead.path());
        // Two optimiser steps each.
        let expected: Vec<f64> =
            (0..4).map(|step| 2.0 * f64::min(f64::from(step), staleness)).collect();
        assert_eq!(column(&steps, "rollout/staleness"), expected);
        assert!(column(&steps, "rollout/staleness_kl")[1..].iter().all(|kl| kl.abs() > 0.0));
        // The loss's own ratio covers the steps between; nothing is corrected for them.
        for name in ["rollout/mismatch_kl", "rollout/mismatch_k3"] {
            assert!(column(&steps, name).iter().all(|mismatch| mismatch.abs() < 1e-5), "{steps:?}");
        }
        let trained: f64 =
            column(&steps, "response_length/mean").iter().map(|mean| 12.0 * mean).sum();
        assert!((trained - (drawn() - before) as f64).abs() < 1e-6, "none is drawn in vain");
        // Questions come in the order of the synchronous run, and the first step's responses are the same.
        let questions = |root: &Path| -> Vec<Value> {
            let rows = (1..=4).flat_map(|step| {
                let file = root.join(format!("run/samples/step-{step}.jsonl"));
                let text = std::fs::read_to_string(file).expect("a run leaves samples");
                text.lines().map(str::to_owned).collect::<Vec<_>>()
            });
            rows.map(|row| serde_json::from_str::<Value>(&row).expect("JSON")["question"].clone())
                .collect()
        };
        assert_eq!(questions(plain.path()), questions(ahead.path()));
    }
    goes_on_bit_for_bit(&[&settings[..], &["rollout.staleness=2"]].concat());
    let dynamic = ["rollout.staleness=1", "dynamic_sampling.enabled=true"];
    goes_on_bit_for_bit(&[&settings[..], &dynamic].concat());
}

/// The trainer's own decoding in bf16 rounds otherwise than its training; its tokens may be weighed too.
#[test]
fn the_trainer_s_own_engine_may_be_corrected() {
    let folder = tempfile::tempdir().unwrap();
    let more = ["model.dtype=bf16", "rollout.correction={}", "rollout.cpu_kernels=true"];
    assert_success(&train_process(folder.path(), &[&TWO_STEPS[..], &more].concat()));
    let steps = steps(folder.path());
    let effective = column(&steps, "rollout/correction_effective_fraction");
    assert!(effective.iter().all(|&fraction| fraction > 0.9 && fraction < 1.0), "{effective:?}");
    assert!(column(&steps, "rollout/mismatch_k3").iter().all(|&k3| k3 > 0.0 && k3 < 1e-2));
}
