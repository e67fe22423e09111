//! Table of differences between the first run and the others.

use figures::html::{Column, Table, escape};
use figures::moving_average::first_and_last_tenth;
use figures::number_format::significant;

use super::metric::{ENTROPY, REWARD, STEP_SECONDS, accuracies, accuracy_source, values};
use super::name_cell::name_cell;
use super::{Report, ReportRun};

/// Builds a table with one row per run after the first; `None` for fewer than two runs.
pub(super) fn table(report: &Report) -> Option<String> {
    let (first, others) = report.runs.split_first().filter(|(_, others)| !others.is_empty())?;
    let last_tenth = |run: &ReportRun, name: &str| first_and_last_tenth(&values(run, name)).1;
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
    let shown = |(_, name): &(String, String)| {
        report.runs.iter().any(|run| last_tenth(run, name).is_finite())
    };
    columns.retain(shown);
    let headings = columns.iter().map(|(heading, _)| (Column::Number, heading.as_str()));
    let headings: Vec<(Column, &str)> =
        std::iter::once((Column::Text, "Run")).chain(headings).collect();
    let caption = format!(
        "Last tenth of the steps: difference from {}, in the unit of the column.",
        first.name
    );
    let mut table = Table::new(&caption, &headings);
    for (index, run) in others.iter().enumerate() {
        let mut cells = vec![name_cell(index + 1, &run.name)];
        for (_, name) in &columns {
            let difference = last_tenth(run, name) - last_tenth(first, name);
            let sign = if difference > 0.0 { "+" } else { "" };
            cells.push(escape(&format!("{sign}{}", significant(difference, 3))));
        }
        table.html_row(cells);
    }
    Some(table.html())
}
