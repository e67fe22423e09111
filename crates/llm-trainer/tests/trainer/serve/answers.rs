//! Answers of the server: equal to results of the model outside it.

use std::collections::BTreeMap;

use decoder::generation::{GenerationOptions, PromptRequest, SamplingKey, generate};
use model_files::sampling::Sampling;
use serde_json::{Value, json};

use super::Server;
use crate::fixture::{Expected, copy_to, decoder};

const TEXT: &str = "What is 2 + 3? \\boxed{5}";

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().expect("a list").iter().map(|n| n.as_f64().expect("a number")).collect()
}

fn ids(value: &Value) -> Vec<u32> {
    serde_json::from_value(value.clone()).expect("token ids")
}

fn ok((status, body): (u16, Value)) -> Value {
    assert_eq!(status, 200, "{body}");
    body
}

#[test]
fn greedy_tokens_are_the_recorded_ones() {
    let (server, expected) = (Server::tiny(&[]), Expected::load("tiny_qwen2_tied"));
    let body = json!({"model": "tiny", "prompt": TEXT, "max_tokens": 24, "temperature": 0, "return_token_ids": true});
    let answer = ok(server.post("/v1/completions", &body));
    let greedy = expected.ids("greedy.ids");
    let end = greedy.iter().position(|&id| id == 0).map_or(greedy.len(), |at| at + 1);
    assert_eq!(ids(&answer["choices"][0]["token_ids"]), greedy[..end]);
    assert_eq!(answer["choices"][0]["prompt_token_ids"].as_array().unwrap().len(), TEXT.len());
    assert_eq!(answer["usage"]["completion_tokens"], json!(end));
    assert_eq!(answer["object"], "text_completion");
    assert!(answer["choices"][0]["logprobs"].is_null());
}

/// The server draws the same tokens, with bit-identical log-probabilities, whatever other requests decode beside them.
#[test]
fn samples_are_those_of_generate_whatever_decodes_beside_them() {
    let server = Server::tiny(&["--rows", "5"]);
    let model = decoder("tiny_qwen2_tied");
    let prompts: [&[u32]; 3] = [&[87, 104, 97, 116], &[65], &[7; 9]];
    let options = GenerationOptions {
        samples: 3,
        max_new_tokens: 20,
        sampling: Sampling { temperature: 0.8, top_k: 100, top_p: 0.95, min_p: 0.001 },
        stop_ids: vec![0],
        ..Default::default()
    };
    std::thread::scope(|scope| {
        for seed in 1..5u64 {
            let (server, options, model) = (&server, options.clone(), &model);
            let expected: Vec<(Vec<u32>, Vec<f64>)> = {
                let requests: Vec<PromptRequest<'_>> = (0..)
                    .zip(prompts)
                    .map(|(prompt, token_ids)| PromptRequest {
                        token_ids,
                        key: SamplingKey { seed, step: 0, prompt },
                    })
                    .collect();
                let drawn = generate(model, &requests, &options).unwrap();
                drawn.into_iter().map(|one| (one.token_ids, one.log_prob)).collect()
            };
            scope.spawn(move || {
                let body = json!({
                    "model": "tiny", "prompt": prompts, "n": 3, "max_tokens": 20, "temperature": 0.8, "top_k": 100, "top_p": 0.95,
                    "min_p": 0.001, "seed": seed, "logprobs": 0, "return_token_ids": true,
                });
                let answer = ok(server.post("/v1/completions", &body));
                let choices = answer["choices"].as_array().unwrap();
                assert_eq!(choices.len(), 9);
                for (index, (choice, (token_ids, log_prob))) in choices.iter().zip(expected).enumerate() {
                    assert_eq!(choice["index"], json!(index));
                    assert_eq!(ids(&choice["token_ids"]), token_ids);
                    assert_eq!(numbers(&choice["logprobs"]["token_logprobs"]), log_prob);
                }
            });
        }
    });
}

#[test]
fn prompts_are_scored_as_recorded() {
    let (server, expected) = (
        Server::of(&crate::fixture::directory("tiny_qwen2_untied"), &[]),
        Expected::load("tiny_qwen2_untied"),
    );
    let body =
        json!({"model": "tiny", "prompt": TEXT, "max_tokens": 0, "echo": true, "logprobs": 1});
    let answer = ok(server.post("/v1/completions", &body));
    let choice = &answer["choices"][0];
    assert_eq!(choice["text"], TEXT);
    let log_probs = choice["logprobs"]["token_logprobs"].as_array().unwrap();
    assert!(log_probs[0].is_null());
    let recorded =
        Vec::<f64>::try_from(expected.get("seq0.logprob").to_kind(tch::Kind::Double)).unwrap();
    assert_eq!(log_probs.len(), expected.ids("seq0.ids").len());
    for (log_prob, recorded) in log_probs[1..].iter().zip(recorded) {
        assert!((log_prob.as_f64().unwrap() - recorded).abs() < 1e-4, "{log_prob} {recorded}");
    }
    assert_eq!(choice["logprobs"]["tokens"][1], "h");
    assert_eq!(answer["usage"]["completion_tokens"], 0);
}

#[test]
fn the_likeliest_tokens_are_told_in_order() {
    let server = Server::tiny(&[]);
    let body = json!({"model": "tiny", "prompt": TEXT, "max_tokens": 5, "temperature": 0, "logprobs": 4, "ignore_eos": true});
    let answer = ok(server.post("/v1/completions", &body));
    let told = &answer["choices"][0]["logprobs"];
    for place in 0..5 {
        let drawn = told["token_logprobs"][place].as_f64().unwrap();
        let top: BTreeMap<String, f64> =
            serde_json::from_value(told["top_logprobs"][place].clone()).unwrap();
        assert!((1..=4).contains(&top.len()));
        // Greedy: the token drawn is the likeliest.
        assert!(
            (top.values().copied().fold(f64::MIN, f64::max) - drawn).abs() < 1e-9,
            "{top:?} {drawn}"
        );
        assert!(top.values().map(|log_prob| log_prob.exp()).sum::<f64>() <= 1.0 + 1e-9);
    }
}

#[test]
fn stop_strings_cut_the_text_and_say_why_it_ends() {
    let server = Server::tiny(&[]);
    let ask = |seed: u64, stop: &[String]| {
        let body = json!({
            "model": "tiny", "prompt": TEXT, "max_tokens": 30, "seed": seed, "ignore_eos": true, "stop": stop,
        });
        ok(server.post("/v1/completions", &body))["choices"][0].clone()
    };
    // Two characters after the fourth that are no broken bytes; random weights soon write some.
    let (seed, text, stop) = (0..)
        .find_map(|seed| {
            let free = ask(seed, &[]);
            assert_eq!(free["finish_reason"], "length");
            let text: Vec<char> = free["text"].as_str().unwrap().chars().collect();
            let is_whole = |pair: &&[char]| pair.iter().all(|c| *c != char::REPLACEMENT_CHARACTER);
            let stop: String = text[4..].windows(2).find(is_whole)?.iter().collect();
            Some((seed, text.into_iter().collect::<String>(), stop))
        })
        .unwrap();
    let place = text.find(&stop).unwrap();
    let stopped = ask(seed, &[stop, "never here".to_owned()]);
    assert_eq!(stopped["text"], text[..place]);
    assert_eq!(stopped["finish_reason"], "stop");
}

/// Texts and log-probabilities of the events together are those of the answer in one piece.
#[test]
fn a_stream_adds_up_to_the_answer_in_one_piece() {
    let server = Server::tiny(&[]);
    for seed in 0..4 {
        let mut body = json!({
            "model": "tiny", "prompt": TEXT, "max_tokens": 40, "seed": seed, "n": 2, "logprobs": 2, "return_token_ids": true,
            "stop": ["e", "zz", "\u{e9}\u{e9}"],
        });
        let in_one_piece = ok(server.post("/v1/completions", &body));
        body["stream"] = json!(true);
        body["stream_options"] = json!({"include_usage": true});
        let (status, text) =
            server.exchange("POST", "/v1/completions", "application/json", &body.to_string());
        assert_eq!(status, 200);
        let mut events: Vec<&str> =
            text.split("\n\n").filter_map(|event| event.strip_prefix("data: ")).collect();
        assert_eq!(events.pop(), Some("[DONE]"));
        let mut events: Vec<Value> =
            events.iter().map(|event| serde_json::from_str(event).unwrap()).collect();
        assert_eq!(events.pop().unwrap()["usage"], in_one_piece["usage"]);
        for index in 0..2 {
            let expected = &in_one_piece["choices"][index];
            let choices: Vec<&Value> = events
                .iter()
                .map(|event| &event["choices"][0])
                .filter(|choice| choice["index"] == json!(index))
                .collect();
            let text: String =
                choices.iter().map(|choice| choice["text"].as_str().unwrap()).collect();
            assert_eq!(text, expected["text"].as_str().unwrap());
            let token_ids: Vec<u32> =
                choices.iter().flat_map(|choice| ids(&choice["token_ids"])).collect();
            assert_eq!(token_ids, ids(&expected["token_ids"]));
            let log_probs: Vec<f64> = choices
                .iter()
                .flat_map(|choice| numbers(&choice["logprobs"]["token_logprobs"]))
                .collect();
            assert_eq!(log_probs, numbers(&expected["logprobs"]["token_logprobs"]));
            let (last, before) = choices.split_last().unwrap();
            assert_eq!(last["finish_reason"], expected["finish_reason"]);
            assert!(before.iter().all(|choice| choice["finish_reason"].is_null()));
        }
    }
}

#[test]
fn a_chat_is_the_completion_of_its_template() {
    let folder = tempfile::tempdir().unwrap();
    copy_to("tiny_qwen2_tied", folder.path());
    let template = "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}assistant:";
    std::fs::write(folder.path().join("chat_template.jinja"), template).unwrap();
    let server = Server::of(folder.path(), &[]);
    let turns = json!([{"role": "system", "content": "Add."}, {"role": "user", "content": [{"type": "text", "text": "2 + 3"}]}]);
    let mut body = json!({"model": "tiny", "messages": turns, "max_completion_tokens": 12, "temperature": 0, "logprobs": true, "top_logprobs": 2});
    let chat = ok(server.post("/v1/chat/completions", &body));
    let plain = json!({"model": "tiny", "prompt": "system: Add.\nuser: 2 + 3\nassistant:", "max_tokens": 12, "temperature": 0, "logprobs": 2});
    let plain = ok(server.post("/v1/completions", &plain));
    let choice = &chat["choices"][0];
    assert_eq!(choice["message"]["content"], plain["choices"][0]["text"]);
    assert_eq!(
        (&choice["message"]["role"], &chat["object"]),
        (&json!("assistant"), &json!("chat.completion"))
    );
    assert_eq!(chat["usage"], plain["usage"]);
    let content = choice["logprobs"]["content"].as_array().unwrap();
    let log_probs: Vec<f64> =
        content.iter().map(|token| token["logprob"].as_f64().unwrap()).collect();
    assert_eq!(log_probs, numbers(&plain["choices"][0]["logprobs"]["token_logprobs"]));
    assert!(content.iter().all(|token| token["top_logprobs"].as_array().unwrap().len() == 2));
    body["stream"] = json!(true);
    let (_, text) =
        server.exchange("POST", "/v1/chat/completions", "application/json", &body.to_string());
    let events = text
        .split("\n\n")
        .filter_map(|event| event.strip_prefix("data: "))
        .filter(|event| *event != "[DONE]");
    let events: Vec<Value> = events.map(|event| serde_json::from_str(event).unwrap()).collect();
    assert_eq!(events[0]["choices"][0]["delta"]["role"], "assistant");
    let told: String = events
        .iter()
        .map(|event| event["choices"][0]["delta"]["content"].as_str().unwrap())
        .collect();
    assert_eq!(json!(told), choice["message"]["content"]);
}

#[test]
fn models_health_and_metrics_are_told() {
    let server = Server::tiny(&[]);
    let get = |path: &str| server.exchange("GET", path, "", "");
    let models: Value = serde_json::from_str(&get("/v1/models").1).unwrap();
    assert_eq!((&models["data"][0]["id"], &models["object"]), (&json!("tiny"), &json!("list")));
    assert_eq!(get("/health"), (200, json!({"status": "ok"}).to_string()));
    ok(server.post(
        "/v1/completions",
        &json!({"model": "tiny", "prompt": "abc", "max_tokens": 3, "ignore_eos": true}),
    ));
    let metrics = get("/metrics").1;
    for line in [
        "llm_trainer_prompt_tokens_total 3",
        "llm_trainer_drawn_tokens_total 3",
        "llm_trainer_waiting_requests 0",
    ] {
        assert!(metrics.lines().any(|found| found == line), "{line} in {metrics}");
    }
}
