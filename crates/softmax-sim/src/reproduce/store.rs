//! Results on disk: one file per finding, complete or absent.

use super::run_cache::CachedShare;
use super::{ExperimentResult, Finding, Setting};
use crate::result_file::write_json;
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::{Path, PathBuf};
use whole_file::{FileError, if_there};

/// Name and version of this program, as stored beside each result.
pub const PROGRAM: &str = concat!(env!("CARGO_PKG_NAME"), " ", env!("CARGO_PKG_VERSION"));

/// A finding that was run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Record {
    /// Name of the finding.
    pub finding: String,
    /// The program that ran it: [`PROGRAM`].
    pub program: String,
    /// Size and seeds that were asked for.
    pub setting: Setting,
    /// Revision of the code that ran: [`Finding::revision`].
    pub revision: String,
    /// Wall time of the run, seconds.
    pub seconds: f64,
    /// Runs that an earlier finding had done already.
    pub kept: CachedShare,
    /// Result of the experiment.
    pub outcome: ExperimentResult,
}

impl Record {
    /// Returns true if the result is of `finding` as it is now, with any setting.
    pub fn is_of(&self, finding: &Finding) -> bool {
        self.finding == finding.name && self.revision == finding.revision()
    }
}

/// Path of the result of the finding `name`.
pub fn record_path(folder: &Path, name: &str) -> PathBuf {
    folder.join("findings").join(format!("{name}.json"))
}

/// The result of the finding `name`: none if there is no file, or one that is no result.
///
/// A file of another version, or one that something else tore, is as good as none: the finding runs again.
///
/// # Errors
///
/// [`FileError`] if there is a file that cannot be read.
pub fn read_record(folder: &Path, name: &str) -> Result<Option<Record>, FileError> {
    let path = record_path(folder, name);
    let bytes = if_there(&path, fs::read(&path))?;
    let record: Option<Record> = bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok());
    Ok(record.filter(|record| record.finding == name))
}

/// Stores a result; an older one is replaced atomically.
///
/// # Errors
///
/// [`FileError`] if it cannot be written; an older result stays unchanged.
pub fn write_record(folder: &Path, record: &Record) -> Result<(), FileError> {
    write_json(&record_path(folder, &record.finding), record)
}
