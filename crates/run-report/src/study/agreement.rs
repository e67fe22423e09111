//! Comparison with a study of other seeds: differences that the seeds do not explain.

use std::fmt::Display;
use std::path::Path;

use entropy_core::Interval;
use serde::Deserialize;
use whole_file::FileError;

use super::finding::{Finding, Verdict};
use super::measure::Measure;
use crate::evaluation::table::markdown;
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

impl Recorded {
    /// Reads `reproduce.json`.
    ///
    /// # Errors
    ///
    /// [`FileError`], naming the file.
    pub fn read(path: &Path) -> Result<Self, FileError> {
        let text = std::fs::read_to_string(path).map_err(FileError::of(path, "read"))?;
        serde_json::from_str(&text).map_err(|error| FileError::content(path, error))
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
            text += &table("finding", &self.verdicts);
        }
        if !self.different.is_empty() {
            text += &table("quantity", &self.different);
        }
        text
    }
}

/// Names with their values here and there.
fn table<T: Display>(heading: &str, rows: &[(String, T, T)]) -> String {
    let row = |(name, here, there): &(String, T, T)| {
        vec![name.clone(), here.to_string(), there.to_string()]
    };
    format!("\n{}", markdown(&[heading, "these seeds", "other seeds"], rows.iter().map(row)))
}
