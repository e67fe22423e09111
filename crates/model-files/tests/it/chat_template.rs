use std::time::{Duration, Instant};

use model_files::chat_template::{ChatTemplate, Message, TemplateValue};
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

/// Tools, calls and JSON, rendered by Jinja2 with the settings of `transformers`.
#[test]
fn tools_are_written_as_jinja2_writes_them() {
    #[derive(Deserialize)]
    struct Case {
        template: String,
        messages: Vec<TemplateValue>,
        tools: Vec<TemplateValue>,
        expected: String,
    }
    #[derive(Deserialize)]
    struct Recorded {
        cases: Vec<Case>,
    }
    let text = std::fs::read_to_string(data("chat_templates/rendered_tools.json")).unwrap();
    let recorded: Recorded = serde_json::from_str(&text).unwrap();
    assert_eq!(recorded.cases.len(), 3);
    for case in recorded.cases {
        let of_file = case.template.strip_suffix(".jinja").map(source);
        let source = of_file.unwrap_or(case.template);
        let folder = folder(&[("chat_template.jinja", &source)]);
        let template = ChatTemplate::load(folder.path()).unwrap().unwrap();
        let text = template.render_with_tools(&case.messages, &case.tools).unwrap();
        assert_eq!(text, case.expected);
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

/// Templates that took for ever, ran out of memory or overflowed the stack. `M` is replaced by many copies.
#[test]
fn hostile_templates_are_refused_in_bounded_time() {
    let double = |step: &str| {
        format!(
            "{{% set n = namespace(s='ab') %}}{{% for i in range(60) %}}{{% set n.s = {step} %}}{{% endfor %}}{{{{ n.s }}}}"
        )
    };
    let hostile = [
        "{% for a in range(100000) %}{% for b in range(100000) %}{% endfor %}{% endfor %}".to_owned(),
        "{% for a in range(100000) %}{% for b in range(100000) %}xxxxxxxxxxxxxxxxx{% endfor %}{% endfor %}".to_owned(),
        format!("{{% for a in range(100000) %}}{}{{% endfor %}}", "x".repeat(60_000)),
        format!("{{% set t %}}{{% for a in range(100000) %}}{}{{% endfor %}}{{% endset %}}", "x".repeat(60_000)),
        double("n.s ~ n.s"),
        double("n.s + n.s"),
        double("n.s * 200"),
        double("[n.s, n.s]"),
        double("{'a': n.s, 'b': n.s}"),
        double("dict(a=n.s, b=n.s)"),
        double("[n.s, n.s] | join(n.s)"),
        double("n.s | replace('', n.s)"),
        double("n.s.replace('a', n.s)"),
        double("n.s.join([n.s, n.s])"),
        double("'%s%s' | format(n.s, n.s)"),
        double("'{0}{0}'.format(n.s)"),
        double("n"),
        double("[n, n]"),
        double("namespace(a=n.s, b=n.s)"),
        "{% macro f(x) %}{{ x }}{{ x }}{% endmacro %}{% set n = namespace(s='ab') %}{% for i in range(60) %}{% set n.s = f(n.s) %}{% endfor %}".to_owned(),
        "{% set n = namespace(l=[1]) %}{% for i in range(60) %}{% set n.l = n.l + n.l %}{% endfor %}{{ n.l }}".to_owned(),
        "{% macro f(x) %}{{ f(x) }}{% endmacro %}{{ f(1) }}".to_owned(),
        "{{ '%1000000000d' | format(1) }}".to_owned(),
        "{{ '%*d' | format(1000000000, 1) }}".to_owned(),
        "{{ '{:1000000000d}'.format(1) }}".to_owned(),
        "{{ 'a\nb' | indent(100000000000) }}".to_owned(),
        "{{ [1, [2]] | tojson(indent=100000000000) }}".to_owned(),
        "{{ 'x' * 100000000 }}".to_owned(),
        format!("{{{{ {}1 }}}}", "not ".repeat(100_000)),
        format!("{{{{ {}1 }}}}", "not ".repeat(16_000)),
        format!("{{{{ {}1 }}}}", "-".repeat(64_000)),
        format!("{{{{ 1{} }}}}", "|string".repeat(9_000)),
        format!("{{{{ 1{} }}}}", "+1".repeat(30_000)),
        format!("{{{{ {}1{} }}}}", "[".repeat(30_000), "]".repeat(30_000)),
        format!("{}{}", "{% if 1 %}".repeat(3_000), "{% endif %}".repeat(3_000)),
        format!("{{{{ {} }}}}", vec!["'x' * 256"; 400].join("~")),
    ];
    for source in hostile {
        let start = Instant::now();
        let folder = folder(&[("chat_template.jinja", &source)]);
        let refused = ChatTemplate::load(folder.path())
            .and_then(|template| template.unwrap().render(&[Message::new("user", "hi")], true));
        let shown = &source[..source.len().min(100)];
        assert!(refused.is_err(), "{shown}: {} bytes", refused.unwrap().len());
        assert!(start.elapsed() < Duration::from_secs(20), "{shown}: {:?}", start.elapsed());
    }
}

/// The library divides by the number of values of a cycle.
#[test]
fn a_template_on_which_the_library_panics_is_an_error() {
    let folder =
        folder(&[("chat_template.jinja", "{% for i in [1] %}{{ loop.cycle() }}{% endfor %}")]);
    let template = ChatTemplate::load(folder.path()).unwrap().unwrap();
    assert_eq!(
        message(template.render(&[], true), folder.path()),
        "DIR/chat_template.jinja: chat template: the template's library has failed, expected another template"
    );
}

/// A message of four megabytes filled the terminal, and one with a line feed began a line of its own.
#[test]
fn a_template_s_message_is_short_and_one_line() {
    let long = "{% set n = namespace(s='x') %}{% for i in range(20) %}{% set n.s = n.s ~ n.s %}{% endfor %}\
        {{ raise_exception(n.s) }}";
    for source in [long, "{{ raise_exception('\nerror: \u{1b}[31m') }}"] {
        let folder = folder(&[("chat_template.jinja", source)]);
        let template = ChatTemplate::load(folder.path()).unwrap().unwrap();
        let text = message(template.render(&[], true), folder.path());
        assert!(text.len() < 1000 && !text.contains(char::is_control), "{text}");
    }
}

/// The nesting that is allowed fits the stack of a thread.
#[test]
fn the_longest_tags_are_read_and_rendered() {
    let most = [
        format!("{{{{ {}1 }}}}", "not ".repeat(1_000)),
        format!("{{{{ {}1 }}}}", "-".repeat(1_000)),
        format!("{{{{ 1{} }}}}", "|string".repeat(500)),
        format!("{{{{ a{} }}}}", "~a".repeat(500)),
        "{% macro f(x) %}{% if x %}{{ f(x - 1) }}{% endif %}{% endmacro %}{{ f(15) }}".to_owned(),
    ];
    for source in most {
        let folder = folder(&[("chat_template.jinja", &source)]);
        let template = ChatTemplate::load(folder.path()).unwrap().unwrap();
        let rendered = template.render(&[Message::new("user", "hi")], true);
        assert!(rendered.is_ok(), "{rendered:?}");
    }
}

/// Bounds leave room for long conversations.
#[test]
fn a_thousand_long_turns_are_rendered() {
    let source = "{% set n = namespace(count=0, all='') %}{% for m in messages[::-1] %}\
                  {% set n.count = n.count + messages | length * 0 + 1 %}{{ m.content | trim }}{% endfor %}{{ n.count }}";
    let folder = folder(&[("chat_template.jinja", source)]);
    let template = ChatTemplate::load(folder.path()).unwrap().unwrap();
    let text = "word ".repeat(1_000);
    let messages: Vec<Message> = (0..1_000).map(|_| Message::new("user", &text)).collect();
    let text = template.render(&messages, true).unwrap();
    assert_eq!(text.len(), 1_000 * 4_999 + 4);
    assert!(text.ends_with("word1000"));
}
