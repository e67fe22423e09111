//! A finding of the paper, what was measured of it, and the verdict.

use figures::Figure;
use messages::counted;
use serde::Serialize;

use super::measure::Measure;

/// Verdict on a finding, by the measures that have a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Every target is met.
    Reproduced,
    /// Some are.
    InPart,
    /// None is.
    NotReproduced,
}

impl Verdict {
    /// The verdict by these measures; `None` if nothing has a target.
    pub(super) fn of(measures: &[Measure]) -> Option<Self> {
        match targets(measures) {
            (_, 0) => None,
            (met, all) if met == all => Some(Self::Reproduced),
            (0, _) => Some(Self::NotReproduced),
            _ => Some(Self::InPart),
        }
    }

    /// In words.
    pub fn text(self) -> &'static str {
        match self {
            Self::Reproduced => "reproduced",
            Self::InPart => "in part",
            Self::NotReproduced => "not reproduced",
        }
    }
}

/// Numbers of targets that are met, and of all.
fn targets(measures: &[Measure]) -> (usize, usize) {
    let met = || measures.iter().filter_map(Measure::met);
    (met().filter(|&met| met).count(), met().count())
}

/// A finding of the paper in these runs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Finding {
    /// Name, unique, in kebab-case.
    pub name: &'static str,
    /// Heading.
    pub title: &'static str,
    /// Statement of the paper, with its place there.
    pub claim: &'static str,
    /// Targets, and why these, in words; they were written before the runs.
    pub targets: &'static str,
    /// Quantities measured.
    pub measures: Vec<Measure>,
    /// Charts with captions; the first stands in the book.
    #[serde(skip)]
    pub figures: Vec<Figure>,
    /// Sentences beside the verdict.
    pub notes: Vec<String>,
}

/// Texts of the findings, each in a block of four lines: name, title, claim and targets.
const TEXTS: &str = include_str!("findings.txt");

impl Finding {
    /// A finding with the texts of that name, without notes.
    pub(super) fn new(name: &str, measures: Vec<Measure>, figures: Vec<Figure>) -> Self {
        let block = TEXTS.split("\n\n").find(|block| block.lines().next() == Some(name));
        let mut lines = block.expect("every finding has its texts").lines();
        let mut next = || lines.next().expect("a block has four lines");
        let [name, title, claim, targets] = [next(), next(), next(), next()];
        Self { name, title, claim, targets, measures, figures, notes: vec![] }
    }

    /// The verdict; `None` if nothing has a target.
    pub fn verdict(&self) -> Option<Verdict> {
        Verdict::of(&self.measures)
    }

    /// `3 of 4 targets met`.
    pub fn score(&self) -> String {
        let (met, all) = targets(&self.measures);
        format!("{met} of {} met", counted(all, "target"))
    }
}
