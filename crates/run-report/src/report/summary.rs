//! Headline of the page, and its tables.

use entropy_core::Interval;
use figures::Block;
use figures::html::{Table, escape};
use figures::moving_average::{first_and_last_tenth, mean};
use figures::number_format::significant;

use super::methods::{Method, MethodRun, method_runs, methods, name_cell, paired_differences};
use super::metric::{
    ENTROPY, REWARD, STEP_SECONDS, accuracies, accuracy_source, common_step, last_step, values,
};
use super::{Report, ReportRun};
use crate::run_law::CONFIDENCE;

/// Means of a metric over the first and last tenth of the steps up to `last`; NaN where it was not recorded.
fn ends(run: &ReportRun, name: &str, last: f64) -> (f64, f64) {
    first_and_last_tenth(&values(run, name, last))
}

/// The mean over the runs of a method, of those that recorded the metric.
fn method_ends(method: &Method<'_>, name: &str, last: f64) -> (f64, f64) {
    let ends = method.runs.iter().map(|run| ends(run, name, last));
    let (first, last): (Vec<f64>, Vec<f64>) = ends.filter(|end| end.1.is_finite()).unzip();
    (mean(&first), mean(&last))
}

/// Writes the headline: the entropy that each method keeps, relative to the first, and the reward.
pub(super) fn headline(report: &Report) -> String {
    let last = common_step(&report.runs);
    let methods = methods(&report.runs);
    let with_entropy: Vec<(&Method<'_>, f64)> = methods
        .iter()
        .map(|method| (method, method_ends(method, ENTROPY, last).1))
        .filter(|(_, entropy)| entropy.is_finite())
        .collect();
    let Some(&(first, baseline)) = with_entropy.first() else {
        return "No step with an entropy was recorded yet.".to_owned();
    };
    let unit = "nats per token";
    if with_entropy.len() == 1 {
        let began = method_ends(first, ENTROPY, last).0;
        let reward = method_ends(first, REWARD, last);
        let mut text = format!(
            "After {last:.0} steps {} keeps {} of the {} {unit} of entropy it began with",
            first.name,
            significant(baseline, 2),
            significant(began, 2)
        );
        if reward.1.is_finite() {
            let (from, to) = (significant(reward.0, 2), significant(reward.1, 2));
            text += &format!("; its reward went from {from} to {to}");
        }
        return text + ".";
    }
    let kept = with_entropy.iter().enumerate().map(|(index, &(method, entropy))| {
        let ratio = entropy / baseline;
        let (name, kept) = (&method.name, significant(entropy, 2));
        match index {
            0 => format!("{name} keeps {kept} {unit} of entropy"),
            _ if ratio.is_finite() => format!("{name} {kept} ({}×)", significant(ratio, 2)),
            _ => format!("{name} {kept}"),
        }
    });
    let mut text = format!("After {last:.0} steps {}.", enumerate(&kept.collect::<Vec<_>>()));
    let rewards = methods.iter().filter_map(|method| {
        let reward = method_ends(method, REWARD, last).1;
        reward.is_finite().then(|| format!("{} for {}", significant(reward, 2), method.name))
    });
    let rewards: Vec<String> = rewards.collect();
    if !rewards.is_empty() {
        text += &format!(" The reward ends at {}.", enumerate(&rewards));
    }
    text
}

/// Joins parts as `a, b and c`.
fn enumerate(parts: &[String]) -> String {
    match parts {
        [] => String::new(),
        [only] => only.clone(),
        [init @ .., last] => format!("{} and {last}", init.join(", ")),
    }
}

pub(super) fn blocks(report: &Report) -> Vec<Block> {
    let accuracies = accuracies(&report.runs);
    let mut headings =
        ["Run", "Steps", "Entropy (nats per token)", "Reward"].map(str::to_owned).to_vec();
    let held_out = accuracies.iter().map(|name| format!("Held out: {}", accuracy_source(name)));
    headings.extend(held_out.chain(["Seconds per step".to_owned()]));
    let last = common_step(&report.runs);
    let mut caption =
        "Entropy and reward are means over the first and the last tenth of the steps; \
                       held-out accuracy is the first and the last evaluation, as a fraction."
            .to_owned();
    if report.runs.iter().any(|run| last_step(run) > last) {
        caption += &format!(" All up to step {last:.0}, the last that every run has.");
    }
    let runs = method_runs(&report.runs);
    let mut table = Table::new(&caption, &headings, |column| column > 0);
    for &MethodRun { colour, run, .. } in &runs {
        let mut cells = vec![
            name_cell(colour, &run.name),
            escape(&format!("{:.0}", last_step(run))),
            change_cell(ends(run, ENTROPY, last)),
            change_cell(ends(run, REWARD, last)),
        ];
        for name in &accuracies {
            let values = values(run, name, last);
            let end = |value: Option<&f64>| value.copied().unwrap_or(f64::NAN);
            cells.push(change_cell((end(values.first()), end(values.last()))));
        }
        cells.push(significant(mean(&values(run, STEP_SECONDS, last)), 3));
        table.html_row(cells);
    }
    let mut html = table.html();
    html.extend(differences(report));
    let described = runs.iter().filter(|one| !one.run.description.is_empty());
    let items = described.map(|MethodRun { colour, run, .. }| {
        format!("<li>{}: {}</li>\n", name_cell(*colour, &run.name), escape(&run.description))
    });
    let items: String = items.collect();
    if !items.is_empty() {
        html += &format!("<ul class=\"plain\">\n{items}</ul>\n");
    }
    vec![Block::Html(html)]
}

fn change_cell((first, last): (f64, f64)) -> String {
    let [first, last] = [first, last].map(|value| significant(value, 3));
    format!("{first}<span class=\"arrow\"> → </span><strong>{last}</strong>")
}

/// Builds a table with one row per method after the first; `None` for fewer than two methods.
fn differences(report: &Report) -> Option<String> {
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
            cells.push(difference_cell(&differences));
        }
        table.html_row(cells);
    }
    Some(table.html())
}

/// The mean difference, with its interval where there are several.
fn difference_cell(differences: &[f64]) -> String {
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

#[cfg(test)]
mod tests {
    use training_run::metrics::StepMetrics;

    use super::*;

    fn run(name: &str, entropy: [f64; 3], reward: [f64; 3]) -> ReportRun {
        let step = |index: usize| {
            let values = [(ENTROPY, entropy[index]), (REWARD, reward[index])];
            let values = values.map(|(name, value)| (name.to_owned(), value)).into();
            StepMetrics::from_values(index as u64 + 1, values)
        };
        let steps = (0..3).map(step).collect();
        ReportRun { name: name.to_owned(), steps, ..ReportRun::default() }
    }

    #[test]
    fn the_headline_compares_with_the_first_run_and_one_run_with_its_beginning() {
        let headline = |runs: &[ReportRun]| {
            super::headline(&Report { runs: runs.to_vec(), ..Report::default() })
        };
        let runs = [
            run("GRPO", [1.0, 0.5, 0.12], [0.25, 0.5, 0.75]),
            run("Clip-Cov", [1.0, 0.6, 0.3], [0.25, 0.5, f64::NAN]),
            run("KL-Cov", [1.0, 0.7, 0.456], [0.25, 0.5, 0.8]),
        ];
        assert_eq!(
            headline(&runs),
            "After 3 steps GRPO keeps 0.12 nats per token of entropy, Clip-Cov 0.30 (2.5×) and \
             KL-Cov 0.46 (3.8×). The reward ends at 0.75 for GRPO, 0.50 for Clip-Cov and 0.80 for KL-Cov."
        );
        assert_eq!(
            headline(&runs[..1]),
            "After 3 steps GRPO keeps 0.12 of the 1.0 nats per token of entropy it began with; \
             its reward went from 0.25 to 0.75."
        );
    }
}
