//! Table of differences between the first method and the others.

use entropy_core::Interval;
use figures::html::Table;
use figures::moving_average::{first_and_last_tenth, mean};
use figures::number_format::significant;

use super::methods::{methods, name_cell, paired_differences};
use super::metric::{
    ENTROPY, REWARD, STEP_SECONDS, accuracies, accuracy_source, common_step, values,
};
use super::{Report, ReportRun};
use crate::run_law::CONFIDENCE;

/// Builds a table with one row per method after the first; `None` for fewer than two methods.
pub(super) fn table(report: &Report) -> Option<String> {
    let methods = methods(&report.runs);
    let (first, others) = methods.split_first().filter(|(_, others)| !others.is_empty())?;
    let last = common_step(&report.runs);
    let last_tenth = |run: &ReportRun, name: &str| first_and_last_tenth(&values(run, name, last)).1;
    let mut columns: Vec<(String, String)> = [
        ("Entropy (nat)", ENTROPY),
        ("Reward", REWARD),
        ("Length (tokens)", "response_length/mean"),
        ("Truncated", "rollout/truncated_fraction"),
        ("Step (s)", STEP_SECONDS),
    ]
    .map(|(heading, name)| (heading.to_owned(), name.to_owned()))
    .to_vec();
    columns.extend(accuracies(&report.runs).into_iter().map(|name| (accuracy_source(&name), name)));
    columns.retain(|(_, name)| report.runs.iter().any(|run| last_tenth(run, name).is_finite()));
    let mut headings = vec!["Run"];
    headings.extend(columns.iter().map(|(heading, _)| heading.as_str()));
    let mut caption = format!(
        "Last tenth of the steps up to {last:.0}: difference from {}, in the unit of the column.",
        first.name
    );
    if methods.iter().any(|method| method.runs.len() > 1) {
        caption +=
            " Of several seeds: mean of the differences of equal seeds, with its 0.95 interval.";
    }
    let mut table = Table::new(&caption, &headings, |column| column > 0);
    for (index, method) in others.iter().enumerate() {
        let mut cells = vec![name_cell(index + 1, &method.name)];
        for (_, name) in &columns {
            let differences = paired_differences(first, method, |run| last_tenth(run, name));
            cells.push(cell(&differences));
        }
        table.html_row(cells);
    }
    Some(table.html())
}

/// The mean difference, with its interval where there are several.
fn cell(differences: &[f64]) -> String {
    let signed = |value: f64| {
        let sign = if value > 0.0 { "+" } else { "" };
        format!("{sign}{}", significant(value, 3))
    };
    let mean = signed(mean(differences));
    let Ok(Interval { low, high }) = Interval::of_mean(differences, CONFIDENCE) else {
        return mean;
    };
    format!("{mean}<br>{} to {}", signed(low), signed(high))
}
