//! What a verification found: rows, a table, a file.

use serde::{Deserialize, Serialize};
use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use thiserror::Error;

/// One check of one statement over many cases.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// The statement checked, as the paper calls it.
    pub statement: String,
    /// What is measured; [`worst`](Self::worst) is in its unit.
    pub check: String,
    /// Number of cases measured.
    pub cases: usize,
    /// The largest value measured; the largest number there is if one could not be measured.
    pub worst: f64,
    /// The largest value that passes.
    pub allowed: f64,
    /// Whether there were cases, and the worst is allowed.
    pub passed: bool,
}

impl Row {
    /// The row of `values`, one measured per case.
    pub fn of(
        statement: &str,
        check: &str,
        allowed: f64,
        values: impl IntoIterator<Item = f64>,
    ) -> Self {
        let (mut cases, mut worst) = (0, 0.0f64);
        for value in values {
            cases += 1;
            // `max` would pass over a NaN, and JSON has no infinity.
            worst = if value.is_finite() { worst.max(value) } else { f64::MAX };
        }
        let passed = cases > 0 && worst <= allowed;
        Self { statement: statement.into(), check: check.into(), cases, worst, allowed, passed }
    }

    /// The same row, its one value having been measured over all of `cases`.
    #[must_use]
    pub fn over(self, cases: usize) -> Self {
        Self { cases, passed: self.passed && cases > 0, ..self }
    }
}

/// The outcome of a verification.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// The seed all cases were drawn from.
    pub seed: u64,
    /// One row per check, grouped by statement.
    pub rows: Vec<Row>,
}

impl Report {
    /// Whether there are checks and all passed.
    pub fn passed(&self) -> bool {
        !self.rows.is_empty() && self.rows.iter().all(|row| row.passed)
    }

    /// The rows as an aligned table of text, with a heading and a final line break.
    pub fn table(&self) -> String {
        let mut cells =
            vec![["statement", "check", "cases", "worst", "allowed", "verdict"].map(String::from)];
        cells.extend(self.rows.iter().map(|row| {
            [
                row.statement.clone(),
                row.check.clone(),
                row.cases.to_string(),
                format!("{:.2e}", row.worst),
                format!("{:.2e}", row.allowed),
                String::from(if row.passed { "pass" } else { "FAIL" }),
            ]
        }));
        let width = |column: usize| {
            cells.iter().map(|row| row[column].chars().count()).max().unwrap_or_default()
        };
        let widths: [usize; 6] = std::array::from_fn(width);
        let mut table = String::new();
        for [statement, check, cases, worst, allowed, verdict] in &cells {
            let [w0, w1, w2, w3, w4, _] = widths;
            let _ = writeln!(
                table,
                "{statement:w0$}  {check:w1$}  {cases:>w2$}  {worst:>w3$}  {allowed:>w4$}  {verdict}"
            );
        }
        table
    }

    /// Writes the report to `path` as JSON: completely or, on an error, not at all.
    ///
    /// # Errors
    ///
    /// [`WriteError`] if the file cannot be written.
    pub fn write_json(&self, path: &Path) -> Result<(), WriteError> {
        let write = || {
            let partial = partial_path(path)?;
            let json = serde_json::to_string_pretty(self)?;
            let written = write_synced(&partial, &json).and_then(|()| fs::rename(&partial, path));
            if written.is_err() {
                // Nothing half-written stays behind; the first error is the one to report.
                let _ = fs::remove_file(&partial);
            }
            written
        };
        write().map_err(|source| WriteError { path: path.to_owned(), source })
    }
}

/// A report could not be written.
#[derive(Debug, Error)]
#[error("cannot write {}", path.display())]
pub struct WriteError {
    path: PathBuf,
    source: io::Error,
}

/// A name beside `path`, so that renaming stays within one file system.
fn partial_path(path: &Path) -> io::Result<PathBuf> {
    let name = path.file_name().ok_or_else(|| {
        io::Error::new(io::ErrorKind::InvalidInput, "expected a path that ends in a file name")
    })?;
    let mut partial = std::ffi::OsString::from(".");
    partial.push(name);
    partial.push(format!(".{}.partial", std::process::id()));
    Ok(path.with_file_name(partial))
}

fn write_synced(path: &Path, text: &str) -> io::Result<()> {
    let mut file = File::create(path)?;
    file.write_all(text.as_bytes())?;
    file.write_all(b"\n")?;
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report() -> Report {
        Report {
            seed: 1,
            rows: vec![
                Row::of("Lemma 1", "order", 0.05, [0.001, 0.02]),
                Row::of("Theorem 1", "bound over remainder", 1.0, [1.5]),
            ],
        }
    }

    #[test]
    fn table_is_aligned_and_names_the_failure() {
        insta::assert_snapshot!(report().table(), @r"
        statement  check                 cases    worst  allowed  verdict
        Lemma 1    order                     2  2.00e-2  5.00e-2  pass
        Theorem 1  bound over remainder      1   1.50e0   1.00e0  FAIL
        ");
    }

    #[test]
    fn what_cannot_be_measured_fails() {
        for values in [vec![f64::NAN, 0.0], vec![0.0, f64::NAN], vec![f64::INFINITY], vec![]] {
            assert!(!Row::of("Lemma 1", "order", 1.0, values.clone()).passed, "{values:?}");
        }
    }

    #[test]
    fn one_failed_row_fails_the_report() {
        assert!(!report().passed());
        assert!(Report { seed: 1, rows: report().rows[..1].to_vec() }.passed());
        assert!(!Report { seed: 1, rows: vec![] }.passed());
    }

    #[test]
    fn json_replaces_the_file_and_leaves_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("verify.json");
        fs::write(&path, "old").unwrap();
        report().write_json(&path).unwrap();
        let read: Report = serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap();
        assert_eq!(read, report());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_file_that_cannot_be_written_is_named_and_not_begun() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("verify.json");
        fs::create_dir(&path).unwrap();
        let error = report().write_json(&path).unwrap_err();
        assert_eq!(error.to_string(), format!("cannot write {}", path.display()));
        assert!(std::error::Error::source(&error).is_some());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
