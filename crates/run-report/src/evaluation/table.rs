//! Tables of results in Markdown.

use std::borrow::Borrow;
use std::iter::once;

use super::bootstrap::Estimate;
use super::comparison::SetComparison;
use super::folder::Results;
use super::measures::{MEASURES, SetResult, average_name};
use messages::counted;

/// Label of the last column: the plain mean of the columns before it, unlike the "Avg" of some papers.
pub const PLAIN_MEAN: &str = "plain mean of the columns";

/// Prints one row per evaluation and one column per set, with avg@n and its interval; the last column is the plain mean.
///
/// Columns are the sets of the first evaluation; a set that another lacks is an empty cell.
pub fn main_table(rows: &[(&str, &Results)]) -> String {
    let Some((_, first)) = rows.first() else { return String::new() };
    let sets = first.sets.iter();
    let sets = sets.map(|set| format!("{} ({})", set.name, average_name(set.samples)));
    let columns = once("model".to_owned()).chain(sets).chain([PLAIN_MEAN.to_owned()]);
    let row = |&(name, results): &(&str, &Results)| {
        let cells = first.sets.iter().map(|set| {
            let result = results.set(&set.name);
            let average = result.and_then(|set| set.get(&average_name(set.samples)));
            average.map(cell).unwrap_or_default()
        });
        once(name.to_owned()).chain(cells).chain([cell(results.plain_mean)]).collect()
    };
    markdown(&columns.collect::<Vec<_>>(), rows.iter().map(row))
}

/// Prints a table: the names of its columns, and its rows.
pub(crate) fn markdown<C: Borrow<str>>(
    columns: &[C],
    rows: impl Iterator<Item = Vec<String>>,
) -> String {
    let rule = format!("|{}\n", "---|".repeat(columns.len()));
    let line = |cells: String| format!("| {cells} |\n");
    let rows = rows.map(|cells| line(cells.join(" | ")));
    [line(columns.join(" | ")), rule].into_iter().chain(rows).collect()
}

/// Prints every measure of every set: one row per measure, one column per set.
pub fn all_measures(results: &Results) -> String {
    let mut names: Vec<&str> = Vec::new();
    for measure in results.sets.iter().flat_map(|set| &set.measures) {
        if !names.contains(&measure.name.as_str()) {
            names.push(&measure.name);
        }
    }
    // pass@32 of one set stands after pass@16 of another.
    names.sort_by_key(|name| place(name));
    let row = |name: &str| {
        let cells = results.sets.iter().map(|set| set.get(name).map(cell).unwrap_or_default());
        once(name.to_owned()).chain(cells).collect()
    };
    let sets = results.sets.iter().map(|set| set.name.clone());
    let columns: Vec<String> = once("measure".to_owned()).chain(sets).collect();
    markdown(&columns, names.into_iter().map(row))
}

/// Prints the page of one evaluation: both tables, and a legend.
pub fn page(name: &str, results: &Results) -> String {
    let mut page = format!("# Evaluation of {name}\n\n{}\n", main_table(&[(name, results)]));
    page.push_str("Means over problems, fractions, with percentile intervals of the bootstrap over problems.\n\n");
    page.push_str(&all_measures(results));
    page.push('\n');
    let size = |set: &SetResult| {
        let (problems, samples) =
            (counted(set.problems, "problem"), counted(set.samples, "sample"));
        format!("{}: {problems}, {samples} each.\n", set.name)
    };
    page.extend(results.sets.iter().map(size));
    page
}

/// Prints one row per set: both means, the difference with its interval, and the sign test.
pub fn comparison_table(comparisons: &[SetComparison], mean: Option<Estimate>) -> String {
    let row = |one: &SetComparison| {
        let SetComparison { set, measure, first, second, higher, lower, sign_test_p, .. } = one;
        let (equal, difference) = (one.problems - higher - lower, signed(one.difference));
        let (means, p) = ([first, second].map(|mean| format!("{mean:.3}")), *sign_test_p);
        // With three decimals, or below 0.001 with three significant digits.
        let p = if p < 0.001 { format!("{p:.2e}") } else { format!("{p:.3}") };
        let differing = format!("{higher} : {lower} : {equal}");
        [&[set.clone(), measure.clone()][..], &means, &[difference, differing, p]].concat()
    };
    let columns = [
        "set",
        "measure",
        "first",
        "second",
        "difference",
        "higher : lower : equal",
        "sign test p",
    ];
    let mut table = markdown(&columns, comparisons.iter().map(row));
    table.extend(mean.map(|mean| format!("| {PLAIN_MEAN} | | | | {} | | |\n", signed(mean))));
    table
}

fn cell(estimate: Estimate) -> String {
    let Estimate { value, interval } = estimate;
    let digits = if value.abs() < 10.0 { 3 } else { 1 };
    format!("{value:.digits$} [{:.digits$}, {:.digits$}]", interval.low, interval.high)
}

fn signed(estimate: Estimate) -> String {
    let Estimate { value, interval } = estimate;
    format!("{value:+.3} [{:+.3}, {:+.3}]", interval.low, interval.high)
}

/// Sort key of a measure: its row in [`MEASURES`], then its number.
fn place(name: &str) -> (usize, usize) {
    let (family, number) = name.split_once('@').unwrap_or((name, "0"));
    let is_family = |measure: &str| measure.split('@').next() == Some(family);
    let row = MEASURES.iter().position(|measure| is_family(measure.name)).unwrap_or(MEASURES.len());
    (row, number.parse().unwrap_or(0))
}
