//! `rollout.engine`: what samples responses.

use std::str::FromStr;

use rl_losses::RolloutCorrection;
use serde::{Deserialize, Serialize};

use messages::Problem;

/// What samples the responses that a run trains on; evaluations are always the trainer's own.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RolloutEngine {
    /// The trainer itself, with the weights it trains.
    #[default]
    Own,
    /// Another process with OpenAI's interface, which is sent the weights.
    Openai(OpenaiEngine),
}

impl FromStr for RolloutEngine {
    type Err = String;

    /// An engine by its name in a configuration; its settings have their defaults.
    fn from_str(name: &str) -> Result<Self, String> {
        match name {
            "own" => Ok(Self::Own),
            "openai" => Ok(Self::Openai(OpenaiEngine::default())),
            other => Err(format!("engine is {other:?}, expected \"own\" or \"openai\"")),
        }
    }
}

/// Settings of [`RolloutEngine::Openai`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct OpenaiEngine {
    /// Where it listens, without `/v1`.
    pub url: String,
    /// What requests call the model; empty takes the first of `/v1/models`.
    pub model: String,
    /// Requests at once, one a prompt.
    pub concurrency: usize,
    /// Longest wait for one answer.
    pub timeout_seconds: f64,
    /// How often a request is sent again that has failed for no fault of its own.
    pub retries: usize,
    /// Path of the request that makes it load the weights.
    pub reload_path: String,
    /// Name of the field of that request that holds the path of the weights.
    pub reload_field: String,
    /// Folder that the weights are written to; empty takes `engine-weights` in the folder of the run.
    pub weights_directory: String,
    /// Whether tokens weigh by how far the engine is from the trainer.
    pub corrected: bool,
    /// How they do.
    pub correction: RolloutCorrection,
}

impl Default for OpenaiEngine {
    fn default() -> Self {
        Self {
            url: "http://127.0.0.1:8000".to_owned(),
            model: String::new(),
            concurrency: 8,
            timeout_seconds: 600.0,
            retries: 3,
            reload_path: "/v1/reload".to_owned(),
            reload_field: "path".to_owned(),
            weights_directory: String::new(),
            corrected: true,
            correction: RolloutCorrection::default(),
        }
    }
}

impl RolloutEngine {
    /// How tokens are weighed, if they are.
    pub fn correction(&self) -> Option<RolloutCorrection> {
        match self {
            Self::Openai(engine) if engine.corrected => Some(engine.correction),
            _ => None,
        }
    }

    /// Values out of range; `truncates` where some tokens are never drawn, `has_adapter` where `[lora]` is given.
    pub(super) fn problems(&self, truncates: bool, has_adapter: bool) -> Vec<Problem> {
        let Self::Openai(engine) = self else { return Vec::new() };
        let mut problems = Vec::new();
        let mut require = |good: bool, field: &str, value: String, expected: &str| {
            if !good {
                let (field, expected) = (field.to_owned(), expected.to_owned());
                problems.push(Problem { field, value, expected });
            }
        };
        let of = |field: &str| format!("rollout.engine.openai.{field}");
        let url = &engine.url;
        let good = url.strip_prefix("http://").is_some_and(|host| {
            !host.is_empty() && !host.ends_with('/') && !host.contains(char::is_whitespace)
        });
        require(
            good,
            &of("url"),
            format!("{url:?}"),
            "http://HOST:PORT, without a slash at its end",
        );
        let (count, wait) = (engine.concurrency, engine.timeout_seconds);
        require(
            (1..=1024).contains(&count),
            &of("concurrency"),
            count.to_string(),
            "1 to 1024 requests at once",
        );
        let good = wait.is_finite() && wait > 0.0 && wait <= 86_400.0;
        require(good, &of("timeout_seconds"), wait.to_string(), "above 0 and at most 86400");
        let retries = engine.retries;
        require(retries <= 20, &of("retries"), retries.to_string(), "at most 20");
        let path = &engine.reload_path;
        require(path.starts_with('/'), &of("reload_path"), format!("{path:?}"), "a path from /");
        let field = &engine.reload_field;
        require(!field.is_empty(), &of("reload_field"), "\"\"".to_owned(), "the name of a field");
        let expected = "\"own\" where rollout.top_k, top_p or min_p leaves tokens out: it would have to say which";
        require(!truncates, "rollout.engine", "\"openai\"".to_owned(), expected);
        let expected = "\"own\" where [lora] is given: the engine loads whole models";
        require(!has_adapter, "rollout.engine", "\"openai\"".to_owned(), expected);
        problems
    }
}
