//! `reward.custom`: what rewards responses in place of `reward.values`.

use messages::Problem;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Program or service that rewards responses.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RewardProgram {
    /// Program with its arguments. It runs as long as the run.
    Command(Vec<String>),
    /// Address to which responses are posted.
    Http(String),
    /// Python function, as `module:function`, run by the `python3` of the path.
    Python(String),
}

impl RewardProgram {
    /// A value that cannot be used.
    pub(super) fn problem(&self) -> Option<Problem> {
        let problem = |field: &str, value: String, expected: &str| {
            let (field, expected) = (format!("reward.custom.{field}"), expected.to_owned());
            Some(Problem { field, value, expected })
        };
        match self {
            Self::Command(words) if words.first().is_none_or(String::is_empty) => {
                problem("command", format!("{words:?}"), "a program and its arguments")
            }
            Self::Http(url)
                if url.strip_prefix("http://").is_none_or(str::is_empty)
                    || url.contains(char::is_whitespace) =>
            {
                problem("http", format!("{url:?}"), "http://HOST:PORT/PATH")
            }
            Self::Python(name)
                if name
                    .split_once(':')
                    .is_none_or(|(module, function)| module.is_empty() || function.is_empty()) =>
            {
                problem("python", format!("{name:?}"), "module:function")
            }
            _ => None,
        }
    }
}
