//! Defaults of fields, read off configurations that say nothing of them.

use toml::{Table, Value};

use super::sections::RunConfig;

/// The least that every configuration says.
const LEAST: &str = "name = \"x\"\nmodel.path = \"m\"\ntraining.steps = 1\n";

/// Choices that have fields of their own, each beside what every configuration says; with the policy losses and the advantage estimators they
/// hold every field.
pub const SHAPES: [&str; 11] = [
    "data = { train = { arithmetic = {} }, evaluation = { arithmetic = {} } }",
    "data = { train = { file = { path = \"f\" } }, evaluation = { file = { path = \"f\" } } }",
    "algorithm.aggregation.seq-mean-token-sum-norm.divisor = 7.0",
    "rollout.max_response_tokens = 8192\nreward.overlong.soft-buffer = {}",
    "rollout.engine = \"openai\"",
    "lora = {}",
    "reward_model = {}\nalgorithm.advantage = \"prime\"",
    "algorithm.reference_kl = {}",
    "algorithm.reference_kl.coefficient.adaptive = {}",
    "algorithm.adaptive_entropy = {}",
    "algorithm.policy_loss = \"kl-cov\"\nalgorithm.thermostat = { knob = \"fraction\", low = 1e-4, high = 0.2, \
     target = { start = 1.0, end = 0.5, steps = 10 } }",
];

/// The configuration that makes `choice`, as one of [`SHAPES`], and no other.
///
/// # Panics
///
/// If it makes none.
pub fn shaped(choice: &str) -> RunConfig {
    let data = if choice.starts_with("data") { "" } else { "data.train = \"arithmetic\"\n" };
    toml::from_str(&format!("{LEAST}{data}{choice}")).expect("a choice is a configuration")
}

/// Every value of those configurations.
pub(super) struct Defaults(Vec<Table>);

impl Defaults {
    pub(super) fn read() -> Self {
        let table = |choice| Table::try_from(shaped(choice)).expect("a configuration is a table");
        Self(SHAPES.into_iter().map(table).collect())
    }

    /// The value of a field where nothing is said of it, as TOML.
    ///
    /// # Panics
    ///
    /// If no configuration has it.
    pub(super) fn of(&self, path: &str) -> String {
        match self.0.iter().find_map(|table| value_at(table, path)) {
            // `1e-8`, where `toml` would write every zero.
            Some(Value::Float(number)) => format!("{number:?}"),
            Some(value) => value.to_string(),
            None => panic!("no configuration has {path}"),
        }
    }
}

fn value_at<'a>(table: &'a Table, path: &str) -> Option<&'a Value> {
    match path.split_once('.') {
        Some((first, rest)) => value_at(table.get(first)?.as_table()?, rest),
        None => table.get(path),
    }
}
