//! `rollout.engine`: what samples responses.

use std::str::FromStr;

use rl_losses::RolloutCorrection;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use messages::Problem;

/// Sampler of the responses that a run trains on; the trainer itself samples evaluations.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[expect(clippy::large_enum_variant, reason = "a run has one")]
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
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct OpenaiEngine {
    /// Address of the engine, without `/v1` and final slash; not encrypted. Use it on this machine
    /// or behind a proxy.
    pub url: String,
    /// Model name in requests; empty takes the first of `/v1/models`.
    pub model: String,
    /// Requests at a time, one per prompt.
    #[schemars(range(min = 1, max = 1024))]
    pub concurrency: usize,
    /// Longest wait for one answer.
    #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 86_400))]
    pub timeout_seconds: f64,
    /// Resends after a lost connection, a full queue (429) or a server error (5xx), 0.5, 1, 2, … s
    /// later.
    #[schemars(range(max = 20))]
    pub retries: usize,
    /// Path of the request that makes the engine load weights.
    pub reload_path: String,
    /// Field of that request for the directory of the weights.
    pub reload_field: String,
    /// Directory for the weights that the engine reads; empty takes `engine-weights` in the run's
    /// directory.
    pub weights_directory: String,
    /// Weigh tokens by importance, `old_log_prob` against the engine's log-probability.
    pub corrected: bool,
    /// Importance correction: `level` (`"token"`, `"sequence"` or `"geometric"`), `bound`, division
    /// by the mean (`normalise`), `veto` and `reject`. `bound` is `{ truncate = { low, high } }`,
    /// `{ mask = { low, high } }`, `{ reject = { low, high } }` or `"off"`. A response with a token
    /// whose ratio is below `veto` weighs 0. `reject` leaves tokens or responses out besides: `"off"`,
    /// `{ ratio = { level, low, high } }` or `{ divergence = { estimator, over, high } }`, with the
    /// estimator `"k2"` or `"k3"` over `"token"`, `"sum"`, `"mean"` or `"max"`.
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
        let named = |field: &str| format!("rollout.engine.openai.{field}");
        let url = &engine.url;
        let good = url.strip_prefix("http://").is_some_and(|host| {
            !host.is_empty() && !host.ends_with('/') && !host.contains(char::is_whitespace)
        });
        require(
            good,
            &named("url"),
            format!("{url:?}"),
            "http://HOST:PORT, without a slash at its end",
        );
        let path = &engine.reload_path;
        require(path.starts_with('/'), &named("reload_path"), format!("{path:?}"), "a path from /");
        let field = &engine.reload_field;
        require(
            !field.is_empty(),
            &named("reload_field"),
            "\"\"".to_owned(),
            "the name of a field",
        );
        let expected = "\"own\" where rollout.top_k, top_p or min_p leaves tokens out: it would have to say which";
        require(!truncates, "rollout.engine", "\"openai\"".to_owned(), expected);
        let expected = "\"own\" where [lora] is given: the engine loads whole models";
        require(!has_adapter, "rollout.engine", "\"openai\"".to_owned(), expected);
        problems
    }
}
