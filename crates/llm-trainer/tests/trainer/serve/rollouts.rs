//! Recorded rollouts, and the tools of a conversation.

use serde_json::{Value, json};

use super::Server;
use crate::fixture::copy_to;

/// Writes tools, calls and turns; a turn ends with the end-of-sequence token, a zero byte.
const TEMPLATE: &str = "{% if tools %}{{ tools | tojson }}\0{% endif %}{% for m in messages %}{{ m.role[0] }}:{{ m.content }}\
     {% for call in m.tool_calls or [] %}<{{ call.function.name }} {{ call.function.arguments | tojson }}>{% endfor %}\0{% endfor %}a:";

fn ok((status, body): (u16, Value)) -> Value {
    assert_eq!(status, 200, "{body}");
    body
}

fn get(server: &Server, method: &str, path: &str) -> (u16, Value) {
    let (status, text) = server.exchange(method, path, "application/json", "");
    (status, serde_json::from_str(&text).expect("JSON"))
}

fn ids(value: &Value) -> Vec<u32> {
    serde_json::from_value(value.clone()).expect("token ids")
}

fn recording() -> (tempfile::TempDir, Server) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    copy_to("tiny_qwen2_tied", folder.path());
    std::fs::write(folder.path().join("chat_template.jinja"), TEMPLATE).expect("it is writable");
    let server = Server::of(folder.path(), &["--record-rollouts", "2", "--context", "400"]);
    (folder, server)
}

fn chat(messages: &Value) -> Value {
    json!({"model": "tiny", "messages": messages, "max_tokens": 9, "seed": 5, "logprobs": true, "return_token_ids": true})
}

#[test]
fn a_rollout_grows_by_what_was_drawn() {
    let (_folder, server) = recording();
    let path = "/rollouts/a.1/v1/chat/completions";
    let mut messages = vec![json!({"role": "user", "content": "What is 2 + 3?"})];
    let mut choices = Vec::new();
    for turn in 0..3 {
        let choice = ok(server.post(path, &chat(&json!(messages))))["choices"][0].clone();
        let content = choice["message"]["content"].as_str().unwrap();
        messages.push(json!({"role": "assistant", "content": content, "refusal": null}));
        messages.push(
            json!({"role": "tool", "content": format!("result {turn}"), "tool_call_id": "c"}),
        );
        choices.push(choice);
    }
    // Somewhere the text is no character, so that it would be encoded to other tokens.
    let texts = choices.iter().filter_map(|choice| choice["message"]["content"].as_str());
    assert!(texts.clone().any(|text| text.contains('\u{fffd}')), "{:?}", texts.collect::<Vec<_>>());
    assert_eq!(ok(server.post("/rollouts/a.1/reward", &json!({"reward": 0.25})))["reward"], 0.25);
    let rollout = ok(get(&server, "GET", "/rollouts/a.1"));
    assert_eq!((&rollout["reward"], &rollout["id"]), (&json!(0.25), &json!("a.1")));
    let sequences = rollout["sequences"].as_array().unwrap();
    assert_eq!(sequences.len(), 1);
    let (all, mask) = (ids(&sequences[0]["token_ids"]), ids(&sequences[0]["response_mask"]));
    let drawn: Vec<u32> =
        all.iter().zip(&mask).filter(|(_, mask)| **mask == 1).map(|(id, _)| *id).collect();
    let told: Vec<u32> = choices.iter().flat_map(|choice| ids(&choice["token_ids"])).collect();
    assert_eq!(drawn, told);
    for (choice, turn) in choices.iter().zip(sequences[0]["turns"].as_array().unwrap()) {
        let prompt = ids(&choice["prompt_token_ids"]);
        assert_eq!(all[..prompt.len()], prompt);
        assert_eq!(turn["start"], prompt.len());
        let content = choice["logprobs"]["content"].as_array().unwrap();
        let log_probs: Vec<Value> = content.iter().map(|token| token["logprob"].clone()).collect();
        assert_eq!(turn["log_probs"], Value::Array(log_probs));
        assert_eq!(
            (&turn["weight_version"], &turn["finish_reason"]),
            (&json!(0), &choice["finish_reason"])
        );
    }
    // The answer is drawn as without a recording.
    let plain = ok(server.post("/v1/chat/completions", &chat(&json!([messages[0]]))));
    assert_eq!(plain["choices"][0]["token_ids"], choices[0]["token_ids"]);
}

#[test]
fn a_prompt_that_continues_nothing_begins_a_sequence() {
    let (_folder, server) = recording();
    let path = "/rollouts/b/v1/chat/completions";
    let user = json!({"role": "user", "content": "1"});
    ok(server.post(path, &chat(&json!([user]))));
    let other = json!({"role": "assistant", "content": "never said"});
    ok(server.post(path, &chat(&json!([user, other, user]))));
    // Tokens continue as texts do.
    let first = ok(get(&server, "GET", "/rollouts/b"))["sequences"].clone();
    let [first, second] = [0, 1].map(|index| ids(&first[index]["token_ids"]));
    let prompt = [first.clone(), vec![65, 66]].concat();
    let body = json!({"model": "tiny", "prompt": prompt, "max_tokens": 3, "ignore_eos": true});
    ok(server.post("/rollouts/b/v1/completions", &body));
    let sequences = ok(get(&server, "GET", "/rollouts/b"))["sequences"].clone();
    assert_eq!(sequences.as_array().unwrap().len(), 2);
    assert_eq!(ids(&sequences[0]["token_ids"])[..prompt.len()], prompt);
    assert_eq!(ids(&sequences[0]["token_ids"]).len(), prompt.len() + 3);
    assert_eq!(ids(&sequences[1]["token_ids"]), second);
}

#[test]
fn rollouts_are_kept_until_they_are_deleted() {
    let (_folder, server) = recording();
    let body = chat(&json!([{"role": "user", "content": "1"}]));
    for id in ["a", "b"] {
        ok(server.post(&format!("/rollouts/{id}/v1/chat/completions"), &body));
    }
    let third = "/rollouts/c/v1/chat/completions";
    assert_eq!(server.post(third, &body).0, 429);
    let deleted = ok(get(&server, "DELETE", "/rollouts/a"));
    assert_eq!(deleted["sequences"].as_array().unwrap().len(), 1);
    assert_eq!(get(&server, "GET", "/rollouts/a").0, 404);
    ok(server.post(third, &body));
    let mut several = body.clone();
    several["n"] = json!(2);
    for (path, body, status) in [
        (third, &several, 400),
        ("/rollouts/no such id/v1/chat/completions", &body, 400),
        ("/rollouts/%20/v1/chat/completions", &body, 404),
        ("/rollouts/x/reward", &json!({"reward": 1}), 404),
        ("/rollouts/c/reward", &json!({"reward": "1"}), 400),
        ("/rollouts/c/reward", &json!({}), 400),
        ("/rollouts/c/elsewhere", &json!({}), 404),
    ] {
        let (told, answer) = server.exchange("POST", path, "application/json", &body.to_string());
        assert_eq!(told, status, "{path}: {answer}");
    }
    let plain = Server::tiny(&[]);
    assert_eq!(plain.post(third, &body).0, 403);
}

/// Tools and calls are rendered in the order of their fields.
#[test]
fn tools_and_calls_are_part_of_the_prompt() {
    let (_folder, server) = recording();
    let body = r#"{"model": "tiny", "max_tokens": 4, "return_token_ids": true, "tool_choice": "auto",
        "tools": [{"type": "function", "function": {"name": "add", "description": "<b>", "a": 1}}],
        "messages": [{"role": "user", "content": "1"},
                     {"role": "assistant", "content": null, "tool_calls": [{"id": "x", "type": "function",
                      "function": {"name": "add", "arguments": "{\"y\": 1, \"x\":2}"}}]},
                     {"role": "tool", "tool_call_id": "x", "content": "3"}]}"#;
    let (status, text) = server.exchange("POST", "/v1/chat/completions", "application/json", body);
    assert_eq!(status, 200, "{text}");
    let answer: Value = serde_json::from_str(&text).unwrap();
    let prompt: Vec<u8> = ids(&answer["choices"][0]["prompt_token_ids"])
        .iter()
        .map(|id| u8::try_from(*id).expect("the tokens are bytes"))
        .collect();
    let expected = "[{\"type\": \"function\", \"function\": {\"name\": \"add\", \"description\": \"<b>\", \"a\": 1}}]\0\
         u:1\0a:<add {\"y\": 1, \"x\": 2}>\0t:3\0a:";
    assert_eq!(String::from_utf8(prompt).unwrap(), expected);
    for (field, value) in [
        ("tools", json!([{"type": "function"}])),
        ("tools", json!("add")),
        ("tool_choice", json!("required")),
    ] {
        let mut body = chat(&json!([{"role": "user", "content": "1"}]));
        body[field] = value;
        let (status, answer) = server.post("/v1/chat/completions", &body);
        assert_eq!((status, &answer["error"]["param"]), (400, &json!(field)), "{answer}");
    }
}
