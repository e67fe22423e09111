//! How prompts, samples, mini-batches and tokens of a run come together, in words.

use std::fmt::{self, Display, Formatter};

use question_data::arithmetic::Split;
use question_data::dataset::DatasetError;
use rl_losses::PolicyLoss;
use serde::Serialize;

use super::Run;

/// The arithmetic of a run's batches. Prompts and samples are those of all ranks together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct BatchArithmetic {
    /// Prompts trained on in one step.
    pub prompts: usize,
    /// Responses to each.
    pub group_size: usize,
    /// Prompts of one optimiser step.
    pub mini_batch_prompts: usize,
    /// Passes over the responses of a step.
    pub epochs: usize,
    /// Training steps: rollout batches.
    pub steps: u64,
    /// Longest prompt, in tokens.
    pub max_prompt_tokens: usize,
    /// Longest response, in tokens.
    pub max_response_tokens: usize,
    /// Tokens that run through a block at once.
    pub micro_batch_tokens: usize,
    /// Most prompts asked in one step; `prompts` without dynamic sampling.
    pub most_prompts_asked: usize,
    /// Optimiser steps of the reward model in one step; 0 where there is none, or it does not learn.
    pub reward_model_steps: usize,
}

impl BatchArithmetic {
    /// Responses trained on in one step.
    pub fn rollouts(&self) -> usize {
        self.prompts * self.group_size
    }

    /// Mini-batches of one pass over a step's responses.
    pub fn mini_batches(&self) -> usize {
        self.prompts / self.mini_batch_prompts
    }

    /// Optimiser steps of one training step.
    pub fn optimizer_steps_per_step(&self) -> usize {
        self.mini_batches() * self.epochs
    }

    /// Optimiser steps of the run.
    pub fn optimizer_steps(&self) -> u64 {
        self.steps.saturating_mul(self.optimizer_steps_per_step() as u64)
    }

    /// Tokens of the longest sequence.
    pub fn longest_sequence(&self) -> usize {
        self.max_prompt_tokens + self.max_response_tokens
    }

    /// Most response tokens of one mini-batch: the tokens that a loss selects from.
    pub fn mini_batch_response_tokens(&self) -> usize {
        self.mini_batch_prompts * self.group_size * self.max_response_tokens
    }
}

impl Display for BatchArithmetic {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let Self { prompts, group_size, mini_batch_prompts, epochs, steps, .. } = self;
        let rollouts = grouped(self.rollouts());
        writeln!(out, "{prompts} prompts × {group_size} samples = {rollouts} rollouts a step")?;
        if self.most_prompts_asked > self.prompts {
            let asked = grouped(self.most_prompts_asked);
            writeln!(out, "dynamic sampling: at most {asked} prompts asked for them")?;
        }
        writeln!(
            out,
            "{prompts} prompts / {mini_batch_prompts} a mini-batch × {epochs} epoch(s) = {} optimiser steps a step, each \
             over {} rollouts",
            self.optimizer_steps_per_step(),
            grouped(mini_batch_prompts * group_size),
        )?;
        if self.reward_model_steps > 0 {
            let (steps, each) =
                (self.reward_model_steps, self.rollouts() / self.reward_model_steps);
            writeln!(
                out,
                "reward model: {steps} optimiser steps a step, each over {each} rollouts"
            )?;
        }
        let updates = usize::try_from(self.optimizer_steps()).unwrap_or(usize::MAX);
        writeln!(
            out,
            "{steps} steps × {} = {} optimiser steps in all",
            self.optimizer_steps_per_step(),
            grouped(updates)
        )?;
        let longest = self.longest_sequence();
        writeln!(
            out,
            "longest sequence: {} + {} = {} tokens; at most {} tokens a step, {} a mini-batch",
            grouped(self.max_prompt_tokens),
            grouped(self.max_response_tokens),
            grouped(longest),
            grouped(self.rollouts() * longest),
            grouped(mini_batch_prompts * group_size * longest),
        )?;
        let sequences = self.micro_batch_tokens / longest;
        writeln!(
            out,
            "micro-batch: {} tokens, {sequences} of the longest sequences; changes memory, not the result",
            grouped(self.micro_batch_tokens),
        )
    }
}

impl Run {
    /// How the batches of this run come together.
    pub fn batch_arithmetic(&self) -> BatchArithmetic {
        let config = self.config();
        let prompts = config.rollout.prompts_per_step;
        BatchArithmetic {
            prompts,
            group_size: config.rollout.group_size,
            mini_batch_prompts: config.algorithm.mini_batch_prompts,
            epochs: config.algorithm.epochs,
            steps: config.training.steps,
            max_prompt_tokens: config.data.max_prompt_tokens,
            max_response_tokens: config.rollout.max_response_tokens,
            micro_batch_tokens: config.training.micro_batch_tokens,
            most_prompts_asked: config.dynamic_sampling.most_prompts_asked(prompts),
            reward_model_steps: config
                .reward_model
                .as_ref()
                .map_or(0, |section| section.optimizer_steps_per_step(prompts)),
        }
    }

    /// Reads the questions: how many there are, how often they are asked, and what was left out; one line each.
    ///
    /// # Errors
    ///
    /// [`DatasetError`], with all bad rows of a file in one.
    pub fn describe_data(&self) -> Result<Vec<String>, DatasetError> {
        let (data, arithmetic) = (&self.config().data, self.batch_arithmetic());
        let mut lines = Vec::new();
        let kinds = self.config().reward.kinds();
        let set = data.train.load(Split::Train, &kinds)?;
        let asked = arithmetic.steps as f64 * arithmetic.prompts as f64;
        lines.push(format!(
            "data.train: {} questions, trained on {:.1} times each",
            grouped(set.questions.len()),
            asked / set.questions.len() as f64
        ));
        lines.extend(set.notes().into_iter().map(|note| format!("data.train: {note}")));
        if let Some(source) = &data.evaluation {
            let set = source.load(Split::HeldOut, &kinds)?;
            lines.push(format!("data.evaluation: {} questions", grouped(set.questions.len())));
            lines.extend(set.notes().into_iter().map(|note| format!("data.evaluation: {note}")));
        }
        Ok(lines)
    }

    /// Warnings before the run starts: one sentence for each allowed but unlikely setting.
    pub fn warnings(&self) -> Vec<String> {
        let arithmetic = self.batch_arithmetic();
        let algorithm = &self.config().algorithm;
        let loss = &algorithm.policy_loss;
        let mut warnings = Vec::new();
        let plain = matches!(loss, PolicyLoss::Reinforce(_));
        if !plain && loss.is_inert_on_policy() && arithmetic.optimizer_steps_per_step() == 1 {
            warnings.push(format!(
                "{} does nothing: with one optimiser step a rollout batch the policy is always the one that sampled, and \
                 the gradient is the plain one. Take a smaller algorithm.mini_batch_prompts or more epochs",
                loss.name()
            ));
        }
        let fraction = match loss {
            PolicyLoss::ClipCov(loss) => Some(loss.fraction()),
            PolicyLoss::KlCov(loss) => Some(loss.fraction()),
            _ => None,
        };
        let tokens = arithmetic.mini_batch_response_tokens();
        if let Some(fraction) = fraction
            && fraction * (tokens as f64) < 1.0
        {
            warnings.push(format!(
                "{} selects less than one token: a share of {fraction} of the at most {} response tokens of a mini-batch",
                loss.name(),
                grouped(tokens)
            ));
        }
        if let Some(fraction) = fraction
            && fraction > LARGE_FRACTION
        {
            warnings.push(format!(
                "{} treats a share of {fraction} of all tokens; published runs take 0.0002 to 0.002 (0.2 in the authors' \
                 scripts is a percentage)",
                loss.name()
            ));
        }
        let sampling = &self.config().dynamic_sampling;
        if sampling.enabled && arithmetic.group_size == 1 {
            warnings.push(
                "dynamic_sampling does nothing: a group of one response always has rewards that differ".to_owned(),
            );
        }
        warnings
    }
}

/// Share of tokens from which on a covariance method is no longer a fine adjustment.
const LARGE_FRACTION: f64 = 0.05;

/// Digits in groups of three.
fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_stand_in_groups_of_three() {
        assert_eq!([0, 999, 1000, 20_971_520].map(grouped), ["0", "999", "1,000", "20,971,520"]);
    }
}
