//! Rollouts: sampled responses with their rewards.

use std::ops::Range;
use std::sync::OnceLock;
use std::time::Instant;

use question_data::ground_truth::GroundTruth;
use question_data::prompt::Prompt;
use rayon::{Scope, ThreadPool};
use reward_math::{Side, Verdict};
use serde::{Deserialize, Serialize};
use training_run::partition::run_of;

use super::custom_reward::RewardInput;
use super::engine::{Drawn, ExternalEngine, ReplyDecoding};
pub(crate) use super::environment::Environment;
use super::environment::{Numbering, Played};
pub(crate) use super::judge::Judge;
use super::judge::{Earned, Graded, Grader, Places};
use super::sequence::Sequence;
use super::step_key::StepKey;
use decoder::generation::{GenerationOptions, PromptRequest, SamplingKey, generate_each};
use decoder::model::Decoder;
use ranks::{DeviceMesh, between_ranks};

/// One sampled response.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Sample {
    /// Prompt and response tokens.
    pub(crate) sequence: Sequence,
    /// `log π(y_t)` as sampled, in nats; over the sampling mask [`Sequence::mask`] if there is one.
    pub(crate) rollout_log_prob: Vec<f64>,
    /// True if the response was truncated at the length limit.
    pub(crate) truncated: bool,
    /// The response as text, up to a stop string.
    pub(crate) text: String,
    pub(crate) verdict: Verdict,
    pub(crate) reward: f64,
    /// Part of it that is the reward of its length, at most 0.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub(crate) length_reward: f64,
    /// Number of optimiser steps of the weights that drew each token, where servers drew them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) versions: Vec<u64>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde calls")]
fn is_zero(value: &f64) -> bool {
    *value == 0.0
}

impl Sample {
    /// Returns true if no answer was found in the response.
    pub(crate) fn is_unparsed(&self) -> bool {
        matches!(self.verdict, Verdict::Unparsed { which: Side::Response, .. })
    }
}

#[cfg(test)]
impl Sample {
    /// A wrong response to a prompt of one token, whose tokens were drawn at -1 nat each.
    pub(super) fn wrong(response: Vec<u32>) -> Self {
        let how = reward_math::How {
            rung: reward_math::Rung::Spelling,
            response: None,
            ground_truth: None,
        };
        Self {
            rollout_log_prob: vec![-1.0; response.len()],
            sequence: Sequence::new(vec![1], response),
            truncated: false,
            text: String::new(),
            verdict: Verdict::Wrong { how },
            reward: 0.0,
            length_reward: 0.0,
            versions: Vec::new(),
        }
    }
}

/// The responses to one question, waiting for a step or being trained on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct QuestionGroup {
    /// Index among the questions of the run.
    pub(crate) question: usize,
    pub(crate) samples: Vec<Sample>,
}

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

/// Engine that samples the responses.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Engine<'a> {
    /// The policy in this process.
    Own(&'a Decoder),
    /// Another process, with the texts that end a response.
    External(&'a ExternalEngine, ReplyDecoding<'a>),
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
    pub(crate) judge: Judge<'a>,
}

impl SamplingPass<'_> {
    /// Samples responses to each prompt, and judges each as soon as it has finished; data-parallel ranks of `mesh` split the prompts.
    ///
    /// `key` keys the sampling noise, together with the index of the prompt in `prompts`, counted from `first_prompt`. `tell`
    /// receives progress messages. The outcome does not depend on the number of threads. Each copy of the model samples a run
    /// of the prompts; every rank gets all responses, and the longest times.
    /// If one rank fails, all ranks fail.
    pub(crate) fn roll_out(
        &self,
        mesh: &DeviceMesh,
        prompts: &[&Prompt],
        key: StepKey,
        first_prompt: u64,
        tell: &dyn Fn(&str),
    ) -> anyhow::Result<Rollout> {
        let (_open, share) = match self.engine {
            Engine::Own(model) | Engine::Played { model, .. } => {
                let open = model.open_blocks();
                model.check_blocks()?;
                let share = run_of(prompts.len(), mesh.data.rank(), mesh.data.count());
                (Some(open), share)
            }
            Engine::External(..) => (None, asked_share(mesh, prompts.len())),
        };
        let first = first_prompt + share.start as u64;
        let mut local = match self.engine {
            Engine::Played { model, environment, evaluates } => {
                let numbering = Numbering { key, first_prompt: first, evaluates };
                let (began, asked) = (Instant::now(), &prompts[share.clone()]);
                environment
                    .play(model, asked, numbering, self.options, tell)
                    .and_then(|played| self.judged(asked, played, began.elapsed().as_secs_f64()))
            }
            Engine::Own(_) | Engine::External(..) => {
                self.answer(&prompts[share.clone()], key, first, tell)
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
        key: StepKey,
        first_prompt: u64,
        tell: &dyn Fn(&str),
    ) -> anyhow::Result<Rollout> {
        let Self { options, judge, .. } = *self;
        let started = Instant::now();
        let requests: Vec<PromptRequest<'_>> = (first_prompt..)
            .zip(prompts)
            .map(|(index, prompt)| PromptRequest {
                token_ids: &prompt.tokens,
                key: SamplingKey { seed: key.seed, step: key.step, prompt: index },
            })
            .collect();
        let truths = prompts
            .iter()
            .map(|prompt| judge.truth(&prompt.question))
            .collect::<anyhow::Result<Vec<GroundTruth>>>()?;
        let places: Places =
            std::iter::repeat_with(OnceLock::new).take(prompts.len() * options.samples).collect();
        let (mut generation_seconds, mut drawn) = (0.0, Drawn::default());
        in_scope(judge.pool, |scope| {
            let (truths, places, started) = (&truths, &places, Instant::now());
            let mut grader = Grader { scope, judge, truths, places, tell, started, told: started };
            let outcome = match self.engine {
                Engine::Own(model) | Engine::Played { model, .. } => {
                    generate_each(model, &requests, options, &mut grader)
                        .map_err(anyhow::Error::from)
                }
                Engine::External(engine, wanted) => engine
                    .generate_each(&requests, options, wanted, &mut grader)
                    .map(|told| drawn = told),
            };
            generation_seconds = started.elapsed().as_secs_f64();
            outcome
        })?;
        let judging_seconds = started.elapsed().as_secs_f64() - generation_seconds;
        let mut samples = self.rewarded(prompts, places)?;
        for (sample, versions) in samples.iter_mut().zip(drawn.versions) {
            sample.versions = versions;
        }
        let retokenised = drawn.retokenised;
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

    /// The judged responses with their rewards.
    fn rewarded(&self, prompts: &[&Prompt], places: Places) -> anyhow::Result<Vec<Sample>> {
        let graded = places
            .into_iter()
            .map(|place| place.into_inner().expect("every response ends and is judged"))
            .collect::<anyhow::Result<Vec<Graded>>>()?;
        let prompt = |index: usize| prompts[index / self.options.samples];
        let judged: Vec<RewardInput<'_>> = graded
            .iter()
            .enumerate()
            .map(|(index, one)| RewardInput {
                question: &prompt(index).question,
                response: &one.text,
                verdict: &one.verdict,
                tokens: one.response.token_ids.len(),
                truncated: one.truncated(),
            })
            .collect();
        let rewards = self.judge.rewards(&judged)?;
        let sample = |(index, (graded, earned)): (usize, (Graded, Earned))| {
            let truncated = graded.truncated();
            let Graded { response, text, verdict } = graded;
            Sample {
                truncated,
                reward: earned.reward,
                length_reward: earned.length,
                sequence: Sequence {
                    mask: response.mask,
                    routes: response.routes,
                    ..Sequence::new(prompt(index).tokens.clone(), response.token_ids)
                },
                rollout_log_prob: response.log_prob,
                text,
                verdict,
                versions: Vec::new(),
            }
        };
        Ok(graded.into_iter().zip(rewards).enumerate().map(sample).collect())
    }
}

/// A rollout of a harness with the verdict on its last turn; its text has all turns.
fn played_sample(played: Played, truth: &GroundTruth, judge: Judge<'_>) -> anyhow::Result<Sample> {
    let Played { sequence, log_prob, truncated, last_turn, reward } = played;
    let verdict = truth.judge(&judge.text(&sequence.response[last_turn..])?, judge.sandbox)?;
    let text = judge.tokenizer.decode_raw(&sequence.behind_prompt())?;
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

/// Runs `work` on this thread, and the tasks that it spawns on the threads of `pool`, or of the process if that is `None`.
fn in_scope<'scope, R>(pool: Option<&ThreadPool>, work: impl FnOnce(&Scope<'scope>) -> R) -> R {
    match pool {
        Some(pool) => pool.in_place_scope(work),
        None => rayon::in_place_scope(work),
    }
}
