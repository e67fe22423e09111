//! `[rollout]`: what samples responses, and how.

use model_files::sampling::Sampling;
use rl_losses::RolloutCorrection;
use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::error::{Problems, written};
use model_files::section;

section! {
    /// `[rollout]`
    #[schemars(transform = with_sampling_meanings)]
    pub struct RolloutSection {
        /// Questions of one training step.
        #[schemars(range(min = 1, max = 1_048_576))]
        pub prompts_per_step: usize = 32,
        /// Responses sampled to each question; at least 2 if the advantage compares them.
        #[schemars(range(min = 1, max = 1_048_576))]
        pub group_size: usize = 8,
        /// Longest response, in tokens, end-of-sequence token included.
        #[schemars(range(min = 1, max = 16_777_216))]
        pub max_response_tokens: usize = 1024,
        /// Softmax temperature of sampling, log-probabilities and entropy.
        #[schemars(range(min = Sampling::LEAST_TEMPERATURE))]
        pub temperature: f64 = Sampling::DEFAULT.temperature,
        /// [`Sampling::top_k`] (`docs/rollout.md#truncated-sampling`). If sampling leaves tokens out,
        /// all log-probabilities (current, old, reference) are taken over the tokens kept. The entropy
        /// stays that of the whole vocabulary.
        pub top_k: usize = Sampling::DEFAULT.top_k,
        /// [`Sampling::top_p`].
        pub top_p: f64 = Sampling::DEFAULT.top_p,
        /// [`Sampling::min_p`].
        pub min_p: f64 = Sampling::DEFAULT.min_p,
        /// Texts that end a response, besides end-of-sequence tokens. The verifier reads the response
        /// without them; their tokens stay and are trained on. They are found across token boundaries.
        pub stop: Vec<String> = Vec::new(),
        /// Token ids that end a response, besides those of the model.
        pub stop_token_ids: Vec<u32> = Vec::new(),
        /// Sequences that decode together; changes speed and memory, never the tokens drawn. When one
        /// ends, the next takes its place. Each needs memory for the longest prompt and
        /// `max_response_tokens`.
        #[schemars(range(min = 1, max = 65_536))]
        pub rows: usize = 64,
        /// Decode on the CPU by matrix products made for few rows. A row gives the same bits whatever
        /// decodes beside it. With many rows it is faster or slower than libtorch, depending on the
        /// processor.
        pub cpu_kernels: bool = false,
        /// Mixtures of experts: the policy's passes use the experts that drew each token, weighted by
        /// the router as it is now (`docs/rollout.md#mixtures-of-experts`). Other engines and harnesses
        /// do not return them; then the updates of a step use those of the pass before the first one.
        pub routing_replay: bool = true,
        /// Sampler: `"own"`, the trainer itself, or the servers of `"vllm"`, `"sglang"`, `"llm-trainer"`
        /// or `"openai"` (`docs/rollout.md#other-engines`), which are sent the weights after each update.
        pub engine: RolloutEngine = RolloutEngine::Own,
        /// The servers of an engine that is not the trainer.
        pub servers: EngineServers = EngineServers::default(),
        /// Steps that sampling may be ahead of the policy: servers sample the responses of later steps
        /// while a step updates. Those responses then enter the loss with their log-probabilities as
        /// sampled. 0 with `"own"`.
        #[schemars(range(max = 16))]
        pub staleness: u64 = 0,
        /// Importance correction of tokens, `old_log_prob` against the log-probability as sampled; none
        /// with `"own"` unless given. `level` is `"token"`, `"sequence"` or `"geometric"`; `normalise`
        /// divides by the mean.
        ///
        /// `bound` is `{ truncate = { low, high } }`, `{ mask = { low, high } }`, `{ reject = { low,
        /// high } }` or `"off"`. A response with a token whose ratio is below `veto` weighs 0. `reject`
        /// leaves tokens or responses out besides: `"off"`, `{ ratio = { level, low, high } }` or
        /// `{ divergence = { estimator, over, high } }`, with the estimator `"k2"` or `"k3"` over
        /// `"token"`, `"sum"`, `"mean"` or `"max"`.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub correction: Option<RolloutCorrection> = None,
        /// Harness that plays turns and tools with the policy, and rewards them; none by default
        /// ([turns and tools](rollout.md#turns-and-tools)).
        #[serde(skip_serializing_if = "Option::is_none")]
        pub environment: Option<EnvironmentSection> = None,
    }
}

impl RolloutSection {
    /// The distribution that tokens are drawn from.
    pub fn sampling(&self) -> Sampling {
        let &Self { temperature, top_k, top_p, min_p, .. } = self;
        Sampling { temperature, top_k, top_p, min_p }
    }

    /// Checks the servers; `has_adapter` where `[lora]` is given.
    pub(super) fn check_servers(&self, has_adapter: bool, problems: &mut Problems) {
        let (engine, staleness, servers) = (self.engine, self.staleness, &self.servers);
        let named = |field: &str| format!("rollout.servers.{field}");
        let is_address = |url: &&String| {
            url.strip_prefix("http://").is_some_and(|host| {
                !host.is_empty() && !host.ends_with('/') && !host.contains(char::is_whitespace)
            })
        };
        let expected = "http://HOST:PORT, without a slash at its end";
        let urls = &servers.urls;
        for url in urls.iter().filter(|url| !is_address(url)) {
            problems.require(false, &named("urls"), url, expected);
        }
        problems.require(!urls.is_empty(), &named("urls"), urls, "at least one address");
        let repeated = urls.iter().enumerate().find(|(i, url)| urls[..*i].contains(url));
        if let Some((_, url)) = repeated {
            problems.require(false, &named("urls"), url, "each address once");
        }
        let path = &servers.reload_path;
        problems.require(path.starts_with('/'), &named("reload_path"), path, "a path from /");
        let fits = servers.reload_body.contains("{path}") && servers.reload_request("").is_some();
        let expected = "JSON in which a text holds {path}";
        problems.require(fits, &named("reload_body"), &servers.reload_body, expected);
        let continues = servers.in_flight == InFlight::Continue;
        let fits = !continues || (engine == RolloutEngine::Vllm && staleness > 1);
        let expected = "\"finish\", or rollout.engine = \"vllm\" and rollout.staleness at least 2";
        problems.require(fits, &named("in_flight"), "continue", expected);
        let can_sleep = matches!(engine, RolloutEngine::Vllm | RolloutEngine::Sglang);
        let fits = !servers.sleeps || (can_sleep && staleness == 0);
        let expected =
            "false, or rollout.engine = \"vllm\" or \"sglang\" and rollout.staleness = 0";
        problems.require(fits, &named("sleeps"), true, expected);
        let mut require_engine = |good: bool, expected: &str| {
            problems.add_unless(good, "rollout.engine", written(&engine), expected);
        };
        if engine == RolloutEngine::Own {
            let expected = "the engine whose servers [rollout.servers] names";
            return require_engine(*servers == EngineServers::default(), expected);
        }
        let expected = "\"own\" where rollout.top_k, top_p or min_p leaves tokens out: a server would have to say which";
        require_engine(!self.sampling().truncates(), expected);
        let takes_adapter = !has_adapter || engine != RolloutEngine::Openai;
        let expected = "\"vllm\", \"sglang\", \"llm-trainer\" or \"own\" where [lora] is given: how others load an adapter is not known";
        require_engine(takes_adapter, expected);
    }
}

/// Puts the meaning of each sampling option in place of the link to it.
fn with_sampling_meanings(section: &mut Schema) {
    for option in ["top_k", "top_p", "min_p"] {
        let text = section.pointer_mut(&format!("/properties/{option}/description"));
        if let Some(Value::String(text)) = text {
            *text = text.replace(&format!("[`Sampling::{option}`]"), &Sampling::meaning(option));
        }
    }
}

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

section! {
    /// `[rollout.servers]`: the processes of a [`RolloutEngine`] other than the trainer.
    pub struct EngineServers {
        /// Addresses of the servers, each without `/v1` and final slash; not encrypted. Requests go to
        /// the one with the fewest. One that does not answer is left out until the next step.
        pub urls: Vec<String> = vec!["http://127.0.0.1:8000".to_owned()],
        /// Model name in requests; empty takes the first of `/v1/models`.
        pub model: String = String::new(),
        /// Requests at a time of one rank, for each address; a request is one prompt.
        #[schemars(range(min = 1, max = 1024))]
        pub concurrency: usize = 32,
        /// Longest wait for one answer, and for a place in a full queue (429).
        #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 86_400))]
        pub timeout_seconds: f64 = 600.0,
        /// Resends to an address after a lost connection or a server error (5xx), 0.5, 1, 2, … s later.
        #[schemars(range(max = 20))]
        pub retries: usize = 3,
        /// Directory for the weights that the servers read; empty takes `engine-weights` in the run's
        /// directory.
        pub weights_directory: String = String::new(),
        /// Let the servers sample evaluations too.
        pub evaluations: bool = false,
        /// Requests that are not answered when weights are sent: `"finish"` waits for them, `"continue"`
        /// (vLLM, with `rollout.staleness` of 2 or more) draws their further tokens with the new ones.
        pub in_flight: InFlight = InFlight::default(),
        /// Let the servers release their memory while the trainer uses the same devices: vLLM with
        /// `--enable-sleep-mode`, SGLang with `--enable-memory-saver`.
        pub sleeps: bool = false,
        /// `"openai"`: path of the request that makes a server load weights.
        pub reload_path: String = "/v1/reload".to_owned(),
        /// `"openai"`: body of that request, JSON in which `{path}` stands for the weights' directory.
        pub reload_body: String = r#"{"path": "{path}"}"#.to_owned(),
    }
}

impl EngineServers {
    /// Body of the request that makes a server load the weights in `directory`; `None` if the template is no JSON.
    pub fn reload_request(&self, directory: &str) -> Option<serde_json::Value> {
        let quoted = serde_json::Value::from(directory).to_string();
        let body = self.reload_body.replace("{path}", &quoted[1..quoted.len() - 1]);
        serde_json::from_str(&body).ok()
    }
}

section! {
    /// `[rollout.environment]`
    pub struct EnvironmentSection {
        /// Harness with its arguments. It reads a rollout a line, plays it at the address given there,
        /// and writes a line with its reward.
        pub command: Vec<String> = Vec::new(),
        /// Harnesses that play at a time, each one rollout; they last as long as the run. Changes speed
        /// and memory, and with `rollout.cpu_kernels` no token.
        #[schemars(range(min = 1, max = 4096))]
        pub workers: usize = 16,
        /// Most requests of one rollout.
        #[schemars(range(min = 1, max = 10_000))]
        pub max_turns: u64 = 8,
        /// Most tokens of a prompt and its answer. Each of `rollout.rows` needs memory for them.
        #[schemars(range(min = 2, max = 16_777_216))]
        pub context_tokens: usize = 4096,
        /// Longest time of one rollout, waits for the policy included; then its harness is stopped.
        #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 86_400))]
        pub timeout_seconds: f64 = 600.0,
    }
}
