//! The error record that a failed rank leaves for its launcher, in torchrun's file format.

use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

/// Environment variable that names the file.
pub const VARIABLE: &str = "TORCHELASTIC_ERROR_FILE";

/// Content of the file. torchrun's agent shows the message of the record with the lowest time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    message: String,
    /// Seconds since 1970.
    timestamp: u64,
    /// The rank to blame, where that is known; torchrun ignores it.
    #[serde(default)]
    pub culprit: Option<usize>,
}

impl Record {
    pub(crate) fn new(message: String, culprit: Option<usize>) -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        Self { message, timestamp: now.map_or(0, |now| now.as_secs()), culprit }
    }

    /// Writes the record where the launcher looks, if it looks anywhere. A failed write is no error: the run fails anyway.
    pub(crate) fn report(&self) {
        if let Some(path) = std::env::var_os(VARIABLE).filter(|path| !path.is_empty()) {
            self.write(Path::new(&path));
        }
    }

    fn write(&self, path: &Path) {
        let text = serde_json::to_string(self).expect("numbers and texts are JSON");
        let _ = std::fs::write(path, text);
    }

    /// Reads a rank's record; `None` if there is none, or it is no record.
    pub fn read(path: &Path) -> Option<Self> {
        serde_json::from_str(&std::fs::read_to_string(path).ok()?).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_is_read_and_has_the_fields_of_torchrun() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("error.json");
        assert_eq!(Record::read(&path), None);
        let record = Record::new("rank 1 is silent".to_owned(), Some(1));
        record.write(&path);
        assert_eq!(Record::read(&path), Some(record.clone()));
        let text = std::fs::read_to_string(&path).unwrap();
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(value["message"], "rank 1 is silent");
        assert!(value["timestamp"].as_u64().is_some_and(|seconds| seconds > 1_700_000_000));
        std::fs::write(&path, r#"{"message": {"extraInfo": {}}}"#).unwrap();
        assert_eq!(Record::read(&path), None);
    }
}
