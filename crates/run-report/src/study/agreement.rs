//! Comparison with a study of other seeds: differences that the seeds do not explain.

use std::path::Path;

use entropy_core::Interval;
use serde::Deserialize;
use thiserror::Error;

use super::finding::{Finding, Verdict};
use super::measure::Measure;
use crate::run_law::CONFIDENCE;

/// A study as `reproduce.json` has it.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(transparent)]
pub struct Recorded(Vec<RecordedFinding>);

#[derive(Debug, Clone, PartialEq, Deserialize)]
struct RecordedFinding {
    name: String,
    measures: Vec<Measure>,
}

/// Why a recorded study cannot be read.
#[derive(Debug, Error)]
pub enum RecordedError {
    /// The file.
    #[error("cannot read {path}: {source}")]
    Read {
        /// The file.
        path: String,
        /// Why.
        source: std::io::Error,
    },
    /// Its text.
    #[error("{path}: {source}")]
    Json {
        /// The file.
        path: String,
        /// Why, with line and column.
        source: serde_json::Error,
    },
}

impl Recorded {
    /// Reads `reproduce.json`.
    ///
    /// # Errors
    ///
    /// [`RecordedError`], naming the file.
    pub fn read(path: &Path) -> Result<Self, RecordedError> {
        let name = || path.display().to_string();
        let text = std::fs::read_to_string(path)
            .map_err(|source| RecordedError::Read { path: name(), source })?;
        serde_json::from_str(&text).map_err(|source| RecordedError::Json { path: name(), source })
    }
}

/// Two studies beside each other.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Agreement {
    /// Quantities that both measured with two seeds or more.
    pub compared: usize,
    /// Those of which the 0.95 interval of the difference leaves out 0: quantity, value here, value there.
    pub different: Vec<(String, String, String)>,
    /// Findings on which the verdicts differ: name, verdict here, verdict there.
    pub verdicts: Vec<(String, &'static str, &'static str)>,
}

impl Agreement {
    /// Compares findings with those of other seeds, seed by seed in their order.
    pub fn of(findings: &[Finding], other: &Recorded) -> Self {
        let mut agreement = Self::default();
        for finding in findings {
            let Some(there) = other.0.iter().find(|there| there.name == finding.name) else {
                continue;
            };
            let word = |verdict: Option<Verdict>| verdict.map_or("no target", Verdict::text);
            let verdicts = [finding.verdict(), Verdict::of(&there.measures)].map(word);
            if verdicts[0] != verdicts[1] {
                agreement.verdicts.push((finding.name.to_owned(), verdicts[0], verdicts[1]));
            }
            for measure in &finding.measures {
                if let Some(other) =
                    there.measures.iter().find(|other| other.quantity == measure.quantity)
                {
                    agreement.compare(measure, other);
                }
            }
        }
        agreement
    }

    fn compare(&mut self, here: &Measure, there: &Measure) {
        let differences: Vec<f64> =
            std::iter::zip(&here.values, &there.values).map(|(here, there)| here - there).collect();
        let Ok(interval) = Interval::of_mean(&differences, CONFIDENCE) else { return };
        self.compared += 1;
        if !interval.contains(0.0) {
            self.different.push((here.quantity.clone(), here.text(), there.text()));
        }
    }

    /// A paragraph, and tables of what differs.
    pub fn markdown(&self) -> String {
        let mut text = format!(
            "The same study with other seeds: of {} quantities, {} differ. The 0.95 interval of their difference leaves out 0, as it \
             does for one in twenty equal ones. ",
            self.compared,
            self.different.len()
        );
        if self.verdicts.is_empty() {
            text += "The verdicts are the same.\n";
        } else {
            text += "A verdict asks that whole intervals meet its targets, so it may turn where quantities agree.\n";
            text += "\n| finding | these seeds | other seeds |\n|---|---|---|\n";
            let rows = self.verdicts.iter();
            text.extend(rows.map(|(name, here, there)| format!("| {name} | {here} | {there} |\n")));
        }
        if !self.different.is_empty() {
            text += "\n| quantity | these seeds | other seeds |\n|---|---|---|\n";
            let rows = self.different.iter();
            text.extend(rows.map(|(name, here, there)| format!("| {name} | {here} | {there} |\n")));
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::super::measure::Target;
    use super::*;

    fn finding(values: [f64; 3], rest: [f64; 3]) -> Finding {
        let measures = vec![
            Measure::new("x", values, Target::AtLeast(0.0)),
            Measure::new("y", rest, Target::None),
            Measure::new("of no seed", [], Target::None),
        ];
        let (figures, notes) = (vec![], vec![]);
        Finding { name: "one", title: "", claim: "", targets: "", measures, figures, notes }
    }

    #[test]
    fn what_seeds_explain_is_no_difference() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("reproduce.json");
        let recorded = |finding: &Finding| {
            std::fs::write(&path, serde_json::to_vec(&[finding]).unwrap()).unwrap();
            Recorded::read(&path).unwrap()
        };
        let here = finding([1.0, 1.1, 1.2], [5.0, 6.0, 7.0]);
        let near = Agreement::of(
            std::slice::from_ref(&here),
            &recorded(&finding([1.2, 1.0, 1.1], [7.0, 5.0, 6.0])),
        );
        assert_eq!(near, Agreement { compared: 2, ..Agreement::default() });
        let far = Agreement::of(&[here], &recorded(&finding([-1.2, -1.0, -1.15], [7.0, 5.0, 6.0])));
        assert_eq!((far.compared, far.different.len()), (2, 1));
        assert_eq!(far.different[0].0, "x");
        assert_eq!(far.verdicts, [("one".to_owned(), "reproduced", "not reproduced")]);
        assert!(far.markdown().contains("\n| one | reproduced | not reproduced |\n\n| quantity |"));
    }

    #[test]
    fn a_file_that_is_no_study_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("reproduce.json");
        std::fs::write(&path, "{}").unwrap();
        let error = Recorded::read(&path).unwrap_err().to_string();
        assert!(error.contains("reproduce.json: ") && error.contains("line 1"), "{error}");
    }
}
