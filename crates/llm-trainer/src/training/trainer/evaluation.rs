//! Accuracy on held-out questions.

use std::collections::BTreeSet;

use anyhow::{Context, ensure};
use counter_rng::{Purpose, purpose_seed};
use decoder::generation::SamplingKey;
use model_files::sampling::Sampling;
use question_data::prompt::Prompt;
use run_report::evaluation::bootstrap::{Bootstrap, Estimate};
use run_report::evaluation::majority::Votes;
use run_report::evaluation::measures::{counts_below, pass_at_k};
use run_report::evaluation::response::judge;
use training_run::config::EvaluationSection;
use training_run::metrics::{MetricName, StepMetrics, Validation};

use super::policy::Policy;
use super::sampler::Sampler;
use crate::training::rollout::SamplingPass;
use crate::training::sample::Sample;

impl Sampler {
    pub(super) fn evaluates(&self) -> bool {
        self.drawer.questions.held_out.is_some() && self.drawer.run.config().evaluation.every > 0
    }

    /// Measures a policy on the held-out questions, if there are any, after the step of `metrics` and `updates` optimiser steps.
    /// Returns a warning where questions are left out as their harness failed.
    pub(super) fn evaluate(
        &self,
        policy: &Policy,
        updates: u64,
        metrics: &mut StepMetrics,
        phase: &dyn Fn(&str),
    ) -> anyhow::Result<Option<String>> {
        let drawer = &self.drawer;
        let Some(held_out) = &drawer.questions.held_out else { return Ok(None) };
        let config = drawer.run.config();
        let external = drawer.engine.as_ref().filter(|engine| engine.settings.evaluations);
        if let Some(engine) = external {
            engine.send_weights(&policy.pass(), &self.mesh, &config.model.path, updates)?;
        }
        let engine = drawer.sampled_by(&policy.model, external, true);
        let (seed, step) = (purpose_seed(config.seed, Purpose::Evaluation), metrics.step());
        let mut first = SamplingKey { seed, step, prompt: 0 };
        let tell = |progress: &str| phase(&format!("evaluating, {progress}"));
        let mut dropped = Vec::new();
        for ((samples, temperature), mut prompts) in
            by_sampling(&held_out.prompts, &config.evaluation)
        {
            let sampling = Sampling { temperature, ..Sampling::DEFAULT };
            let options = &drawer.judge.text.options(&config.rollout, samples, sampling);
            let rollout = SamplingPass { engine, options, judge: &drawer.judge }
                .roll_out(&self.mesh, &prompts, first, &tell)
                .with_context(|| format!("evaluation after step {step}"))?;
            first.prompt += prompts.len() as u64;
            for (place, reason) in rollout.dropped.into_iter().rev() {
                prompts.remove(place);
                dropped.push(reason);
            }
            self.measure(&prompts, &rollout.samples, samples, metrics)?;
        }
        if let Some(engine) = external {
            engine.rest(&self.mesh)?;
        }
        let count = dropped.len();
        let Some(reason) = dropped.first() else { return Ok(None) };
        ensure!(
            (count as u64) < first.prompt,
            "evaluation after step {step}: the harness of every question failed: {reason}"
        );
        Ok(Some(format!("{count} questions of the evaluation are left out: {reason}")))
    }

    /// Inserts the measures of each source among the prompts, which have so many `samples` each.
    fn measure(
        &self,
        prompts: &[&Prompt],
        responses: &[Sample],
        samples: usize,
        metrics: &mut StepMetrics,
    ) -> anyhow::Result<()> {
        let all = self.drawer.questions.held_out.iter().flat_map(|set| &set.prompts);
        let places: BTreeSet<&str> = all.map(|prompt| prompt.question.source.as_str()).collect();
        for (place, source) in (0..).zip(places) {
            let groups = prompts.iter().copied().zip(responses.chunks(samples));
            let groups = groups.filter(|(prompt, _)| prompt.question.source == source);
            let groups: Vec<(&Prompt, &[Sample])> = groups.collect();
            if groups.is_empty() {
                continue;
            }
            let votes = groups.iter().map(|(prompt, group)| self.votes(prompt, group));
            let votes = votes.collect::<anyhow::Result<Vec<Votes>>>()?;
            self.insert_accuracy(source, &votes, samples, place, metrics);
            let mut insert_mean = |what, value: fn(&Sample) -> f64| {
                let all = groups.iter().flat_map(|(_, group)| *group);
                let mean = all.map(value).sum::<f64>() / (groups.len() * samples) as f64;
                metrics.insert(MetricName::validation(source, what), mean);
            };
            insert_mean(Validation::Extracted, |sample| f64::from(!sample.is_unparsed()));
            insert_mean(Validation::Truncated, |sample| f64::from(sample.truncated));
            if self.drawer.environment.is_some() {
                insert_mean(Validation::Reward(samples), |sample| sample.reward);
            }
        }
        Ok(())
    }

    /// Counts the votes among the responses to a question.
    fn votes(&self, prompt: &Prompt, group: &[Sample]) -> anyhow::Result<Votes> {
        // A single response needs no comparison of wrong answers.
        let truth = match group {
            [_] => None,
            _ => Some(self.drawer.judge.truth(&prompt.question)?),
        };
        let answers: Vec<Option<String>> =
            group.iter().map(|sample| judge(truth.as_ref()?, &sample.text).normal_form).collect();
        let right = group.iter().map(|sample| sample.verdict.is_right());
        Ok(Votes::count(right.zip(answers.iter().map(Option::as_deref))))
    }

    /// Inserts the accuracy of a source with its interval; with several samples, also pass@k and maj@k.
    fn insert_accuracy(
        &self,
        source: &str,
        votes: &[Votes],
        samples: usize,
        place: u64,
        metrics: &mut StepMetrics,
    ) {
        let mut insert = |what, value| metrics.insert(MetricName::validation(source, what), value);
        let shares: Vec<f64> = votes.iter().map(|v| v.right as f64 / samples as f64).collect();
        let bootstrap = Bootstrap { seed: self.drawer.run.config().seed, ..Bootstrap::default() };
        let Estimate { interval, .. } =
            bootstrap.estimate(&bootstrap.resample(&[&shares], place)[0]);
        // Counts are summed before the division.
        let right: usize = votes.iter().map(|votes| votes.right).sum();
        insert(Validation::Mean(samples), right as f64 / (votes.len() * samples) as f64);
        insert(Validation::Low(samples), interval.low);
        insert(Validation::High(samples), interval.high);
        for k in counts_below(samples) {
            let mean = |measure: &dyn Fn(&Votes) -> f64| {
                votes.iter().map(measure).sum::<f64>() / votes.len() as f64
            };
            insert(Validation::Pass(k), mean(&|votes| pass_at_k(votes.right, samples, k)));
            insert(Validation::Majority(k), mean(&|votes| votes.majority_at_k(k)));
        }
    }
}

/// Prompts by samples and temperature of their sources, in order of the first; they are sampled together.
fn by_sampling<'a>(
    prompts: &'a [Prompt],
    settings: &EvaluationSection,
) -> Vec<((usize, f64), Vec<&'a Prompt>)> {
    let mut passes: Vec<((usize, f64), Vec<&Prompt>)> = Vec::new();
    for prompt in prompts {
        let sampling = settings.sampling_of(&prompt.question.source);
        match passes.iter_mut().find(|(other, _)| *other == sampling) {
            Some((_, prompts)) => prompts.push(prompt),
            None => passes.push((sampling, vec![prompt])),
        }
    }
    passes
}
