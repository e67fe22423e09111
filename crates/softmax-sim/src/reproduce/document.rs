//! `docs/reproduce.md`: claim, command, figure and verdict of every finding.
//!
//! The page is printed from the registry and from `docs/reproduce.json`, the results last committed; a test holds
//! the three in step.

use super::page::{options, theory};
use super::run::Finished;
use super::store::Record;
use super::{Cell, FINDINGS, Finding, Measure, Table, Target, Verdict};
use crate::result_file::{write_json, write_whole};
use figures::chart_svg::standalone_svg;
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::Path;
use whole_file::{FileError, if_there};

/// A result as the documents keep it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Published {
    /// The result, without figures and without tables that are not for the page.
    pub record: Record,
    /// The first figure, if there is one.
    pub figure: Option<PublishedFigure>,
}

/// A figure beside the documents.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PublishedFigure {
    /// Path from `docs/`.
    pub file: String,
    /// Heading of the chart.
    pub title: String,
    /// Sentence under the chart: what a reader should see in it.
    pub caption: String,
}

/// Writes `reproduce.md`, `reproduce.json` and `images/reproduce/*.svg` under `docs`.
///
/// Findings that are not among `finished` keep the results that are published already.
///
/// # Errors
///
/// [`FileError`] if a file cannot be written, or the published results cannot be read.
pub fn write(docs: &Path, finished: &[Finished]) -> Result<(), FileError> {
    let mut results = read_published(docs)?;
    for one in finished {
        results.retain(|result| result.record.finding != one.record.finding);
        results.push(publish(docs, one)?);
    }
    let place = |result: &Published| FINDINGS.iter().position(|f| f.name == result.record.finding);
    results.retain(|result| place(result).is_some());
    results.sort_by_key(place);
    write_json(&docs.join("reproduce.json"), &results)?;
    write_whole(&docs.join("reproduce.md"), page(&FINDINGS, &results).as_bytes())
}

/// The published results; none if there is no such file.
///
/// # Errors
///
/// [`FileError`] if the file cannot be read or holds something else.
pub fn read_published(docs: &Path) -> Result<Vec<Published>, FileError> {
    let path = docs.join("reproduce.json");
    let Some(bytes) = if_there(&path, fs::read(&path))? else { return Ok(vec![]) };
    serde_json::from_slice(&bytes).map_err(|error| FileError::of(&path, "read")(error.into()))
}

fn publish(docs: &Path, one: &Finished) -> Result<Published, FileError> {
    let mut record = one.record.clone();
    let figures = std::mem::take(&mut record.outcome.figures);
    record.outcome.tables.retain(|table| table.on_page);
    let figure = figures.into_iter().next().map(|figure| -> Result<_, FileError> {
        let file = format!("images/reproduce/{}.svg", figure.chart.stem);
        write_whole(&docs.join(&file), standalone_svg(&figure.chart).as_bytes())?;
        Ok(PublishedFigure { file, title: figure.chart.title, caption: figure.caption })
    });
    Ok(Published { record, figure: figure.transpose()? })
}

/// The text of `reproduce.md`.
pub fn page(findings: &[Finding], results: &[Published]) -> String {
    let result =
        |finding: &Finding| results.iter().find(|result| result.record.finding == finding.name);
    let mut text = include_str!("introduction.md").to_owned();
    // Findings without a result stand last.
    for verdict in Verdict::ALL.map(Some).into_iter().chain([None]) {
        let is_of = |finding: &&Finding| {
            result(finding).map(|result| result.record.outcome.verdict) == verdict
        };
        let links: Vec<String> = findings
            .iter()
            .filter(is_of)
            .map(|finding| format!("[{0}](#{0})", finding.name))
            .collect();
        if !links.is_empty() {
            let name = verdict.map_or("not run", Verdict::text);
            text += &format!("- {name} ({}): {}\n", links.len(), links.join(", "));
        }
    }
    for finding in findings {
        text += &section(finding, result(finding));
    }
    text + FOOTER
}

/// Links to the neighbouring pages of the book, in the order of `docs/README.md`.
const FOOTER: &str = "\n---\n\n← [Evaluation](evaluation.md) · \
                      [Contents](README.md) · [Findings in a language model](language-model.md) →\n";

fn section(finding: &Finding, result: Option<&Published>) -> String {
    let (name, title) = (finding.name, plain(&finding.words.title));
    let theory = theory(finding, |anchor| format!("[{anchor}](theory.md#{anchor})"));
    let mut text = format!("\n<a id=\"{name}\"></a>\n## {title}\n\n");
    text += &format!("{}\n\n", plain(&finding.words.claim));
    let Some(result) = result else {
        return text + &format!("**Not run.** `softmax-sim reproduce {name}`{theory}\n");
    };
    let Published { record, figure } = result;
    let (verdict, options) = (record.outcome.verdict.text(), options(&record.setting));
    let targets: Vec<&Measure> =
        record.outcome.measures.iter().filter(|one| one.target != Target::None).collect();
    let judged = targets.iter().filter(|one| one.met.is_some()).count();
    if judged > 0 {
        let met = targets.iter().filter(|one| one.met == Some(true)).count();
        text += &format!("{met} of {judged} targets met: ");
    }
    text += &format!(
        "**{verdict}**. `softmax-sim reproduce {name}{options}`, {:.0} s.{theory}\n\n",
        record.seconds,
    );
    if !record.is_of(finding) {
        text += "*Run with an earlier revision of the code.*\n\n";
    }
    if let Some(figure) = figure {
        text += &format!("![{}]({})\n\n", plain(&figure.title), figure.file);
    }
    text += &table(&targets);
    for table in &record.outcome.tables {
        text += &format!("\n{}\n\n{}", plain(&table.heading), rows(table));
    }
    text
}

fn rows(table: &Table) -> String {
    let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    let mut text = line(table.columns.iter().map(|column| cell(column)).collect());
    text += &format!("|{}\n", "---|".repeat(table.columns.len()));
    for row in &table.rows {
        text += &line(row.iter().map(Cell::text).map(|text| cell(&text)).collect());
    }
    text
}

/// Rows of the measures. Variants of one quantity with the same target share the row of the first.
fn table(measures: &[&Measure]) -> String {
    let mut text = String::from("| measured | mean | target |\n|---|---|---|\n");
    let share_row = |one: &Measure, other: &Measure| {
        variant(&one.quantity).1 == variant(&other.quantity).1 && one.target == other.target
    };
    for (index, measure) in measures.iter().enumerate() {
        if measures[..index].iter().any(|earlier| share_row(earlier, measure)) {
            continue;
        }
        let row: Vec<&Measure> =
            measures.iter().copied().filter(|other| share_row(measure, other)).collect();
        let (quantity, means) = if row.len() == 1 {
            (measure.quantity.as_str(), mean(measure))
        } else {
            let named =
                |one: &&Measure| format!("{}: {}", cell(variant(&one.quantity).0), mean(one));
            (variant(&measure.quantity).1, row.iter().map(named).collect::<Vec<_>>().join("; "))
        };
        text += &format!("| {} | {means} | {} |\n", cell(quantity), measure.target.text());
    }
    text
}

/// The variant that a quantity names and the rest: `L1: error` and `error, L1` are both `L1` and `error`.
fn variant(quantity: &str) -> (&str, &str) {
    quantity.split_once(": ").unwrap_or_else(|| {
        let (rest, variant) = quantity.rsplit_once(", ").unwrap_or((quantity, ""));
        (variant, rest)
    })
}

/// The mean with its interval and the seeds that meet the target; in bold where it was missed.
fn mean(measure: &Measure) -> String {
    let mean = cell(&measure.text()) + &measure.seeds_text().replace("; ", " · ");
    if measure.met == Some(false) { format!("**{mean}**") } else { mean }
}

/// Text that Markdown leaves alone.
fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '<' => plain.push_str("&lt;"),
            '*' | '_' | '`' | '[' | ']' | '\\' => plain.extend(['\\', character]),
            '\n' => plain.push(' '),
            other => plain.push(other),
        }
    }
    plain
}

/// Text that Markdown leaves alone inside a table.
fn cell(text: &str) -> String {
    plain(text).replace('|', "\\|")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_of_the_page_is_markdown() {
        let mut table = Table::new("Numbers.", &["Method", "Entropy (nat)"]);
        table.row(["a|b".into(), 0.25.into()]);
        assert_eq!(rows(&table), "| Method | Entropy (nat) |\n|---|---|\n| a\\|b | 0.250 |\n");
    }
}
