//! `[reward.code]`: whether and how programs of responses are run.

use messages::Problem;
use serde::{Deserialize, Serialize};

use super::Limits;

/// `[reward.code]`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CodeSection {
    /// Python 3 that runs the programs; empty runs none, and refuses the kind `code`.
    pub interpreter: String,
    /// Wall time of all tests of one response.
    pub wall_seconds: f64,
    /// Processor time of one process.
    pub cpu_seconds: u64,
    /// Address space of one process.
    pub memory_bytes: u64,
    /// Size of a file, and of all files that a process leaves together.
    pub file_bytes: u64,
    /// Output of one process, standard output and standard error each.
    pub output_bytes: usize,
    /// Files open at once.
    pub open_files: u64,
    /// Run even where the host cannot give every protection.
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
    /// The limits of one process.
    pub fn limits(&self) -> Limits {
        Limits {
            cpu_seconds: self.cpu_seconds,
            memory_bytes: self.memory_bytes,
            file_bytes: self.file_bytes,
            open_files: self.open_files,
        }
    }

    /// Values out of range; `is_needed` where a source has the kind `code`.
    pub fn problems(&self, is_needed: bool) -> Vec<Problem> {
        let mut problems = Vec::new();
        let mut require = |good: bool, field: &str, value: String, expected: &str| {
            if !good {
                let (field, expected) = (format!("reward.code.{field}"), expected.to_owned());
                problems.push(Problem { field, value, expected });
            }
        };
        let named = !is_needed || !self.interpreter.is_empty();
        let expected = "the path of a Python 3 interpreter: the reward kind `code` runs programs that the model wrote";
        require(named, "interpreter", format!("{:?}", self.interpreter), expected);
        let wall = self.wall_seconds;
        let good = wall.is_finite() && wall > 0.0 && wall <= 86_400.0;
        require(good, "wall_seconds", wall.to_string(), "above 0 and at most 86400");
        for (field, value, least) in [
            ("cpu_seconds", self.cpu_seconds, 1),
            ("memory_bytes", self.memory_bytes, 64 << 20),
            ("file_bytes", self.file_bytes, 4096),
            ("output_bytes", self.output_bytes as u64, 4096),
            ("open_files", self.open_files, 16),
        ] {
            require(value >= least, field, value.to_string(), &format!("at least {least}"));
        }
        problems
    }
}
