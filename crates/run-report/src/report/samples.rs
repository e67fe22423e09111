//! Sample responses, early and late in training.

use figures::Block;
use figures::html::{absent, escape, paragraph};
use figures::number_format::{fixed, significant};
use training_run::token_record::{TokenRecord, covariance_thresholds, strength};

use super::methods::{MethodRun, method_runs, name_cell};
use super::{Report, ReportRun};
use crate::run_view::ViewedSample;

/// Most characters and tokens of a response; a longer one ends in a note of what is cut.
const CHARACTERS: usize = 1500;
const TOKENS: usize = 400;

/// Colours of tokens: warm lowers the entropy, cold raises it; on light and dark paper, and in print.
pub(super) const STYLE: &str = include_str!("samples.css");

const LEGEND: &str = "Tokens are shaded by their covariance, warm where it is positive and lowers the entropy, cold where \
                      it is negative; in three strengths, above what half, a tenth and a fiftieth of the tokens shown of that \
                      step exceed. Underlined: singled out by the loss. Hold the pointer on a token for its numbers.";

/// Shows, per run, the best and the worst response of the first and of the last sampled step.
pub(super) fn blocks(report: &Report) -> Vec<Block> {
    let runs = method_runs(&report.runs).into_iter();
    let mut html = String::new();
    for MethodRun { colour, run, .. } in runs.filter(|one| !one.run.samples.is_empty()) {
        html += &format!("<h3>{}</h3>\n<div class=\"samples\">\n", name_cell(colour, &run.name));
        html += &chosen(run).into_iter().map(|sample| article(sample, run)).collect::<String>();
        html += "</div>\n";
    }
    if html.is_empty() {
        html = absent("No sample responses were recorded.");
    } else if report.runs.iter().flat_map(|run| &run.samples).any(|sample| sample.tokens.is_some())
    {
        html = paragraph(LEGEND) + &html;
    }
    vec![Block::Html(html)]
}

fn chosen(run: &ReportRun) -> Vec<&ViewedSample> {
    let steps = || run.samples.iter().map(|sample| sample.step);
    let mut steps = vec![steps().min(), steps().max()];
    steps.dedup();
    let mut chosen: Vec<&ViewedSample> = vec![];
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

fn article(sample: &ViewedSample, run: &ReportRun) -> String {
    let body = match &sample.tokens {
        Some(record) => {
            let of_step = run.samples.iter().filter(|other| other.step == sample.step);
            tokens(record, covariance_thresholds(of_step.filter_map(|other| other.tokens.as_ref())))
        }
        None => text(&sample.response),
    };
    format!(
        "<article><p class=\"meta\">Step {} · reward {} · right answer <strong>{}</strong></p>\n\
         <p class=\"problem\">{}</p>\n{body}</article>\n",
        sample.step,
        fixed(sample.reward, 2),
        escape(&sample.answer),
        escape(&sample.problem),
    )
}

fn text(response: &str) -> String {
    let length = response.chars().count();
    let mut shown: String = response.chars().take(CHARACTERS).collect();
    if length > CHARACTERS {
        shown += &format!("… ({} more characters)", length - CHARACTERS);
    }
    format!("<pre tabindex=\"0\">{}</pre>", escape(&shown))
}

fn tokens(record: &TokenRecord, thresholds: [f64; 3]) -> String {
    let mut html = "<pre class=\"tokens\" tabindex=\"0\">".to_owned();
    for position in 0..record.token_ids.len().min(TOKENS) {
        let covariance = record.covariance[position];
        let mut class = match strength(covariance, thresholds) {
            0 => String::new(),
            positive @ 1.. => format!("p{positive}"),
            negative => format!("n{}", -negative),
        };
        let mut selected = "";
        if record.is_selected(position) {
            class += if class.is_empty() { "sel" } else { " sel" };
            selected = ", selected";
        }
        let number = |value: f64| significant(value, 3);
        html += &format!(
            "<span class=\"{class}\" title=\"log π {}, entropy {}, advantage {}, covariance {}{selected}\">{}</span>",
            number(record.log_prob[position]),
            number(record.entropy[position]),
            number(record.advantage[position]),
            number(covariance),
            escape(&record.text[position])
        );
    }
    if record.token_ids.len() > TOKENS {
        html += &format!("… ({} more tokens)", record.token_ids.len() - TOKENS);
    }
    html + "</pre>"
}
