use std::path::Path;
use std::sync::LazyLock;

use proptest::prelude::*;
use workspace_tests::fuzz::{edited, in_time};

use super::*;

const COMPLETION: &str = r#"{"model":"m","prompt":["ab",[1,2]],"max_tokens":5,"n":2,"temperature":0.5,"top_p":0.9,"seed":-3,"stop":["x","yz"],"logprobs":2,"echo":false,"stream":true,"stream_options":{"include_usage":true},"return_token_ids":true,"user":"u"}"#;

const CHAT: &str = r#"{"model":"m","messages":[{"role":"system","content":"be short"},{"role":"user","content":[{"type":"text","text":"2+2?"}]}],"max_completion_tokens":3,"logprobs":true,"top_logprobs":1,"tool_choice":"auto","tools":[{"type":"function","function":{"name":"f"}}]}"#;

static READER: LazyLock<Reader> = LazyLock::new(|| reader(64));

fn reader(tokens: usize) -> Reader {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let folder = workspace_tests::files::folder(&[(
        "chat_template.jinja",
        "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}assistant: ",
    )]);
    Reader {
        tokenizer: TextTokenizer::load(&tests.join("fixtures/tiny_qwen2_tied")).expect("a fixture"),
        template: ChatTemplate::load(folder.path()).expect("a template"),
        model_name: "m".to_owned(),
        vocab_size: 256,
        eos_ids: vec![0],
        capacity: BatchCapacity { rows: 4, tokens, cpu_kernels: false },
    }
}

proptest! {
    #[test]
    fn fuzz_request(bytes in edited([COMPLETION, CHAT].map(|text| text.as_bytes().to_vec()).to_vec())) {
        for style in [Style::Completion, Style::Chat] {
            if let Ok(request) = in_time(|| READER.read(style, &bytes, None)) {
                let prompts = || request.prompts.iter().map(|prompt| &prompt.token_ids);
                let most = prompts().map(Vec::len).max().unwrap_or(0);
                prop_assert!(most + request.options.max_new_tokens <= 64 || request.only_echo, "{request:?}");
                prop_assert!(prompts().flatten().all(|id| *id < 256), "{request:?}");
            }
        }
    }
}

#[test]
fn samples_of_the_fuzz_test_are_read() {
    let completion = READER.read(Style::Completion, COMPLETION.as_bytes(), None).unwrap();
    assert_eq!(completion.prompts[1].token_ids, [1, 2]);
    assert_eq!(READER.read(Style::Chat, CHAT.as_bytes(), None).unwrap().prompts.len(), 1);
}

/// A client writes a call in its own way, without what was drawn around it: the recorded tokens stay.
#[test]
fn an_answer_is_continued_as_it_was_drawn() {
    use crate::serve::recording::Choice;
    use crate::serve::tool_calls::tool_calls;

    let reader = reader(256);
    let user = r#"{"role":"user","content":"2*3"}"#;
    let body = |more: &str| format!(r#"{{"model":"m","max_tokens":4,"messages":[{user}{more}]}}"#);
    let mut recording = Recording::default();
    let read = |recording: &mut Recording, more: &str| {
        reader.read(Style::Chat, body(more).as_bytes(), Some(recording)).unwrap()
    };
    let drawn =
        "<tool_call>\n{\"name\": \"f\",  \"arguments\": {\"b\": 1, \"a\": 2}}\n</tool_call> ";
    let prompt = read(&mut recording, "").prompts.remove(0);
    let (text, calls) = tool_calls(drawn).unwrap();
    let token_ids = [reader.encode("", drawn).unwrap(), vec![10]].concat();
    let log_prob = vec![-1.0; token_ids.len()];
    let finish = Some(decoder::generation::Finish::Stop);
    let choice = Choice { text, token_ids, log_prob, finish, calls, ..Choice::default() };
    recording.record(&prompt, &choice, &reader.tokenizer).unwrap();
    let recorded = recording.sequences[0].token_ids.clone();
    let call =
        r#"{"id":"1","type":"function","function":{"name":"f","arguments":"{\"a\":2,\"b\":1}"}}"#;
    let answered = |call: &str| {
        format!(
            r#",{{"role":"assistant","content":null,"tool_calls":[{call}]}},{{"role":"tool","content":"2"}}"#
        )
    };
    let next = read(&mut recording, &answered(call)).prompts.remove(0);
    assert_eq!(next.continued, Some((0, recorded.len())));
    assert_eq!(next.token_ids[..recorded.len()], recorded);
    assert_eq!(
        reader.tokenizer.decode(&next.token_ids[recorded.len()..]).unwrap(),
        "tool: 2\nassistant: "
    );
    // Another call is not what was drawn.
    let other = read(&mut recording, &answered(&call.replace(":2", ":3")));
    assert_eq!((other.prompts[0].continued, other.turn), (None, Some((2, None))));
}
