//! Rewards of tokens by an implicit reward model, where the run has one.

use std::time::Instant;

use rl_losses::implicit_process_rewards;
use training_run::metric;
use training_run::metrics::StepMetrics;

use super::Trainer;
use crate::training::policy_pass::Sequence;
use crate::training::rollout::Sample;

impl Trainer {
    /// Log-ratio of every response token under the reward model to its reference, in nats; `None` without a reward model.
    /// It learns from the verdicts on the way, and a warning says where it could not.
    pub(super) fn judge_tokens(
        &mut self,
        step: u64,
        samples: &[Sample],
        metrics: &mut StepMetrics,
        warnings: &mut Vec<String>,
    ) -> anyhow::Result<Option<Vec<f64>>> {
        let config = self.run.config();
        let (Some(reward_model), Some(section)) = (&mut self.reward_model, &config.reward_model)
        else {
            return Ok(None);
        };
        let started = Instant::now();
        let sequences: Vec<&Sequence> = samples.iter().map(|sample| &sample.sequence).collect();
        let outcomes: Vec<bool> = samples.iter().map(|sample| sample.verdict.is_right()).collect();
        let place = (step, self.state.reward_model_updates);
        let ranks = &self.grid.data;
        let judged = reward_model.judge(ranks, config, section, &sequences, &outcomes, place)?;

        let responses = samples.len() as f64;
        let learnt = &judged.learnt;
        let process = implicit_process_rewards(&judged.log_ratio, reward_model.beta());
        metrics.insert(metric!("reward_model/loss"), learnt.loss / responses);
        metrics.insert(metric!("reward_model/accuracy"), judged.agreement.accuracy());
        if judged.agreement.pairs > 0 {
            let ordered = judged.agreement.pair_accuracy();
            metrics.insert(metric!("reward_model/pair_accuracy"), ordered);
        }
        let sum: f64 = process.iter().sum();
        metrics.insert(metric!("reward_model/reward"), sum / responses);
        if let Some(rate) = judged.learning_rate {
            let norm = learnt.gradient_norm / learnt.updates as f64;
            metrics.insert(metric!("reward_model/grad_norm"), norm);
            metrics.insert(metric!("reward_model/lr"), rate);
            metrics.insert(metric!("reward_model/skipped_updates"), learnt.skipped as f64);
        }
        if learnt.skipped > 0 {
            warnings.push(format!(
                "the gradient of {} of {} optimiser steps of the reward model was not finite, and they changed nothing",
                learnt.skipped, learnt.updates
            ));
        }
        self.state.reward_model_updates += learnt.updates as u64;
        metrics.insert(metric!("timing_s/reward_model"), started.elapsed().as_secs_f64());
        Ok(Some(judged.log_ratio))
    }
}
