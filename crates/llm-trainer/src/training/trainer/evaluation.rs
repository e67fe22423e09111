//! Accuracy on questions that are not trained on.

use anyhow::Context;
use counter_rng::{Purpose, purpose_seed};
use question_data::prompt::Prompt;
use run_report::evaluation::bootstrap::{Bootstrap, Estimate};
use run_report::evaluation::measures::{Votes, counts_below, pass_at_k};
use run_report::evaluation::response::judge;
use training_run::metrics::{MetricName, StepMetrics, Validation};

use super::Trainer;
use crate::training::rollout::{Sample, roll_out_over};

impl Trainer {
    /// Measures the untrained policy on the held-out questions, as step 0, if the run evaluates at all.
    ///
    /// # Errors
    ///
    /// If generation or a write fails.
    pub fn evaluate_at_start(&mut self, phase: impl Fn(&str)) -> anyhow::Result<()> {
        if self.state.step == 0 && self.evaluates() {
            phase("evaluating");
            let mut metrics = StepMetrics::new(0);
            self.evaluate(0, &mut metrics, &phase)?;
            self.law.push(&metrics);
            self.write_metrics(&metrics, [])?;
        }
        Ok(())
    }

    pub(super) fn evaluates(&self) -> bool {
        self.held_out.is_some() && self.config().evaluation.every > 0
    }

    pub(super) fn evaluate(
        &self,
        step: u64,
        metrics: &mut StepMetrics,
        phase: &dyn Fn(&str),
    ) -> anyhow::Result<()> {
        let Some(held_out) = &self.held_out else { return Ok(()) };
        let settings = &self.config().evaluation;
        let prompts: Vec<&Prompt> = held_out.prompts.iter().collect();
        let options = self.generation_options(settings.samples, settings.temperature);
        let noise = (purpose_seed(self.config().seed, Purpose::Evaluation), step);
        let tell = |progress: &str| phase(&format!("evaluating, {progress}"));
        let (grid, model, judge) = (&self.grid, &self.model, self.judge()?);
        let samples = roll_out_over(grid, model, &prompts, &options, judge, noise, 0, &tell)
            .with_context(|| format!("evaluation after step {step}"))?
            .samples;
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
            let share = |of: fn(&Sample) -> bool| {
                let all = groups.iter().flat_map(|(_, group)| *group);
                let count = all.filter(|sample| of(sample)).count();
                count as f64 / (groups.len() * settings.samples) as f64
            };
            let extracted = share(|sample| !sample.is_unparsed());
            metrics.insert(MetricName::validation(source, Validation::Extracted), extracted);
            let truncated = share(|sample| sample.truncated);
            metrics.insert(MetricName::validation(source, Validation::Truncated), truncated);
        }
        Ok(())
    }

    /// What the responses to a question vote for.
    fn votes(&self, prompt: &Prompt, group: &[Sample]) -> anyhow::Result<Votes> {
        // A vote of one needs no comparison of wrong answers.
        let truth = match group {
            [_] => None,
            _ => Some(self.judge()?.truth(&prompt.question)?),
        };
        let answers: Vec<Option<String>> =
            group.iter().map(|sample| judge(truth.as_ref()?, &sample.text).normal_form).collect();
        let right = group.iter().map(|sample| sample.verdict.is_right());
        Ok(Votes::count(right.zip(answers.iter().map(Option::as_deref))))
    }

    /// Accuracy of a source with its interval, and pass@k and maj@k where there are several samples.
    fn insert_accuracy(
        &self,
        source: &str,
        votes: &[Votes],
        place: u64,
        metrics: &mut StepMetrics,
    ) {
        let samples = self.config().evaluation.samples;
        let mut insert = |what, value| metrics.insert(MetricName::validation(source, what), value);
        let shares: Vec<f64> = votes.iter().map(|v| v.right as f64 / samples as f64).collect();
        let bootstrap = Bootstrap { seed: self.config().seed, ..Bootstrap::default() };
        let Estimate { interval, .. } =
            bootstrap.estimate(&bootstrap.resample(&[&shares], place)[0]);
        // Counts are added before they are divided.
        let right: usize = votes.iter().map(|votes| votes.right).sum();
        insert(Validation::Mean(samples), right as f64 / (votes.len() * samples) as f64);
        insert(Validation::Low(samples), interval.low);
        insert(Validation::High(samples), interval.high);
        for k in counts_below(samples) {
            let mean =
                |of: &dyn Fn(&Votes) -> f64| votes.iter().map(of).sum::<f64>() / votes.len() as f64;
            insert(Validation::Pass(k), mean(&|votes| pass_at_k(votes.right, samples, k)));
            insert(Validation::Majority(k), mean(&|votes| votes.majority_at_k(k)));
        }
    }
}
