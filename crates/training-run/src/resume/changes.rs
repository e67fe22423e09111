use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use toml::Table;

use crate::config::leaves;

/// Fields and whole sections that may change: they leave the results as they are, or change them by rounding alone
/// (`docs/configuration.md`, section "Changing a run").
const FREE: &[&str] = &[
    "output_directory",
    "model.threads",
    "rollout.rows",
    "rollout.servers",
    "rollout.environment.workers",
    "rollout.environment.timeout_seconds",
    "reward.threads",
    "reward.custom_timeout_seconds",
    "training.micro_batch_tokens",
    "training.activation_bytes",
    "training.repeatable",
    "parallel",
    "evaluation.every",
    "checkpoint",
    "metrics",
];

/// Fields that must be `"constant"` for `training.steps` to change: other learning rates depend on the last step.
const SCHEDULES: [&str; 2] = ["optimizer.schedule", "reward_model.optimizer.schedule"];

/// One field that changes when a run is resumed; values are in TOML.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// Path of the field, such as `training.steps`.
    pub field: String,
    /// Value that the run had; `absent` if it had none.
    pub before: String,
    /// Value that is given now.
    pub now: String,
}

impl std::fmt::Display for Change {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "{} = {}, before {}", self.field, self.now, self.before)
    }
}

/// Lists the fields that differ, sorted, and those of them that may not change.
pub(super) fn changes(before: &Table, now: &Table) -> (Vec<Change>, Vec<Change>) {
    let (before, now) = (fields(before), fields(now));
    let names: BTreeSet<&String> = before.keys().chain(now.keys()).collect();
    let value = |of: &BTreeMap<String, String>, name: &String| {
        of.get(name).cloned().unwrap_or_else(|| "absent".to_owned())
    };
    let differs = |name: &&String| before.get(*name) != now.get(*name);
    let all: Vec<Change> = names
        .into_iter()
        .filter(differs)
        .map(|name| Change {
            field: name.clone(),
            before: value(&before, name),
            now: value(&now, name),
        })
        .collect();
    let refused = all.iter().filter(|change| !is_free(change, &before)).cloned().collect();
    (all, refused)
}

/// True if the field may change.
fn is_free(Change { field, before, now }: &Change, run: &BTreeMap<String, String>) -> bool {
    let lies_in = |free: &&str| {
        field.strip_prefix(*free).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    match field.as_str() {
        "training.steps" => {
            SCHEDULES.iter().all(|name| run.get(*name).is_none_or(|shape| shape == "\"constant\""))
        }
        // One GPU may replace another; `auto` may have been any device.
        "model.device" => [before, now].iter().all(|device| device.starts_with("\"cuda")),
        _ => FREE.iter().any(lies_in),
    }
}

/// Maps paths to values, for every value of a table.
fn fields(table: &Table) -> BTreeMap<String, String> {
    leaves(table).into_iter().map(|(path, value)| (path, value.to_string())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Names of all fields that differ, and of those that are refused.
    fn names(before: &str, now: &str) -> (Vec<String>, Vec<String>) {
        let (all, refused) = changes(&before.parse().unwrap(), &now.parse().unwrap());
        let names = |changes: Vec<Change>| changes.into_iter().map(|change| change.field).collect();
        (names(all), names(refused))
    }

    #[test]
    fn what_leaves_the_results_as_they_are_may_change_and_nothing_else() {
        for (field, before, now, may_change) in [
            ("training.micro_batch_tokens", "64", "32", true),
            ("training.activation_bytes", "1", "2", true),
            ("training.repeatable", "false", "true", true),
            ("rollout.rows", "8", "4", true),
            ("checkpoint.every", "2", "1", true),
            ("checkpoint.best_metric", "\"a\"", "\"b\"", true),
            ("metrics.token_groups", "1", "0", true),
            ("evaluation.every", "2", "4", true),
            ("model.threads", "1", "2", true),
            ("parallel.timeout_seconds", "9", "10", true),
            ("parallel.zero", "0", "3", true),
            ("training.steps", "4", "6", true),
            ("model.device", "\"cuda:0\"", "\"cuda\"", true),
            ("output_directory", "\"a\"", "\"b\"", true),
            ("seed", "1", "2", false),
            ("rollout.group_size", "8", "4", false),
            ("optimizer.learning_rate", "1e-6", "2e-6", false),
            ("evaluation.questions", "0", "10", false),
            ("model.device", "\"cpu\"", "\"cuda:0\"", false),
            ("model.device", "\"auto\"", "\"cuda:0\"", false),
            ("metrics_of_another_kind", "1", "2", false),
        ] {
            let texts = [before, now].map(|value| format!("{field} = {value}\n"));
            let (all, refused) = names(&texts[0], &texts[1]);
            assert_eq!((all, refused.is_empty()), (vec![field.to_owned()], may_change), "{field}");
        }
        let (all, refused) = names("seed = 1\n", "seed = 1\n[lora]\nrank = 8\n");
        assert_eq!((all, refused), (vec!["lora.rank".to_owned()], vec!["lora.rank".to_owned()]));
    }

    #[test]
    fn steps_change_only_where_no_learning_rate_depends_on_the_last() {
        for (schedule, refused) in [("constant", 0), ("linear", 1), ("cosine", 1)] {
            for section in ["optimizer", "reward_model.optimizer"] {
                let text = |steps: u64| {
                    format!("[{section}]\nschedule = \"{schedule}\"\n[training]\nsteps = {steps}\n")
                };
                assert_eq!(names(&text(4), &text(6)).1.len(), refused, "{section} {schedule}");
            }
        }
    }

    #[test]
    fn a_change_says_both_values() {
        let before = "[rollout]\ngroup_size = 8\n".parse().unwrap();
        let (_, refused) = changes(&before, &Table::new());
        assert_eq!(refused[0].to_string(), "rollout.group_size = absent, before 8");
    }
}
