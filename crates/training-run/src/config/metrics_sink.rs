//! `[metrics.sink]`: a program that is fed the metrics of a run.

use messages::Problem;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A program that is fed the metrics as JSON lines (`docs/reading-results.md#weights--biases-and-mlflow`).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MetricsSink {
    /// Program with its arguments, such as `["python3", "scripts/metrics-to-mlflow.py"]`. Its first line names run, directory
    /// and configuration; then come all lines of `metrics.jsonl`, from the first on, as they are written.
    pub command: Vec<String>,
    /// Longest wait for its end once the run has ended.
    #[serde(default = "default_wait_seconds")]
    #[schemars(range(min = 0.0, max = 86_400.0))]
    pub wait_seconds: f64,
}

fn default_wait_seconds() -> f64 {
    60.0
}

impl MetricsSink {
    /// A value that cannot be used.
    pub(super) fn problem(&self) -> Option<Problem> {
        self.command.first().is_none_or(String::is_empty).then(|| Problem {
            field: "metrics.sink.command".to_owned(),
            value: format!("{:?}", self.command),
            expected: "a program and its arguments".to_owned(),
        })
    }
}
