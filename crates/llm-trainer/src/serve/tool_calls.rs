//! Calls of tools in a response, in the format of Hermes and Qwen: `<tool_call>{"name": …, "arguments": {…}}</tool_call>`.

use model_files::chat_template::{TemplateValue, ValueKind};
use serde_json::{Value, json};

const BEGIN: &str = "<tool_call>";
const END: &str = "</tool_call>";

/// A tool with its arguments, which are JSON as text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ToolCall {
    pub(super) name: String,
    pub(super) arguments: String,
}

impl ToolCall {
    /// Reads a call in OpenAI's format; arguments may be text or JSON.
    pub(super) fn read(call: &TemplateValue) -> Option<Self> {
        let function = field(call, "function")?;
        let arguments = match text(&function, "arguments") {
            Some(text) => text,
            None => arguments(&function)?,
        };
        Some(Self { name: text(&function, "name")?, arguments })
    }

    /// Returns true if both call one tool with equal arguments, however these are written.
    pub(super) fn equals(&self, other: &Self) -> bool {
        let parsed = |call: &Self| serde_json::from_str::<Value>(&call.arguments).ok();
        let (left, right) = (parsed(self), parsed(other));
        self.name == other.name
            && (self.arguments == other.arguments || (left.is_some() && left == right))
    }

    /// The call as an answer reports it.
    pub(super) fn told(&self, id: &str) -> Value {
        let Self { name, arguments } = self;
        json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}})
    }
}

/// Splits a response into the text before its first call, and its calls. `None` if it has none, or one that is not well-formed.
pub(super) fn tool_calls(response: &str) -> Option<(String, Vec<ToolCall>)> {
    let (content, calls) = response.split_once(BEGIN)?;
    let calls = calls.split(BEGIN).map(|call| {
        // The end of the last call may be an end-of-sequence token.
        let call = call.split_once(END).map_or(call, |(call, _)| call);
        let call: TemplateValue = serde_json::from_str(call).ok()?;
        Some(ToolCall { name: text(&call, "name")?, arguments: arguments(&call)? })
    });
    Some((content.trim_end().to_owned(), calls.collect::<Option<Vec<_>>>()?))
}

/// The arguments of a function as JSON text; none are `{}`.
fn arguments(function: &TemplateValue) -> Option<String> {
    let Some(arguments) = field(function, "arguments") else { return Some("{}".to_owned()) };
    serde_json::to_string(&arguments).ok()
}

/// Returns the field `name` of an object; `None` where it is absent or null.
pub(super) fn field(value: &TemplateValue, name: &str) -> Option<TemplateValue> {
    value.get_attr(name).ok().filter(|field| !field.is_undefined() && !field.is_none())
}

pub(super) fn text(value: &TemplateValue, name: &str) -> Option<String> {
    field(value, name)?.as_str().map(str::to_owned)
}

pub(super) fn elements(value: &TemplateValue) -> Option<Vec<TemplateValue>> {
    let list = (value.kind() == ValueKind::Seq).then_some(value)?;
    list.try_iter().ok().map(Iterator::collect)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_read_where_all_are_well_formed() {
        let call = |name: &str, arguments: &str| ToolCall {
            name: name.to_owned(),
            arguments: arguments.to_owned(),
        };
        for (text, expected) in [
            ("a <b>", None),
            ("<tool_call>{}</tool_call>", None),
            ("<tool_call>{\"name\": \"f\"", None),
            (
                "Let me see.\n<tool_call>\n{\"name\": \"f\", \"arguments\": {\"b\": 1, \"a\": \"x\"}}\n</tool_call>",
                Some(("Let me see.", vec![call("f", r#"{"b":1,"a":"x"}"#)])),
            ),
            (
                "<tool_call>{\"name\": \"f\"}</tool_call>\n<tool_call>{\"arguments\": [], \"name\": \"g\"}",
                Some(("", vec![call("f", "{}"), call("g", "[]")])),
            ),
            ("<tool_call>{\"name\": \"f\"}</tool_call><tool_call>{", None),
        ] {
            let expected = expected.map(|(content, calls)| (content.to_owned(), calls));
            assert_eq!(tool_calls(text), expected, "{text}");
        }
    }

    #[test]
    fn calls_are_equal_by_value() {
        let call = |arguments: &str| ToolCall { name: "f".into(), arguments: arguments.into() };
        assert!(call(r#"{"a":1,"b":2}"#).equals(&call(r#"{ "b": 2, "a": 1 }"#)));
        assert!(call("no JSON").equals(&call("no JSON")));
        assert!(!call("no JSON").equals(&call("none")));
        assert!(!call("{}").equals(&call(r#"{"a":1}"#)));
        assert!(!call("{}").equals(&ToolCall { name: "g".into(), ..call("{}") }));
    }
}
