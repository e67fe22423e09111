//! Permissions and limits of one process, passed as JSON to the helper that starts it.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// Limits that the kernel enforces on one process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// Processor time, in seconds.
    pub cpu_seconds: u64,
    /// Address space, in bytes.
    pub memory_bytes: u64,
    /// Size of one file, in bytes.
    pub file_bytes: u64,
    /// Number of open files.
    pub open_files: u64,
}

/// Separation of a program from the host, beside its permissions and limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Isolation {
    /// A user, a network and a file system in memory of its own: the kernel bounds the total size of its files.
    Directory,
    /// A user and a network of its own.
    Network,
    /// None.
    Shared,
}

/// One program to be started, and its permissions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Confinement {
    /// Path of the executable to start.
    pub interpreter: PathBuf,
    /// Arguments of the interpreter.
    pub arguments: Vec<String>,
    /// Only directory that the program may write to.
    pub folder: PathBuf,
    /// Files and directories that the program may read; a directory includes all below it.
    pub readable: Vec<PathBuf>,
    /// Limits that the kernel enforces.
    pub limits: Limits,
    /// Separation from the host; the helper fails if the host does not allow it.
    pub isolation: Isolation,
    /// Starts the program even if a protection is missing.
    pub weak: bool,
    /// Prefix of the helper's own messages, unknown to the program.
    pub token: String,
}
