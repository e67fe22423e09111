//! Renders a conversation to one text by the model's own chat template.

mod guard;
mod guarded_filters;
mod program;
mod utc;

use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use messages::shown;
use minijinja::{Environment, Error as JinjaError, ErrorKind, context};
/// JSON as templates write it: objects keep the order of their fields, and models were trained on that.
pub use minijinja::{Value as TemplateValue, value::ValueKind};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use thiserror::Error;
use whole_file::{LONGEST_TEXT_BYTES, read_text_at_most};

use self::program::Program;
use self::utc::format_utc;
use crate::library_panic::caught;
use crate::text_tokenizer::{TokenizerError, read_json, token_text};

/// Longest problem of a template within a message, in characters: a template may write it.
const LONGEST_PROBLEM: usize = 500;

/// Problem of a template on which the library panics.
const LIBRARY_FAILED: &str = "the template's library has failed, expected another template";

/// Why a chat template cannot be used.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ChatTemplateError {
    /// A file beside the template cannot be read.
    #[error(transparent)]
    File(#[from] TokenizerError),
    /// The file holds no template that this crate can read, or the template failed or refused the conversation.
    #[error("{}: {}", path.display(), shown(problem, LONGEST_PROBLEM))]
    Template {
        /// The file of the template.
        path: PathBuf,
        /// Problem and the expected value, or the template's message.
        problem: String,
    },
}

/// One turn of a conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Message {
    /// `system`, `user` or `assistant`.
    pub role: String,
    /// Text of the turn.
    pub content: String,
}

impl Message {
    /// Makes a turn of `role` with the text `content`.
    pub fn new(role: impl Into<String>, content: impl Into<String>) -> Self {
        Self { role: role.into(), content: content.into() }
    }
}

/// A model's Jinja chat template, ready to render.
///
/// Templates are programs of strangers. Source, nesting, steps, values, output and time of a rendering are bounded; a
/// template beyond a bound is an error.
#[derive(Debug)]
pub struct ChatTemplate {
    environment: Environment<'static>,
    program: Program,
    path: PathBuf,
    bos_token: String,
    eos_token: String,
}

/// Steps of a rendering; a turn of a usual template takes some fifty.
const MOST_STEPS: u64 = 1 << 22;

/// Deepest blocks and calls; a macro's call counts as several. The stack of a thread has room for it.
const DEEPEST_CALLS: usize = 120;

impl ChatTemplate {
    /// Reads `chat_template.jinja`, else `chat_template` of `tokenizer_config.json` (a string, or a list of
    /// `{name, template}` of which `default` is taken). `None` where the model has no template.
    ///
    /// # Errors
    ///
    /// [`ChatTemplateError`], naming the file.
    pub fn load(dir: &Path) -> Result<Option<Self>, ChatTemplateError> {
        let config_path = dir.join("tokenizer_config.json");
        let config = read_json(&config_path)?.unwrap_or_default();
        let jinja_path = dir.join("chat_template.jinja");
        let (path, source) = match read_text_at_most(&jinja_path, LONGEST_TEXT_BYTES) {
            Ok(source) => (jinja_path, source),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                match template_of(&config["chat_template"]) {
                    Ok(None) => return Ok(None),
                    Ok(Some(source)) => (config_path, source.to_owned()),
                    Err(problem) => {
                        let problem = problem.to_owned();
                        return Err(ChatTemplateError::Template { path: config_path, problem });
                    }
                }
            }
            Err(error) => return Err(TokenizerError::of(&jinja_path)(error).into()),
        };
        let mut environment = Environment::new();
        environment.set_debug(false);
        environment.set_recursion_limit(DEEPEST_CALLS);
        environment.set_fuel(Some(MOST_STEPS));
        guard::install(&mut environment);
        guarded_filters::install(&mut environment);
        environment.add_function(
            "raise_exception",
            |message: String| -> Result<String, JinjaError> {
                Err(JinjaError::new(ErrorKind::InvalidOperation, message))
            },
        );
        environment.add_function("strftime_now", |format: String| {
            let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs());
            format_utc(&format, now)
        });
        let program = caught(|| Program::compile(source))
            .unwrap_or_else(|| Err(LIBRARY_FAILED.to_owned()))
            .map_err(|problem| ChatTemplateError::Template {
                path: path.clone(),
                problem: format!("not a Jinja template: {problem}"),
            })?;
        let token = |name: &str| token_text(&config[name]).unwrap_or_default().to_owned();
        let [bos_token, eos_token] = ["bos_token", "eos_token"].map(token);
        Ok(Some(Self { environment, program, path, bos_token, eos_token }))
    }

    /// Returns the text of a conversation; `add_generation_prompt` opens the assistant's turn at its end.
    ///
    /// # Errors
    ///
    /// [`ChatTemplateError::Template`], with the message that the template passes to `raise_exception`.
    pub fn render(
        &self,
        messages: &[Message],
        add_generation_prompt: bool,
    ) -> Result<String, ChatTemplateError> {
        self.run(&TemplateValue::from_serialize(messages), None, add_generation_prompt)
    }

    /// Returns the text of a conversation with the assistant's turn opened at its end. Turns are objects with `role`, `content`
    /// and further fields; `tools` is what the assistant may call, in OpenAI's format.
    ///
    /// # Errors
    ///
    /// Those of [`render`](Self::render).
    pub fn render_with_tools(
        &self,
        messages: &[TemplateValue],
        tools: &[TemplateValue],
    ) -> Result<String, ChatTemplateError> {
        let tools = (!tools.is_empty()).then(|| TemplateValue::from(tools.to_vec()));
        self.run(&TemplateValue::from(messages.to_vec()), tools.as_ref(), true)
    }

    fn run(
        &self,
        messages: &TemplateValue,
        tools: Option<&TemplateValue>,
        add_generation_prompt: bool,
    ) -> Result<String, ChatTemplateError> {
        let values = context! {
            messages => messages,
            tools => tools,
            add_generation_prompt => add_generation_prompt,
            bos_token => self.bos_token,
            eos_token => self.eos_token,
        };
        let failed = |problem: String| ChatTemplateError::Template {
            path: self.path.clone(),
            problem: format!("chat template: {problem}"),
        };
        caught(|| self.program.run(&self.environment, values))
            .ok_or_else(|| failed(LIBRARY_FAILED.to_owned()))?
            .map_err(|error| failed(error.to_string()))
    }
}

/// Returns the template of the `chat_template` field: a string, or the list item named `default`.
fn template_of(field: &Value) -> Result<Option<&str>, &'static str> {
    match field {
        Value::Null => Ok(None),
        Value::String(source) => Ok(Some(source)),
        Value::Array(list) => list
            .iter()
            .find(|entry| entry["name"] == "default")
            .and_then(|entry| entry["template"].as_str())
            .map(Some)
            .ok_or("chat_template is a list without a template named \"default\""),
        _ => {
            Err("chat_template has the wrong type, expected a string or a list of {name, template}")
        }
    }
}
