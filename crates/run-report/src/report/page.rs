//! Sections of the page in order, and the text around them.

use figures::html::{Table, escape};
use figures::{Block, Page, Section};

use super::methods::{MethodRun, method_runs, name_cell};
use super::summary::headline;
use super::{
    Report, covariance_tail, curves, entropy_change, extrapolation, reward_entropy, samples,
    summary, verification,
};

const FOOTER: &str = "<p>Theory and methods: \
    <a href=\"https://arxiv.org/abs/2505.22617\">arXiv:2505.22617</a>, The Entropy Mechanism of \
    Reinforcement Learning for Reasoning Language Models.</p>\n";

pub(super) fn sections(report: &Report) -> Vec<Section> {
    let sections = [
        ("summary", "Summary", summary::blocks(report)),
        ("curves", "Entropy and reward", curves::learning(report)),
        ("health", "Health of the training", curves::health(report)),
        ("samples", "Sample responses", samples::blocks(report)),
        ("law", "Reward against entropy", reward_entropy::blocks(report)),
        ("forecast", "What entropy bought, and what is left", extrapolation::blocks(report)),
        (
            "lemma-1",
            "Predicted against measured change of entropy",
            entropy_change::lemma_1(report),
        ),
        ("theorem-2", "Covariance drives the entropy", entropy_change::theorem_2(report)),
        ("tail", "The covariance tail", covariance_tail::blocks(report)),
        ("verification", "The theory, verified", verification::blocks(report)),
        ("configuration", "Configuration", configuration(report)),
        ("glossary", "Symbols and units", glossary()),
    ];
    sections.map(|(id, heading, blocks)| Section::new(id, heading, blocks)).into()
}

pub(super) fn page(report: &Report) -> Page {
    Page {
        title: report.title.clone(),
        headline: headline(report),
        introduction: report.introduction.clone(),
        sections: sections(report),
        command: report.command.clone(),
        footer: FOOTER.to_owned(),
        style: samples::STYLE.to_owned(),
    }
}

fn configuration(report: &Report) -> Vec<Block> {
    let details = method_runs(&report.runs).into_iter().map(|MethodRun { colour, run, .. }| {
        let (name, toml) = (name_cell(colour, &run.name), escape(&run.config_toml));
        format!("<details><summary>{name}</summary>\n<pre>{toml}</pre></details>\n")
    });
    vec![Block::Html(details.collect())]
}

/// Builds the table of symbols, from lines `symbol | meaning | unit`.
fn glossary() -> Vec<Block> {
    let headings = ["Symbol", "Meaning", "Unit"];
    let mut table = Table::new("Symbols and units of this page.", &headings, |_| false);
    for line in include_str!("glossary.txt").lines() {
        let mut cells: Vec<String> = line.split(" | ").map(str::to_owned).collect();
        cells[1] = format!("<span class=\"wrap\">{}</span>", cells[1]);
        table.html_row(cells);
    }
    vec![Block::Html(table.html())]
}
