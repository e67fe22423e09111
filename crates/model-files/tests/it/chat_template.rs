use model_files::chat_template::{ChatTemplate, Message};
use serde::Deserialize;
use workspace_tests::files::{folder, message};

use crate::data;

#[derive(Deserialize)]
struct Recorded {
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    template: String,
    messages: Vec<Turn>,
    add_generation_prompt: bool,
    expected: String,
}

#[derive(Deserialize)]
struct Turn {
    role: String,
    content: String,
}

fn source(name: &str) -> String {
    std::fs::read_to_string(data(&format!("chat_templates/{name}.jinja"))).expect("it is there")
}

/// Texts rendered by Jinja2 with the settings of `transformers`.
#[test]
fn texts_equal_those_of_jinja2() {
    let text = std::fs::read_to_string(data("chat_templates/rendered.json")).unwrap();
    let recorded: Recorded = serde_json::from_str(&text).unwrap();
    assert_eq!(recorded.cases.len(), 18);
    let config = r#"{"bos_token": {"content": "<b>"}, "eos_token": "</s>"}"#;
    for case in recorded.cases {
        let source = source(&case.template);
        let folder = folder(&[("chat_template.jinja", &source), ("tokenizer_config.json", config)]);
        let template = ChatTemplate::load(folder.path()).unwrap().unwrap();
        let messages: Vec<Message> =
            case.messages.into_iter().map(|turn| Message::new(turn.role, turn.content)).collect();
        let text = template.render(&messages, case.add_generation_prompt).unwrap();
        assert_eq!(text, case.expected, "{}", case.template);
    }
}

#[test]
fn qwen_opens_the_assistants_turn_after_its_own_system_message() {
    let folder = folder(&[("chat_template.jinja", &source("qwen2.5"))]);
    let template = ChatTemplate::load(folder.path()).unwrap().unwrap();
    assert_eq!(
        template.render(&[Message::new("user", "2+2?")], true).unwrap(),
        "<|im_start|>system\nYou are Qwen, created by Alibaba Cloud. You are a helpful assistant.<|im_end|>\n\
         <|im_start|>user\n2+2?<|im_end|>\n<|im_start|>assistant\n"
    );
}

#[test]
fn template_is_found_as_string_and_in_a_list() {
    let forms = [
        r#"{"chat_template": "{{ messages[0].content }}"}"#,
        r#"{"chat_template": [{"name": "tool_use", "template": "x"},
                              {"name": "default", "template": "{{ messages[0].content }}"}]}"#,
    ];
    for config in forms {
        let folder = folder(&[("tokenizer_config.json", config)]);
        let template = ChatTemplate::load(folder.path()).unwrap().unwrap();
        assert_eq!(template.render(&[Message::new("user", "hi")], true).unwrap(), "hi");
    }
}

#[test]
fn a_model_without_template_has_none() {
    for files in [&[][..], &[("tokenizer_config.json", r#"{"bos_token": null}"#)]] {
        assert!(ChatTemplate::load(folder(files).path()).unwrap().is_none());
    }
}

#[test]
fn a_list_without_default_names_file_and_field() {
    let folder = folder(&[("tokenizer_config.json", r#"{"chat_template": [{"name": "rag"}]}"#)]);
    assert_eq!(
        message(ChatTemplate::load(folder.path()), folder.path()),
        "DIR/tokenizer_config.json: chat_template is a list without a template named \"default\""
    );
}

#[test]
fn a_template_that_is_none_is_an_error_with_its_line() {
    let folder = folder(&[("chat_template.jinja", "{% for x in %}")]);
    let text = message(ChatTemplate::load(folder.path()), folder.path());
    assert!(text.starts_with("DIR/chat_template.jinja: not a Jinja template: "), "{text}");
    assert!(text.contains(":1"), "{text}");
}

#[test]
fn what_a_template_refuses_is_passed_on() {
    let folder = folder(&[("chat_template.jinja", &source("turns"))]);
    let template = ChatTemplate::load(folder.path()).unwrap().unwrap();
    let text = message(template.render(&[Message::new("assistant", "I")], true), folder.path());
    assert!(text.contains("Conversation roles must alternate user/assistant"), "{text}");
}
