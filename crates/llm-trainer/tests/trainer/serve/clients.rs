//! A client that others wrote.

use std::process::Command;

use super::Server;
use crate::fixture::copy_to;

const SCRIPT: &str = r#"
import sys, openai
client = openai.OpenAI(base_url=sys.argv[1] + "/v1", api_key="none", max_retries=0)
assert [model.id for model in client.models.list()] == ["tiny"]
plain = client.completions.create(model="tiny", prompt="What is 2", max_tokens=8, temperature=0, logprobs=2, n=2, extra_body={"top_k": 5})
assert len(plain.choices) == 2 and plain.choices[0].text == plain.choices[1].text
assert len(plain.choices[0].logprobs.tokens) == plain.usage.completion_tokens // 2
chat = dict(model="tiny", messages=[{"role": "user", "content": "What is 2"}], max_completion_tokens=8, temperature=0)
whole = client.chat.completions.create(logprobs=True, top_logprobs=3, **chat)
assert len(whole.choices[0].logprobs.content[0].top_logprobs) == 3
pieces = list(client.chat.completions.create(stream=True, stream_options={"include_usage": True}, **chat))
text = "".join(piece.choices[0].delta.content or "" for piece in pieces if piece.choices)
assert text == whole.choices[0].message.content, (text, whole)
assert pieces[-1].usage.total_tokens == whole.usage.total_tokens
try:
    client.completions.create(model="tiny", prompt="a", max_tokens=8, temperature=-1)
except openai.BadRequestError as error:
    assert error.param == "temperature" and "expected" in error.message, error
else:
    raise AssertionError("accepted")
try:
    client.completions.create(model="other", prompt="a")
except openai.NotFoundError as error:
    assert error.code == "model_not_found", error
else:
    raise AssertionError("accepted")
print("ok")
"#;

/// The `openai` package of Python, of the interpreter that `OPENAI_PYTHON` names, or else `python3`. Where it has none, nothing
/// can be shown, which is said.
#[test]
fn the_openai_package_of_python_is_served() {
    let python = std::env::var("OPENAI_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let import = Command::new(&python).args(["-c", "import openai"]).output();
    if !import.is_ok_and(|output| output.status.success()) {
        eprintln!(
            "NOT TESTED: {python} has no package `openai`; OPENAI_PYTHON names another interpreter"
        );
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    copy_to("tiny_qwen2_tied", folder.path());
    let template = "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}assistant:";
    std::fs::write(folder.path().join("chat_template.jinja"), template).unwrap();
    let server = Server::of(folder.path(), &[]);
    let output = Command::new(&python).args(["-c", SCRIPT, &server.url()]).output().unwrap();
    assert_eq!(
        String::from_utf8_lossy(&output.stdout),
        "ok\n",
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}
