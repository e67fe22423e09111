//! The findings for people: an HTML page, and the page of the book.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use figures::chart_svg::standalone_svg;
use figures::html::{Table, escape, paragraph};
use figures::{Block, Figure, Page, Section};

use super::agreement::Agreement;
use super::finding::{Finding, Verdict};
use super::measure::Measure;
use crate::evaluation::table::markdown;
use training_run::run_directory::pretty_json;
use whole_file::{FileError, write_atomically};

/// Setting of a study, for the pages.
#[derive(Debug, Clone, PartialEq)]
pub struct Setting {
    /// Command that runs it again.
    pub command: String,
    /// Models, seeds and steps, a sentence.
    pub summary: String,
    /// True if targets are judged: a quick run is too short for them.
    pub has_verdicts: bool,
    /// Comparison with a study of other seeds.
    pub agreement: Option<Agreement>,
}

/// The page of the book: its prose stands there alone, the findings between the marks.
const BOOK_PAGE: &str = include_str!("../../../../docs/language-model.md");
const MARKS: [&str; 2] = ["<!-- findings -->\n", "<!-- end of findings -->\n"];

const TITLE: &str = "The paper's findings in a language model";
const PAPER: &str =
    "<p>The paper: <a href=\"https://arxiv.org/abs/2505.22617\">arXiv:2505.22617</a>.</p>\n";

fn html(findings: &[Finding], setting: &Setting) -> Page {
    let verdict = |finding: &Finding| match finding.verdict().filter(|_| setting.has_verdicts) {
        Some(verdict) => format!("{}, {}", verdict.text(), finding.score()),
        None => String::new(),
    };
    let section = |finding: &Finding| {
        let mut text = paragraph(&format!("Claim: {}", finding.claim));
        text += &paragraph(&format!("Targets: {}", finding.targets));
        text += &paragraph(&verdict(finding));
        text.extend(finding.notes.iter().map(|note| paragraph(note)));
        let blocks = vec![
            Block::Html(text),
            Block::Figures(finding.figures.clone()),
            Block::Html(measures(&finding.measures, setting)),
        ];
        Section::new(finding.name, finding.title, blocks)
    };
    Page {
        title: TITLE.to_owned(),
        headline: headline(findings, setting),
        introduction: vec![setting.summary.clone()],
        sections: findings.iter().map(section).collect(),
        command: setting.command.clone(),
        footer: PAPER.to_owned(),
        style: String::new(),
    }
}

fn measures(measures: &[Measure], setting: &Setting) -> String {
    let headings = ["Measured", "Mean [0.95 interval]", "Target", "Met, by seeds"];
    let mut table = Table::new("", &headings, |column| matches!(column, 1 | 2));
    for measure in measures {
        let met = measure.met_text().replace("**", "");
        let met = if setting.has_verdicts { met } else { "–".to_owned() };
        let quantity = format!("<span class=\"wrap\">{}</span>", escape(&measure.quantity));
        let [mean, target] = [measure.text(), measure.target.text()].map(|text| escape(&text));
        table.html_row(vec![quantity, mean, target, met]);
    }
    table.html()
}

/// `Of 8 findings, 5 reproduced, 2 in part, 1 not reproduced.`
pub fn headline(findings: &[Finding], setting: &Setting) -> String {
    if !setting.has_verdicts {
        return "A quick look: fewer seeds and steps, no verdicts.".to_owned();
    }
    let all = findings.len();
    let [reproduced, in_part, missed] =
        [Verdict::Reproduced, Verdict::InPart, Verdict::NotReproduced]
            .map(|verdict| findings.iter().filter(|one| one.verdict() == Some(verdict)).count());
    format!(
        "Of {all} findings, {reproduced} reproduced, {in_part} in part, {missed} not reproduced."
    )
}

/// The findings as sections of Markdown; figures stand at `images/STEM.svg`.
fn sections(findings: &[Finding], setting: &Setting) -> String {
    let (first, command) = (headline(findings, setting), &setting.command);
    let mut text = format!("{first} {} `{command} --docs docs`\n", setting.summary);
    for finding in findings {
        let Finding { title, claim, targets, .. } = finding;
        let verdict = finding.verdict().map_or("no target", Verdict::text);
        let score = finding.score();
        let _ = write!(
            text,
            "\n## {title}\n\n{claim}\n\nTargets: {targets}\n\n{score}: **{verdict}**.\n"
        );
        if let Some(figure) = finding.figures.first() {
            let (title, stem) = (escape(&figure.chart.title), &figure.chart.stem);
            let _ = write!(text, "\n![{title}](images/language-model/{stem}.svg)\n");
        }
        let columns = ["measured", "mean [0.95 interval]", "target", "met, by seeds"];
        let rows = finding
            .measures
            .iter()
            .map(|one| vec![one.quantity.clone(), one.text(), one.target.text(), one.met_text()]);
        let _ = write!(text, "\n{}", markdown(&columns, rows));
        for note in &finding.notes {
            let _ = write!(text, "\n{note}\n");
        }
    }
    if let Some(agreement) = &setting.agreement {
        let _ = write!(text, "\n## Other seeds\n\n{}", agreement.markdown());
    }
    text
}

/// Writes `report.html`, `reproduce.json` and `figures/STEM.svg` into a folder, and returns the path of the page.
///
/// # Errors
///
/// [`FileError`], naming the first file that could not be written.
pub fn write(findings: &[Finding], setting: &Setting, folder: &Path) -> Result<PathBuf, FileError> {
    let report = folder.join("report.html");
    write_atomically(&report, html(findings, setting).html().as_bytes())?;
    write_atomically(&folder.join("reproduce.json"), &pretty_json(&findings))?;
    write_figures(findings.iter().flat_map(|finding| &finding.figures), &folder.join("figures"))?;
    Ok(report)
}

/// Writes the page of the book, `language-model.md`, with `language-model.json` and the first figure of each finding.
///
/// # Errors
///
/// [`FileError`], naming the first file that could not be written.
pub fn write_book(findings: &[Finding], setting: &Setting, docs: &Path) -> Result<(), FileError> {
    write_atomically(&docs.join("language-model.md"), book_page(findings, setting).as_bytes())?;
    write_atomically(&docs.join("language-model.json"), &pretty_json(&findings))?;
    let first = findings.iter().filter_map(|finding| finding.figures.first());
    write_figures(first, &docs.join("images/language-model"))
}

fn book_page(findings: &[Finding], setting: &Setting) -> String {
    let [start, end] = MARKS;
    let (introduction, rest) = BOOK_PAGE.split_once(start).expect("the page has the mark");
    let (_, footer) = rest.split_once(end).expect("the page has the second mark");
    [introduction, start, &sections(findings, setting), end, footer].concat()
}

fn write_figures<'a>(
    figures: impl Iterator<Item = &'a Figure>,
    folder: &Path,
) -> Result<(), FileError> {
    fs::create_dir_all(folder).map_err(FileError::of(folder, "create the folder"))?;
    for Figure { chart, .. } in figures {
        let path = folder.join(format!("{}.svg", chart.stem));
        write_atomically(&path, standalone_svg(chart).as_bytes())?;
    }
    Ok(())
}
