//! Runs whose rewards come from a program, a service or a Python function.

use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::Output;

use serde_json::Value;
use workspace_tests::processes::Port;

use crate::one_request;
use crate::training_run::{assert_success, column, steps, train, train_command};

const TWO_STEPS: [&str; 3] = ["training.steps=2", "evaluation.every=0", "checkpoint.every=0"];

/// Responses of a step of the tiny run.
const RESPONSES: usize = 12;

fn rewarded_by(root: &Path, custom: &str, more: &[&str]) -> Output {
    let custom = format!("reward.custom={custom}");
    train(root, &[&TWO_STEPS, more, &[&custom]].concat())
}

fn shell(script: &str) -> String {
    format!("{{ command = [\"sh\", \"-c\", {script:?}] }}")
}

/// Each row as the program got it, and the reward that it gave.
fn rows(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).expect("the file is there");
    text.lines().map(|line| serde_json::from_str(line).expect("a line of JSON")).collect()
}

#[test]
fn a_program_gets_every_response_and_its_rewards_train() {
    let folder = tempfile::tempdir().unwrap();
    let seen = folder.path().join("seen.jsonl");
    // The first answer of each batch is an object, the others are numbers.
    let script = format!(
        "while read -r line; do printf '%s\\n' \"$line\" >> {}; case $line in *'\"row\":0,'*) echo '{{\"reward\": 3}}';; \
         *'\"row\":1,'*) echo 1;; *) echo 0.5;; esac; done",
        seen.display()
    );
    assert_success(&rewarded_by(folder.path(), &shell(&script), &[]));
    let expected = (3.0 + 1.0 + 0.5 * (RESPONSES - 2) as f64) / RESPONSES as f64;
    let steps = steps(folder.path());
    for mean in column(&steps, "critic/rewards/mean") {
        assert!((mean - expected).abs() < 1e-12, "{mean}");
    }
    assert_eq!(column(&steps, "critic/rewards/max"), [3.0, 3.0]);
    let (rows, run) = (rows(&seen), folder.path().join("run/samples"));
    assert_eq!(rows.len(), 2 * RESPONSES);
    let samples: Vec<Value> =
        (1..=2).flat_map(|step| self::rows(&run.join(format!("step-{step}.jsonl")))).collect();
    for (index, (row, sample)) in rows.iter().zip(&samples).enumerate() {
        assert_eq!((&row["row"], &row["rows"]), (&(index % RESPONSES).into(), &RESPONSES.into()));
        for name in ["question", "problem", "answer", "response", "truncated", "verdict"] {
            assert_eq!(row[name], sample[name], "{name}");
        }
        assert_eq!(row["tokens"], sample["response_tokens"]);
        assert_eq!(row["source"], "arithmetic");
    }
}

#[test]
fn a_program_that_fails_is_named() {
    let cases = [
        (
            shell("read -r line; echo 1; exit 3"),
            "the program ended after 1 of 12 rewards: exit status: 3",
        ),
        (
            shell("while read -r line; do echo abc; done"),
            "\"abc\" is no reward, expected a finite number",
        ),
        (shell("while read -r line; do echo 1e999; done"), "\"1e999\" is no reward"),
        (
            // Thirteen answers at once, to twelve responses.
            shell("read -r line; printf '1\\n%.0s' 1 2 3 4 5 6 7 8 9 10 11 12 13; cat > /dev/null"),
            "reward.custom.command: \"1\" answers no response",
        ),
        (shell("sleep 600"), "reward.custom.command: 0 of 12 rewards in 0.3 s"),
        (
            "{ command = [\"/no/such/program\"] }".to_owned(),
            "reward.custom.command: cannot start /no/such/program",
        ),
        ("{ command = [] }".to_owned(), "`reward.custom.command` is [], expected a program"),
        ("{ http = \"https://x\" }".to_owned(), "expected http://HOST:PORT/PATH"),
        (
            "{ python = \"module\" }".to_owned(),
            "`reward.custom.python` is \"module\", expected module:function",
        ),
        ("{ other = 1 }".to_owned(), "unknown variant `other`"),
    ];
    for (custom, expected) in cases {
        let folder = tempfile::tempdir().unwrap();
        // Short only where nothing is to come: a busy machine may take its time for the others.
        let wait = if custom.contains("sleep") { 0.3 } else { 300.0 };
        let wait = format!("reward.custom_timeout_seconds={wait}");
        let output = rewarded_by(folder.path(), &custom, &[&wait]);
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{text}");
        assert!(text.contains(expected), "{custom}: {text}");
    }
}

#[test]
fn a_python_function_gets_a_batch() {
    let folder = tempfile::tempdir().unwrap();
    let module = "def too_few(rows):\n    return [1.0]\ndef score(rows):\n    print('to the log')\n    assert len(rows) == 12\n    return [len(row['response']) for row in rows]\n";
    std::fs::write(folder.path().join("lengths.py"), module).unwrap();
    let custom = "reward.custom={ python = \"lengths:score\" }";
    let mut command = train_command(folder.path(), &[&TWO_STEPS[..], &[custom]].concat());
    assert_success(&command.env("PYTHONPATH", folder.path()).output().unwrap());
    for step in 1..=2 {
        for row in rows(&folder.path().join(format!("run/samples/step-{step}.jsonl"))) {
            let characters = row["response"].as_str().unwrap().chars().count() as f64;
            assert_eq!(row["reward"].as_f64(), Some(characters));
        }
    }
    for (function, expected) in [
        ("none", "has no attribute 'none'"),
        ("too_few", "lengths:too_few returned 1 rewards of 12 rows"),
    ] {
        let custom = format!("reward.custom={{ python = \"lengths:{function}\" }}");
        let output = format!("output_directory={function}");
        let overrides = [custom.as_str(), "name=other", &output];
        let mut command = train_command(folder.path(), &[&TWO_STEPS[..], &overrides].concat());
        let output = command.current_dir(folder.path()).output().unwrap();
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(text.contains(expected), "{text}");
        let ended = "reward.custom.python: the program ended after 0 of 12 rewards";
        assert!(text.contains(ended), "{text}");
    }
}

/// The service is full at first, and answers with an array.
#[test]
fn a_service_is_asked_again_where_that_may_help() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/score", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for (number, stream) in listener.incoming().enumerate() {
            answer(stream.expect("a connection"), number);
        }
    });
    let folder = tempfile::tempdir().unwrap();
    assert_success(&rewarded_by(folder.path(), &format!("{{ http = {url:?} }}"), &[]));
    assert_eq!(column(&steps(folder.path()), "critic/rewards/mean"), [5.5, 5.5]);
    // The third answer is too short.
    let folder = tempfile::tempdir().unwrap();
    let output = rewarded_by(folder.path(), &format!("{{ http = {url:?} }}"), &[]);
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(
        text.contains(&format!("reward.custom.http: {url}: 11 rewards of 12 responses")),
        "{text}"
    );
}

#[test]
fn a_service_that_refuses_is_not_asked_again() {
    let nobody = Port::reserve();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/refuses", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        answer(listener.accept().expect("a connection").0, 0);
    });
    let folder = tempfile::tempdir().unwrap();
    let output = rewarded_by(folder.path(), &format!("{{ http = {url:?} }}"), &[]);
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(text.contains(&format!("{url}: status 400")), "{text}");
    let url = format!("http://127.0.0.1:{}/", nobody.number());
    let folder = tempfile::tempdir().unwrap();
    let output = rewarded_by(folder.path(), &format!("{{ http = {url:?} }}"), &[]);
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(text.contains(&url) && text.contains("no rewards in 4 tries"), "{text}");
}

/// Answers one request of a connection.
fn answer(stream: TcpStream, number: usize) {
    let (first, body) = one_request::receive(&stream);
    let lines = body.split(|&byte| byte == b'\n').filter(|line| !line.is_empty()).count();
    let count = if number == 3 { lines - 1 } else { lines };
    let (status, text) = if first.starts_with("POST /refuses ") {
        ("400 Bad Request", "no such field".to_owned())
    } else if number == 0 {
        ("503 Service Unavailable", String::new())
    } else {
        ("200 OK", format!("{:?}", (0..count).collect::<Vec<_>>()))
    };
    one_request::answer(stream, status, &text);
}
