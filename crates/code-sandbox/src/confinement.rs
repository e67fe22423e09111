//! Permissions and limits of one process, passed as JSON to the helper that starts it.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::CodeSection;

/// Exit code of a helper that could not start the program.
pub(super) const REFUSED: u8 = 120;

/// Beginning of the message of a helper that gets no namespaces.
pub(super) const NAMESPACES: &str = "namespaces";

/// Separation of a program from the host, beside its permissions and limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Isolation {
    /// A user, a network and a file system in memory of its own: the kernel bounds the total size of its files.
    Directory,
    /// A user and a network of its own.
    Network,
    /// None.
    Shared,
}

/// One program to be started, and its permissions.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Confinement {
    /// Path of the executable to start.
    pub(super) interpreter: PathBuf,
    pub(super) arguments: Vec<String>,
    /// Only directory that the program may write to.
    pub(super) folder: PathBuf,
    /// Files and directories that the program may read; a directory includes all below it.
    pub(super) readable: Vec<PathBuf>,
    /// Limits that the kernel enforces; with `allow_weak_sandbox` the program starts even if a protection is missing.
    pub(super) settings: CodeSection,
    /// Separation from the host; the helper fails if the host does not allow it.
    pub(super) isolation: Isolation,
    /// Prefix of the helper's own messages, unknown to the program.
    pub(super) token: String,
}
