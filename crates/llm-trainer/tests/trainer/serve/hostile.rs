//! Requests that are wrong, too large, too slow or too many; and the end.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::process::Command;

use serde_json::{Value, json};
use workspace_tests::processes::wait_until;

use super::Server;

fn small() -> Value {
    json!({"model": "tiny", "prompt": "ab", "max_tokens": 2})
}

#[test]
#[expect(clippy::too_many_lines, reason = "one table of cases")]
fn what_is_wrong_is_named() {
    let server = Server::tiny(&["--context", "40"]);
    let with = |name: &str, value: Value| {
        let mut body = small();
        body[name] = value;
        body
    };
    let cases = [
        (
            json!({"prompt": "a"}),
            400,
            "model",
            "`model` is missing, expected the name of the model",
        ),
        (with("model", json!("gpt-4")), 404, "model", "`model` is \"gpt-4\", expected \"tiny\""),
        (json!({"model": "tiny"}), 400, "prompt", "`prompt` is missing"),
        (with("prompt", json!([])), 400, "prompt", "is empty"),
        (with("prompt", json!("")), 400, "prompt", "is empty"),
        (with("prompt", json!([1, 256])), 400, "prompt", "whole numbers below 256"),
        (with("prompt", json!({"a": 1})), 400, "prompt", "is no prompt"),
        (with("prompt", json!(vec!["a"; 257])), 400, "prompt", "holds 257 prompts"),
        (with("max_tokens", json!(-1)), 400, "max_tokens", "is -1, expected a whole number"),
        (with("max_tokens", json!(0)), 400, "max_tokens", "is 0, expected at least 1"),
        (
            with("max_tokens", json!(39)),
            400,
            "max_tokens",
            "is 39 after a prompt of 2 tokens, expected at most 40 tokens",
        ),
        (with("max_tokens", json!(1e300)), 400, "max_tokens", "a whole number"),
        (
            with("temperature", json!(-0.1)),
            400,
            "temperature",
            "is -0.1, expected 0 or a number from",
        ),
        (
            with("temperature", json!(5e-324)),
            400,
            "temperature",
            "expected 0 or a number from 0.000001",
        ),
        (with("temperature", json!("hot")), 400, "temperature", "is \"hot\""),
        (with("top_p", json!(0)), 400, "top_p", "above 0"),
        (with("min_p", json!(1)), 400, "min_p", "below 1"),
        (with("top_k", json!(-2)), 400, "top_k", "at least -1"),
        (with("n", json!(0)), 400, "n", "is 0"),
        (with("n", json!(17)), 400, "n", "at most 16"),
        (with("logprobs", json!(21)), 400, "logprobs", "at most 20"),
        (with("stop", json!([""])), 400, "stop", "is empty"),
        (with("stop", json!(vec!["x"; 17])), 400, "stop", "at most 16 texts"),
        (with("stop_token_ids", json!([999])), 400, "stop_token_ids", "below 256"),
        (with("seed", json!(0.5)), 400, "seed", "a whole number"),
        (with("frequency_penalty", json!(0.5)), 400, "frequency_penalty", "does not do it"),
        (with("logit_bias", json!({"5": 1})), 400, "logit_bias", "does not do it"),
        (with("best_of", json!(3)), 400, "best_of", "does not do it"),
        (with("temprature", json!(1)), 400, "temprature", "no field that this server knows"),
    ];
    for (body, status, param, message) in cases {
        let (code, answer) = server.post("/v1/completions", &body);
        let error = &answer["error"];
        assert_eq!((code, &error["param"]), (status, &json!(param)), "{answer}");
        assert!(error["message"].as_str().unwrap().contains(message), "{message}: {answer}");
        assert_eq!(error["type"], "invalid_request_error");
    }
    let chat = json!({"model": "tiny", "messages": [{"role": "user", "content": "x"}]});
    let (status, answer) = server.post("/v1/chat/completions", &chat);
    assert_eq!((status, &answer["error"]["param"]), (400, &json!("messages")), "{answer}");
    let (status, answer) = server
        .post("/v1/chat/completions", &json!({"model": "tiny", "messages": [{"role": "user"}]}));
    assert_eq!((status, &answer["error"]["param"]), (400, &json!("messages")), "{answer}");
    // Fields that ask for nothing change nothing.
    let harmless = json!({"model": "tiny", "prompt": "ab", "max_tokens": 2, "user": "u", "frequency_penalty": 0, "suffix": null});
    assert_eq!(server.post("/v1/completions", &harmless).0, 200);
}

#[test]
fn other_paths_methods_and_bodies_are_refused() {
    let server = Server::tiny(&["--body-bytes", "2000"]);
    let status = |method: &str, path: &str, kind: &str, body: &str| {
        server.exchange(method, path, kind, body).0
    };
    let json = "application/json";
    assert_eq!(status("GET", "/v1/nothing", json, ""), 404);
    assert_eq!(status("GET", "/v1/completions", json, ""), 405);
    for (method, path) in [
        ("DELETE", "/v1/models"),
        ("GET", "/v1/reload"),
        ("POST", "/metrics"),
        ("PUT", "/rollouts/a"),
        ("GET", "/rollouts/a/reward"),
    ] {
        assert_eq!(status(method, path, json, ""), 405, "{method} {path}");
    }
    assert_eq!(status("POST", "/v1/completions", "text/plain", &small().to_string()), 415);
    assert_eq!(status("POST", "/v1/completions", json, "{\"model\""), 400);
    assert_eq!(status("POST", "/v1/completions", json, "[1]"), 400);
    assert_eq!(status("POST", "/v1/completions", json, &"[".repeat(1999)), 400);
    assert_eq!(status("POST", "/v1/completions", json, "\u{0}\u{ff}"), 400);
    assert_eq!(status("POST", "/v1/completions", json, &" ".repeat(2001)), 413);
    assert_eq!(status("POST", "/v1/reload", json, "{\"path\": \"x\"}"), 403);
    // Refused before any of it is there, which would be never.
    let head = "POST /v1/completions HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\nconnection: close\r\n";
    let answer = server.raw(format!("{head}content-length: {}\r\n\r\n", 1_u64 << 62).as_bytes());
    assert!(answer.starts_with("HTTP/1.1 413"), "{answer}");
    for noise in [
        &b"\x16\x03\x01\x02\x00"[..],
        b"GET\r\n\r\n",
        b"POST /v1/completions HTTP/1.1\r\ncontent-length: x\r\n\r\n",
        &vec![b'A'; 1 << 20],
    ] {
        let answer = server.raw(noise);
        assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 4"), "{answer:?}");
    }
    assert_eq!(server.post("/v1/completions", &small()).0, 200);
}

#[test]
fn a_head_or_a_body_that_does_not_come_to_its_end_is_given_up() {
    let server = Server::tiny(&["--read-seconds", "1"]);
    for beginning in [
        "GET /v1/mod",
        "POST /v1/completions HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 90\r\n\r\n{\"mo",
    ] {
        let mut stream = server.connect();
        stream.write_all(beginning.as_bytes()).unwrap();
        let mut answer = Vec::new();
        // It is the server that ends it, not the patience of this client.
        if let Err(error) = stream.read_to_end(&mut answer) {
            assert_eq!(error.kind(), ErrorKind::ConnectionReset);
        }
        let answer = String::from_utf8_lossy(&answer);
        assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 408"), "{answer:?}");
    }
}

/// One response decodes, one request waits, all others are told to come again; those that go are not decoded for.
#[test]
fn a_full_queue_says_so_and_requests_that_are_gone_are_given_up() {
    let server = Server::tiny(&["--rows", "1", "--queue", "1"]);
    let models: Value =
        serde_json::from_str(&server.exchange("GET", "/v1/models", "", "").1).unwrap();
    let context = models["data"][0]["max_model_len"].as_u64().unwrap();
    let long = json!({"model": "tiny", "prompt": "ab", "max_tokens": context - 2, "ignore_eos": true, "stream": true}).to_string();
    let head = format!(
        "POST /v1/completions HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
        long.len()
    );
    let mut refused = String::new();
    wait_until("eight requests at once are too many", || {
        let mut open: Vec<TcpStream> = (0..8).map(|_| server.connect()).collect();
        for stream in &mut open {
            stream.write_all(&[head.as_bytes(), long.as_bytes()].concat()).unwrap();
        }
        for stream in &mut open {
            let mut answer = [0; 2000];
            let read = stream.read(&mut answer).unwrap();
            let answer = String::from_utf8_lossy(&answer[..read]).into_owned();
            if answer.starts_with("HTTP/1.1 429") {
                refused = answer;
            }
        }
        !refused.is_empty()
    });
    assert!(refused.to_lowercase().contains("retry-after: 1"), "{refused}");
    assert!(
        refused.contains("\"rate_limit_error\"") && refused.contains("\"queue_full\""),
        "{refused}"
    );
    wait_until("the requests that are gone are decoded for no more", || {
        server.post("/v1/completions", &small()).0 == 200
    });
}

#[test]
fn sigterm_ends_it_after_the_request_in_progress() {
    let mut server = Server::tiny(&["--grace-seconds", "300"]);
    let mut stream = server.connect();
    let body = json!({"model": "tiny", "prompt": "ab", "max_tokens": 100, "ignore_eos": true, "stream": true}).to_string();
    let head = format!(
        "POST /v1/completions HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(&[head.as_bytes(), body.as_bytes()].concat()).unwrap();
    let mut answer = vec![0; 1];
    stream.read_exact(&mut answer).unwrap();
    let pid = server.child.id().to_string();
    assert!(Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
    stream.read_to_end(&mut answer).unwrap();
    assert!(String::from_utf8_lossy(&answer).contains("data: [DONE]"), "the request was cut off");
    assert_eq!(server.child.wait().unwrap().code(), Some(0));
}

#[test]
fn addresses_of_others_need_to_be_asked_for() {
    let model = crate::fixture::directory("tiny_qwen2_tied");
    let output = Command::new(env!("CARGO_BIN_EXE_llm-trainer"))
        .arg("serve")
        .arg(model)
        .args(["--host", "0.0.0.0", "--port", "0"])
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2));
    assert!(text.contains("--host is 0.0.0.0, expected an address of this machine"), "{text}");
}

/// A page of another site reaches this machine by a name of its own, which resolves to it.
#[test]
fn requests_to_another_name_or_without_the_key_are_refused() {
    let server = Server::tiny(&["--api-key", "a secret"]);
    let body = small().to_string();
    let status = |host: &str, key: &str, path: &str| {
        let request = format!(
            "POST {path} HTTP/1.1\r\nhost: {host}\r\n{key}connection: close\r\ncontent-type: application/json\r\n\
             content-length: {}\r\n\r\n{body}",
            body.len()
        );
        server.raw(request.as_bytes()).split(' ').nth(1).map(str::to_owned).unwrap_or_default()
    };
    let key = "authorization: Bearer a secret\r\n";
    for path in ["/v1/completions", "/v1/reload"] {
        assert_eq!(status("evil.example.com:8000", key, path), "403");
        assert_eq!(status("localhost", "", path), "401");
        assert_eq!(status("localhost", "authorization: Bearer a secre\r\n", path), "401");
    }
    assert_eq!(status(&server.address, key, "/v1/completions"), "200");
    assert_eq!(status("localhost:1", key, "/v1/completions"), "200");
    // The name in a target that is a whole address counts too.
    for (name, expected) in [("evil.example.com", "403"), ("localhost:1", "200")] {
        let target = format!("http://{name}/v1/completions");
        assert_eq!(status("localhost", key, &target), expected, "{name}");
    }
    let health =
        server.raw(b"GET /health HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
    assert!(health.starts_with("HTTP/1.1 200"), "{health}");
}
