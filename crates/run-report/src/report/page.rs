//! Sections of the page in order, and the text around them.

use figures::html::escape;
use figures::{Block, Page, Section};

use super::methods::{MethodRun, method_runs, name_cell};
use super::summary::headline;
use super::{
    Report, covariance_tail, curves, entropy_change, extrapolation, glossary, reward_entropy,
    samples, summary, verification,
};

const FOOTER: &str = "<p>Theory and methods: \
    <a href=\"https://arxiv.org/abs/2505.22617\">arXiv:2505.22617</a>, The Entropy Mechanism of \
    Reinforcement Learning for Reasoning Language Models.</p>\n";

/// Builds every section of the page, in order.
pub(super) fn sections(report: &Report) -> Vec<Section> {
    vec![
        summary::section(report),
        curves::learning(report),
        curves::health(report),
        samples::section(report),
        reward_entropy::section(report),
        extrapolation::section(report),
        entropy_change::lemma_1(report),
        entropy_change::theorem_2(report),
        covariance_tail::section(report),
        verification::section(report),
        configuration(report),
        glossary::section(),
    ]
}

/// Assembles the page.
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

fn configuration(report: &Report) -> Section {
    let details = method_runs(&report.runs).into_iter().map(|MethodRun { colour, run, .. }| {
        let (name, toml) = (name_cell(colour, &run.name), escape(&run.config_toml));
        format!("<details><summary>{name}</summary>\n<pre>{toml}</pre></details>\n")
    });
    let html: String = details.collect();
    Section::new("configuration", "Configuration", vec![Block::Html(html)])
}
