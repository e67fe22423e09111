//! Running findings, each once for a setting.

use super::run_cache::RunCache;
use super::store::{PROGRAM, Record, read_record, write_record};
use super::{FINDINGS, Finding, Progress, Scale, Setting};
use crate::result_file::FileError;
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

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

impl Finished {
    /// Returns true if the result has the revision of the finding as it is now.
    pub fn is_current(&self) -> bool {
        self.record.is_of(self.finding)
    }
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
        if let Some(record) = stored.filter(|record| record.is_current(finding, setting)) {
            finished.push(Finished { finding, record, stored: true });
            continue;
        }
        let told = progress(finding.name).keeping(Arc::clone(&runs));
        let start = Instant::now();
        let outcome = (finding.run)(setting, &told);
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
    for finding in FINDINGS {
        if let Some(record) = read_record(folder, finding.name)? {
            let is_run = |one: &&Finished| one.finding.name == finding.name && !one.stored;
            let stored = !now.iter().any(|one| is_run(&one));
            finished.push(Finished { finding, record, stored });
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
    use super::super::{ExperimentResult, Measure, Target};
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    static FIRST_RUNS: AtomicUsize = AtomicUsize::new(0);
    static SECOND_RUNS: AtomicUsize = AtomicUsize::new(0);

    fn outcome(setting: &Setting) -> ExperimentResult {
        let values = setting.over_seeds(|seed| seed as f64);
        ExperimentResult::new(vec![Measure::new("seed", values, Target::AtLeast(0.0))])
    }

    const NOTHING: Finding = Finding {
        name: "nothing",
        title: "",
        claim: "",
        method: "",
        target: "",
        theory: &[],
        sources: &[],
        run: |_, _| ExperimentResult::new(vec![]),
    };

    static FIRST: Finding = Finding {
        name: "first",
        run: |setting, _| {
            FIRST_RUNS.fetch_add(1, Ordering::SeqCst);
            outcome(setting)
        },
        ..NOTHING
    };

    /// Dies the first time, as if it were killed.
    static SECOND: Finding = Finding {
        name: "second",
        run: |setting, _| {
            let before = SECOND_RUNS.fetch_add(1, Ordering::SeqCst);
            assert!(before > 0, "killed");
            outcome(setting)
        },
        ..NOTHING
    };

    #[test]
    fn a_killed_run_goes_on_where_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let setting = Setting { scale: Scale::Full, seed: 5, seeds: 3 };
        let all =
            || run(&[&FIRST, &SECOND], &setting, folder.path(), false, |_| Progress::silent());
        let killed = std::panic::catch_unwind(std::panic::AssertUnwindSafe(all));
        assert!(killed.is_err());
        assert!(record_path(folder.path(), "first").exists());
        assert!(!record_path(folder.path(), "second").exists());

        let finished = all().unwrap();
        assert_eq!(FIRST_RUNS.load(Ordering::SeqCst), 1);
        assert_eq!([finished[0].stored, finished[1].stored], [true, false]);
        assert_eq!(finished[0].record.outcome.measures[0].values, [5.0, 6.0, 7.0]);

        let table = table(&all().unwrap());
        assert_eq!(table.lines().count(), 3);
        assert!(table.contains("second   reproduced"), "{table}");
        assert_eq!(SECOND_RUNS.load(Ordering::SeqCst), 2);
    }

    #[test]
    fn again_and_another_setting_run_anew() {
        static RUNS: AtomicUsize = AtomicUsize::new(0);
        static COUNTED: Finding = Finding {
            name: "counted",
            run: |setting, _| {
                RUNS.fetch_add(1, Ordering::SeqCst);
                outcome(setting)
            },
            ..NOTHING
        };
        let folder = tempfile::tempdir().unwrap();
        let setting = Setting { scale: Scale::Quick, seed: 0, seeds: 3 };
        let count = |setting: Setting, again| {
            run(&[&COUNTED], &setting, folder.path(), again, |_| Progress::silent()).unwrap();
            RUNS.load(Ordering::SeqCst)
        };
        assert_eq!(count(setting, false), 1);
        assert_eq!(count(setting, false), 1);
        assert_eq!(count(setting, true), 2);
        assert_eq!(count(Setting { seeds: 4, ..setting }, false), 3);
        assert_eq!(count(Setting { scale: Scale::Full, ..setting }, false), 4);
    }
}
