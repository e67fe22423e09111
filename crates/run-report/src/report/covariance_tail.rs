//! Concentration of the covariance in few tokens.

use figures::html::{Table, paragraph};
use figures::number_format::significant;
use figures::{Block, Figure};

use super::Report;
use super::curves::{Metric, not_recorded};
use super::methods::{MethodRun, method_runs, name_cell};
use super::metric::{COVARIANCE, series};

const TOPS: [(&str, &str); 6] = [
    ("cov/top_0.0002", "top 0.0002"),
    ("cov/top_0.002", "top 0.002"),
    ("cov/top_0.02", "top 0.02"),
    ("cov/top_0.2", "top 0.2"),
    ("cov/top_0.5", "top 0.5"),
    (COVARIANCE, "all"),
];

const OF_COVARIANCE: &str = "Covariance (nat · reward)";
const OF_TOKENS: &str = "Fraction of tokens";

/// Metric, and stem, title and label of its chart.
const SHARES: [(&str, &str, &str, &str); 6] = [
    ("cov/top_0.002", "top-covariance", "Top 0.002 of the tokens", OF_COVARIANCE),
    ("cov/top_0.2", "top-fifth-covariance", "Top 0.2 of the tokens", OF_COVARIANCE),
    ("quadrant/up_likely", "up-likely", "Likely, advantage above 0", OF_TOKENS),
    ("quadrant/down_unlikely", "down-unlikely", "Unlikely, advantage below 0", OF_TOKENS),
    ("quadrant/up_unlikely", "up-unlikely", "Unlikely, advantage above 0", OF_TOKENS),
    ("quadrant/down_likely", "down-likely", "Likely, advantage below 0", OF_TOKENS),
];

/// Builds the table of mean covariances of the top fractions, at the first and the last step that recorded them.
pub(super) fn blocks(report: &Report) -> Vec<Block> {
    let intro = "Mean covariance of the tokens with the largest one, by fraction of tokens, in nat · reward. A \
                 long tail is what Clip-Cov and KL-Cov act on: very few tokens carry most of the push \
                 towards low entropy.";
    let headings = [&["Run", "Step"][..], &TOPS.map(|(_, heading)| heading)].concat();
    let caption = "Mean covariance in the top fraction of tokens.";
    let mut table = Table::new(caption, &headings, |column| column > 0);
    for MethodRun { colour, run, .. } in method_runs(&report.runs) {
        let tops = TOPS.map(|(name, _)| series(run, name));
        let steps = || tops[..5].iter().flatten().map(|&(step, _)| step);
        let (first, last) = (steps().fold(f64::INFINITY, f64::min), steps().fold(0.0, f64::max));
        let ends = if last > first { vec![first, last] } else { vec![first] };
        for step in ends.into_iter().filter(|step| step.is_finite()) {
            let mut cells = vec![name_cell(colour, &run.name), format!("{step:.0}")];
            cells.extend(tops.iter().map(|points| {
                let point = points.iter().find(|&&(at, _)| (at - step).abs() < 0.5);
                significant(point.map_or(f64::NAN, |&(_, value)| value), 3)
            }));
            table.html_row(cells);
        }
    }
    let html = if table.is_empty() {
        not_recorded("Covariance tail", "cov/top_…")
    } else {
        paragraph(intro) + &table.html()
    };
    let mut blocks = vec![Block::Html(html)];
    let figure =
        |(name, stem, title, label)| Metric::new(name, stem, title, label).named_figure(report);
    let figures: Vec<Figure> = SHARES.into_iter().filter_map(figure).collect();
    if !figures.is_empty() {
        let text = "Tokens by quadrant: likely ones with a positive advantage and unlikely ones with a negative \
                    advantage lower the entropy, the other two raise it.";
        blocks.push(Block::Html(paragraph(text)));
        blocks.push(Block::SmallFigures(figures));
    }
    blocks
}
