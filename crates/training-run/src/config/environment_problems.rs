//! Settings that `rollout.environment` does not fit.

use super::problems::Problems;
use super::{RolloutEngine, RunConfig};
use crate::overlong::Overlong;

impl RunConfig {
    /// Checks the environment, if there is one, against the other settings.
    pub(super) fn check_environment(&self, problems: &mut Problems) {
        let Some(environment) = &self.rollout.environment else { return };
        let words = &environment.command;
        let is_given = words.first().is_some_and(|word| !word.is_empty());
        let expected = "a program and its arguments";
        problems.require(is_given, "rollout.environment.command", words, expected);
        let engine = self.rollout.engine;
        let chosen = serde_json::to_string(&engine).unwrap_or_default();
        let expected = "\"own\" with rollout.environment: the trainer records what it draws";
        problems.add_unless(engine == RolloutEngine::Own, "rollout.engine", chosen, expected);
        let sampling = self.rollout.sampling();
        let expected = "rollout.top_k, top_p and min_p at their defaults with rollout.environment";
        problems.require(!sampling.truncates(), "rollout.top_p", sampling.top_p, expected);
        let expected = "absent with rollout.environment, whose harness rewards";
        let is_absent = self.reward.custom.is_none();
        problems.add_unless(is_absent, "reward.custom", "given".to_owned(), expected);
        let is_plain = !matches!(self.reward.overlong, Overlong::SoftBuffer(_));
        let expected = "\"none\" or \"mask\" with rollout.environment, whose harness rewards";
        problems.require(is_plain, "reward.overlong", "soft-buffer", expected);
        let tensor = self.parallel.tensor;
        let expected = "1 with rollout.environment: each process draws by itself";
        problems.require(tensor == 1, "parallel.tensor", tensor, expected);
        let (budget, longest) = (self.training.micro_batch_tokens, environment.context_tokens);
        let expected = format!("at least rollout.environment.context_tokens = {longest}");
        problems.require(budget >= longest, "training.micro_batch_tokens", budget, &expected);
    }
}
