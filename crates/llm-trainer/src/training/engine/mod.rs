//! A rollout engine in other processes: its servers receive the weights and return responses over HTTP.

mod probe;
mod reply;
mod requests;
mod servers;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Mutex, PoisonError};

use anyhow::{Context, anyhow};
use decoder::generation::{Finish, Generated, GenerationOptions, Listener, PromptRequest, Tally};
use decoder::model::Decoder;
use model_files::text_tokenizer::TextTokenizer;
use question_data::prompt::Prompt;
use ranks::DeviceMesh;
use serde_json::Value;
use training_run::config::{EngineServers, InFlight, RolloutEngine, RunConfig};

use super::policy_pass::PolicyPass;
use super::sequence::Sequence;
use probe::Reading;
use reply::{Replies, ReplyDecoding, assembled, prompt_log_probs};
use requests::Requests;
use servers::{Failure, Request, Servers};

/// Most tokens of a question that show which weights a server has.
const LONGEST_PROBE: usize = 64;

/// A rollout engine whose servers have been reached.
#[derive(Debug)]
pub(crate) struct ExternalEngine {
    pub(super) settings: EngineServers,
    servers: Servers,
    requests: Requests,
    /// Folder of the written weights, with one subfolder for each version that is sent.
    folder: PathBuf,
    /// Text whose log-probabilities show which weights a server has.
    probe: Sequence,
    vocab_size: usize,
    served: Mutex<Served>,
}

/// The weights that the servers have.
#[derive(Debug)]
struct Served {
    /// Version that was sent last.
    version: Option<u64>,
    /// Readings of each server at its last reload.
    readings: Vec<Option<Reading>>,
    /// True if the servers have released their memory.
    sleeps: bool,
}

/// Facts about drawn responses beside their tokens.
#[derive(Debug, Clone, Default)]
pub(crate) struct Drawn {
    /// Number of responses without token ids whose text encodes to another number of tokens than was sampled.
    pub(crate) retokenised: usize,
    /// Version of the weights that drew each token, of each response in the order of prompts and samples.
    pub(crate) versions: Vec<Vec<u64>>,
}

impl ExternalEngine {
    /// Connects to the servers that sample in place of the policy, if the run has any, and asks for their models. They are
    /// probed with the first of `prompts`.
    pub(crate) fn connect(
        config: &RunConfig,
        run_directory: &Path,
        vocab_size: usize,
        prompts: &[Prompt],
    ) -> anyhow::Result<Option<Self>> {
        if config.rollout.engine == RolloutEngine::Own {
            return Ok(None);
        }
        let settings = &config.rollout.servers;
        let servers = Servers::new(settings);
        let folder = match settings.weights_directory.as_str() {
            "" => run_directory.join("engine-weights"),
            given => PathBuf::from(given),
        };
        let model = first_model(&servers, &settings.model)?;
        let prompt = &prompts[0].tokens;
        let read = &prompt[..prompt.len().min(LONGEST_PROBE)];
        Ok(Some(Self {
            requests: Requests {
                engine: config.rollout.engine,
                model,
                has_adapter: config.lora.is_some(),
                streams: settings.in_flight == InFlight::Continue,
                stop: config.rollout.stop.clone(),
            },
            folder: std::path::absolute(folder)?,
            // A prompt of one token predicts none.
            probe: Sequence::new(vec![read[0]], [&read[1..], &read[..1]].concat()),
            vocab_size,
            served: Mutex::new(Served {
                version: None,
                readings: vec![None; servers.count()],
                sleeps: false,
            }),
            settings: settings.clone(),
            servers,
        }))
    }

    /// Takes the sentences for the user about servers since the last call.
    pub(crate) fn news(&self) -> Vec<String> {
        self.servers.news()
    }

    /// Sends the weights of the pass's model, unless `version` is what the servers received last, and checks that each uses them. The
    /// first rank writes them once and tells all servers; every rank calls it. If one rank fails, all ranks fail.
    pub(crate) fn send_weights(
        &self,
        pass: &PolicyPass<'_>,
        mesh: &DeviceMesh,
        tokenizer_source: &Path,
        version: u64,
    ) -> anyhow::Result<()> {
        let mut served = self.served.lock().unwrap_or_else(PoisonError::into_inner);
        if std::mem::take(&mut served.sleeps) {
            let woken = self.tell_all(mesh, Some(self.requests.memory(true)));
            mesh.run.agree("whether the servers are awake", woken)?;
        }
        if served.version == Some(version) {
            return Ok(());
        }
        let is_first = mesh.run.is_first();
        let reading = PolicyPass { temperature: 1.0, ..*pass }.statistics(&[&self.probe]).log_prob;
        let full = pass.model.full(is_first)?;
        let loaded = if is_first {
            self.deliver(&full, mesh, tokenizer_source, version, served.version)
        } else {
            Ok(Vec::new())
        };
        drop(full);
        let told = mesh.run.gather_ok("whether the servers have the weights", loaded)?;
        self.servers.set_lost(&told[0]);
        // Tokens that arrive from now on are drawn by these.
        self.servers.version.store(version, Ordering::Relaxed);
        served.version = Some(version);
        let readings = &mut served.readings;
        let checked = self
            .tell_all(mesh, self.requests.resume())
            .and_then(|()| if is_first { self.check(&reading, readings) } else { Ok(()) });
        mesh.run.agree("whether the servers use the weights", checked)
    }

    /// Makes the servers release their memory, if the settings say so. Every rank calls it; a failure of one is one of all.
    pub(crate) fn rest(&self, mesh: &DeviceMesh) -> anyhow::Result<()> {
        if !self.settings.sleeps {
            return Ok(());
        }
        let mut served = self.served.lock().unwrap_or_else(PoisonError::into_inner);
        served.sleeps = true;
        let asleep = self.tell_all(mesh, Some(self.requests.memory(false)));
        mesh.run.agree("whether the servers sleep", asleep)
    }

    /// Sends a request, from the first rank, to every server that is not left out; one that does not answer is from then on.
    fn tell_all(&self, mesh: &DeviceMesh, request: Option<Request>) -> anyhow::Result<()> {
        let Some(request) = request.filter(|_| mesh.run.is_first()) else { return Ok(()) };
        let ask = |index| self.servers.ask_one(index, &request);
        self.servers.ask_each(false, ask, |_, _| Ok(())).map(drop)
    }

    fn place(&self, version: u64) -> PathBuf {
        self.folder.join(format!("weights-{version}"))
    }

    /// Makes the servers load weights in place of those of version `before`. Returns true for each server that is left out.
    fn deliver(
        &self,
        model: &Decoder,
        mesh: &DeviceMesh,
        tokenizer_source: &Path,
        version: u64,
        before: Option<u64>,
    ) -> anyhow::Result<Vec<bool>> {
        let (folder, all) = (self.place(version), || self.folder.display().to_string());
        let is_own = self.settings.weights_directory.is_empty();
        if before.is_none() && is_own && self.folder.exists() {
            // What a run that was killed has left.
            std::fs::remove_dir_all(&self.folder).with_context(all)?;
        }
        std::fs::create_dir_all(&self.folder).with_context(all)?;
        model.save(&folder, tokenizer_source)?;
        self.tell_all(mesh, self.requests.pause())?;
        let loaded = self.load(&folder, before);
        if loaded.is_err() {
            // The run ends by that error; the servers stay of use to others.
            let _resumed = self.tell_all(mesh, self.requests.resume());
        }
        loaded.map(|()| self.servers.lost())
    }

    /// Makes every server load the weights in a folder; one that does not answer is left out. Removes the former weights.
    fn load(&self, folder: &Path, before: Option<u64>) -> anyhow::Result<()> {
        let directory = folder.display().to_string();
        let load = |index| self.load_one(index, &directory);
        let take_back = |index, ()| {
            self.servers.take_back(index);
            Ok(())
        };
        let reason = self
            .servers
            .ask_each(true, load, take_back)
            .with_context(|| format!("the engine does not load {directory}"))?;
        if let (Some(error), false) = (reason, self.servers.lost().contains(&false)) {
            return Err(error.context(format!("no server loads {directory}")));
        }
        let before = before.map(|version| self.place(version));
        match before.filter(|before| before != folder) {
            Some(before) => {
                std::fs::remove_dir_all(&before).with_context(|| before.display().to_string())
            }
            None => Ok(()),
        }
    }

    fn load_one(&self, index: usize, directory: &str) -> Result<(), Failure> {
        for step in self.requests.reload(directory, &self.settings) {
            let answer = match self.servers.ask_one(index, &step.request) {
                Err(Failure::Lasting(_)) if step.may_fail => continue,
                answer => answer?,
            };
            if step.succeeds.is_some_and(|field| answer[field] != true) {
                let (url, path) = (self.servers.url(index), &step.request.path);
                let error = anyhow!("{url}{path}: answers {answer}");
                return Err(Failure::Lasting(error));
            }
        }
        Ok(())
    }

    /// Compares the servers with the trainer, whose log-probabilities of the probe are `trainer`.
    fn check(&self, trainer: &[f64], readings: &mut Vec<Option<Reading>>) -> anyhow::Result<()> {
        let mut tokens = self.probe.prompt.clone();
        tokens.extend(&self.probe.response);
        let Some(request) = self.requests.score(&tokens) else { return Ok(()) };
        // One that is left out comes back with the weights it was started with.
        let before = std::mem::replace(readings, vec![None; self.servers.count()]);
        let check = |index: usize, answer: Value| {
            let url = || self.servers.url(index).to_owned();
            let server = prompt_log_probs(&answer, tokens.len()).with_context(url)?;
            let now = Reading { trainer: trainer.to_vec(), server };
            let warning = probe::check(before[index].as_ref(), &now).with_context(url)?;
            if let Some(warning) = warning {
                self.servers.tell(format!("{}: {warning}", url()));
            }
            readings[index] = Some(now);
            Ok(())
        };
        let ask = |index| self.servers.ask_one(index, &request);
        self.servers.ask_each(false, ask, check).map(drop)
    }

    /// Samples responses like [`generate_each`](decoder::generation::generate_each), by the servers. Tokens that had
    /// to be guessed all get the mean log-probability.
    pub(crate) fn generate_each(
        &self,
        prompts: &[PromptRequest<'_>],
        options: &GenerationOptions,
        tokenizer: &TextTokenizer,
        listener: &mut dyn Listener,
    ) -> anyhow::Result<Drawn> {
        let decoding = ReplyDecoding { options, tokenizer, vocab_size: self.vocab_size };
        let (next, ended) = (AtomicUsize::new(0), AtomicBool::new(false));
        let mut tally = Tally { total: prompts.len() * options.samples, ..Tally::default() };
        let mut drawn = Drawn { retokenised: 0, versions: vec![Vec::new(); tally.total] };
        let at_once = self.settings.concurrency.saturating_mul(self.servers.count());
        std::thread::scope(|scope| {
            let (sender, answers) = channel();
            for _ in 0..at_once.min(prompts.len()) {
                let (sender, next, ended) = (sender.clone(), &next, &ended);
                scope.spawn(move || {
                    while !ended.load(Ordering::Relaxed) {
                        let index = next.fetch_add(1, Ordering::Relaxed);
                        let Some(prompt) = prompts.get(index) else { return };
                        let answer = self.respond(*prompt, decoding);
                        let answer = answer.with_context(|| format!("prompt {index}"));
                        if sender.send((index, answer)).is_err() {
                            return;
                        }
                    }
                });
            }
            drop(sender);
            let heard = answers.into_iter().try_for_each(|(index, answer)| {
                let (responses, versions) = answer?;
                let first = index * options.samples;
                let responses = (first..).zip(responses.into_iter().zip(versions));
                for (place, ((response, is_guess), versions)) in responses {
                    drawn.retokenised += usize::from(is_guess);
                    drawn.versions[place] = versions;
                    tally.finished += 1;
                    tally.truncated += usize::from(response.finish == Finish::Length);
                    tally.tokens += response.token_ids.len();
                    listener.finished(place, response);
                }
                listener.progress(&tally);
                anyhow::Ok(())
            });
            // Requests in flight are waited for; no others begin.
            ended.store(true, Ordering::Relaxed);
            heard
        })?;
        Ok(drawn)
    }

    /// The responses to one prompt, and the versions of the weights that drew each token of each response.
    fn respond(
        &self,
        prompt: PromptRequest<'_>,
        decoding: ReplyDecoding<'_>,
    ) -> anyhow::Result<(Replies, Vec<Vec<u64>>)> {
        let request = self.requests.responses(prompt, decoding.options);
        if self.requests.streams {
            let (choices, versions) = assembled(&self.servers.ask_for_stream(&request)?)?;
            return Ok((decoding.responses(choices)?, versions));
        }
        let (answer, version) = self.servers.ask(&request)?;
        let responses = match self.requests.engine {
            RolloutEngine::Sglang => decoding.generations(&answer)?,
            _ => decoding.completions(&answer)?,
        };
        let count = |(response, _): &(Generated, bool)| response.token_ids.len();
        let versions = responses.iter().map(|one| vec![version; count(one)]).collect();
        Ok((responses, versions))
    }
}

/// The model that every server has; one that does not answer is left out.
fn first_model(servers: &Servers, wanted: &str) -> anyhow::Result<String> {
    let mut model = None;
    let ask = |index| servers.ask_one(index, &Request::get("/v1/models"));
    let reason = servers.ask_each(true, ask, |index, models| {
        let name = model_name(&models, wanted);
        model = Some(name.with_context(|| servers.url(index).to_owned())?);
        Ok(())
    })?;
    model.ok_or_else(|| reason.unwrap_or_else(|| anyhow!("rollout.servers.urls names no server")))
}

/// The `wanted` one of the models, or the first if that is empty.
fn model_name(models: &Value, wanted: &str) -> anyhow::Result<String> {
    let models = models["data"].as_array().into_iter().flatten();
    let names: Vec<&str> = models.filter_map(|model| model["id"].as_str()).collect();
    let name = names.iter().find(|name| wanted.is_empty() || **name == wanted);
    let name = name.with_context(|| {
        // A server may have any number.
        let first = &names[..names.len().min(20)];
        format!(
            "rollout.servers.model is {wanted:?}, expected one of those that the engine has: {first:?}"
        )
    })?;
    Ok((*name).to_owned())
}
