//! The sections in order, and the frame around them.

use super::chart_svg::{STYLE, inline_svg};
use super::html::{escape, paragraph};
use super::summary::{headline, name_cell};
use super::{
    Block, Figure, Report, Section, covariance_tail, curves, entropy_change, glossary,
    reward_entropy, samples, summary, verification,
};

const PAGE_STYLE: &str = include_str!("page.css");

/// Every section of the page, in order.
pub(super) fn sections(report: &Report) -> Vec<Section> {
    vec![
        summary::section(report),
        curves::learning(report),
        entropy_change::lemma_1(report),
        reward_entropy::section(report),
        entropy_change::theorem_2(report),
        covariance_tail::section(report),
        verification::section(report),
        curves::health(report),
        samples::section(report),
        configuration(report),
        glossary::section(),
    ]
}

/// The whole document.
pub(super) fn render(report: &Report) -> String {
    let title = escape(&report.title);
    let sections = sections(report);
    let introduction: String = report.introduction.iter().map(|text| paragraph(text)).collect();
    let links = sections.iter().map(|section| {
        format!("<li><a href=\"#{}\">{}</a></li>", section.id, escape(section.heading))
    });
    let links: String = links.collect();
    let body: String = sections.iter().map(section_html).collect();
    let command = if report.command.is_empty() {
        String::new()
    } else {
        format!("<p>To make this page again:</p>\n<pre>{}</pre>\n", escape(&report.command))
    };
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<title>{title}</title>\n\
         <style>\n{STYLE}{PAGE_STYLE}</style>\n</head>\n<body>\n<header>\n<h1>{title}</h1>\n\
         <p class=\"headline\">{}</p>\n{introduction}<nav aria-label=\"Contents\"><ul>{links}</ul></nav>\n\
         </header>\n<main>\n{body}</main>\n<footer>\n{command}\
         <p>Theory and methods: \
         <a href=\"https://arxiv.org/abs/2505.22617\">arXiv:2505.22617</a>, The Entropy Mechanism of \
         Reinforcement Learning for Reasoning Language Models.</p>\n</footer>\n</body>\n</html>\n",
        escape(&headline(report))
    )
}

fn section_html(section: &Section) -> String {
    let blocks: String = section.blocks.iter().map(block_html).collect();
    let (id, heading) = (section.id, escape(section.heading));
    format!("<section id=\"{id}\">\n<h2>{heading}</h2>\n{blocks}</section>\n")
}

fn block_html(block: &Block) -> String {
    let grid = |class: &str, figures: &[Figure]| {
        if figures.is_empty() {
            return String::new();
        }
        let figures: String = figures.iter().map(figure_html).collect();
        format!("<div class=\"{class}\">\n{figures}</div>\n")
    };
    match block {
        Block::Html(html) => html.clone(),
        Block::Figures(figures) => grid("grid two", figures),
        Block::SmallFigures(figures) => grid("grid three", figures),
    }
}

fn figure_html(figure: &Figure) -> String {
    let (title, caption) = (escape(&figure.chart.title), escape(&figure.caption));
    let svg = inline_svg(&figure.chart);
    format!("<figure>\n<h3>{title}</h3>\n{svg}<figcaption>{caption}</figcaption>\n</figure>\n")
}

fn configuration(report: &Report) -> Section {
    let details = report.runs.iter().enumerate().map(|(colour, run)| {
        let (name, toml) = (name_cell(colour, &run.name), escape(&run.config_toml));
        format!("<details><summary>{name}</summary>\n<pre>{toml}</pre></details>\n")
    });
    let html: String = details.collect();
    Section { id: "configuration", heading: "Configuration", blocks: vec![Block::Html(html)] }
}
