//! `rollout.environment`: harnesses that play turns and tools with the policy over OpenAI's interface.
//!
//! All rollouts that wait for the policy are answered together, once every other harness waits or has ended. What decodes beside
//! what then depends on the harnesses alone: a run with deterministic ones repeats to the bit.

use std::collections::BTreeMap;
use std::hash::{BuildHasher, RandomState};
use std::net::SocketAddr;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use anyhow::{Context, ensure};
use counter_rng::{Purpose, hash};
use decoder::generation::{Finish, GenerationError, GenerationOptions, SamplingKey, SharedBatch};
use decoder::model::Decoder;
use model_files::chat_template::ChatTemplate;
use model_files::model_config::ModelConfig;
use question_data::dataset::Question;
use question_data::prompt::Prompt;
use serde::Serialize;
use training_run::config::{EnvironmentSection, RunConfig};

use super::judge::ResponseText;
use super::line_process::{LineProcess, reward};
use super::sequence::{Given, Sequence};
use crate::serve::{
    BatchCapacity, FREE_PORT, ModelRequest, OpenPort, Owner, Reader, Recording, RequestEvent,
    Rollouts, Settings, Terms, Work, open,
};

/// Name of the policy in requests.
const MODEL_NAME: &str = "policy";

/// The harnesses of a run, and the address at which they meet the policy.
#[derive(Debug)]
pub(crate) struct Environment {
    section: EnvironmentSection,
    address: SocketAddr,
    /// Key of requests, which nobody else on the machine knows.
    api_key: String,
    terms: Arc<Terms>,
    rollouts: Arc<Rollouts>,
    events: Sender<Event>,
    /// Events, and the processes that play, each one rollout at a time: one starts with its first rollout, and again after a failure.
    harnesses: Mutex<(Receiver<Event>, Vec<Option<LineProcess>>)>,
}

/// Rollouts that are played now.
struct Play<'a> {
    environment: &'a Environment,
    prompts: &'a [&'a Prompt],
    /// Key of the first prompt's noise. Its numbers make the ids of rollouts, too.
    first: SamplingKey,
    /// True if the rollouts measure the policy; their ids begin with `evaluation-`.
    evaluates: bool,
    options: &'a GenerationOptions,
    next: usize,
    /// Requests of each rollout that waits for the policy.
    waiting: BTreeMap<usize, Vec<Work>>,
    /// Harness of each rollout that has begun and not ended.
    playing: BTreeMap<usize, usize>,
    ended: BTreeMap<usize, Result<Played, String>>,
}

impl Environment {
    /// Opens the address if the run has harnesses, which start with their first rollout. `model` is the policy's configuration.
    pub(super) fn start(
        config: &RunConfig,
        text: &ResponseText,
        model: &ModelConfig,
    ) -> anyhow::Result<Option<Self>> {
        let rollout = &config.rollout;
        let Some(section) = &rollout.environment else { return Ok(None) };
        let (tokens, positions) = (section.context_tokens, model.max_position_embeddings);
        ensure!(
            tokens <= positions,
            "rollout.environment.context_tokens is {tokens}, expected at most max_position_embeddings = {positions}"
        );
        let terms = Arc::new(Terms {
            longest_turn: rollout.max_response_tokens,
            turns: section.max_turns,
            stop: rollout.stop.clone(),
        });
        let rollouts = Arc::new(Rollouts::keeping(None));
        let seed = RandomState::new();
        let api_key = format!("{:016x}{:016x}", seed.hash_one(0), seed.hash_one(1));
        let rows = rollout.rows.min(section.workers);
        let mut settings = Settings {
            queue: 4 * section.workers,
            connections: 8 * section.workers,
            // Harnesses leave a client of each rollout open: its connection would take the place of a later one for a minute.
            keep_alive: false,
            rollouts: Some(Arc::clone(&rollouts)),
            ..Settings::of_own_programs()
        };
        settings.admission.api_key = Some(api_key.clone());
        let reader = Reader {
            tokenizer: text.tokenizer.clone(),
            template: ChatTemplate::load(&config.model.path)?,
            model_name: MODEL_NAME.to_owned(),
            vocab_size: model.vocab_size,
            eos_ids: text.stop_ids.clone(),
            capacity: BatchCapacity { rows, tokens, cpu_kernels: rollout.cpu_kernels },
        };
        let port = open(FREE_PORT, settings, reader, std::future::pending());
        let OpenPort { address, mut requests, .. } = port.context("rollout.environment")?;
        let (events, heard) = channel();
        let forwarded = events.clone();
        std::thread::Builder::new().name("requests".to_owned()).spawn(move || {
            while let Some(request) = requests.blocking_recv() {
                if let ModelRequest::Generate(work) = request
                    && forwarded.send(Event::Asked(work)).is_err()
                {
                    return;
                }
            }
        })?;
        let processes = std::iter::repeat_with(|| None).take(section.workers).collect();
        let (section, harnesses) = (section.clone(), Mutex::new((heard, processes)));
        Ok(Some(Self { section, address, api_key, terms, rollouts, events, harnesses }))
    }

    /// Plays `options.samples` rollouts of each prompt's question; of a rollout that failed, the reason.
    pub(super) fn play(
        &self,
        decoder: &Decoder,
        prompts: &[&Prompt],
        first: SamplingKey,
        evaluates: bool,
        options: &GenerationOptions,
        tell: &dyn Fn(&str),
    ) -> anyhow::Result<Vec<Result<Played, String>>> {
        let harnesses = self.harnesses.lock();
        let mut harnesses = harnesses.map_err(|_| anyhow::anyhow!("a play panicked"))?;
        let (heard, processes) = &mut *harnesses;
        let mut play = Play {
            environment: self,
            prompts,
            first,
            evaluates,
            options,
            next: 0,
            waiting: BTreeMap::new(),
            playing: BTreeMap::new(),
            ended: BTreeMap::new(),
        };
        let total = prompts.len() * options.samples;
        for (harness, process) in processes.iter_mut().enumerate().take(total) {
            play.begin(harness, process.take())?;
        }
        let rows = options.rows.min(self.section.workers);
        let mut batch =
            SharedBatch::new(decoder, rows, self.section.context_tokens, options.cpu_kernels);
        while play.ended.len() < total {
            match heard.recv().context("the requests' thread has ended")? {
                Event::Asked(work) => play.ask(work),
                Event::Ended { place, answer, process } => {
                    if let Some(harness) = play.end(place, answer) {
                        processes[harness] = process;
                        let count = play.ended.len();
                        tell(&format!("playing: {count} of {total} rollouts"));
                        if play.next < total {
                            play.begin(harness, processes[harness].take())?;
                        }
                    }
                }
            }
            if play.waiting.len() == play.playing.len() {
                play.answer(&mut batch)?;
            }
        }
        Ok(play.ended.into_values().collect())
    }
}

impl Play<'_> {
    /// Gives the next rollout to a harness, to a new process if it has none; a thread waits for the answer.
    fn begin(&mut self, harness: usize, process: Option<LineProcess>) -> anyhow::Result<()> {
        let (environment, place) = (self.environment, self.next);
        self.next += 1;
        let (prompt, member) = (place / self.options.samples, place % self.options.samples);
        let key = SamplingKey { prompt: self.first.prompt + prompt as u64, ..self.first };
        let (id, member, sampling) = (self.id(place), member as u64, self.options.sampling);
        let owner = Owner { place, key, member, sampling, terms: Arc::clone(&environment.terms) };
        environment.rollouts.begin(id.clone(), owner);
        self.playing.insert(place, harness);
        let task = Task {
            rollout: &id,
            base_url: format!("http://{}/rollouts/{id}/v1", environment.address),
            api_key: &environment.api_key,
            model: MODEL_NAME,
            question: &self.prompts[prompt].question,
            prompt_token_ids: &self.prompts[prompt].tokens,
        };
        let line = serde_json::to_string(&task)? + "\n";
        let EnvironmentSection { command, timeout_seconds, .. } = &environment.section;
        let mut process = process.map_or_else(|| LineProcess::start(command), Ok)?;
        let (wait, events) =
            (Duration::from_secs_f64(*timeout_seconds), environment.events.clone());
        std::thread::Builder::new().name(format!("rollout {id}")).spawn(move || {
            let answers = process.answers(&[line], wait);
            let answer = answers.map(|mut lines| lines.pop().unwrap_or_default());
            let answer = answer.map_err(|error| format!("{error:#}"));
            let process = answer.is_ok().then_some(process);
            // The run may have ended.
            let _heard = events.send(Event::Ended { place, answer, process });
        })?;
        Ok(())
    }

    fn id(&self, place: usize) -> String {
        let (prompt, member) = (place / self.options.samples, place % self.options.samples);
        let prefix = if self.evaluates { "evaluation-" } else { "" };
        format!("{prefix}{}-{}-{member}", self.first.step, self.first.prompt + prompt as u64)
    }

    /// Takes a request to the policy; those of rollouts that have ended are dropped, which refuses them.
    fn ask(&mut self, work: Work) {
        let Some((_, Some(owner))) = &work.request.turn else { return };
        let is_of_step = SamplingKey { prompt: self.first.prompt, ..owner.key } == self.first;
        if is_of_step && self.playing.contains_key(&owner.place) {
            self.waiting.entry(owner.place).or_default().push(work);
        }
    }

    /// Ends a rollout with its harness's answer; returns the harness.
    fn end(&mut self, place: usize, answer: Result<String, String>) -> Option<usize> {
        let harness = self.playing.remove(&place)?;
        self.waiting.remove(&place);
        let id = self.id(place);
        let recording = self.environment.rollouts.end(&id).unwrap_or_default();
        let played = answer.and_then(|answer| Played::of(recording, &answer));
        self.ended.insert(place, played.map_err(|reason| format!("rollout {id}: {reason}")));
        Some(harness)
    }

    /// Draws the answers to all requests that wait, in the order of their rollouts.
    fn answer(&mut self, batch: &mut SharedBatch<'_>) -> Result<(), GenerationError> {
        let mut listeners = BTreeMap::new();
        let works = std::mem::take(&mut self.waiting).into_values().flatten();
        for (id, work) in (0..).zip(works) {
            // A request of a rollout has one prompt.
            let Some((turn, Some(owner))) = &work.request.turn else { continue };
            let SamplingKey { seed, step, prompt } = owner.key;
            let seed = hash([seed, Purpose::Turn as u64, owner.member, *turn]);
            let key = SamplingKey { seed, step, prompt };
            match batch.push(work.request.ask(0, id, key)) {
                Ok(()) => drop(listeners.insert(id, work.events)),
                Err(error) => drop(work.events.send(RequestEvent::Failed(error))),
            }
        }
        while !batch.is_idle() {
            batch.step(&mut |drawing| {
                let events = listeners.get(&drawing.id);
                let event = RequestEvent::Drawn { prompt: 0, drawing, version: 0 };
                events.is_some_and(|events| events.send(event).is_ok())
            })?;
        }
        Ok(())
    }
}

enum Event {
    Asked(Work),
    /// The rollout at `place` has ended with a line, or failed with the reason and without its process.
    Ended {
        place: usize,
        answer: Result<String, String>,
        process: Option<LineProcess>,
    },
}

/// A rollout as a harness is given it, one line of JSON.
#[derive(Debug, Serialize)]
struct Task<'a> {
    rollout: &'a str,
    /// Address for a client of OpenAI's interface.
    base_url: String,
    api_key: &'a str,
    model: &'a str,
    /// The question with its known answer: `id`, `problem`, `answer`, `source` and `context`.
    question: &'a Question,
    /// The prompt of a run without harness.
    prompt_token_ids: &'a [u32],
}

/// Tokens of a rollout as they were served, and its reward.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Played {
    pub(crate) sequence: Sequence,
    /// Log-probability of each response token as drawn, in nats.
    pub(crate) log_prob: Vec<f64>,
    /// True if the last turn was truncated at a length limit.
    pub(crate) truncated: bool,
    /// Index of the first response token of the last turn.
    pub(crate) last_turn: usize,
    pub(crate) reward: f64,
}

impl Played {
    /// Joins the recorded sequences of a rollout. The harness's `answer` is its reward, or it has posted one before.
    pub(super) fn of(recording: Recording, answer: &str) -> Result<Self, String> {
        let shown: String = answer.trim_end().chars().take(80).collect();
        let reward = reward(answer).or(recording.reward).filter(|reward| reward.is_finite());
        let reward = reward.ok_or_else(|| {
            format!("{shown:?} has no reward, expected a finite number or {{\"reward\": NUMBER}}")
        })?;
        let mut sequence = Sequence::new(Vec::new(), Vec::new());
        let (mut log_prob, mut truncated, mut last_turn) = (Vec::new(), false, 0);
        for recorded in recording.sequences {
            let (mut read, mut restarts) = (0, true);
            for turn in recorded.turns {
                let token_ids = recorded.token_ids[read..turn.start].to_vec();
                read = turn.start + turn.log_prob.len();
                if sequence.prompt.is_empty() {
                    sequence.prompt = token_ids;
                } else if !token_ids.is_empty() {
                    let before = sequence.response.len();
                    sequence.given.push(Given { before, token_ids, restarts });
                }
                last_turn = sequence.response.len();
                sequence.response.extend(&recorded.token_ids[turn.start..read]);
                log_prob.extend(turn.log_prob);
                truncated = turn.finish == Finish::Length;
                restarts = false;
            }
        }
        if sequence.response.is_empty() {
            return Err("the policy was asked nothing".to_owned());
        }
        Ok(Self { sequence, log_prob, truncated, last_turn, reward })
    }
}
