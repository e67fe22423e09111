//! `[rollout.environment]`: a program that plays turns and tools with the policy.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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
