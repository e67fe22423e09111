//! `rollout.environment`: harnesses that play turns and tools with the policy over OpenAI's interface.
//!
//! All rollouts that wait for the policy are answered together, once every other harness waits or has ended. What decodes beside
//! what then depends on the harnesses alone: a run with deterministic ones repeats to the bit.

mod harnesses;
mod played;

use std::collections::BTreeMap;
use std::hash::{BuildHasher, RandomState};
use std::net::SocketAddr;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};

use anyhow::{Context, ensure};
use counter_rng::{Purpose, hash};
use decoder::generation::{Ask, GenerationError, GenerationOptions, SamplingKey, SharedBatch};
use decoder::model::Decoder;
use model_files::chat_template::ChatTemplate;
use model_files::model_config::ModelConfig;
use question_data::prompt::Prompt;
use training_run::config::{EnvironmentSection, RunConfig};

use super::response_text::ResponseText;
use crate::serve::{
    BatchCapacity, FREE_PORT, ModelRequest, OpenPort, Owner, Reader, Recording, RequestEvent,
    Rollouts, Settings, Terms, Work, open,
};
use harnesses::{Event, Harnesses, Task};
pub(crate) use played::Played;

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
    harnesses: Harnesses,
    events: Sender<Event>,
    heard: Mutex<Receiver<Event>>,
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
        let harnesses = Harnesses::new(section);
        let (section, heard) = (section.clone(), Mutex::new(heard));
        Ok(Some(Self { section, address, api_key, terms, rollouts, harnesses, events, heard }))
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
        let heard = self.heard.lock().map_err(|_| anyhow::anyhow!("a play panicked"))?;
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
        for harness in 0..self.section.workers.min(total) {
            play.begin(harness)?;
        }
        let rows = options.rows.min(self.section.workers);
        let mut batch =
            SharedBatch::new(decoder, rows, self.section.context_tokens, options.cpu_kernels);
        while play.ended.len() < total {
            match heard.recv().context("the requests' thread has ended")? {
                Event::Asked(work) => play.ask(work),
                Event::Ended { place, answer } => {
                    if let Some(harness) = play.end(place, answer) {
                        let count = play.ended.len();
                        tell(&format!("playing: {count} of {total} rollouts"));
                        if play.next < total {
                            play.begin(harness)?;
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
    /// Gives the next rollout to a harness.
    fn begin(&mut self, harness: usize) -> anyhow::Result<()> {
        let (environment, place) = (self.environment, self.next);
        self.next += 1;
        let (prompt, member) = (place / self.options.samples, place % self.options.samples);
        let key = SamplingKey { prompt: self.first.prompt + prompt as u64, ..self.first };
        let (id, member, sampling) = (self.id(place), member as u64, self.options.sampling);
        let owner = Owner { place, key, member, sampling, terms: Arc::clone(&environment.terms) };
        environment.rollouts.begin(id.clone(), Recording::owned(owner));
        self.playing.insert(place, harness);
        let task = Task {
            rollout: &id,
            base_url: format!("http://{}/rollouts/{id}/v1", environment.address),
            api_key: &environment.api_key,
            model: MODEL_NAME,
            question: &self.prompts[prompt].question,
            prompt_token_ids: &self.prompts[prompt].tokens,
        };
        environment.harnesses.play(harness, place, &task, &environment.events)
    }

    fn id(&self, place: usize) -> String {
        let (prompt, member) = (place / self.options.samples, place % self.options.samples);
        let prefix = if self.evaluates { "evaluation-" } else { "" };
        format!("{prefix}{}-{}-{member}", self.first.step, self.first.prompt + prompt as u64)
    }

    /// Takes a request to the policy; those of rollouts that have ended are dropped, which refuses them.
    fn ask(&mut self, work: Work) {
        let Some((owner, _)) = &work.turn else { return };
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
            let Some(((owner, turn), token_ids)) = work.turn.zip(work.prompts.into_iter().next())
            else {
                continue;
            };
            let SamplingKey { seed, step, prompt } = owner.key;
            let seed = hash([seed, Purpose::Turn as u64, owner.member, turn]);
            let key = SamplingKey { seed, step, prompt };
            let ask = Ask { id, token_ids, key, options: work.options, top: work.top };
            match batch.push(ask) {
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
