//! A rollout engine in another process: it receives the weights and returns responses over HTTP.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::time::Duration;

use anyhow::{Context, anyhow, bail, ensure};
use counter_rng::{NoiseKey, uniform};
use model_files::text_tokenizer::TextTokenizer;
use serde::Deserialize;
use serde_json::{Value, json};
use training_run::config::OpenaiEngine;

use decoder::generation::{Finish, Generated, GenerationOptions, Listener, PromptRequest, Tally};
use decoder::model::Decoder;

/// Largest answer that is read, in bytes.
const LONGEST_ANSWER: u64 = 256 << 20;

/// Least log-probability of a token that was drawn, in nats: any token drawn is far above.
const LEAST_LOG_PROB: f64 = -10_000.0;

/// Largest log-probability, which rounding may lift above 0.
const ROUNDING: f64 = 1e-3;

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

/// Conversion of the engine's text, and the texts that end a response.
#[derive(Debug, Clone, Copy)]
pub struct ReplyDecoding<'a> {
    /// Turns text into tokens if the engine returns none.
    pub tokenizer: &'a TextTokenizer,
    /// Texts that end a response.
    pub stop: &'a [String],
    /// Size of the model's vocabulary.
    pub vocab_size: usize,
}

/// Reason why a request failed.
enum Failure {
    /// A retry may help.
    Passing(anyhow::Error),
    /// A retry does not help.
    Lasting(anyhow::Error),
}

#[derive(Deserialize)]
struct Answer {
    choices: Vec<Choice>,
}

#[derive(Deserialize)]
struct Choice {
    index: usize,
    text: String,
    finish_reason: Option<String>,
    logprobs: Option<LogProbs>,
    token_ids: Option<Vec<u32>>,
}

#[derive(Deserialize)]
struct LogProbs {
    token_logprobs: Vec<Option<f64>>,
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
        let mut choices =
            Answer::deserialize(&answer).context("the engine's answer is no completion")?.choices;
        choices.sort_by_key(|choice| choice.index);
        let count = choices.len();
        ensure!(count == options.samples, "{count} responses, expected {}", options.samples);
        if let Some((expected, choice)) =
            choices.iter().enumerate().find(|(expected, choice)| choice.index != *expected)
        {
            bail!("a response has index {}, expected {expected}", choice.index);
        }
        choices.into_iter().map(|choice| generated(choice, options, decoding)).collect()
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

/// Converts a choice to a response; the flag is true if its tokens had to be guessed.
fn generated(
    choice: Choice,
    options: &GenerationOptions,
    decoding: ReplyDecoding<'_>,
) -> anyhow::Result<(Generated, bool)> {
    let Choice { text, finish_reason, logprobs, token_ids, .. } = choice;
    let told = logprobs.context("no log-probabilities, expected those of the tokens drawn")?;
    let mut log_prob = told
        .token_logprobs
        .into_iter()
        .map(|value| value.filter(|value| (LEAST_LOG_PROB..=ROUNDING).contains(value)))
        .map(|value| value.map(|value| value.min(0.0)))
        .collect::<Option<Vec<f64>>>()
        .with_context(|| {
            format!("a log-probability is missing or out of range, expected {LEAST_LOG_PROB} to 0")
        })?;
    let is_told = token_ids.is_some();
    let token_ids = match token_ids {
        Some(token_ids) => token_ids,
        None => decoding.tokenizer.encode(&text)?,
    };
    let (count, most) = (token_ids.len(), options.max_new_tokens);
    ensure!((1..=most).contains(&count), "a response of {count} tokens, expected 1 to {most}");
    let is_guess = token_ids.len() != log_prob.len();
    ensure!(
        !(is_guess && is_told),
        "{} tokens with {} log-probabilities, expected as many",
        token_ids.len(),
        log_prob.len()
    );
    if is_guess {
        // The text as a whole keeps its log-probability, whatever its tokens.
        let mean = log_prob.iter().sum::<f64>() / count as f64;
        log_prob = vec![mean; token_ids.len()];
    }
    if let Some(id) = token_ids.iter().find(|id| **id as usize >= decoding.vocab_size) {
        bail!("token {id}, expected ids below vocab_size = {}", decoding.vocab_size);
    }
    let finish = match finish_reason.as_deref() {
        Some("length") => Finish::Length,
        Some("stop") if token_ids.last().is_some_and(|id| options.stop_ids.contains(id)) => {
            Finish::Stop
        }
        Some("stop") => Finish::StopString,
        other => bail!("the response ended by {other:?}, expected \"stop\" or \"length\""),
    };
    Ok((Generated { token_ids, log_prob, entropy: Vec::new(), mask: None, finish }, is_guess))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    /// Converts an answer's choice, with at most three tokens of a vocabulary of 256.
    fn read(choice: &Value) -> Result<(Generated, bool), String> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/tiny_qwen2_tied");
        let tokenizer = TextTokenizer::load(&folder).map_err(|error| error.to_string())?;
        let decoding = ReplyDecoding { tokenizer: &tokenizer, stop: &[], vocab_size: 256 };
        let options = GenerationOptions { max_new_tokens: 3, ..GenerationOptions::default() };
        let choice = Choice::deserialize(choice).map_err(|error| error.to_string())?;
        generated(choice, &options, decoding).map_err(|error| format!("{error:#}"))
    }

    fn choice(ids: &[u32], log_probs: &[f64]) -> Value {
        json!({
            "index": 0, "text": "", "finish_reason": "length", "token_ids": ids,
            "logprobs": {"token_logprobs": log_probs},
        })
    }

    #[test]
    fn responses_that_no_policy_draws_are_refused() {
        let (response, _) = read(&choice(&[1, 2], &[-0.5, 1e-7])).unwrap();
        assert_eq!(response.log_prob, [-0.5, 0.0]);
        for (ids, log_probs, expected) in [
            (&[1, 2, 3, 4][..], &[-1.0; 4][..], "a response of 4 tokens, expected 1 to 3"),
            (&[], &[], "a response of 0 tokens, expected 1 to 3"),
            (&[1], &[5.0], "a log-probability is missing or out of range, expected -10000 to 0"),
            (&[1], &[-1e308], "a log-probability is missing or out of range"),
            (&[1, 2], &[-1.0], "2 tokens with 1 log-probabilities"),
            (&[256], &[-1.0], "token 256, expected ids below vocab_size = 256"),
        ] {
            let error = read(&choice(ids, log_probs)).unwrap_err();
            assert!(error.starts_with(expected), "{error}");
        }
    }
}
