//! Configurations that say nothing of their fields, so that each field has its default.

use super::sections::RunConfig;

/// The least that every configuration says.
const LEAST: &str = "name = \"x\"\nmodel.path = \"m\"\ntraining.steps = 1\n";

/// Choices that have fields of their own, each beside what every configuration says; with the policy losses and the advantage estimators they
/// hold every field.
pub(super) const SHAPES: [&str; 18] = [
    "data = { train = { arithmetic = {} }, evaluation = { arithmetic = {} } }",
    "data = { train = { file = { path = \"f\" } }, evaluation = { file = { path = \"f\" } } }",
    "algorithm.aggregation.seq-mean-token-sum-norm.divisor = 7.0",
    "rollout.max_response_tokens = 8192\nreward.overlong.soft-buffer = {}",
    "reward.kind = \"exact-match\"",
    "reward.custom.command = [\"./score\"]",
    "rollout.correction = {}",
    "rollout.environment = {}",
    "lora = {}",
    "model.revision = \"main\"\nmodel.reference = \"Qwen/Qwen3-4B\"",
    "evaluation.by_source = { aime24 = { samples = 32, temperature = 0.6 } }",
    "metrics.sink.command = [\"python3\", \"scripts/metrics-to-mlflow.py\"]",
    "reward_model = {}\nalgorithm.advantage = \"prime\"",
    "algorithm.reference_kl = {}",
    "algorithm.reference_kl.coefficient.adaptive = {}",
    "algorithm.adaptive_entropy = {}",
    "algorithm.policy_loss = \"kl-cov\"\nalgorithm.annealing = {}",
    "algorithm.policy_loss = \"kl-cov\"\nalgorithm.thermostat = { knob = \"fraction\", low = 1e-4, high = 0.2, \
     target = { start = 1.0, end = 0.5, steps = 10 } }",
];

/// The configuration that makes `choice`, as one of [`SHAPES`], and no other.
///
/// # Panics
///
/// If it makes none.
pub(super) fn shaped(choice: &str) -> RunConfig {
    let data = if choice.starts_with("data") { "" } else { "data.train = \"arithmetic\"\n" };
    toml::from_str(&format!("{LEAST}{data}{choice}")).expect("a choice is a configuration")
}
