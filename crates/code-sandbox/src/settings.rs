//! `[reward.code]`: whether and how programs of responses are run.

use messages::Problem;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// `[reward.code]`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CodeSection {
    /// Python 3, a path or a name, that runs the programs of responses; empty refuses the kind
    /// `"code"`. Each program runs in a process of its own, without files, network, other processes
    /// and signals. A run that cannot have that here does not start.
    pub interpreter: String,
    /// Wall time of all tests of one response.
    #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 86_400))]
    pub wall_seconds: f64,
    /// Processor time of one process.
    #[schemars(range(min = 1))]
    pub cpu_seconds: u64,
    /// Address space of one process, of up to `reward.threads` at a time.
    #[schemars(range(min = 67_108_864))]
    pub memory_bytes: u64,
    /// Size of a file of a program, and of all its files together. With user namespaces they lie in
    /// memory.
    #[schemars(range(min = 4096))]
    pub file_bytes: u64,
    /// Largest standard output, and standard error, of a process.
    #[schemars(range(min = 4096))]
    pub output_bytes: usize,
    /// Open files at a time.
    #[schemars(range(min = 16))]
    pub open_files: u64,
    /// Run programs even if the host lacks a protection. The run says at its start what a program
    /// can then do.
    pub allow_weak_sandbox: bool,
}

impl Default for CodeSection {
    fn default() -> Self {
        Self {
            interpreter: String::new(),
            wall_seconds: 20.0,
            cpu_seconds: 6,
            memory_bytes: 1 << 30,
            file_bytes: 16 << 20,
            output_bytes: 1 << 20,
            open_files: 64,
            allow_weak_sandbox: false,
        }
    }
}

impl CodeSection {
    /// The interpreter, if `is_needed` because a source has the kind `code` and none is named.
    pub fn problem(&self, is_needed: bool) -> Option<Problem> {
        (is_needed && self.interpreter.is_empty()).then(|| Problem {
            field: "reward.code.interpreter".to_owned(),
            value: "\"\"".to_owned(),
            expected: "the path of a Python 3 interpreter: the reward kind `code` runs programs that the model wrote".to_owned(),
        })
    }
}
