//! What one process is allowed, as it is told to the helper that starts it.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// Limits that the kernel keeps on one process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// Processor time.
    pub cpu_seconds: u64,
    /// Address space.
    pub memory_bytes: u64,
    /// Size of a file.
    pub file_bytes: u64,
    /// Open files.
    pub open_files: u64,
}

/// One program to be started, and what it may touch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Confinement {
    /// What is started.
    pub interpreter: PathBuf,
    /// With these arguments.
    pub arguments: Vec<String>,
    /// The only folder that it may write to.
    pub folder: PathBuf,
    /// What it may read, with all below.
    pub readable: Vec<PathBuf>,
    /// What the kernel keeps.
    pub limits: Limits,
    /// Whether it gets a user and a network of its own; refused where the host does not allow it.
    pub namespaces: bool,
    /// Whether it is started where a protection is missing.
    pub weak: bool,
    /// What the helper's own messages begin with; the program does not know it.
    pub token: String,
}
