//! A rollout engine in another process: it receives the weights and returns responses over HTTP.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::time::Duration;

use anyhow::{Context, anyhow, bail};
use counter_rng::{NoiseKey, uniform};
use serde_json::{Value, json};
use training_run::config::OpenaiEngine;

use super::engine_reply::{ReplyDecoding, responses};
use decoder::generation::{Finish, Generated, GenerationOptions, Listener, PromptRequest, Tally};
use decoder::model::Decoder;

/// Largest answer that is read, in bytes.
const LONGEST_ANSWER: u64 = 256 << 20;

/// A rollout engine that has been reached.
#[derive(Debug)]
pub struct ExternalEngine {
    settings: OpenaiEngine,
    agent: ureq::Agent,
    model: String,
    /// Folder of the written weights, with one subfolder for each version that is sent.
    folder: PathBuf,
    /// Version of the weights that was sent last.
    sent: Option<u64>,
}

/// Reason why a request failed.
enum Failure {
    /// A retry may help.
    Passing(anyhow::Error),
    /// A retry does not help.
    Lasting(anyhow::Error),
}

impl ExternalEngine {
    /// Connects to the engine and asks for its models.
    ///
    /// # Errors
    ///
    /// If it does not answer, or does not have the model that the settings name.
    pub fn connect(settings: &OpenaiEngine, run_directory: &Path) -> anyhow::Result<Self> {
        let wait = Duration::from_secs_f64(settings.timeout_seconds);
        let agent: ureq::Agent = ureq::Agent::config_builder()
            .timeout_global(Some(wait))
            .timeout_connect(Some(wait.min(Duration::from_secs(10))))
            .http_status_as_error(false)
            // The weights and prompts of a run are for the engine that was named.
            .max_redirects(0)
            // No proxy from the environment: the engine is on the local network.
            .proxy(None)
            .build()
            .into();
        let folder = match settings.weights_directory.as_str() {
            "" => run_directory.join("engine-weights"),
            given => PathBuf::from(given),
        };
        let folder = std::path::absolute(folder)?;
        let settings = settings.clone();
        let mut engine = Self { settings, agent, model: String::new(), folder, sent: None };
        let models = engine.request("/v1/models", None)?;
        let names: Vec<&str> = models["data"]
            .as_array()
            .map_or(&[][..], Vec::as_slice)
            .iter()
            .filter_map(|model| model["id"].as_str())
            .collect();
        let model = engine.settings.model.as_str();
        let Some(name) = names.iter().find(|name| model.is_empty() || **name == model) else {
            let field = "rollout.engine.openai.model";
            bail!("{field} is {model:?}, expected one of those that the engine has: {names:?}");
        };
        engine.model = (*name).into();
        Ok(engine)
    }

    /// Sends the weights, unless `version` is what the engine received last.
    ///
    /// # Errors
    ///
    /// If they cannot be written, or the engine does not load them.
    pub fn send_weights(
        &mut self,
        model: &Decoder,
        tokenizer_source: &Path,
        version: u64,
    ) -> anyhow::Result<()> {
        if self.sent == Some(version) {
            return Ok(());
        }
        let place = |version: u64| self.folder.join(format!("weights-{version}"));
        let folder = place(version);
        std::fs::create_dir_all(&self.folder).with_context(|| self.folder.display().to_string())?;
        model.save(&folder, tokenizer_source)?;
        let body = json!({&self.settings.reload_field: folder.display().to_string()});
        self.request(&self.settings.reload_path, Some(&body))
            .with_context(|| format!("the engine does not load {}", folder.display()))?;
        // The engine no longer uses the previous weights.
        if let Some(before) = self.sent.filter(|before| *before != version) {
            let before = place(before);
            std::fs::remove_dir_all(&before).with_context(|| before.display().to_string())?;
        }
        self.sent = Some(version);
        Ok(())
    }

    /// Samples responses like [`generate_each`](decoder::generation::generate_each), by the engine. Returns the number of
    /// responses without token ids whose text encodes to another number of tokens than was sampled. Their tokens all get the
    /// mean log-probability.
    ///
    /// # Errors
    ///
    /// If a request has used all its retries, or an answer is malformed.
    pub fn generate_each(
        &self,
        prompts: &[PromptRequest<'_>],
        options: &GenerationOptions,
        decoding: ReplyDecoding<'_>,
        listener: &mut dyn Listener,
    ) -> anyhow::Result<usize> {
        let (next, ended) = (AtomicUsize::new(0), AtomicBool::new(false));
        let mut tally = Tally { total: prompts.len() * options.samples, ..Tally::default() };
        let mut retokenised = 0;
        std::thread::scope(|scope| {
            let (sender, answers) = channel();
            for _ in 0..self.settings.concurrency.min(prompts.len()) {
                let (sender, next, ended) = (sender.clone(), &next, &ended);
                scope.spawn(move || {
                    while !ended.load(Ordering::Relaxed) {
                        let index = next.fetch_add(1, Ordering::Relaxed);
                        let Some(prompt) = prompts.get(index) else { return };
                        let answer = self
                            .respond(*prompt, options, decoding)
                            .with_context(|| format!("prompt {index}"));
                        if sender.send((index, answer)).is_err() {
                            return;
                        }
                    }
                });
            }
            drop(sender);
            let heard = answers.into_iter().try_for_each(|(index, answer)| {
                for (sample, (response, was_retokenised)) in answer?.into_iter().enumerate() {
                    retokenised += usize::from(was_retokenised);
                    tally.finished += 1;
                    tally.truncated += usize::from(response.finish == Finish::Length);
                    tally.tokens += response.token_ids.len();
                    listener.finished(index * options.samples + sample, response);
                }
                listener.progress(&tally);
                anyhow::Ok(())
            });
            // Requests in flight are waited for; no others begin.
            ended.store(true, Ordering::Relaxed);
            heard
        })?;
        Ok(retokenised)
    }

    /// The responses to one prompt, each with a flag: true if its tokens had to be guessed.
    fn respond(
        &self,
        prompt: PromptRequest<'_>,
        options: &GenerationOptions,
        decoding: ReplyDecoding<'_>,
    ) -> anyhow::Result<Vec<(Generated, bool)>> {
        let body = json!({
            "model": self.model,
            "prompt": prompt.token_ids,
            "n": options.samples,
            "max_tokens": options.max_new_tokens,
            "temperature": options.sampling.temperature,
            "seed": seed_of(prompt),
            "stop": decoding.stop,
            "stop_token_ids": options.stop_ids,
            "logprobs": 1,
            "return_token_ids": true,
        });
        let answer = self.request("/v1/completions", Some(&body))?;
        responses(&answer, options, decoding)
    }

    /// Sends a request until it is answered or has used all its retries.
    fn request(&self, path: &str, body: Option<&Value>) -> anyhow::Result<Value> {
        let url = format!("{}{path}", self.settings.url);
        let mut pause = Duration::from_millis(500);
        let mut left = self.settings.retries;
        loop {
            match self.request_once(&url, body) {
                Ok(value) => return Ok(value),
                Err(Failure::Lasting(error)) => return Err(error.context(url)),
                Err(Failure::Passing(error)) if left == 0 => {
                    let tries = self.settings.retries + 1;
                    return Err(error.context(format!("{url}: no answer in {tries} tries")));
                }
                Err(Failure::Passing(_)) => {
                    std::thread::sleep(pause);
                    (pause, left) = ((pause * 2).min(Duration::from_mins(1)), left - 1);
                }
            }
        }
    }

    fn request_once(&self, url: &str, body: Option<&Value>) -> Result<Value, Failure> {
        let passing = |error: &dyn std::fmt::Display| Failure::Passing(anyhow!("{error}"));
        let sent = match body {
            None => self.agent.get(url).call(),
            Some(body) => {
                self.agent.post(url).content_type("application/json").send(body.to_string())
            }
        };
        let mut response = sent.map_err(|error| passing(&error))?;
        let status = response.status();
        let mut text = String::new();
        let read = response.body_mut().as_reader().take(LONGEST_ANSWER).read_to_string(&mut text);
        read.map_err(|error| passing(&error))?;
        if status.is_success() {
            // Some engines answer a reload with an empty body.
            let value =
                if text.trim().is_empty() { Ok(Value::Null) } else { serde_json::from_str(&text) };
            return value
                .map_err(|error| Failure::Lasting(anyhow!("the answer is no JSON: {error}")));
        }
        let excerpt: String = text.chars().take(300).collect();
        let error = anyhow!("status {status}: {excerpt}");
        if status.as_u16() == 429 || status.is_server_error() {
            Err(Failure::Passing(error))
        } else {
            Err(Failure::Lasting(error))
        }
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
