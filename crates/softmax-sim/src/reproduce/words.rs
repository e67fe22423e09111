//! Words of the findings and of their figures: `findings.toml`.

use serde::Deserialize;
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// Words about a finding.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Words {
    /// Heading, plain text without a full stop.
    pub title: String,
    /// Statement of the paper: sentences that end with the figure, table or equation.
    pub claim: String,
    /// Runs and measurements: environment, settings, formulas in words.
    pub method: String,
    /// Criterion of a reproduction, met by the interval of the mean over seeds.
    pub target: String,
    /// Anchors of `docs/theory.md` that derive the claim: `lemma-1`.
    pub theory: Vec<String>,
    /// Caveats and context, a sentence or more each.
    pub notes: Vec<String>,
    /// Words of each figure, by the file stem of its chart.
    pub figures: BTreeMap<String, FigureWords>,
}

/// Words about a figure.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FigureWords {
    /// Heading of the chart.
    pub title: String,
    /// Text alternative for readers who cannot see the chart.
    pub description: String,
    /// Sentence under the chart: what a reader should see in it.
    pub caption: String,
}

/// Words of every finding, by its name.
pub(super) static WORDS: LazyLock<BTreeMap<String, Words>> = LazyLock::new(|| {
    toml::from_str(include_str!("findings.toml")).expect("the words of the findings are TOML")
});

/// Words of the figure whose chart has that file stem.
///
/// # Panics
///
/// If no finding has such a figure.
pub(super) fn of_figure(stem: &str) -> &'static FigureWords {
    let words = WORDS.values().find_map(|words| words.figures.get(stem));
    words.unwrap_or_else(|| panic!("`findings.toml` has no figure `{stem}`"))
}
