//! Accuracy on held-out questions.

use anyhow::Context;
use counter_rng::{Purpose, purpose_seed};
use model_files::sampling::Sampling;
use question_data::prompt::Prompt;
use run_report::evaluation::bootstrap::{Bootstrap, Estimate};
use run_report::evaluation::measures::{Votes, counts_below, pass_at_k};
use run_report::evaluation::response::judge;
use training_run::metrics::{MetricName, StepMetrics, Validation};

use super::policy::Policy;
use super::sampler::Sampler;
use crate::training::rollout::{Sample, SamplingPass};
use crate::training::step_key::StepKey;

impl Sampler {
    /// Returns true if the run evaluates.
    pub(super) fn evaluates(&self) -> bool {
        self.drawer.questions.held_out.is_some() && self.drawer.run.config().evaluation.every > 0
    }

    /// Measures a policy on the held-out questions, if there are any, after the step of `metrics` and `updates` optimiser steps.
    ///
    /// # Errors
    ///
    /// If generation fails.
    pub(super) fn evaluate(
        &self,
        policy: &Policy,
        updates: u64,
        metrics: &mut StepMetrics,
        phase: &dyn Fn(&str),
    ) -> anyhow::Result<()> {
        let drawer = &self.drawer;
        let Some(held_out) = &drawer.questions.held_out else { return Ok(()) };
        let (config, step) = (drawer.run.config(), metrics.step());
        let external = drawer.engine.as_ref().filter(|engine| engine.evaluates());
        if let Some(engine) = external {
            engine.send_weights(&policy.pass(), &self.mesh, &config.model.path, updates)?;
        }
        let settings = &config.evaluation;
        let prompts: Vec<&Prompt> = held_out.prompts.iter().collect();
        let text = &drawer.rewarder.text;
        let sampling = Sampling { temperature: settings.temperature, ..Sampling::DEFAULT };
        let options = text.options(&config.rollout, settings.samples, sampling);
        let key = StepKey { seed: purpose_seed(config.seed, Purpose::Evaluation), step };
        let tell = |progress: &str| phase(&format!("evaluating, {progress}"));
        let engine = drawer.sampled_by(&policy.model, external);
        let judge = drawer.rewarder.judge(config)?;
        let samples = SamplingPass { engine, options: &options, judge }
            .roll_out(&self.mesh, &prompts, key, 0, &tell)
            .with_context(|| format!("evaluation after step {step}"))?
            .samples;
        if let Some(engine) = external {
            engine.rest(&self.mesh)?;
        }
        let mut sources: Vec<&str> = prompts.iter().map(|p| p.question.source.as_str()).collect();
        sources.sort_unstable();
        sources.dedup();
        for (place, source) in (0..).zip(sources) {
            let groups: Vec<(&Prompt, &[Sample])> = prompts
                .iter()
                .copied()
                .zip(samples.chunks(settings.samples))
                .filter(|(prompt, _)| prompt.question.source == source)
                .collect();
            let votes = groups
                .iter()
                .map(|(prompt, group)| self.votes(prompt, group))
                .collect::<anyhow::Result<Vec<Votes>>>()?;
            self.insert_accuracy(source, &votes, place, metrics);
            let share = |counts: fn(&Sample) -> bool| {
                let all = groups.iter().flat_map(|(_, group)| *group);
                let count = all.filter(|sample| counts(sample)).count();
                count as f64 / (groups.len() * settings.samples) as f64
            };
            let extracted = share(|sample| !sample.is_unparsed());
            metrics.insert(MetricName::validation(source, Validation::Extracted), extracted);
            let truncated = share(|sample| sample.truncated);
            metrics.insert(MetricName::validation(source, Validation::Truncated), truncated);
        }
        Ok(())
    }

    /// Counts the votes among the responses to a question.
    fn votes(&self, prompt: &Prompt, group: &[Sample]) -> anyhow::Result<Votes> {
        // A single response needs no comparison of wrong answers.
        let truth = match group {
            [_] => None,
            _ => Some(
                self.drawer.rewarder.judge(self.drawer.run.config())?.truth(&prompt.question)?,
            ),
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
        place: u64,
        metrics: &mut StepMetrics,
    ) {
        let samples = self.drawer.run.config().evaluation.samples;
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
