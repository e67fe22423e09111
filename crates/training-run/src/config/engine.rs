//! `rollout.engine` and `[rollout.servers]`: what samples responses.

use messages::Problem;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Sampler of the responses that a run trains on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RolloutEngine {
    /// The trainer itself, with the weights it trains.
    #[default]
    Own,
    /// `vllm serve`, with `VLLM_SERVER_DEV_MODE=1`.
    Vllm,
    /// `python -m sglang.launch_server`.
    Sglang,
    /// `llm-trainer serve`.
    LlmTrainer,
    /// Any other server with OpenAI's interface for completions.
    Openai,
}

/// Requests that servers still answer when weights are sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum InFlight {
    /// They end first: one policy draws all tokens of a response.
    #[default]
    Finish,
    /// They go on with the new weights; vLLM alone.
    Continue,
}

/// `[rollout.servers]`: the processes of a [`RolloutEngine`] other than the trainer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct EngineServers {
    /// Addresses of the servers, each without `/v1` and final slash; not encrypted. Requests go to
    /// the one with the fewest. One that does not answer is left out until the next step.
    pub urls: Vec<String>,
    /// Model name in requests; empty takes the first of `/v1/models`.
    pub model: String,
    /// Requests at a time of one rank, for each address; a request is one prompt.
    #[schemars(range(min = 1, max = 1024))]
    pub concurrency: usize,
    /// Longest wait for one answer, and for a place in a full queue (429).
    #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 86_400))]
    pub timeout_seconds: f64,
    /// Resends to an address after a lost connection or a server error (5xx), 0.5, 1, 2, … s later.
    #[schemars(range(max = 20))]
    pub retries: usize,
    /// Directory for the weights that the servers read; empty takes `engine-weights` in the run's
    /// directory.
    pub weights_directory: String,
    /// Let the servers sample evaluations too.
    pub evaluations: bool,
    /// Requests that are not answered when weights are sent: `"finish"` waits for them, `"continue"`
    /// (vLLM, with `rollout.staleness` of 2 or more) draws their further tokens with the new ones.
    pub in_flight: InFlight,
    /// Let the servers release their memory while the trainer uses the same devices: vLLM with
    /// `--enable-sleep-mode`, SGLang with `--enable-memory-saver`.
    pub sleeps: bool,
    /// `"openai"`: path of the request that makes a server load weights.
    pub reload_path: String,
    /// `"openai"`: body of that request, JSON in which `{path}` stands for the weights' directory.
    pub reload_body: String,
}

impl Default for EngineServers {
    fn default() -> Self {
        Self {
            urls: vec!["http://127.0.0.1:8000".to_owned()],
            model: String::new(),
            concurrency: 32,
            timeout_seconds: 600.0,
            retries: 3,
            weights_directory: String::new(),
            evaluations: false,
            in_flight: InFlight::default(),
            sleeps: false,
            reload_path: "/v1/reload".to_owned(),
            reload_body: r#"{"path": "{path}"}"#.to_owned(),
        }
    }
}

impl EngineServers {
    /// Body of the request that makes a server load the weights in `directory`; `None` if the template is no JSON.
    pub fn reload_request(&self, directory: &str) -> Option<serde_json::Value> {
        let quoted = serde_json::Value::from(directory).to_string();
        let body = self.reload_body.replace("{path}", quoted.trim_matches('"'));
        serde_json::from_str(&body).ok()
    }

    /// Values out of range for `engine`; `truncates` where some tokens are never drawn, `has_adapter` where `[lora]` is given.
    pub(super) fn problems(
        &self,
        engine: RolloutEngine,
        staleness: u64,
        truncates: bool,
        has_adapter: bool,
    ) -> Vec<Problem> {
        let mut problems = Vec::new();
        let mut require = |good: bool, field: &str, value: String, expected: &str| {
            if !good {
                let (field, expected) = (field.to_owned(), expected.to_owned());
                problems.push(Problem { field, value, expected });
            }
        };
        let named = |field: &str| format!("rollout.servers.{field}");
        let is_address = |url: &&String| {
            url.strip_prefix("http://").is_some_and(|host| {
                !host.is_empty() && !host.ends_with('/') && !host.contains(char::is_whitespace)
            })
        };
        let expected = "http://HOST:PORT, without a slash at its end";
        for url in self.urls.iter().filter(|url| !is_address(url)) {
            require(false, &named("urls"), format!("{url:?}"), expected);
        }
        require(!self.urls.is_empty(), &named("urls"), "[]".to_owned(), "at least one address");
        let repeated = self.urls.iter().enumerate().find(|(i, url)| self.urls[..*i].contains(url));
        if let Some((_, url)) = repeated {
            require(false, &named("urls"), format!("{url:?}"), "each address once");
        }
        let path = &self.reload_path;
        require(path.starts_with('/'), &named("reload_path"), format!("{path:?}"), "a path from /");
        let fits = self.reload_body.contains("{path}") && self.reload_request("").is_some();
        let body = format!("{:?}", self.reload_body);
        require(fits, &named("reload_body"), body, "JSON in which a text holds {path}");
        let chosen = serde_json::to_string(&engine).unwrap_or_default();
        let continues = self.in_flight == InFlight::Continue;
        let fits = !continues || (engine == RolloutEngine::Vllm && staleness > 1);
        let expected = "\"finish\", or rollout.engine = \"vllm\" and rollout.staleness at least 2";
        require(fits, &named("in_flight"), "\"continue\"".to_owned(), expected);
        let can_sleep = matches!(engine, RolloutEngine::Vllm | RolloutEngine::Sglang);
        let fits = !self.sleeps || (can_sleep && staleness == 0);
        let expected =
            "false, or rollout.engine = \"vllm\" or \"sglang\" and rollout.staleness = 0";
        require(fits, &named("sleeps"), "true".to_owned(), expected);
        if engine == RolloutEngine::Own {
            let expected = "the engine whose servers [rollout.servers] names";
            require(*self == Self::default(), "rollout.engine", chosen, expected);
            return problems;
        }
        let expected = "\"own\" where rollout.top_k, top_p or min_p leaves tokens out: a server would have to say which";
        require(!truncates, "rollout.engine", chosen.clone(), expected);
        let takes_adapter = !has_adapter || engine != RolloutEngine::Openai;
        let expected = "\"vllm\", \"sglang\", \"llm-trainer\" or \"own\" where [lora] is given: how others load an adapter is not known";
        require(takes_adapter, "rollout.engine", chosen, expected);
        problems
    }
}
