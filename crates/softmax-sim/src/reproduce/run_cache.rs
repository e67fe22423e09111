//! Training runs that several findings share: done once, and stored on disk under a hash of their settings.

use super::engine::ENGINE;
use crate::result_file::write_whole;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

/// Results of runs by what they depend on: engine, settings and seed. The default keeps them in memory alone.
///
/// A finding that was killed resumes with its unfinished runs. Runs that another finding has done are not repeated.
#[derive(Debug, Default)]
pub struct RunCache {
    folder: Option<PathBuf>,
    anew: bool,
    finished: Mutex<HashMap<String, CachedRun>>,
}

/// A run and how long it took, as a file of the folder holds it.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct CachedRun {
    engine: String,
    settings: Value,
    seed: u64,
    seconds: f64,
    result: Value,
}

/// Runs that a finding did not repeat, because an earlier one had done them.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CachedShare {
    /// Number of runs.
    pub runs: u64,
    /// Seconds that they took, summed over all threads.
    pub seconds: f64,
}

impl RunCache {
    /// Keeps runs in `runs/` under `folder` too. With `anew`, runs that were there before are not read.
    pub(super) fn under(folder: &Path, anew: bool) -> Self {
        Self { folder: Some(folder.join("runs")), anew, ..Self::default() }
    }

    /// Returns the result of the run with `settings` and `seed`: the stored one, or that of `run`, which is then stored;
    /// and the seconds that a stored one took.
    ///
    /// `settings` holds all that the result depends on beside the seed. An unreadable or torn file counts as absent. A
    /// file that cannot be written only makes a later call repeat the run.
    pub(super) fn get<T: Serialize + DeserializeOwned>(
        &self,
        settings: &impl Serialize,
        seed: u64,
        run: impl FnOnce() -> T,
    ) -> (T, Option<f64>) {
        let settings = serde_json::to_value(settings).expect("settings go into JSON");
        let key = key(&settings, seed);
        let finished = || self.finished.lock().unwrap_or_else(PoisonError::into_inner);
        let known = finished().get(&key).cloned();
        if let Some(known) = known.or_else(|| self.read(&key, &settings, seed))
            && let Ok(result) = T::deserialize(&known.result)
        {
            let seconds = known.seconds;
            finished().insert(key, known);
            return (result, Some(seconds));
        }
        let start = Instant::now();
        let result = run();
        let seconds = start.elapsed().as_secs_f64();
        let value = serde_json::to_value(&result).expect("a result goes into JSON");
        let known = CachedRun { engine: ENGINE.to_owned(), settings, seed, seconds, result: value };
        self.write(&key, &known);
        finished().insert(key, known);
        (result, None)
    }

    fn read(&self, key: &str, settings: &Value, seed: u64) -> Option<CachedRun> {
        let folder = self.folder.as_ref().filter(|_| !self.anew)?;
        let kept: CachedRun = serde_json::from_slice(&fs::read(path(folder, key)).ok()?).ok()?;
        let same = kept.engine == ENGINE && kept.settings == *settings && kept.seed == seed;
        same.then_some(kept)
    }

    fn write(&self, key: &str, run: &CachedRun) {
        let Some(folder) = &self.folder else { return };
        if let Ok(json) = serde_json::to_vec(run) {
            // A folder that cannot be written is reported when the finding itself is stored.
            let _ = write_whole(&path(folder, key), &json);
        }
    }
}

fn path(folder: &Path, key: &str) -> PathBuf {
    folder.join(format!("{key}.json"))
}

/// Hash of engine, settings and seed: 32 hexadecimal digits.
fn key(settings: &Value, seed: u64) -> String {
    format!("{:.32x}", Sha256::digest(format!("{ENGINE}\n{seed}\n{settings}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    /// Asks for one run; its result, and how often it was run.
    fn ask(runs: &RunCache, settings: &str, seed: u64) -> (f64, usize) {
        let count = Cell::new(0);
        let (result, kept) = runs.get(&settings, seed, || {
            count.set(count.get() + 1);
            0.1 + 0.2 + seed as f64
        });
        assert_eq!(kept.is_some(), count.get() == 0, "what is kept says so");
        (result, count.get())
    }

    #[test]
    fn a_run_is_done_once_and_comes_back_to_the_last_bit() {
        let folder = tempfile::tempdir().unwrap();
        let first = RunCache::under(folder.path(), false);
        assert_eq!(ask(&first, "a", 0), (0.1 + 0.2, 1));
        assert_eq!(ask(&first, "a", 0), (0.1 + 0.2, 0));
        let later = RunCache::under(folder.path(), false);
        assert_eq!(ask(&later, "a", 0), (0.1 + 0.2, 0));
        assert_eq!(ask(&later, "a", 1).1, 1);
        assert_eq!(ask(&later, "b", 0).1, 1);
        assert_eq!(fs::read_dir(folder.path().join("runs")).unwrap().count(), 3);
    }

    #[test]
    fn anew_runs_once_more_and_then_keeps() {
        let folder = tempfile::tempdir().unwrap();
        ask(&RunCache::under(folder.path(), false), "a", 0);
        let anew = RunCache::under(folder.path(), true);
        assert_eq!((ask(&anew, "a", 0).1, ask(&anew, "a", 0).1), (1, 0));
    }

    #[test]
    fn a_torn_file_is_run_again() {
        let folder = tempfile::tempdir().unwrap();
        ask(&RunCache::under(folder.path(), false), "a", 0);
        let file = path(&folder.path().join("runs"), &key(&Value::from("a"), 0));
        let stored = fs::read_to_string(&file).unwrap();
        for torn in [&stored[..stored.len() / 2], &stored.replace("\"a\"", "\"b\"")] {
            fs::write(&file, torn).unwrap();
            assert_eq!(ask(&RunCache::under(folder.path(), false), "a", 0).1, 1);
        }
    }
}
