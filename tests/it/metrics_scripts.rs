//! `scripts/metrics-to-*.py` against stand-ins for `MLflow`'s server and for the package `wandb`.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use crate::architecture::root;

/// Feeds a script the header and rows of a run; the last row is torn.
fn feed(script: &str, folder: &Path, steps: std::ops::Range<u64>, variables: &[(&str, &str)]) {
    let mut command = Command::new("python3");
    command.arg(root().join("scripts").join(script)).envs(variables.iter().copied());
    let mut child = command.stdin(Stdio::piped()).spawn().expect("python3 runs");
    let mut input = child.stdin.take().expect("piped");
    let config = json!({"name": "tiny", "rollout": {"group_size": 3}});
    let header = json!({"run": "tiny", "directory": folder, "config": config});
    let row = |step: u64| {
        let reward = step as f64 / 4.0;
        json!({"step": step, "val-core/gsm8k/acc/mean@4": reward, "actor/entropy": 1.5})
    };
    let rows: Vec<String> = steps.map(|step| format!("{}\n", row(step))).collect();
    let text = format!("{header}\n{}{{\"step\": 99, \"actor/ent", rows.concat());
    input.write_all(text.as_bytes()).expect("the script reads");
    drop(input);
    assert!(child.wait().expect("the script ends").success());
}

/// Requests to the server: path without the query, and body.
type Requests = Arc<Mutex<Vec<(String, Value)>>>;

/// A server in `MLflow`'s place; it answers the first request with 503.
fn server() -> (String, Requests) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = format!("http://{}", listener.local_addr().expect("bound"));
    let requests = Requests::default();
    let told = Arc::clone(&requests);
    std::thread::spawn(move || {
        for (number, stream) in listener.incoming().flatten().enumerate() {
            answer(stream, number == 0, &told);
        }
    });
    (address, requests)
}

fn answer(mut stream: TcpStream, is_busy: bool, requests: &Requests) {
    let mut reader = BufReader::new(stream.try_clone().expect("a socket"));
    let (mut first, mut length) = (String::new(), 0);
    reader.read_line(&mut first).expect("a request");
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).expect("a header");
        if line.trim().is_empty() {
            break;
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().expect("a length");
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).expect("a body");
    let path = first.split(' ').nth(1).expect("a path");
    let path = path.trim_start_matches("/api/2.0/mlflow/").split('?').next().expect("a path");
    let body = serde_json::from_slice(&body).unwrap_or(Value::Null);
    let mut requests = requests.lock().expect("one request at a time");
    let steps = || {
        let metrics = requests.iter().filter_map(|(_, body)| body["metrics"].as_array()).flatten();
        metrics
            .map(|metric| json!({"key": metric["key"], "step": metric["step"]}))
            .collect::<Vec<_>>()
    };
    let (status, content) = match path {
        _ if is_busy => ("503 Busy", json!({})),
        "experiments/create" => ("200 OK", json!({"experiment_id": "7"})),
        "runs/create" => ("200 OK", json!({"run": {"info": {"run_id": "abc"}}})),
        "runs/get" => ("200 OK", json!({"run": {"data": {"metrics": steps()}}})),
        "runs/log-batch" | "runs/update" => ("200 OK", json!({})),
        _ => ("404 Not Found", json!({})),
    };
    if !is_busy {
        requests.push((path.to_owned(), body));
    }
    let content = content.to_string();
    let head = format!(
        "HTTP/1.1 {status}\r\nConnection: close\r\nContent-Length: {}\r\n\r\n",
        content.len()
    );
    stream.write_all((head + &content).as_bytes()).expect("the script reads");
}

#[test]
fn mlflow_gets_every_step_once_in_one_run_though_it_was_resumed() {
    let (folder, (address, requests)) = (tempfile::tempdir().unwrap(), server());
    let variables = [("MLFLOW_TRACKING_URI", address.as_str()), ("MLFLOW_EXPERIMENT_NAME", "it's")];
    feed("metrics-to-mlflow.py", folder.path(), 0..3, &variables);
    feed("metrics-to-mlflow.py", folder.path(), 0..5, &variables);
    let requests = requests.lock().unwrap();
    let sent = |path: &str| requests.iter().filter(|(to, _)| to == path).collect::<Vec<_>>();
    assert_eq!(sent("experiments/create")[0].1["name"], "it's");
    assert_eq!(
        (sent("runs/create").len(), sent("runs/create")[0].1["experiment_id"].as_str()),
        (1, Some("7"))
    );
    let mut values: BTreeMap<u64, Vec<(String, f64)>> = BTreeMap::new();
    for (_, body) in sent("runs/log-batch") {
        assert_eq!(body["run_id"], "abc");
        for metric in body["metrics"].as_array().into_iter().flatten() {
            let name = metric["key"].as_str().unwrap().to_owned();
            let (step, value) =
                (metric["step"].as_u64().unwrap(), metric["value"].as_f64().unwrap());
            values.entry(step).or_default().push((name, value));
        }
    }
    let row = |step: u64| {
        let reward = ("val-core/gsm8k/acc/mean_at_4".to_owned(), step as f64 / 4.0);
        (step, vec![("actor/entropy".to_owned(), 1.5), reward])
    };
    assert_eq!(values, (0..5).map(row).collect());
    let parameters =
        json!([{"key": "name", "value": "tiny"}, {"key": "rollout.group_size", "value": "3"}]);
    assert_eq!(sent("runs/log-batch")[0].1["params"], parameters);
    let states: Vec<&str> =
        sent("runs/update").iter().filter_map(|(_, body)| body["status"].as_str()).collect();
    assert_eq!(states, ["FINISHED", "RUNNING", "FINISHED"]);
}

/// Writes every call to the file of `CALLS`.
const WANDB: &str = r#"
import json, os


class Run:
    def __enter__(self):
        return self

    def __exit__(self, *fault):
        tell({"finish": None})

    def log(self, row, step):
        tell({"log": row, "step": step})


def tell(call):
    with open(os.environ["CALLS"], "a") as file:
        file.write(json.dumps(call) + "\n")


def init(id, resume, name, config, dir):
    tell({"init": [id, resume, name, config["rollout"]["group_size"]]})
    return Run()
"#;

#[test]
fn wandb_gets_every_step_once_in_one_run_though_it_was_resumed() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("wandb.py"), WANDB).unwrap();
    let calls = folder.path().join("calls");
    let variables =
        [("PYTHONPATH", folder.path().to_str().unwrap()), ("CALLS", calls.to_str().unwrap())];
    feed("metrics-to-wandb.py", folder.path(), 0..3, &variables);
    feed("metrics-to-wandb.py", folder.path(), 0..5, &variables);
    let text = std::fs::read_to_string(calls).unwrap();
    let calls: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let steps: Vec<u64> = calls.iter().filter_map(|call| call["step"].as_u64()).collect();
    assert_eq!(steps, [0, 1, 2, 3, 4]);
    let starts: Vec<&Value> = calls.iter().filter(|call| call.get("init").is_some()).collect();
    assert_eq!((starts.len(), &starts[0]["init"][1]), (2, &json!("allow")));
    assert_eq!(starts[0], starts[1], "one id");
    assert_eq!(calls[2]["log"]["val-core/gsm8k/acc/mean@4"], 0.25);
}
