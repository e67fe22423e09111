//! Rollouts: sampled responses with their rewards.

use std::ops::Range;
use std::sync::OnceLock;
use std::time::Instant;

use question_data::ground_truth::GroundTruth;
use question_data::prompt::Prompt;
use serde::{Deserialize, Serialize};
use training_run::partition::run_of;

use super::engine::{Drawn, ExternalEngine};
use super::environment::{Environment, Played};
use super::judge::{Grader, Judge, Places};
use super::sample::Sample;
use decoder::generation::{GenerationOptions, PromptRequest, SamplingKey, generate_each};
use decoder::model::Decoder;
use ranks::{DeviceMesh, between_ranks};

/// All responses of one rollout, group after group.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Rollout {
    pub(crate) samples: Vec<Sample>,
    /// Wall time of sampling, in seconds.
    pub(crate) generation_seconds: f64,
    /// Wall time of judging after the last response had finished, in seconds.
    pub(crate) judging_seconds: f64,
    /// Number of responses whose tokens had to be guessed from their text.
    pub(crate) retokenised: usize,
    /// Prompts whose group is left out, with the reason: a harness has failed.
    pub(crate) dropped: Vec<(usize, String)>,
}

#[derive(Debug, Clone, Copy)]
pub(crate) enum Engine<'a> {
    /// The policy in this process.
    Own(&'a Decoder),
    /// Another process.
    External(&'a ExternalEngine),
    /// The policy in this process, with harnesses that play.
    Played {
        model: &'a Decoder,
        environment: &'a Environment,
        /// True if the policy is measured, false if it is trained.
        evaluates: bool,
    },
}

/// Settings for answering the prompts of a rollout: engine, sampling options and judge.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SamplingPass<'a> {
    pub(crate) engine: Engine<'a>,
    /// Sampling options; `samples` responses to each prompt.
    pub(crate) options: &'a GenerationOptions,
    pub(crate) judge: &'a Judge,
}

impl SamplingPass<'_> {
    /// Samples responses to each prompt, and judges each as soon as it has finished; data-parallel ranks of `mesh` split the prompts.
    ///
    /// `first` keys the sampling noise of the first prompt; the others follow by their index. `tell` receives progress messages.
    /// The outcome does not depend on the number of threads. Each copy of the model samples a run of the prompts; every rank
    /// gets all responses, and the longest times. If one rank fails, all ranks fail.
    pub(crate) fn roll_out(
        &self,
        mesh: &DeviceMesh,
        prompts: &[&Prompt],
        first: SamplingKey,
        tell: &dyn Fn(&str),
    ) -> anyhow::Result<Rollout> {
        let (_open, share) = match self.engine {
            Engine::Own(model) | Engine::Played { model, .. } => {
                let open = model.open_blocks();
                model.check_blocks()?;
                let share = run_of(prompts.len(), mesh.data.rank(), mesh.data.count());
                (Some(open), share)
            }
            Engine::External(_) => (None, asked_share(mesh, prompts.len())),
        };
        let first = SamplingKey { prompt: first.prompt + share.start as u64, ..first };
        let mut local = match self.engine {
            Engine::Played { model, environment, evaluates } => {
                let (began, asked) = (Instant::now(), &prompts[share.clone()]);
                environment
                    .play(model, asked, first, evaluates, self.options, tell)
                    .and_then(|played| self.judged(asked, played, began.elapsed().as_secs_f64()))
            }
            Engine::Own(_) | Engine::External(_) => {
                self.answer(&prompts[share.clone()], first, tell)
            }
        };
        if let Ok(local) = &mut local {
            local.dropped.iter_mut().for_each(|(prompt, _)| *prompt += share.start);
        }
        gather(mesh, local)
    }

    /// The responses to prompts that this process answers alone; arguments and errors of [`roll_out`](Self::roll_out).
    pub(super) fn answer(
        &self,
        prompts: &[&Prompt],
        first: SamplingKey,
        tell: &dyn Fn(&str),
    ) -> anyhow::Result<Rollout> {
        let Self { options, judge, .. } = *self;
        let started = Instant::now();
        let requests = (first.prompt..).zip(prompts).map(|(prompt, asked)| PromptRequest {
            token_ids: &asked.tokens,
            key: SamplingKey { prompt, ..first },
        });
        let requests: Vec<PromptRequest<'_>> = requests.collect();
        let truths = prompts.iter().map(|prompt| judge.truth(&prompt.question));
        let truths = truths.collect::<anyhow::Result<Vec<GroundTruth>>>()?;
        let places: Places =
            std::iter::repeat_with(OnceLock::new).take(prompts.len() * options.samples).collect();
        let (mut generation_seconds, mut drawn) = (0.0, Drawn::default());
        judge.pool.in_place_scope(|scope| {
            let (truths, places, started) = (&truths, &places, Instant::now());
            let told = started;
            let mut grader = Grader { scope, judge, prompts, truths, places, tell, started, told };
            let outcome = match self.engine {
                Engine::Own(model) | Engine::Played { model, .. } => {
                    generate_each(model, &requests, options, &mut grader)
                        .map_err(anyhow::Error::from)
                }
                Engine::External(engine) => engine
                    .generate_each(&requests, options, &judge.text.tokenizer, &mut grader)
                    .map(|told| drawn = told),
            };
            generation_seconds = started.elapsed().as_secs_f64();
            outcome
        })?;
        let judging_seconds = started.elapsed().as_secs_f64() - generation_seconds;
        let mut samples = places
            .into_iter()
            .map(|place| place.into_inner().expect("every response ends and is judged"))
            .collect::<anyhow::Result<Vec<Sample>>>()?;
        judge.reward(prompts, &mut samples, options.samples)?;
        for (sample, versions) in samples.iter_mut().zip(drawn.versions) {
            sample.versions = versions;
        }
        let Drawn { retokenised, .. } = drawn;
        let dropped = Vec::new();
        Ok(Rollout { samples, generation_seconds, judging_seconds, retokenised, dropped })
    }

    /// The rollouts that harnesses have played, each with the verdict on its last turn.
    fn judged(
        &self,
        prompts: &[&Prompt],
        played: Vec<Result<Played, String>>,
        generation_seconds: f64,
    ) -> anyhow::Result<Rollout> {
        let Self { options, judge, .. } = *self;
        let started = Instant::now();
        let (mut samples, mut dropped) = (Vec::new(), Vec::new());
        let mut played = played.into_iter();
        for (index, prompt) in prompts.iter().enumerate() {
            let group = played.by_ref().take(options.samples).collect::<Vec<_>>();
            match group.into_iter().collect::<Result<Vec<Played>, String>>() {
                Err(reason) => dropped.push((index, reason)),
                Ok(group) => {
                    let truth = judge.truth(&prompt.question)?;
                    let sample = |played| played_sample(played, &truth, judge);
                    samples
                        .extend(group.into_iter().map(sample).collect::<anyhow::Result<Vec<_>>>()?);
                }
            }
        }
        let judging_seconds = started.elapsed().as_secs_f64();
        Ok(Rollout { samples, generation_seconds, judging_seconds, retokenised: 0, dropped })
    }
}

/// A rollout of a harness with the verdict on its last turn; its text has all turns.
fn played_sample(played: Played, truth: &GroundTruth, judge: &Judge) -> anyhow::Result<Sample> {
    let Played { sequence, log_prob, truncated, last_turn, reward } = played;
    let verdict = truth
        .judge(&judge.text.decode(&sequence.response[last_turn..])?, judge.sandbox.as_ref())?;
    let text = judge.text.tokenizer.decode_raw(&sequence.behind_prompt())?;
    Ok(Sample {
        sequence,
        rollout_log_prob: log_prob,
        truncated,
        text,
        verdict,
        reward,
        length_reward: 0.0,
        versions: Vec::new(),
    })
}

/// The prompts, of `count`, to which this rank asks servers for responses: the first rank of each model asks for all of the model's.
pub(super) fn asked_share(mesh: &DeviceMesh, count: usize) -> Range<usize> {
    let share = run_of(count, mesh.data.rank(), mesh.data.count());
    if mesh.is_first_of_model() { share } else { share.start..share.start }
}

/// Gathers the responses of all ranks; an error of one is an error of all.
pub(super) fn gather(
    mesh: &DeviceMesh,
    mut local: anyhow::Result<Rollout>,
) -> anyhow::Result<Rollout> {
    match &mut local {
        // Communication between the ranks has failed: they cannot gather any more.
        Err(error) if between_ranks(error).is_some() => return local,
        // All ranks of a model have sampled the same responses.
        Ok(drawn) if !mesh.is_first_of_model() => {
            drawn.samples.clear();
            drawn.dropped.clear();
        }
        _ => {}
    }
    let mut all = Rollout::default();
    for part in mesh.run.gather_ok("responses", local)? {
        all.samples.extend(part.samples);
        all.generation_seconds = all.generation_seconds.max(part.generation_seconds);
        all.judging_seconds = all.judging_seconds.max(part.judging_seconds);
        all.retokenised += part.retokenised;
        all.dropped.extend(part.dropped);
    }
    Ok(all)
}
