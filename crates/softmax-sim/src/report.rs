//! Result of a verification: rows, a table, a file.

use crate::statement::claim;
use entropy_core::Interval;
use serde::{Deserialize, Serialize};
use std::fmt::Write as _;

/// One check of one statement over many cases.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// The statement checked, as the paper calls it.
    pub statement: String,
    /// Quantity measured; [`worst`](Self::worst) is in its unit.
    pub check: String,
    /// How it is measured, and against what.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub method: Option<String>,
    /// Number of cases measured.
    pub cases: usize,
    /// The largest value measured; the largest number there is if one could not be measured.
    pub worst: f64,
    /// The largest value that passes.
    pub allowed: f64,
    /// The quantity itself where `worst` is its distance from a target: its mean over the cases.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub estimate: Option<f64>,
    /// Confidence interval of the estimate, of coverage 0.95.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<[f64; 2]>,
    /// True if there were cases and the worst is allowed.
    pub passed: bool,
}

impl Row {
    /// The row of `values`, one measured per case; its statement is set [later](Self::about).
    pub fn of(check: &str, allowed: f64, values: impl IntoIterator<Item = f64>) -> Self {
        let (mut cases, mut worst) = (0, 0.0f64);
        for value in values {
            cases += 1;
            // `max` would pass over a NaN, and JSON has no infinity.
            worst = if value.is_finite() { worst.max(value) } else { f64::MAX };
        }
        let passed = cases > 0 && worst <= allowed;
        Self { check: check.into(), cases, worst, allowed, passed, ..Self::default() }
    }

    /// The row of a quantity that was measured once per case and should be `target` on average and,
    /// within `allowed`, in each case. Fails too if the interval of its mean ends further than
    /// `allowed` from the target.
    pub fn near(
        check: &str,
        target: f64,
        allowed: f64,
        values: impl IntoIterator<Item = f64>,
    ) -> Self {
        let values: Vec<f64> = values.into_iter().collect();
        let row = Self::of(check, allowed, values.iter().map(|value| (value - target).abs()));
        if row.cases == 0 || row.worst >= f64::MAX {
            return row;
        }
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        // One value has no interval.
        let interval = Interval::of_mean(&values, 0.95);
        let interval = interval.map_or([mean; 2], |interval| [interval.low, interval.high]);
        let outside = interval.iter().any(|end| (end - target).abs() > allowed);
        let passed = row.passed && !outside;
        Self { estimate: Some(mean), interval: Some(interval), passed, ..row }
    }

    /// Sets the statement.
    #[must_use]
    pub fn about(self, statement: &str) -> Self {
        Self { statement: statement.into(), ..self }
    }

    /// Sets the number of cases, if the one value of the row was measured over all of them.
    #[must_use]
    pub fn over(self, cases: usize) -> Self {
        Self { cases, passed: self.passed && cases > 0, ..self }
    }

    /// Adds the method of measurement.
    #[must_use]
    pub fn by(self, method: &str) -> Self {
        Self { method: Some(method.into()), ..self }
    }

    /// Estimate and interval, for people: digits down to the width of the interval.
    fn figure(&self) -> String {
        let (Some(estimate), Some([low, high])) = (self.estimate, self.interval) else {
            return String::new();
        };
        let width = (high - low).abs().max(1e-12 * estimate.abs());
        if estimate == 0.0 || !(1e-3..1e3).contains(&estimate.abs()) || width == 0.0 {
            return format!("{estimate:.2e} [{low:.1e}, {high:.1e}]");
        }
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "clamped to a few digits"
        )]
        let digits = (1.0 - width.log10().floor()).clamp(1.0, 5.0) as usize;
        format!("{estimate:.digits$} [{low:.digits$}, {high:.digits$}]")
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
    /// Returns true if there are checks and all passed.
    pub fn passed(&self) -> bool {
        !self.rows.is_empty() && self.rows.iter().all(|row| row.passed)
    }

    /// The rows as text for people, at most 120 columns wide if no check is wider than 56: each statement with what it claims,
    /// its checks below, the verdict of the whole last.
    ///
    /// With `methods`, a line under each check says how it was done.
    pub fn table(&self, methods: bool) -> String {
        let check_width = self.rows.iter().map(|row| row.check.chars().count()).max().unwrap_or(0);
        let check_width = check_width.max("check".len());
        let line = |[check, cases, worst, allowed, figure, verdict]: [&str; 6]| {
            let numbers = format!("{cases:>7} {worst:>8} {allowed:>8}");
            format!("  {check:check_width$} {numbers}  {figure:26} {verdict}\n")
        };
        let figure = "mean [0.95 interval]";
        let mut table = line(["check", "cases", "worst", "allowed", figure, "verdict"]);
        let mut statement = None;
        for row in &self.rows {
            if statement != Some(&row.statement) {
                statement = Some(&row.statement);
                let claim = claim(&row.statement).map(|claim| format!(": {claim}"));
                let _ = writeln!(table, "{}{}", row.statement, claim.unwrap_or_default());
            }
            let worst =
                if row.worst < f64::MAX { format!("{:.2e}", row.worst) } else { "no value".into() };
            let (cases, allowed) = (row.cases.to_string(), format!("{:.2e}", row.allowed));
            let verdict = if row.passed { "pass" } else { "FAIL" };
            table += &line([&row.check, &cases, &worst, &allowed, &row.figure(), verdict]);
            if let (true, Some(method)) = (methods, &row.method) {
                let _ = writeln!(table, "      {method}");
            }
        }
        let passed = self.rows.iter().filter(|row| row.passed).count();
        let _ =
            writeln!(table, "{passed} of {} checks passed, seed {}", self.rows.len(), self.seed);
        table
    }
}
