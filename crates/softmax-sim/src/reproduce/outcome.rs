//! The result of an experiment and its verdict.

use super::measure::Measure;
use super::table::Table;
use super::words::of_figure;
use figures::{Chart, Figure};
use messages::counted;
use serde::{Deserialize, Serialize};

/// Verdict on a statement of the paper.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Every target was met.
    Reproduced,
    /// Some targets were met, others were not.
    InPart,
    /// No target was met.
    NotReproduced,
    /// Numbers alone: a quick run, or a finding without targets.
    None,
}

impl Verdict {
    /// Every verdict, in the order of the pages.
    pub(super) const ALL: [Self; 4] =
        [Self::Reproduced, Self::InPart, Self::NotReproduced, Self::None];

    /// In words: `reproduced`, `in part`, `not reproduced`, `no verdict`.
    pub fn text(self) -> &'static str {
        match self {
            Self::Reproduced => "reproduced",
            Self::InPart => "in part",
            Self::NotReproduced => "not reproduced",
            Self::None => "no verdict",
        }
    }

    /// By the measures that have a target: all met, some, or none. Without any there is no verdict.
    pub fn of(measures: &[Measure]) -> Self {
        let met: Vec<bool> = measures.iter().filter_map(|measure| measure.met).collect();
        match (met.contains(&true), met.contains(&false)) {
            (true, false) => Self::Reproduced,
            (true, true) => Self::InPart,
            (false, true) => Self::NotReproduced,
            (false, false) => Self::None,
        }
    }
}

/// Result of an experiment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ExperimentResult {
    /// Quantities measured, those with a target first.
    pub measures: Vec<Measure>,
    /// Charts with captions; the first one stands in `docs/reproduce.md`.
    pub figures: Vec<Figure>,
    /// Tables.
    pub tables: Vec<Table>,
    /// Verdict on the claim.
    pub verdict: Verdict,
    /// Why, a sentence.
    pub reason: String,
    /// Caveats and context, a sentence or more each.
    pub notes: Vec<String>,
}

impl ExperimentResult {
    /// The outcome of `measures`, with the verdict and the reason they give.
    pub fn new(measures: Vec<Measure>) -> Self {
        let (verdict, reason) = (Verdict::of(&measures), reason(&measures));
        Self { measures, figures: vec![], tables: vec![], verdict, reason, notes: vec![] }
    }

    /// Adds a chart and the sentence under it.
    #[must_use]
    pub fn figure(mut self, chart: Chart) -> Self {
        let caption = of_figure(&chart.stem).caption.clone();
        self.figures.push(Figure { chart, caption });
        self
    }

    /// Adds a table.
    #[must_use]
    pub fn table(mut self, table: Table) -> Self {
        self.tables.push(table);
        self
    }

    /// Adds a note that holds numbers; `findings.toml` has the others.
    #[must_use]
    pub fn note(mut self, note: String) -> Self {
        self.notes.push(note);
        self
    }

    /// Keeps the numbers without a verdict: of runs that are shorter than the targets are meant for.
    #[must_use]
    pub fn unjudged(self) -> Self {
        let measures = self.measures.into_iter().map(|measure| Measure { met: None, ..measure });
        let reason = "A quick run: shorter than the targets are meant for.".to_owned();
        Self { measures: measures.collect(), verdict: Verdict::None, reason, ..self }
    }
}

/// States that all targets are met, or names those missed with their values.
fn reason(measures: &[Measure]) -> String {
    let wanted: Vec<&Measure> = measures.iter().filter(|m| m.met.is_some()).collect();
    let missed: Vec<&&Measure> = wanted.iter().filter(|m| m.met == Some(false)).collect();
    match (wanted.len(), missed.len()) {
        (0, _) => "Nothing was measured against a target.".to_owned(),
        (1, 0) => "The target is met.".to_owned(),
        (count, 0) => format!("All {count} targets are met."),
        (count, missing) => {
            let words = missed.iter().map(|measure| {
                let (value, seeds) = (measure.text(), measure.seeds_text());
                format!("{}: {value}, wanted {}{seeds}", measure.quantity, measure.target.text())
            });
            let words = words.collect::<Vec<_>>().join("; ");
            format!("{} of {} met. Missed: {words}.", count - missing, counted(count, "target"))
        }
    }
}
