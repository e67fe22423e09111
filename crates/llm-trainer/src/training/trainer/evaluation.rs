//! Accuracy on questions that are not trained on.

use anyhow::Context;
use trainer_core::counter_rng::{Purpose, purpose_seed};
use trainer_core::metrics::{MetricName, StepMetrics};
use trainer_core::prompt::Prompt;

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
        for source in sources {
            let of_source = prompts
                .iter()
                .zip(samples.chunks(settings.samples))
                .filter(|(prompt, _)| prompt.question.source == source)
                .flat_map(|(_, group)| group);
            let verdicts: Vec<bool> =
                of_source.map(|sample: &Sample| sample.verdict.is_right()).collect();
            let right = verdicts.iter().filter(|&&right| right).count();
            metrics.insert(
                MetricName::validation_accuracy(source, settings.samples),
                right as f64 / verdicts.len() as f64,
            );
        }
        Ok(())
    }
}
