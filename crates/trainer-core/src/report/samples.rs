//! What the policy wrote, early and late.

use figures::html::{absent, escape};
use figures::number_format::significant;
use figures::{Block, Section};

use super::summary::name_cell;
use super::{Report, ReportRun, SampleRecord};

/// Longer responses are cut here, and the cut is said.
const CHARACTERS: usize = 1500;

/// Per run: the best and the worst response of the first and of the last sampled step.
pub(super) fn section(report: &Report) -> Section {
    let with_samples = report.runs.iter().enumerate().filter(|(_, run)| !run.samples.is_empty());
    let mut html = String::new();
    for (colour, run) in with_samples {
        html += &format!("<h3>{}</h3>\n<div class=\"samples\">\n", name_cell(colour, &run.name));
        html += &chosen(run).into_iter().map(article).collect::<String>();
        html += "</div>\n";
    }
    if html.is_empty() {
        html = absent("No sample responses were recorded.");
    }
    Section::new("samples", "Sample responses", vec![Block::Html(html)])
}

fn chosen(run: &ReportRun) -> Vec<&SampleRecord> {
    let steps = || run.samples.iter().map(|sample| sample.step);
    let mut steps = vec![steps().min(), steps().max()];
    steps.dedup();
    let mut chosen: Vec<&SampleRecord> = vec![];
    for step in steps.into_iter().flatten() {
        let mut at_step: Vec<_> = run.samples.iter().filter(|sample| sample.step == step).collect();
        at_step.sort_by(|a, b| b.reward.total_cmp(&a.reward));
        chosen.extend(at_step.first());
        if at_step.len() > 1 {
            chosen.extend(at_step.last());
        }
    }
    chosen
}

fn article(sample: &SampleRecord) -> String {
    let length = sample.response.chars().count();
    let mut response: String = sample.response.chars().take(CHARACTERS).collect();
    if length > CHARACTERS {
        response += &format!("… ({} more characters)", length - CHARACTERS);
    }
    format!(
        "<article><p class=\"meta\">Step {} · reward {} · right answer <strong>{}</strong></p>\n\
         <p class=\"problem\">{}</p>\n<pre tabindex=\"0\">{}</pre></article>\n",
        sample.step,
        significant(sample.reward, 2),
        escape(&sample.answer),
        escape(&sample.problem),
        escape(&response)
    )
}
