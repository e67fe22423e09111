//! Running findings, each once for a setting.

use super::run_cache::RunCache;
use super::store::{PROGRAM, Record, read_record, write_record};
use super::{FINDINGS, Finding, Progress, Scale, Setting};
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;
use whole_file::FileError;

/// A finding with its result.
#[derive(Debug, Clone)]
pub struct Finished {
    /// Finding that was run.
    pub finding: &'static Finding,
    /// Result of the finding.
    pub record: Record,
    /// True if the result was stored by an earlier run.
    pub stored: bool,
}

/// Runs each of `findings` that has no result for `setting` under `folder`, and stores it before the next begins.
///
/// After a kill, the next call resumes with the unfinished finding and its unfinished runs ([`RunCache`]). `again` runs
/// all anew.
///
/// # Errors
///
/// [`FileError`] if a result cannot be read or written; earlier results stay stored.
pub fn run(
    findings: &[&'static Finding],
    setting: &Setting,
    folder: &Path,
    again: bool,
    progress: impl Fn(&'static str) -> Progress,
) -> Result<Vec<Finished>, FileError> {
    let runs = Arc::new(RunCache::under(folder, again));
    let mut finished = Vec::with_capacity(findings.len());
    for &finding in findings {
        let stored = if again { None } else { read_record(folder, finding.name)? };
        let is_current = |record: &Record| record.setting == *setting && record.is_of(finding);
        if let Some(record) = stored.filter(is_current) {
            finished.push(Finished { finding, record, stored: true });
            continue;
        }
        let told = progress(finding.name).keeping(Arc::clone(&runs));
        let start = Instant::now();
        let mut outcome = (finding.run)(setting, &told);
        outcome.notes.extend(finding.words.notes.iter().cloned());
        let outcome = match setting.scale {
            Scale::Full => outcome,
            Scale::Quick => outcome.unjudged(),
        };
        let record = Record {
            finding: finding.name.to_owned(),
            program: PROGRAM.to_owned(),
            setting: *setting,
            revision: finding.revision(),
            seconds: start.elapsed().as_secs_f64(),
            kept: told.kept(),
            outcome,
        };
        write_record(folder, &record)?;
        told.finish(&format!("{} in {:.1} s", record.outcome.verdict.text(), record.seconds));
        finished.push(Finished { finding, record, stored: false });
    }
    Ok(finished)
}

/// Every finding that has a result under `folder`, of whatever setting and revision, in the order of the registry;
/// those of `now` as they were run.
///
/// # Errors
///
/// [`FileError`] if a result cannot be read.
pub fn collect(folder: &Path, now: &[Finished]) -> Result<Vec<Finished>, FileError> {
    let mut finished = vec![];
    for finding in FINDINGS.iter() {
        if let Some(record) = read_record(folder, finding.name)? {
            let is_run = |one: &Finished| one.finding.name == finding.name && !one.stored;
            finished.push(Finished { finding, record, stored: !now.iter().any(is_run) });
        }
    }
    Ok(finished)
}

/// One line a finding: name, verdict, the seconds it took when it was run, and whether that was before.
pub fn table(finished: &[Finished]) -> String {
    let width = finished.iter().map(|one| one.finding.name.len()).max().unwrap_or(0).max(7);
    let mut text = format!("{:width$}  {:14}  seconds\n", "finding", "verdict");
    for one in finished {
        let (name, record) = (one.finding.name, &one.record);
        let stored = if one.stored { "  kept" } else { "" };
        let verdict = record.outcome.verdict.text();
        text += &format!("{name:width$}  {verdict:14}  {:7.1}{stored}\n", record.seconds);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::store::record_path;
    use super::super::words::Words;
    use super::super::{ExperimentResult, Measure, Target};
    use super::*;
    use std::sync::LazyLock;
    use std::sync::atomic::{AtomicUsize, Ordering};

    static RUNS: [AtomicUsize; 2] = [const { AtomicUsize::new(0) }; 2];

    /// The second finding dies the first time, as if it were killed.
    fn outcome(index: usize, setting: &Setting) -> ExperimentResult {
        let before = RUNS[index].fetch_add(1, Ordering::SeqCst);
        assert!(index == 0 || before > 0, "killed");
        let values = setting.over_seeds(|seed| seed as f64);
        ExperimentResult::new(vec![Measure::new("seed", values, Target::AtLeast(0.0))])
    }

    static BOTH: LazyLock<[Finding; 2]> = LazyLock::new(|| {
        let finding = |name, run| Finding { name, words: Words::default(), run, sources: &[] };
        [
            finding("first", |setting, _| outcome(0, setting)),
            finding("second", |setting, _| outcome(1, setting)),
        ]
    });

    #[test]
    fn a_killed_run_goes_on_where_it_was_and_again_or_another_setting_runs_anew() {
        let folder = tempfile::tempdir().unwrap();
        let setting = Setting { scale: Scale::Full, seed: 5, seeds: 3 };
        let run_all = |setting: Setting, again| {
            let findings: Vec<&Finding> = BOTH.iter().collect();
            run(&findings, &setting, folder.path(), again, |_| Progress::silent()).unwrap()
        };
        let killed = std::panic::AssertUnwindSafe(|| run_all(setting, false));
        assert!(std::panic::catch_unwind(killed).is_err());
        let is_stored = |name: &str| record_path(folder.path(), name).exists();
        assert_eq!(["first", "second"].map(is_stored), [true, false]);

        let count = || [0, 1].map(|index| RUNS[index].load(Ordering::SeqCst));
        let finished = run_all(setting, false);
        assert_eq!(count(), [1, 2]);
        assert_eq!([finished[0].stored, finished[1].stored], [true, false]);
        assert_eq!(finished[0].record.outcome.measures[0].values, [5.0, 6.0, 7.0]);

        let table = table(&run_all(setting, false));
        assert_eq!(table.lines().count(), 3);
        assert!(table.contains("second   reproduced"), "{table}");
        assert_eq!(count(), [1, 2]);

        run_all(setting, true);
        assert_eq!(count(), [2, 3]);
        run_all(Setting { seeds: 4, ..setting }, false);
        assert_eq!(count(), [3, 4]);
        run_all(Setting { scale: Scale::Quick, ..setting }, false);
        assert_eq!(count(), [4, 5]);
    }
}
