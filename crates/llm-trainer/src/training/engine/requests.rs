//! The requests that each engine understands: responses to a prompt, other weights, and log-probabilities of given tokens.

use counter_rng::{NoiseKey, uniform};
use decoder::generation::{GenerationOptions, PromptRequest};
use serde_json::{Value, json};
use training_run::config::{EngineServers, RolloutEngine};

use super::servers::Request;

/// Name of the adapter that the trainer sends.
const ADAPTER: &str = "policy";

#[derive(Debug, Clone)]
pub(super) struct Requests {
    pub(super) engine: RolloutEngine,
    pub(super) model: String,
    /// True if the weights that are sent are those of an adapter.
    pub(super) has_adapter: bool,
    /// True if responses are streamed, and go on while weights are loaded.
    pub(super) streams: bool,
    /// Texts that end a response.
    pub(super) stop: Vec<String>,
}

/// A request that is part of a reload.
pub(super) struct ReloadRequest {
    pub(super) request: Request,
    /// Field of the answer that has to be true.
    pub(super) succeeds: Option<&'static str>,
    pub(super) may_fail: bool,
}

impl Requests {
    pub(super) fn responses(
        &self,
        prompt: PromptRequest<'_>,
        options: &GenerationOptions,
    ) -> Request {
        if self.engine == RolloutEngine::Sglang {
            // Its seeds are those of single responses and hold only in its deterministic mode.
            return self.generate(json!({
                "input_ids": prompt.token_ids,
                "sampling_params": {
                    "n": options.samples,
                    "max_new_tokens": options.max_new_tokens,
                    "temperature": options.sampling.temperature,
                    "stop": self.stop,
                    "stop_token_ids": options.stop_ids,
                },
                "return_logprob": true,
            }));
        }
        // Other makes may take 0 for none.
        let log_probs = usize::from(self.engine == RolloutEngine::Openai);
        let body = json!({
            "model": self.served_model(),
            "prompt": prompt.token_ids,
            "n": options.samples,
            "max_tokens": options.max_new_tokens,
            "temperature": options.sampling.temperature,
            "seed": seed_of(prompt),
            "stop": self.stop,
            "stop_token_ids": options.stop_ids,
            "logprobs": log_probs,
            "return_token_ids": true,
            "stream": self.streams,
        });
        Request::post("/v1/completions", body)
    }

    /// Asks for the log-probability of each of `tokens` after those before it, at temperature 1; `None` if it is not known how.
    pub(super) fn score(&self, tokens: &[u32]) -> Option<Request> {
        match self.engine {
            RolloutEngine::Own | RolloutEngine::Openai => None,
            RolloutEngine::Sglang => Some(self.generate(json!({
                "input_ids": tokens,
                "sampling_params": { "max_new_tokens": 1, "temperature": 1.0 },
                "return_logprob": true,
                "logprob_start_len": 0,
            }))),
            RolloutEngine::Vllm | RolloutEngine::LlmTrainer => {
                let body = json!({
                    "model": self.served_model(),
                    "prompt": tokens,
                    "max_tokens": 0,
                    "echo": true,
                    "logprobs": 0,
                    "temperature": 1.0,
                });
                Some(Request::post("/v1/completions", body))
            }
        }
    }

    /// The requests, one after another, that make a server use the weights in `directory`.
    pub(super) fn reload(&self, directory: &str, settings: &EngineServers) -> Vec<ReloadRequest> {
        let step = |path: &str, body: Value, succeeds: Option<&'static str>| ReloadRequest {
            request: Request::post(path, body),
            succeeds,
            may_fail: false,
        };
        match (self.engine, self.has_adapter) {
            (RolloutEngine::Own, _) => Vec::new(),
            (RolloutEngine::LlmTrainer, _) => {
                vec![step("/v1/reload", json!({ "path": directory }), None)]
            }
            (RolloutEngine::Openai, _) => {
                let body = settings.reload_request(directory).unwrap_or_default();
                vec![step(&settings.reload_path, body, None)]
            }
            (RolloutEngine::Vllm, has_adapter) => {
                let load = if has_adapter {
                    let body = json!({ "lora_name": ADAPTER, "lora_path": directory, "load_inplace": true });
                    step("/v1/load_lora_adapter", body, None)
                } else {
                    let kwargs = json!({ "weights_path": directory });
                    let body = json!({ "method": "reload_weights", "kwargs": kwargs });
                    step("/collective_rpc", body, None)
                };
                // Keys and values under the former weights; running requests compute theirs again.
                let cache = if self.streams {
                    "/reset_prefix_cache?reset_running_requests=true"
                } else {
                    "/reset_prefix_cache"
                };
                vec![load, step(cache, json!({}), Some("success"))]
            }
            (RolloutEngine::Sglang, false) => {
                let body = json!({ "model_path": directory });
                vec![step("/update_weights_from_disk", body, Some("success"))]
            }
            (RolloutEngine::Sglang, true) => {
                let unload = step("/unload_lora_adapter", json!({ "lora_name": ADAPTER }), None);
                let body = json!({ "lora_name": ADAPTER, "lora_path": directory });
                vec![
                    // Before the first update there is none.
                    ReloadRequest { may_fail: true, ..unload },
                    step("/load_lora_adapter", body, Some("success")),
                ]
            }
        }
    }

    /// Stops drawing before weights are loaded, where requests go on over a reload.
    pub(super) fn pause(&self) -> Option<Request> {
        self.streams.then(|| Request::post("/pause?mode=keep", json!({})))
    }

    /// Draws on after [`pause`](Self::pause).
    pub(super) fn resume(&self) -> Option<Request> {
        self.streams.then(|| Request::post("/resume", json!({})))
    }

    /// Makes a server take its memory again if `takes`, else release it.
    pub(super) fn memory(&self, takes: bool) -> Request {
        let path = match (self.engine, takes) {
            (RolloutEngine::Sglang, false) => "/release_memory_occupation",
            (RolloutEngine::Sglang, true) => "/resume_memory_occupation",
            (_, false) => "/sleep?level=1",
            (_, true) => "/wake_up",
        };
        Request::post(path, json!({}))
    }

    fn generate(&self, mut body: Value) -> Request {
        if self.has_adapter {
            body["lora_path"] = ADAPTER.into();
        }
        Request::post("/generate", body)
    }

    fn served_model(&self) -> &str {
        let is_named = self.has_adapter && self.engine == RolloutEngine::Vllm;
        if is_named { ADAPTER } else { &self.model }
    }
}

/// A seed for the prompt: no sample of the trainer has this number.
fn seed_of(PromptRequest { key, .. }: PromptRequest<'_>) -> u64 {
    let noise = uniform(NoiseKey {
        seed: key.seed,
        step: key.step,
        prompt: key.prompt,
        sample: u64::MAX,
        position: 0,
    });
    // The noise's bits without the sign, as some engines read signed numbers.
    noise.to_bits()
}

#[cfg(test)]
mod tests {
    use decoder::generation::SamplingKey;

    use super::*;

    fn requests(engine: RolloutEngine, has_adapter: bool) -> Requests {
        let stop = vec!["x".to_owned()];
        Requests { engine, model: "m".to_owned(), has_adapter, streams: false, stop }
    }

    /// Paths and bodies of a reload of `/w`.
    fn reload(engine: RolloutEngine, has_adapter: bool) -> Vec<String> {
        let steps = requests(engine, has_adapter).reload("/w", &EngineServers::default());
        let words = |Request { path, body }| format!("{path} {}", body.unwrap_or_default());
        steps.into_iter().map(|step| words(step.request)).collect()
    }

    /// Requests that vLLM 0.32 answered with 200; those of SGLang are named in its `http_server.py`.
    #[test]
    fn each_engine_is_asked_in_its_own_words() {
        let weights =
            r#"/collective_rpc {"kwargs":{"weights_path":"/w"},"method":"reload_weights"}"#;
        let adapter =
            r#"/v1/load_lora_adapter {"load_inplace":true,"lora_name":"policy","lora_path":"/w"}"#;
        let cache = "/reset_prefix_cache {}";
        assert_eq!(reload(RolloutEngine::Vllm, false), [weights, cache]);
        assert_eq!(reload(RolloutEngine::Vllm, true), [adapter, cache]);
        let weights = r#"/update_weights_from_disk {"model_path":"/w"}"#;
        assert_eq!(reload(RolloutEngine::Sglang, false), [weights]);
        let out = r#"/unload_lora_adapter {"lora_name":"policy"}"#;
        let back = r#"/load_lora_adapter {"lora_name":"policy","lora_path":"/w"}"#;
        assert_eq!(reload(RolloutEngine::Sglang, true), [out, back]);
        for engine in [RolloutEngine::LlmTrainer, RolloutEngine::Openai] {
            assert_eq!(reload(engine, false), [r#"/v1/reload {"path":"/w"}"#]);
        }
        assert!(reload(RolloutEngine::Own, false).is_empty());
    }

    #[test]
    fn an_adapter_is_drawn_from_by_its_name() {
        let options = GenerationOptions { samples: 2, stop_ids: vec![0], ..Default::default() };
        let key = SamplingKey { seed: 1, step: 2, prompt: 3 };
        let prompt = PromptRequest { token_ids: &[5, 6], key };
        let body = |engine, has_adapter| {
            let request = requests(engine, has_adapter).responses(prompt, &options);
            (request.path, request.body.unwrap_or_default())
        };
        let (path, vllm) = body(RolloutEngine::Vllm, true);
        assert_eq!((path.as_str(), &vllm["model"]), ("/v1/completions", &json!(ADAPTER)));
        assert_eq!(
            (&vllm["n"], &vllm["logprobs"], &vllm["stop"]),
            (&json!(2), &json!(0), &json!(["x"]))
        );
        assert!(vllm["seed"].as_i64().is_some_and(|seed| seed >= 0), "{vllm}");
        assert_eq!(body(RolloutEngine::Vllm, false).1["model"], "m");
        assert_eq!(body(RolloutEngine::LlmTrainer, true).1["model"], "m");
        let (path, sglang) = body(RolloutEngine::Sglang, true);
        assert_eq!((path.as_str(), &sglang["lora_path"]), ("/generate", &json!(ADAPTER)));
        assert_eq!(sglang["sampling_params"]["n"], 2);
        assert_eq!(sglang["return_logprob"], true);
        assert_eq!(body(RolloutEngine::Sglang, false).1.get("lora_path"), None);
        assert!(requests(RolloutEngine::Openai, false).score(&[1, 2]).is_none());
    }
}
