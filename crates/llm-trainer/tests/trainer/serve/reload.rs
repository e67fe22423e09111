//! Other weights for a server that is running.

use decoder::model::Decoder;
use serde_json::{Value, json};
use tch::{Device, Kind};

use super::Server;
use crate::fixture::{copy_to, decoder, directory};

fn greedy(server: &Server) -> Value {
    let body = json!({"model": "tiny", "prompt": "What is", "max_tokens": 12, "temperature": 0, "ignore_eos": true});
    let (status, answer) = server.post("/v1/completions", &body);
    assert_eq!(status, 200, "{answer}");
    answer["choices"][0]["text"].clone()
}

#[test]
fn weights_are_loaded_from_below_the_root_and_from_nowhere_else() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("root");
    copy_to("tiny_qwen2_tied", &folder.path().join("outside"));
    copy_to("tiny_qwen2_untied", &root.join("another"));
    let model = decoder("tiny_qwen2_tied");
    let fresh = Decoder::initialise(model.config().clone(), 7, Device::Cpu, Kind::Float);
    fresh.save(&root.join("fresh"), &directory("tiny_qwen2_tied")).unwrap();
    std::os::unix::fs::symlink(folder.path().join("outside"), root.join("link")).unwrap();
    let server = Server::tiny(&["--reload-root", root.to_str().unwrap()]);
    let before = greedy(&server);
    let outside = folder.path().join("outside").display().to_string();
    for (path, problem) in [
        (outside.as_str(), "expected a folder below"),
        ("../outside", "expected a folder below"),
        ("link", "expected a folder below"),
        ("missing", "expected a folder below"),
        ("/etc", "expected a folder below"),
        ("another", "config.json is that of another model"),
        (".", "cannot be loaded"),
    ] {
        let (status, answer) = server.post("/v1/reload", &json!({"path": path}));
        assert_eq!((status, &answer["error"]["param"]), (400, &json!("path")), "{path}: {answer}");
        assert!(answer["error"]["message"].as_str().unwrap().contains(problem), "{path}: {answer}");
    }
    assert_eq!(greedy(&server), before);
    let (status, answer) = server.post("/v1/reload", &json!({"path": "fresh"}));
    assert_eq!(status, 200, "{answer}");
    let fresh = Server::of(&root.join("fresh"), &[]);
    let after = greedy(&server);
    assert_eq!(after, greedy(&fresh));
    assert_ne!(after, before);
}
