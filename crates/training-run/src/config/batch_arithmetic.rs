//! How prompts, samples, mini-batches and tokens of a run come together, in words.

use question_data::arithmetic::Split;
use rl_losses::PolicyLoss;
use whole_file::FileError;

use super::Run;

impl Run {
    /// How the batches of this run come together, one line each. Prompts and samples are those of all ranks together.
    pub fn batch_arithmetic(&self) -> Vec<String> {
        let config = self.config();
        let (rollout, algorithm) = (&config.rollout, &config.algorithm);
        let (prompts, group_size) = (rollout.prompts_per_step, rollout.group_size);
        let (mini_batch_prompts, epochs) = (algorithm.mini_batch_prompts, algorithm.epochs);
        let rollouts = prompts * group_size;
        let counted = grouped(rollouts);
        let mut lines =
            vec![format!("{prompts} prompts × {group_size} samples = {counted} rollouts a step")];
        let asked = self.most_prompts_asked();
        if asked > prompts {
            let asked = grouped(asked);
            lines.push(format!("dynamic sampling: at most {asked} prompts asked for them"));
        }
        let updates = self.optimizer_steps_per_step();
        let each = grouped(mini_batch_prompts * group_size);
        lines.push(format!(
            "{prompts} prompts / {mini_batch_prompts} a mini-batch × {epochs} epoch(s) = {updates} optimiser steps a step, each \
             over {each} rollouts"
        ));
        let learnt = config.reward_model.as_ref();
        let learnt = learnt.map_or(0, |section| section.optimizer_steps_per_step(prompts));
        if let Some(each) = rollouts.checked_div(learnt) {
            lines.push(format!(
                "reward model: {learnt} optimiser steps a step, each over {each} rollouts"
            ));
        }
        let steps = config.training.steps;
        let all = usize::try_from(steps.saturating_mul(updates)).unwrap_or(usize::MAX);
        lines.push(format!("{steps} steps × {updates} = {} optimiser steps in all", grouped(all)));
        let (prompt, response) = (config.data.max_prompt_tokens, rollout.max_response_tokens);
        let longest = prompt + response;
        lines.push(format!(
            "longest sequence: {} + {} = {} tokens; at most {} tokens a step, {} a mini-batch",
            grouped(prompt),
            grouped(response),
            grouped(longest),
            grouped(rollouts * longest),
            grouped(mini_batch_prompts * group_size * longest),
        ));
        let micro_batch = config.training.micro_batch_tokens;
        lines.push(format!(
            "micro-batch: {} tokens, {} of the longest sequences; changes memory, not the result",
            grouped(micro_batch),
            micro_batch / longest,
        ));
        lines
    }

    /// Most prompts asked in one step; `rollout.prompts_per_step` without dynamic sampling.
    pub fn most_prompts_asked(&self) -> usize {
        let config = self.config();
        config.dynamic_sampling.most_prompts_asked(config.rollout.prompts_per_step)
    }

    /// Reads the questions: how many there are, how often they are asked, and what was left out; one line each.
    ///
    /// # Errors
    ///
    /// [`FileError`], with all bad rows of a file in one.
    pub fn describe_data(&self) -> Result<Vec<String>, FileError> {
        let config = self.config();
        let (data, kinds) = (&config.data, config.reward.kinds());
        let mut lines = Vec::new();
        let set = data.train.load(Split::Train, &kinds)?;
        let asked = config.training.steps as f64 * config.rollout.prompts_per_step as f64;
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
        let (algorithm, rollout) = (&self.config().algorithm, &self.config().rollout);
        let loss = &algorithm.policy_loss;
        let mut warnings = Vec::new();
        let plain = matches!(loss, PolicyLoss::Reinforce(_));
        if !plain && loss.is_inert_on_policy() && self.optimizer_steps_per_step() == 1 {
            warnings.push(format!(
                "{} does nothing: with one optimiser step a rollout batch the policy is always the one that sampled, and \
                 the gradient is the plain one. Take a smaller algorithm.mini_batch_prompts or more epochs",
                loss.name()
            ));
        }
        let fraction = match loss {
            PolicyLoss::ClipCov(loss) => Some(loss.fraction),
            PolicyLoss::KlCov(loss) => Some(loss.fraction),
            _ => None,
        };
        let tokens =
            algorithm.mini_batch_prompts * rollout.group_size * rollout.max_response_tokens;
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
        if sampling.enabled && rollout.group_size == 1 {
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
