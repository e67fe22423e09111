//! `[rollout.environment]`: a program that plays turns and tools with the policy.

use messages::Problem;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{RolloutEngine, RunConfig};
use crate::overlong::Overlong;

/// `[rollout.environment]`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct EnvironmentSection {
    /// Harness with its arguments. It reads a rollout a line, plays it at the address given there,
    /// and writes a line with its reward.
    pub command: Vec<String>,
    /// Harnesses that play at a time, each one rollout; they last as long as the run. Changes speed
    /// and memory, and with `rollout.cpu_kernels` no token.
    #[schemars(range(min = 1, max = 4096))]
    pub workers: usize,
    /// Most requests of one rollout.
    #[schemars(range(min = 1, max = 10_000))]
    pub max_turns: u64,
    /// Most tokens of a prompt and its answer. Each of `rollout.rows` needs memory for them.
    #[schemars(range(min = 2, max = 16_777_216))]
    pub context_tokens: usize,
    /// Longest time of one rollout, waits for the policy included; then its harness is stopped.
    #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 86_400))]
    pub timeout_seconds: f64,
}

impl Default for EnvironmentSection {
    fn default() -> Self {
        Self {
            command: Vec::new(),
            workers: 16,
            max_turns: 8,
            context_tokens: 4096,
            timeout_seconds: 600.0,
        }
    }
}

impl EnvironmentSection {
    /// Values that do not fit each other.
    pub(super) fn problems(&self, run: &RunConfig) -> Vec<Problem> {
        let mut problems = Vec::new();
        let mut require = |good: bool, field: &str, value: String, expected: &str| {
            if !good {
                let (field, expected) = (field.to_owned(), expected.to_owned());
                problems.push(Problem { field, value, expected });
            }
        };
        let words = &self.command;
        let is_given = words.first().is_some_and(|word| !word.is_empty());
        let expected = "a program and its arguments";
        require(is_given, "rollout.environment.command", format!("{words:?}"), expected);
        let engine = run.rollout.engine;
        let chosen = serde_json::to_string(&engine).unwrap_or_default();
        let expected = "\"own\" with rollout.environment: the trainer records what it draws";
        require(engine == RolloutEngine::Own, "rollout.engine", chosen, expected);
        let sampling = run.rollout.sampling();
        let expected = "rollout.top_k, top_p and min_p at their defaults with rollout.environment";
        require(!sampling.truncates(), "rollout.top_p", sampling.top_p.to_string(), expected);
        let expected = "absent with rollout.environment, whose harness rewards";
        require(run.reward.custom.is_none(), "reward.custom", "given".to_owned(), expected);
        let is_plain = !matches!(run.reward.overlong, Overlong::SoftBuffer(_));
        let expected = "\"none\" or \"mask\" with rollout.environment, whose harness rewards";
        require(is_plain, "reward.overlong", "\"soft-buffer\"".to_owned(), expected);
        let tensor = run.parallel.tensor;
        let expected = "1 with rollout.environment: each process draws by itself";
        require(tensor == 1, "parallel.tensor", tensor.to_string(), expected);
        let (budget, longest) = (run.training.micro_batch_tokens, self.context_tokens);
        let expected = format!("at least rollout.environment.context_tokens = {longest}");
        let field = "training.micro_batch_tokens";
        require(budget >= longest, field, budget.to_string(), &expected);
        problems
    }
}
