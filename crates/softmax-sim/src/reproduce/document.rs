//! `docs/reproduce.md`: claim, command, figure and verdict of every finding.
//!
//! The page is printed from the registry and from `docs/reproduce.json`, the results last committed; a test holds
//! the three in step.

use super::engine::ENGINE;
use super::kept::KeptShare;
use super::page::{kept_text, options};
use super::run::Finished;
use super::{FINDINGS, Finding, Measure, Setting, Verdict};
use crate::result_file::{FileError, write_whole};
use figures::chart_svg::standalone_svg;
use serde::{Deserialize, Serialize};
use std::fs;
use std::io;
use std::path::Path;

/// A result as the documents keep it: without the points of its charts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Published {
    /// Name of the finding.
    pub finding: String,
    /// The program that ran it.
    pub program: String,
    /// Size and seeds that the outcome depends on.
    pub setting: Setting,
    /// The engine that ran it: [`ENGINE`].
    pub engine: String,
    /// Wall time, seconds.
    pub seconds: f64,
    /// Runs that an earlier finding had done already.
    #[serde(default, skip_serializing_if = "KeptShare::is_none")]
    pub kept: KeptShare,
    /// Verdict on the claim.
    pub verdict: Verdict,
    /// Why.
    pub reason: String,
    /// Quantities measured.
    pub measures: Vec<Measure>,
    /// Caveats and context, a sentence or more each.
    pub notes: Vec<String>,
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
        let published = publish(docs, one)?;
        results.retain(|result| result.finding != published.finding);
        results.push(published);
    }
    let place = |result: &Published| FINDINGS.iter().position(|f| f.name == result.finding);
    results.retain(|result| place(result).is_some());
    results.sort_by_key(place);
    let path = docs.join("reproduce.json");
    let json = serde_json::to_string_pretty(&results).map_err(io::Error::from);
    let json = json.map_err(FileError::of(&path, "write"))?;
    write_whole(&path, format!("{json}\n").as_bytes())?;
    write_whole(&docs.join("reproduce.md"), page(FINDINGS, &results).as_bytes())
}

/// The published results; none if there is no such file.
///
/// # Errors
///
/// [`FileError`] if the file cannot be read or holds something else.
pub fn read_published(docs: &Path) -> Result<Vec<Published>, FileError> {
    let path = docs.join("reproduce.json");
    match fs::read(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(vec![]),
        read => read
            .and_then(|bytes| serde_json::from_slice(&bytes).map_err(io::Error::from))
            .map_err(FileError::of(&path, "read")),
    }
}

fn publish(docs: &Path, one: &Finished) -> Result<Published, FileError> {
    let (record, outcome) = (&one.record, &one.record.outcome);
    let figure = outcome.figures.first().map(|figure| PublishedFigure {
        file: format!("images/reproduce/{}.svg", figure.chart.stem),
        title: figure.chart.title.clone(),
        caption: figure.caption.clone(),
    });
    if let (Some(published), Some(figure)) = (&figure, outcome.figures.first()) {
        write_whole(&docs.join(&published.file), standalone_svg(&figure.chart).as_bytes())?;
    }
    Ok(Published {
        finding: record.finding.clone(),
        program: record.program.clone(),
        setting: record.setting,
        engine: ENGINE.to_owned(),
        seconds: record.seconds,
        kept: record.kept,
        verdict: outcome.verdict,
        reason: outcome.reason.clone(),
        measures: outcome.measures.clone(),
        notes: outcome.notes.clone(),
        figure,
    })
}

const INTRODUCTION: &str = "\
# Reproducing the paper

What Cui et al. (arXiv:2505.22617) found, as experiments on one CPU: softmax policies, rewards and updates small enough
that entropy and expected reward are exact. Each has a claim, a target fixed beforehand, at least three seeds and a verdict;
a target is met if **every** seed meets it. What does not reproduce is said as plainly as what does.

```sh
cargo run --release -p softmax-sim -- reproduce               # all; results under runs/reproduce/, report.html among them
cargo run --release -p softmax-sim -- reproduce --quick       # the same in short: the targets are meant for the full size
cargo run --release -p softmax-sim -- reproduce --list        # the names
cargo run --release -p softmax-sim -- reproduce --docs docs   # this page, its figures and docs/reproduce.json
```

A finding that has a result for the same setting, from the same code and engine, is not run again, so a run that was killed
goes on where it was; `--again` runs it anew. Findings share training runs: the first to need one has its seconds. This page is printed by `--docs`; its words stand in `crates/softmax-sim/src/reproduce/finding/`.

";

/// The text of `reproduce.md`.
pub fn page(findings: &[Finding], results: &[Published]) -> String {
    let result = |finding: &Finding| results.iter().find(|result| result.finding == finding.name);
    let mut text = INTRODUCTION.to_owned();
    text += "| finding | command `softmax-sim reproduce …` | verdict |\n|---|---|---|\n";
    for finding in findings {
        let verdict = result(finding).map_or("not run", |result| result.verdict.text());
        let (name, title) = (finding.name, cell(finding.title));
        text += &format!("| [{title}](#{name}) | `{name}` | {verdict} |\n");
    }
    for finding in findings {
        text += &section(finding, result(finding));
    }
    text + FOOTER
}

/// Links to the neighbouring pages of the book, in the order of `docs/README.md`.
const FOOTER: &str = "\n---\n\n← [Entropy at inference](inference-entropy.md) · \
                      [Contents](README.md) · [Benchmarks](benchmarks.md) →\n";

fn section(finding: &Finding, result: Option<&Published>) -> String {
    let (name, title) = (finding.name, plain(finding.title));
    let mut text = format!("\n<a id=\"{name}\"></a>\n## {title}\n\n");
    for (term, words) in
        [("Claim", finding.claim), ("Method", finding.method), ("Target", finding.target)]
    {
        text += &format!("**{term}.** {}\n\n", plain(words));
    }
    let links = finding.theory.iter().map(|anchor| format!("[{anchor}](theory.md#{anchor})"));
    let links: Vec<String> = links.collect();
    if !links.is_empty() {
        text += &format!("**Theory.** {}.\n\n", links.join(", "));
    }
    let Some(result) = result else {
        return text + &format!("**Verdict: not run.** `softmax-sim reproduce {name}`\n");
    };
    text += &format!("**Verdict: {}.** {}\n\n", result.verdict.text(), plain(&result.reason));
    if let Some(figure) = &result.figure {
        text += &format!(
            "![{}]({})\n\n*{}*\n\n",
            plain(&figure.title),
            figure.file,
            plain(&figure.caption)
        );
    }
    text += "| measured | mean over seeds [95 %] | target | met |\n|---|---|---|---|\n";
    for measure in &result.measures {
        let met = match measure.met {
            Some(true) => "yes",
            Some(false) => "no",
            None => "",
        };
        let (quantity, value) = (cell(&measure.quantity), cell(&measure.text()));
        text += &format!("| {quantity} | {value} | {} | {met} |\n", measure.target.text());
    }
    for note in &result.notes {
        text += &format!("\n{}\n", plain(note));
    }
    let (setting, options) = (&result.setting, options(&result.setting));
    let kept = match result.kept {
        KeptShare { runs: 0, .. } => String::new(),
        kept => format!(", with {}", kept_text(kept)),
    };
    text + &format!(
        "\n`softmax-sim reproduce {name}{options}`: {} in {:.0} s{kept}, {}.\n",
        setting.text(),
        result.seconds,
        result.program
    )
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
