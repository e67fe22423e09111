//! The report: claim beside verdict, one self-contained HTML page.

use super::run::Finished;
use super::{Cell, Finding, Measure, Scale, Setting, Table, Verdict};
use crate::result_file::write_whole;
use figures::chart_svg::standalone_svg;
use figures::html::{self, escape, paragraph};
use figures::number_format::significant;
use figures::{Block, Page, Section};
use messages::counted;
use std::path::{Component, Path};
use whole_file::FileError;

const STYLE: &str = include_str!("page.css");

/// The page about `finished`, in order, to be read in `folder`.
pub fn page(finished: &[Finished], folder: &Path) -> Page {
    let mut sections = vec![summary(finished)];
    sections.extend(finished.iter().map(|one| section(one, folder)));
    sections.push(words());
    let mut introduction = vec![
        "Each section states what Cui et al. (2025) claim, what was fixed beforehand as a reproduction, what was \
         measured here, and what an honest page adds. The environments are small: softmax policies and rewards on \
         one CPU, where entropy and expected reward are exact. A target is met if the whole interval of the mean \
         over seeds meets it, and a statement if it is true in every seed."
            .to_owned(),
    ];
    if finished.iter().any(|one| one.record.setting.scale == Scale::Quick) {
        let quick = "Some results below come from quick runs, too short for the targets: numbers without a verdict.";
        introduction.push(quick.to_owned());
    }
    if finished.iter().any(|one| !one.record.is_of(one.finding)) {
        let old = "Results marked as out of date were found by an earlier revision of the code: run them again.";
        introduction.push(old.to_owned());
    }
    Page {
        title: "The entropy mechanism, reproduced on one CPU".to_owned(),
        headline: headline(finished),
        introduction,
        sections,
        command: finished.first().map_or_else(String::new, |first| {
            format!("softmax-sim reproduce{}", options(&first.record.setting))
        }),
        footer: "<p>The paper: <a href=\"https://arxiv.org/abs/2505.22617\">arXiv:2505.22617</a>, The Entropy \
                 Mechanism of Reinforcement Learning for Reasoning Language Models.</p>\n"
            .to_owned(),
        style: STYLE.to_owned(),
    }
}

/// Writes the page and its figures: `report.html` and `figures/*.svg`.
///
/// # Errors
///
/// [`FileError`], naming the first file that could not be written.
pub fn write(folder: &Path, finished: &[Finished]) -> Result<(), FileError> {
    write_whole(&folder.join("report.html"), page(finished, folder).html().as_bytes())?;
    for figure in finished.iter().flat_map(|one| &one.record.outcome.figures) {
        let path = folder.join("figures").join(format!("{}.svg", figure.chart.stem));
        write_whole(&path, standalone_svg(&figure.chart).as_bytes())?;
    }
    Ok(())
}

/// `Of 9 findings: 5 reproduced, 3 in part, 1 no verdict.`
fn headline(finished: &[Finished]) -> String {
    let count = |verdict: Verdict| {
        let count = finished.iter().filter(|one| one.record.outcome.verdict == verdict).count();
        (count > 0).then(|| format!("{count} {}", verdict.text()))
    };
    let counts: Vec<String> = Verdict::ALL.into_iter().filter_map(count).collect();
    format!("Of {}: {}.", counted(finished.len(), "finding"), counts.join(", "))
}

/// Command-line options that make `setting`, each with a leading space.
pub(super) fn options(setting: &Setting) -> String {
    let mut options = String::new();
    if setting.scale == Scale::Quick {
        options += " --quick";
    }
    if setting.seed != Setting::DEFAULT_SEED {
        options += &format!(" --seed {}", setting.seed);
    }
    if setting.seeds != Setting::default_seeds(setting.scale) {
        options += &format!(" --seeds {}", setting.seeds);
    }
    options
}

fn summary(finished: &[Finished]) -> Section {
    let headings = ["Finding", "Verdict", "Why", "Seconds"];
    let mut table = html::Table::new("", &headings, |column| column == 3);
    for one in finished {
        let (finding, record) = (one.finding, &one.record);
        table.html_row(vec![
            format!(
                "<a class=\"wrap\" href=\"#{}\">{}</a>",
                finding.name,
                escape(&finding.words.title)
            ),
            badge(record.outcome.verdict),
            format!("<span class=\"wrap\">{}</span>", escape(&record.outcome.reason)),
            seconds(one),
        ]);
    }
    Section::new("summary", "Verdicts", vec![Block::Html(table.html())])
}

/// The seconds a finding took when it was run, and whether that was not now.
fn seconds(one: &Finished) -> String {
    let seconds = significant(one.record.seconds, 2);
    match (one.stored, one.record.is_of(one.finding)) {
        (false, _) => seconds,
        (true, true) => format!("{seconds} (kept)"),
        (true, false) => format!("{seconds} (out of date)"),
    }
}

fn badge(verdict: Verdict) -> String {
    let class = match verdict {
        Verdict::Reproduced => "yes",
        Verdict::InPart => "part",
        Verdict::NotReproduced => "no",
        Verdict::None => "none",
    };
    format!("<span class=\"badge {class}\">{}</span>", verdict.text())
}

fn section(one: &Finished, folder: &Path) -> Section {
    let (finding, record) = (one.finding, &one.record);
    let outcome = &record.outcome;
    let verdict = badge(outcome.verdict);
    let mut facts = String::new();
    for (term, text) in [
        ("Claim", escape(&finding.words.claim)),
        ("Target", escape(&finding.words.target)),
        ("Method", escape(&finding.words.method)),
        ("Verdict", format!("{verdict} {}", escape(&outcome.reason))),
    ] {
        facts += &format!("<dt>{term}</dt><dd>{text}</dd>\n");
    }
    let mut blocks = vec![
        Block::Html(format!("<dl class=\"facts\">\n{facts}</dl>\n")),
        Block::Figures(outcome.figures.clone()),
        Block::Html(measures(&outcome.measures)),
    ];
    blocks.extend(outcome.tables.iter().map(|table| Block::Html(table_html(table))));
    if !outcome.notes.is_empty() {
        let notes: String = outcome.notes.iter().map(|note| paragraph(note)).collect();
        blocks.push(Block::Html(format!(
            "<div class=\"notes\">\n<h3>Beside the verdict</h3>\n{notes}</div>\n"
        )));
    }
    blocks.push(Block::Html(provenance(one, folder)));
    Section { badge: verdict, ..Section::new(finding.name, &finding.words.title, blocks) }
}

/// How the section came about: setting, time, program, command, theory.
fn provenance(one: &Finished, folder: &Path) -> String {
    let (finding, record) = (one.finding, &one.record);
    let setting = &record.setting;
    let theory = theory(finding, |anchor| theory_link(folder, anchor));
    let mut how =
        format!("{} in {} s, {}", setting.text(), significant(record.seconds, 2), record.program);
    if record.kept.runs > 0 {
        let (runs, took) = (record.kept.runs, significant(record.kept.seconds, 2));
        how += &format!(", with {} done before, which took {took} s", counted(runs, "run"));
    }
    if one.stored {
        how += if one.record.is_of(one.finding) {
            "; kept from an earlier run"
        } else {
            "; found by an earlier revision of the code, so out of date"
        };
    }
    format!(
        "<p class=\"meta\">{}. Again: <code>softmax-sim reproduce {}{} --again</code>.{theory}</p>\n",
        escape(&how),
        finding.name,
        options(setting),
    )
}

/// ` Theory: `, the links to what derives the claim, and a full stop; or nothing.
pub(super) fn theory(finding: &Finding, link: impl Fn(&str) -> String) -> String {
    let links: Vec<String> = finding.words.theory.iter().map(|anchor| link(anchor)).collect();
    if links.is_empty() { String::new() } else { format!(" Theory: {}.", links.join(", ")) }
}

/// A link to an anchor of `docs/theory.md` from a page in `folder`, if the folder lies below where we stand.
fn theory_link(folder: &Path, anchor: &str) -> String {
    let text = format!("docs/theory.md#{anchor}");
    let below = |part| matches!(part, Component::Normal(_) | Component::CurDir);
    if !folder.components().all(below) {
        return text;
    }
    let depth = folder.components().filter(|part| matches!(part, Component::Normal(_))).count();
    format!("<a href=\"{}{text}\">{text}</a>", "../".repeat(depth))
}

fn measures(measures: &[Measure]) -> String {
    let mut table = html::Table::new(
        "What was measured, beside what was wanted of its mean.",
        &["Measured", "Mean over seeds [0.95 interval]", "Target", "Met"],
        |column| matches!(column, 1 | 2),
    );
    for measure in measures {
        let (class, met) = match measure.met {
            Some(true) => ("pass", format!("✓ yes{}", measure.seeds_text())),
            Some(false) => ("fail", format!("✗ no{}", measure.seeds_text())),
            None => ("", "–".to_owned()),
        };
        let unit = match measure.unit.as_str() {
            "1" => String::new(),
            unit => format!(" ({unit})"),
        };
        table.html_row(vec![
            format!("<span class=\"wrap\">{}</span>", escape(&(measure.quantity.clone() + &unit))),
            escape(&measure.value_text()),
            escape(&measure.target.text()).replace(' ', "&nbsp;"),
            format!("<span class=\"{class}\">{met}</span>"),
        ]);
    }
    table.html()
}

fn table_html(table: &Table) -> String {
    let holds_numbers = |index: usize| {
        let is_number = |row: &Vec<Cell>| matches!(row.get(index), Some(Cell::Number(_)));
        !table.rows.is_empty() && table.rows.iter().all(is_number)
    };
    let mut html = html::Table::new(&table.heading, &table.columns, holds_numbers);
    for row in &table.rows {
        let cells: Vec<String> = row.iter().map(Cell::text).collect();
        html.row(&cells);
    }
    html.html()
}

fn words() -> Section {
    let headings = ["Word", "Meaning", "Unit"];
    let mut table = html::Table::new("Words and units of this page.", &headings, |_| false);
    for row in include_str!("words.tsv").lines() {
        let mut cells: Vec<String> = row.split('\t').map(escape).collect();
        cells[1] = format!("<span class=\"wrap\">{}</span>", cells[1]);
        table.html_row(cells);
    }
    Section::new("words", "Words and units", vec![Block::Html(table.html())])
}
