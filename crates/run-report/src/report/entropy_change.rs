//! Predicted and measured change of entropy.

use entropy_core::PairedMoments;
use figures::html::{Table, paragraph};
use figures::moving_average::{moving_average, smoothed, window};
use figures::number_format::{fixed, significant};
use figures::{Axis, Block, Chart, Figure, Mark, Series};

use super::curves::{Metric, drawn, not_recorded};
use super::methods::{MethodRun, method_runs, name_cell};
use super::metric::{COVARIANCE, MEASURED_CHANGE, PREDICTED_CHANGE, pairs, series};
use super::{Report, ReportRun};

/// Most points of one run in a scatter; more are thinned evenly.
const SCATTER_POINTS: usize = 400;

/// Builds the comparison by Lemma 1, step by step.
pub(super) fn lemma_1(report: &Report) -> Vec<Block> {
    let intro = "Lemma 1 predicts how much entropy a step costs from the covariance of log-probability \
                 and logit change: ΔH ≈ −Cov(log π, Δz). A prediction that is right to first order \
                 lies on the line y = x, with slope 1.";
    let mut blocks = vec![Block::Html(paragraph(intro))];
    let columns = columns(report, PREDICTED_CHANGE, MEASURED_CHANGE);
    if columns.is_empty() {
        let name = format!("{PREDICTED_CHANGE} together with {MEASURED_CHANGE}");
        blocks.push(Block::Html(not_recorded("Predicted against measured ΔH", &name)));
        return blocks;
    }
    let mut figures = vec![scatter(&columns)];
    figures.extend(columns.first().and_then(|(one, _)| both_over_steps(one.run)));
    blocks.push(Block::Figures(figures));
    let mut table = Table::new(
        "Measured ΔH as a line in predicted ΔH, all steps.",
        &["Run", "Steps", "Pearson r", "Slope"],
        |column| column > 0,
    );
    for (MethodRun { colour, run, .. }, points) in &columns {
        let (correlation, slope) = line(points).unwrap_or((f64::NAN, f64::NAN));
        table.html_row(vec![
            name_cell(*colour, &run.name),
            points.len().to_string(),
            fixed(correlation, 3),
            significant(slope, 3),
        ]);
    }
    blocks.push(Block::Html(table.html()));
    blocks
}

const CHANGE_CURVE: Metric<'_> = Metric {
    zero: false,
    ..Metric::new(
        MEASURED_CHANGE,
        "measured-change",
        "Measured change of entropy",
        "ΔH per step (nats per token)",
    )
};
const COVARIANCE_CURVE: Metric<'_> = Metric {
    zero: false,
    factor: -1.0,
    ..Metric::new(
        COVARIANCE,
        "negative-covariance",
        "Negative mean covariance",
        "−Cov(log π, A) (nat · reward)",
    )
};

/// Builds the comparison by Theorem 2: covariance of a batch, and the entropy that it costs.
pub(super) fn theorem_2(report: &Report) -> Vec<Block> {
    let intro = "Theorem 2: under a natural policy gradient of step size η, ΔH ≈ −η·Cov(log π, A). The \
                 scales differ by η and by the optimiser, so each is drawn on its own axis: what the theory \
                 claims is that they move together.";
    let mut blocks = vec![Block::Html(paragraph(intro))];
    let (figures, left_out) = drawn(report, &[CHANGE_CURVE, COVARIANCE_CURVE]);
    blocks.extend(left_out);
    blocks.push(Block::Figures(figures));
    blocks.extend(correlations(report));
    blocks
}

/// Builds the table of correlations, if a run has both metrics.
fn correlations(report: &Report) -> Option<Block> {
    let mut table = Table::new(
        "Pearson correlation of −Cov with measured ΔH.",
        &["Run", "Steps", "Step by step", "Moving averages"],
        |column| column > 0,
    );
    for (MethodRun { colour, run, .. }, points) in columns(report, COVARIANCE, MEASURED_CHANGE) {
        let (covariance, change): (Vec<f64>, Vec<f64>) =
            points.iter().map(|&(covariance, change)| (-covariance, change)).unzip();
        let correlation = |window: usize| {
            let [x, y] = [&covariance, &change].map(|values| moving_average(values, window));
            let points: Vec<(f64, f64)> = std::iter::zip(x, y).collect();
            fixed(line(&points).map_or(f64::NAN, |(correlation, _)| correlation), 3)
        };
        table.html_row(vec![
            name_cell(colour, &run.name),
            points.len().to_string(),
            correlation(1),
            correlation(window(points.len())),
        ]);
    }
    (!table.is_empty()).then(|| Block::Html(table.html()))
}

type RunPoints<'a> = (MethodRun<'a>, Vec<(f64, f64)>);

fn columns<'a>(report: &'a Report, x: &str, y: &str) -> Vec<RunPoints<'a>> {
    let column = |one: MethodRun<'a>| {
        let points = pairs(one.run, x, y);
        (!points.is_empty()).then_some((one, points))
    };
    method_runs(&report.runs).into_iter().filter_map(column).collect()
}

/// Pearson correlation of the points, NaN if all `y` are equal, and the slope of the least-squares line; none with fewer than
/// three points or if all `x` are equal.
fn line(points: &[(f64, f64)]) -> Option<(f64, f64)> {
    let (x, y): (Vec<f64>, Vec<f64>) = points.iter().copied().unzip();
    let moments = PairedMoments::of(&x, &y);
    let slope = moments.sum_xy / moments.sum_xx;
    let is_line = points.len() > 2 && slope.is_finite();
    is_line.then(|| (moments.correlation().unwrap_or(f64::NAN), slope))
}

/// Takes at most [`SCATTER_POINTS`] of the points, evenly spaced.
pub(super) fn thinned(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let stride = points.len().div_ceil(SCATTER_POINTS).max(1);
    points.iter().copied().step_by(stride).collect()
}

fn scatter(columns: &[RunPoints<'_>]) -> Figure {
    let all = || columns.iter().flat_map(|(_, points)| points.iter());
    let x = Axis::around("Predicted ΔH (nats per token)", all().map(|p| p.0), false, 0.05);
    let y = Axis::around("Measured ΔH (nats per token)", all().map(|p| p.1), false, 0.05);
    let diagonal = vec![(x.low, x.low), (x.high, x.high)];
    let mut series = vec![Series::new("y = x", 0, Mark::Reference, diagonal)];
    let mut description = String::new();
    for (MethodRun { colour, method, run }, points) in columns {
        let name = &run.name;
        if let Some((correlation, slope)) = line(points) {
            let (r, slope) = (fixed(correlation, 3), significant(slope, 3));
            description += &format!("{name}: Pearson r {r}, slope {slope}. ");
        }
        series.push(Series::new(method, *colour, Mark::Points, thinned(points)));
    }
    let caption =
        "One marker per step. Above the line: entropy fell less than predicted.".to_owned();
    let texts = ["entropy-change", "Predicted against measured change of entropy", &description];
    Figure { chart: Chart::new(texts, x, y, series), caption }
}

fn both_over_steps(run: &ReportRun) -> Option<Figure> {
    let [measured, predicted] =
        [MEASURED_CHANGE, PREDICTED_CHANGE].map(|name| smoothed(&series(run, name)));
    let all = || measured.iter().chain(&predicted);
    all().next()?;
    let x = Axis::steps(all().map(|p| p.0), 0.0);
    let y = Axis::around("ΔH per step (nats per token)", all().map(|p| p.1), false, 0.05);
    let width = window(measured.len());
    let caption = format!("{}, moving averages over {width} steps.", run.name);
    let texts = [
        "entropy-change-over-steps",
        &format!("Predicted and measured change of entropy over the steps of {}", run.name),
        "The two curves lie on each other where Lemma 1 holds.",
    ];
    let series = vec![
        Series::new("measured", 0, Mark::Line, measured),
        Series::new("predicted (Lemma 1)", 1, Mark::Dashed, predicted),
    ];
    Some(Figure { chart: Chart::new(texts, x, y, series), caption })
}
