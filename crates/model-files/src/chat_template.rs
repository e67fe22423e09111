//! Renders a conversation to one text by the model's own chat template.

use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use minijinja::{Environment, Error as JinjaError, ErrorKind, context};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use thiserror::Error;
use whole_file::{LONGEST_TEXT_BYTES, read_text_at_most};

use crate::text_tokenizer::{TokenizerError, read_json, token_text};

/// Why a chat template cannot be used.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ChatTemplateError {
    /// The file holds no template that this crate can read.
    #[error("{}: {problem}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// Problem, and the expected value.
        problem: String,
    },
    /// A file beside the template cannot be read.
    #[error(transparent)]
    File(#[from] TokenizerError),
    /// The template failed or refused the conversation.
    #[error("{}: {problem}", path.display())]
    Render {
        /// The file the template came from.
        path: PathBuf,
        /// The template's message.
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
#[derive(Debug)]
pub struct ChatTemplate {
    environment: Environment<'static>,
    path: PathBuf,
    bos_token: String,
    eos_token: String,
}

const NAME: &str = "chat_template";

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
                        return Err(ChatTemplateError::Malformed { path: config_path, problem });
                    }
                }
            }
            Err(source) => return Err(TokenizerError::Read { path: jinja_path, source }.into()),
        };
        let token = |name: &str| token_text(&config[name]).unwrap_or_default().to_owned();
        Self::new(path, source, token("bos_token"), token("eos_token")).map(Some)
    }

    fn new(
        path: PathBuf,
        source: String,
        bos_token: String,
        eos_token: String,
    ) -> Result<Self, ChatTemplateError> {
        let mut environment = Environment::new();
        // Set up as in `transformers`: the line break after a block tag is removed.
        environment.set_trim_blocks(true);
        environment.set_lstrip_blocks(true);
        environment
            .set_unknown_method_callback(minijinja_contrib::pycompat::unknown_method_callback);
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
        environment.add_template_owned(NAME, source).map_err(|error| {
            ChatTemplateError::Malformed {
                path: path.clone(),
                problem: format!("not a Jinja template: {error}"),
            }
        })?;
        Ok(Self { environment, path, bos_token, eos_token })
    }

    /// Returns the text of a conversation; `add_generation_prompt` opens the assistant's turn at its end.
    ///
    /// # Errors
    ///
    /// [`ChatTemplateError::Render`], with the message that the template passes to `raise_exception`.
    pub fn render(
        &self,
        messages: &[Message],
        add_generation_prompt: bool,
    ) -> Result<String, ChatTemplateError> {
        let values = context! {
            messages => messages,
            add_generation_prompt => add_generation_prompt,
            bos_token => self.bos_token,
            eos_token => self.eos_token,
        };
        self.environment.get_template(NAME).and_then(|template| template.render(values)).map_err(
            |error| ChatTemplateError::Render {
                path: self.path.clone(),
                problem: format!("chat template: {error}"),
            },
        )
    }
}

/// Returns the template of the `chat_template` field: a string, or the list item named `default`.
fn template_of(field: &Value) -> Result<Option<&str>, String> {
    match field {
        Value::Null => Ok(None),
        Value::String(source) => Ok(Some(source)),
        Value::Array(list) => list
            .iter()
            .find(|entry| entry["name"] == "default")
            .and_then(|entry| entry["template"].as_str())
            .map(Some)
            .ok_or_else(|| {
                "chat_template is a list without a template named \"default\"".to_owned()
            }),
        _ => {
            Err("chat_template has the wrong type, expected a string or a list of {name, template}"
                .to_owned())
        }
    }
}

/// Formats a time in UTC, for the `strftime` fields that chat templates use (`%d %e %m %b %B %a %A %Y %y %H %M %S %%`).
fn format_utc(format: &str, unix_seconds: u64) -> String {
    const MONTHS: [&str; 12] = [
        "January",
        "February",
        "March",
        "April",
        "May",
        "June",
        "July",
        "August",
        "September",
        "October",
        "November",
        "December",
    ];
    const DAYS: [&str; 7] =
        ["Thursday", "Friday", "Saturday", "Sunday", "Monday", "Tuesday", "Wednesday"];
    let days = unix_seconds / 86_400;
    let seconds = unix_seconds % 86_400;
    let (year, month, day) = civil_date(days);
    let month_name = MONTHS[usize::try_from(month - 1).expect("a month is 1..=12")];
    let day_name = DAYS[usize::try_from(days % 7).expect("a week has 7 days")];
    let mut text = String::new();
    let mut characters = format.chars();
    while let Some(character) = characters.next() {
        if character != '%' {
            text.push(character);
            continue;
        }
        let field = match characters.next() {
            Some('d') => format!("{day:02}"),
            Some('e') => format!("{day:2}"),
            Some('m') => format!("{month:02}"),
            Some('b') => month_name[..3].to_owned(),
            Some('B') => month_name.to_owned(),
            Some('a') => day_name[..3].to_owned(),
            Some('A') => day_name.to_owned(),
            Some('Y') => year.to_string(),
            Some('y') => format!("{:02}", year % 100),
            Some('H') => format!("{:02}", seconds / 3600),
            Some('M') => format!("{:02}", seconds / 60 % 60),
            Some('S') => format!("{:02}", seconds % 60),
            Some('%') | None => "%".to_owned(),
            Some(other) => format!("%{other}"),
        };
        text.push_str(&field);
    }
    text
}

/// Returns year, month and day of a day counted from 1970-01-01 (Gregorian).
///
/// Source: Hinnant, *chrono-compatible low-level date algorithms*, `civil_from_days`, for days ≥ 0.
fn civil_date(days: u64) -> (u64, u64, u64) {
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    (400 * era + year_of_era + u64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The expected dates come from `date -u`.
    #[test]
    fn dates_are_those_of_the_calendar() {
        let recorded = [
            (0, "01 Jan 1970, Thursday 00:00:00"),
            (951_827_696, "29 Feb 2000, Tuesday 12:34:56"),
            (1_735_689_599, "31 Dec 2024, Tuesday 23:59:59"),
        ];
        for (seconds, expected) in recorded {
            assert_eq!(format_utc("%d %b %Y, %A %H:%M:%S", seconds), expected);
        }
    }
}
