//! The conversation of a chat request: its turns, and the tools that may be called.

use model_files::chat_template::{ChatTemplate, TemplateValue};
use serde::Deserialize;

use super::error::ApiError;
use super::fields::Fields;
use super::recording::Recording;
use super::tool_calls::{ToolCall, elements, field, text};

/// Turns and tools, in the order of their fields.
#[derive(Debug)]
pub(super) struct Conversation {
    pub(super) messages: Vec<Turn>,
    tools: Vec<TemplateValue>,
    /// True if calls are looked for in the response.
    pub(super) calls_tools: bool,
}

#[derive(Debug)]
pub(super) struct Turn {
    role: String,
    content: String,
    calls: Vec<ToolCall>,
    /// The turn as the template gets it.
    rendered: TemplateValue,
}

impl Conversation {
    /// Reads the fields `messages`, `tools` and `tool_choice` of a request.
    pub(super) fn read(fields: &mut Fields, body: &[u8]) -> Result<Self, ApiError> {
        #[derive(Deserialize)]
        struct Ordered {
            messages: Option<TemplateValue>,
            tools: Option<TemplateValue>,
        }
        let Ordered { messages, tools } = serde_json::from_slice(body)
            .map_err(|error| ApiError::body(format!("the body is no JSON: {error}")))?;
        let expected = "a list of turns, each with `role` and `content`, both texts";
        let turns = |json: &TemplateValue| {
            let turns = elements(json).filter(|turns| !turns.is_empty())?;
            turns.iter().map(turn).collect::<Option<Vec<Turn>>>()
        };
        let messages =
            fields.required("messages", expected, |_| messages.as_ref().and_then(turns))?;
        let expected = "a list of {\"type\": \"function\", \"function\": {\"name\": …}}";
        let functions = |json: &TemplateValue| {
            let is_function = |tool: &TemplateValue| {
                let is_typed =
                    field(tool, "type").is_none_or(|kind| kind.as_str() == Some("function"));
                is_typed && field(tool, "function").is_some_and(|it| field(&it, "name").is_some())
            };
            elements(json).filter(|tools| tools.iter().all(is_function))
        };
        let tools = fields.take("tools", expected, |_| tools.as_ref().and_then(functions))?;
        let tools = tools.unwrap_or_default();
        let choice = fields.take("tool_choice", "\"auto\" or \"none\"", |choice| {
            choice.as_str().filter(|choice| ["auto", "none"].contains(choice)).map(str::to_owned)
        })?;
        let calls_tools = !tools.is_empty() && choice.as_deref() != Some("none");
        Ok(Self { messages, tools, calls_tools })
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
                Some(drawn) => [("role", "assistant"), ("content", drawn)].into_iter().collect(),
                None => turn.rendered.clone(),
            }
        };
        let messages: Vec<TemplateValue> = self.messages.iter().enumerate().map(turn).collect();
        let text = template.render_with_tools(&messages, &self.tools);
        text.map_err(|error| ApiError::field("messages", &error.to_string()))
    }
}

/// Reads a turn whose content is a text, or a list of text parts; one with calls of tools may have none.
fn turn(value: &TemplateValue) -> Option<Turn> {
    let role = text(value, "role")?;
    let asked = field(value, "tool_calls").map_or_else(|| Some(Vec::new()), |it| elements(&it))?;
    let calls = asked.iter().map(ToolCall::read).collect::<Option<Vec<_>>>()?;
    let content = match field(value, "content") {
        Some(content) => match content.as_str() {
            Some(text) => text.to_owned(),
            None => {
                elements(&content)?.iter().map(|part| text(part, "text")).collect::<Option<_>>()?
            }
        },
        None if !calls.is_empty() => String::new(),
        None => return None,
    };
    let mut rendered: Vec<(&str, TemplateValue)> =
        vec![("role", role.as_str().into()), ("content", content.as_str().into())];
    if !calls.is_empty() {
        let told = asked.iter().map(|call| field(call, "id")).zip(&calls);
        rendered.push(("tool_calls", told.map(|(id, call)| rendered_call(id, call)).collect()));
    }
    for name in ["name", "tool_call_id", "reasoning_content"] {
        rendered.extend(text(value, name).map(|text| (name, text.into())));
    }
    let rendered = rendered.into_iter().collect();
    Some(Turn { role, content, calls, rendered })
}

/// A call as templates expect it: arguments are JSON where they are well-formed.
fn rendered_call(id: Option<TemplateValue>, call: &ToolCall) -> TemplateValue {
    let arguments = serde_json::from_str::<TemplateValue>(&call.arguments);
    let arguments = arguments.unwrap_or_else(|_| call.arguments.as_str().into());
    let function: TemplateValue =
        [("name", call.name.as_str().into()), ("arguments", arguments)].into_iter().collect();
    let id = id.unwrap_or_else(|| ().into());
    [("id", id), ("type", "function".into()), ("function", function)].into_iter().collect()
}
