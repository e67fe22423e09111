//! The conversation of a chat request: its turns, and the tools that may be called.

use model_files::chat_template::ChatTemplate;
use model_files::ordered_json::OrderedJson;
use serde::Deserialize;

use super::error::ApiError;
use super::fields::Fields;
use super::recording::Recording;
use super::tool_calls::ToolCall;

/// Turns and tools, in the order of their fields.
#[derive(Debug)]
pub(super) struct Conversation {
    messages: Vec<Turn>,
    tools: Vec<OrderedJson>,
    /// True if calls are looked for in the response.
    pub(super) calls_tools: bool,
}

#[derive(Debug)]
struct Turn {
    role: String,
    content: String,
    calls: Vec<ToolCall>,
    /// The turn as the template gets it.
    rendered: OrderedJson,
}

impl Conversation {
    /// Reads the fields `messages`, `tools` and `tool_choice` of a request.
    pub(super) fn read(fields: &mut Fields, body: &[u8]) -> Result<Self, ApiError> {
        #[derive(Deserialize)]
        struct Ordered {
            messages: Option<OrderedJson>,
            tools: Option<OrderedJson>,
        }
        let Ordered { messages, tools } = serde_json::from_slice(body)
            .map_err(|error| ApiError::body(format!("the body is no JSON: {error}")))?;
        let expected = "a list of turns, each with `role` and `content`, both texts";
        let turns = |json: &OrderedJson| {
            let turns = json.as_list().filter(|turns| !turns.is_empty())?;
            turns.iter().map(turn).collect::<Option<Vec<Turn>>>()
        };
        let messages =
            fields.required("messages", expected, |_| messages.as_ref().and_then(turns))?;
        let expected = "a list of {\"type\": \"function\", \"function\": {\"name\": …}}";
        let functions = |json: &OrderedJson| {
            let is_function = |tool: &OrderedJson| {
                let is_typed =
                    tool.get("type").is_none_or(|kind| kind.as_str() == Some("function"));
                is_typed && tool.get("function").is_some_and(|tool| tool.get("name").is_some())
            };
            json.as_list().filter(|tools| tools.iter().all(is_function)).map(<[_]>::to_vec)
        };
        let tools = fields.take("tools", expected, |_| tools.as_ref().and_then(functions))?;
        let tools = tools.unwrap_or_default();
        let choice = fields.take("tool_choice", "\"auto\" or \"none\"", |choice| {
            choice.as_str().filter(|choice| ["auto", "none"].contains(choice)).map(str::to_owned)
        })?;
        let calls_tools = !tools.is_empty() && choice.as_deref() != Some("none");
        Ok(Self { messages, tools, calls_tools })
    }

    /// Number of turns.
    pub(super) fn turns(&self) -> usize {
        self.messages.len()
    }

    /// Renders the conversation with the assistant's turn opened; answers of `recording` stand as they were drawn.
    pub(super) fn render(
        &self,
        template: &ChatTemplate,
        recording: Option<&Recording>,
    ) -> Result<String, ApiError> {
        let turn = |(place, turn): (usize, &Turn)| {
            let drawn = recording
                .filter(|_| turn.role == "assistant")
                .and_then(|recording| recording.drawn_text(place, &turn.content, &turn.calls));
            match drawn {
                Some(drawn) => OrderedJson::object([
                    ("role", OrderedJson::text("assistant")),
                    ("content", OrderedJson::text(drawn)),
                ]),
                None => turn.rendered.clone(),
            }
        };
        let messages: Vec<OrderedJson> = self.messages.iter().enumerate().map(turn).collect();
        let text = template.render_with_tools(&messages, &self.tools);
        text.map_err(|error| ApiError::field("messages", &error.to_string()))
    }
}

/// Reads a turn whose content is a text, or a list of text parts; one with calls of tools may have none.
fn turn(value: &OrderedJson) -> Option<Turn> {
    let role = value.get("role")?.as_str()?.to_owned();
    let calls = match value.get("tool_calls") {
        Some(calls) => calls.as_list()?.iter().map(ToolCall::read).collect::<Option<Vec<_>>>()?,
        None => Vec::new(),
    };
    let content = match value.get("content") {
        Some(OrderedJson::Text(text)) => text.clone(),
        Some(OrderedJson::List(parts)) => parts
            .iter()
            .map(|part| part.get("text").and_then(OrderedJson::as_str))
            .collect::<Option<String>>()?,
        None if !calls.is_empty() => String::new(),
        _ => return None,
    };
    let mut rendered = vec![
        ("role".to_owned(), OrderedJson::text(role.as_str())),
        ("content".to_owned(), OrderedJson::text(content.as_str())),
    ];
    if !calls.is_empty() {
        let ids = value.get("tool_calls")?.as_list()?.iter().map(|call| call.get("id"));
        let told = ids.zip(&calls).map(|(id, call)| rendered_call(id, call)).collect();
        rendered.push(("tool_calls".to_owned(), OrderedJson::List(told)));
    }
    for name in ["name", "tool_call_id", "reasoning_content"] {
        if let Some(text @ OrderedJson::Text(_)) = value.get(name) {
            rendered.push((name.to_owned(), text.clone()));
        }
    }
    Some(Turn { role, content, calls, rendered: OrderedJson::Object(rendered) })
}

/// A call as templates expect it: arguments are JSON where they are well-formed.
fn rendered_call(id: Option<&OrderedJson>, call: &ToolCall) -> OrderedJson {
    let arguments = serde_json::from_str(&call.arguments);
    let arguments = arguments.unwrap_or_else(|_| OrderedJson::text(call.arguments.as_str()));
    let function = OrderedJson::object([
        ("name", OrderedJson::text(call.name.as_str())),
        ("arguments", arguments),
    ]);
    OrderedJson::object([
        ("id", id.cloned().unwrap_or(OrderedJson::Null)),
        ("type", OrderedJson::text("function")),
        ("function", function),
    ])
}
