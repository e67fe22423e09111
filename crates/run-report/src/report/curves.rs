//! Metrics over the steps of training.

use figures::chart::{Axis, Chart, Mark, Series};
use figures::html::absent;
use figures::moving_average::{moving_average, window};
use figures::{Block, Figure, Section};

use super::metric::{ENTROPY, REWARD, accuracies, accuracy_source, series};
use super::{Report, ReportRun};

/// Fraction of the raw values, at each end, that may lie outside the vertical axis.
const OUTLIERS: f64 = 0.01;

/// Colour, name and points of a run.
type Curve = (usize, String, Vec<(f64, f64)>);

/// A metric to draw for every run.
pub(super) struct Metric<'a> {
    pub(super) name: &'a str,
    pub(super) stem: String,
    pub(super) title: String,
    /// Label of the vertical axis: quantity and unit.
    pub(super) label: &'a str,
    /// Factor of the values: −1 draws the negative.
    pub(super) factor: f64,
    /// True if the vertical axis starts at zero.
    pub(super) zero: bool,
    /// Advice on reading the chart, a sentence or two.
    pub(super) reading: &'a str,
}

/// Builds the charts of entropy, reward and held-out accuracy.
pub(super) fn learning(report: &Report) -> Section {
    let mut blocks = vec![];
    let metric = |name, stem: &str, title: &str, label, reading| Metric {
        name,
        stem: stem.to_owned(),
        title: title.to_owned(),
        label,
        factor: 1.0,
        zero: true,
        reading,
    };
    let mut figures = vec![];
    for metric in [
        metric(
            ENTROPY,
            "entropy",
            "Entropy of the policy",
            "Entropy (nats per token)",
            "Exact over the whole vocabulary, averaged over the sampled tokens.",
        ),
        metric(
            REWARD,
            "reward",
            "Reward of the sampled responses",
            "Mean reward (0 to 1)",
            "Mean over the responses sampled at that step.",
        ),
    ] {
        match over_steps(&report.runs, &metric) {
            Some(figure) => figures.push(figure),
            None => blocks.push(Block::Html(not_recorded(&metric.title, metric.name))),
        }
    }
    let names = accuracies(&report.runs);
    if names.is_empty() {
        let text = "No held-out accuracy was recorded (val-core/…/acc/mean@n): no evaluation ran.";
        blocks.push(Block::Html(absent(text)));
    }
    for (index, name) in names.iter().enumerate() {
        let title = format!("Held-out accuracy: {}", accuracy_source(name));
        let stem = format!("accuracy-{}", index + 1);
        let reading = "Questions the policy was never trained on.";
        figures.extend(accuracy(report, &metric(name, &stem, &title, "Fraction right", reading)));
    }
    blocks.insert(0, Block::Figures(figures));
    Section::new("curves", "Entropy and reward", blocks)
}

/// Builds the charts that tell if a run was healthy.
pub(super) fn health(report: &Report) -> Section {
    let rows = [
        ("response_length/mean", "response-length", "Response length", "Length (tokens)"),
        ("cov/selected_fraction", "selected-fraction", "Tokens selected", "Fraction of tokens"),
        ("actor/pg_loss", "policy-loss", "Policy loss", "Loss"),
        ("actor/ppo_kl", "policy-kl", "Move from the old policy", "KL (nats per token)"),
        ("actor/grad_norm", "gradient-norm", "Gradient norm", "Norm before clipping"),
        ("rollout/mismatch_kl", "mismatch-kl", "Rollout against training", "KL (nats per token)"),
        ("timing_s/step", "step-seconds", "Time of a step", "Time (s)"),
        ("perf/throughput", "throughput", "Throughput", "Tokens per second"),
    ];
    let (mut figures, mut missing) = (vec![], vec![]);
    for (name, stem, title, label) in rows {
        let metric = Metric {
            name,
            stem: stem.to_owned(),
            title: title.to_owned(),
            label,
            factor: 1.0,
            zero: true,
            reading: "",
        };
        match over_steps(&report.runs, &metric) {
            Some(figure) => figures.push(Figure { caption: format!("{name}."), ..figure }),
            None => missing.push(name),
        }
    }
    let mut blocks = vec![Block::SmallFigures(figures)];
    if !missing.is_empty() {
        let text = format!("Not recorded, so not drawn: {}.", missing.join(", "));
        blocks.push(Block::Html(absent(&text)));
    }
    Section::new("health", "Health of the training", blocks)
}

/// Says that a chart is left out.
pub(super) fn not_recorded(title: &str, name: &str) -> String {
    absent(&format!("{title}: left out, {name} was not recorded by any run."))
}

/// Draws a metric over the steps: every value pale, a moving average on top; `None` if no run has it.
pub(super) fn over_steps(runs: &[ReportRun], metric: &Metric<'_>) -> Option<Figure> {
    let columns = columns(runs, metric);
    let (mut faint, mut smooth, mut raw_values, mut smooth_values) =
        (vec![], vec![], vec![], vec![]);
    let mut widest = 1;
    for (colour, name, points) in &columns {
        let window = window(points.len());
        widest = widest.max(window);
        let (steps, values): (Vec<f64>, Vec<f64>) = points.iter().copied().unzip();
        let averages = moving_average(&values, window);
        raw_values.extend(&values);
        smooth_values.extend(&averages);
        let series = |mark, points| Series::new(name, *colour, mark, points);
        if window > 1 {
            faint.push(series(Mark::Faint, points.clone()));
        }
        smooth.push(series(Mark::Line, steps.into_iter().zip(averages).collect()));
    }
    if columns.is_empty() {
        return None;
    }
    raw_values.sort_by(f64::total_cmp);
    let cut = (OUTLIERS * raw_values.len() as f64).floor();
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a floor below the length"
    )]
    let cut = cut as usize;
    let kept = raw_values[cut..raw_values.len() - cut].iter().copied();
    let y = Axis::around(metric.label, kept.chain(smooth_values), metric.zero, 0.04);
    let steps = columns.iter().flat_map(|(_, _, points)| points.iter().map(|&(step, _)| step));
    let x = Axis::steps(steps, 0.0);
    let outside = raw_values.iter().filter(|&&value| !y.holds(value)).count();
    let mut caption = metric.reading.to_owned();
    if widest > 1 {
        caption += &format!(" Pale: every step; bold: moving average over {widest} steps.");
        if outside > 0 {
            let verb = if outside == 1 { "value lies" } else { "values lie" };
            caption += &format!(" {outside} pale {verb} outside the axes.");
        }
    }
    faint.extend(smooth);
    let description = description(&columns);
    let (stem, title) = (metric.stem.clone(), metric.title.clone());
    Some(Figure { chart: Chart { stem, title, description, x, y, series: faint }, caption })
}

/// Draws an accuracy: few values, each with a marker, not averaged.
fn accuracy(report: &Report, metric: &Metric<'_>) -> Option<Figure> {
    let columns = columns(&report.runs, metric);
    let points = || columns.iter().flat_map(|(_, _, points)| points.iter());
    points().next()?;
    let x = Axis::steps(points().map(|&(step, _)| step), 0.02);
    let description = description(&columns);
    let drawn = |(colour, name, points): Curve| {
        let interval = interval(&report.runs[colour], metric.name);
        Series::new(&name, colour, Mark::Marked, points).with_spread(interval)
    };
    let (stem, title) = (metric.stem.clone(), metric.title.clone());
    let series: Vec<Series> = columns.into_iter().map(drawn).collect();
    let y = Axis::around(metric.label, series.iter().flat_map(Series::heights), true, 0.04);
    let mut caption = metric.reading.to_owned();
    if series.iter().any(|one| !one.spread.is_empty()) {
        caption += " Bars: the 0.95 interval over the questions.";
    }
    Some(Figure { chart: Chart { stem, title, description, x, y, series }, caption })
}

/// `(step, low, high)` of an accuracy, where a run logged its interval.
fn interval(run: &ReportRun, name: &str) -> Vec<(f64, f64, f64)> {
    let Some(rest) = name.strip_prefix("val-core/") else { return vec![] };
    let end = |which: &str| series(run, &format!("val-aux/{rest}/{which}"));
    let ends = end("low").into_iter().zip(end("high"));
    let of_one_step = |&((low, _), (high, _)): &((f64, f64), (f64, f64))| (low - high).abs() < 0.5;
    ends.filter(of_one_step).map(|((step, low), (_, high))| (step, low, high)).collect()
}

/// `(colour, name, points)` of the runs that have the metric.
fn columns(runs: &[ReportRun], metric: &Metric<'_>) -> Vec<Curve> {
    let column = |(colour, run): (usize, &ReportRun)| {
        let points = series(run, metric.name).into_iter();
        let points = points.map(|(step, value)| (step, metric.factor * value)).collect::<Vec<_>>();
        (!points.is_empty()).then(|| (colour, run.name.clone(), points))
    };
    runs.iter().enumerate().filter_map(column).collect()
}

/// Describes the curves in words, by their first and last values.
fn description(columns: &[Curve]) -> String {
    use figures::moving_average::first_and_last_tenth;
    use figures::number_format::significant;
    let sentences = columns.iter().map(|(_, name, points)| {
        let values: Vec<f64> = points.iter().map(|&(_, value)| value).collect();
        let (first, last) = first_and_last_tenth(&values);
        format!("{name} goes from {} to {}.", significant(first, 3), significant(last, 3))
    });
    sentences.collect::<Vec<_>>().join(" ")
}
