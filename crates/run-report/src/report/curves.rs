//! Metrics over the steps of training.

use figures::chart::ends;
use figures::html::absent;
use figures::moving_average::{smoothed, window};
use figures::number_format::significant;
use figures::{Axis, Block, Chart, Figure, Mark, Series};

use super::methods::{Method, mean_curve, methods};
use super::metric::{ENTROPY, REWARD, accuracies, accuracy_source, series};
use super::{Report, ReportRun};

const SEEDS_NOTE: &str = " Several seeds: their mean, up to the last step that all have, in the 0.95 interval of the mean.";

/// One of so many raw values, at each end, may lie outside the vertical axis.
const OUTLIERS: usize = 100;

struct Curve<'a> {
    colour: usize,
    name: String,
    /// Values of each run that has any.
    runs: Vec<(&'a ReportRun, Vec<(f64, f64)>)>,
}

#[derive(Clone, Copy)]
pub(super) struct Metric<'a> {
    pub(super) name: &'a str,
    pub(super) stem: &'a str,
    pub(super) title: &'a str,
    /// Label of the vertical axis: quantity and unit.
    pub(super) label: &'a str,
    /// Factor of the values: −1 draws the negative.
    pub(super) factor: f64,
    /// True if the vertical axis starts at zero.
    pub(super) zero: bool,
    /// Advice on reading the chart, a sentence or two.
    pub(super) reading: &'a str,
}

impl<'a> Metric<'a> {
    /// The metric as it is, from zero, without advice.
    pub(super) const fn new(name: &'a str, stem: &'a str, title: &'a str, label: &'a str) -> Self {
        Self { name, stem, title, label, factor: 1.0, zero: true, reading: "" }
    }

    /// The chart with the name of the metric under it; none if no run has it.
    pub(super) fn named_figure(&self, report: &Report) -> Option<Figure> {
        let caption = format!("{}.", self.name);
        over_steps(report, self).map(|figure| Figure { caption, ..figure })
    }
}

/// Draws metrics; the second part names those that no run has.
pub(super) fn drawn(report: &Report, metrics: &[Metric<'_>]) -> (Vec<Figure>, Vec<Block>) {
    let (mut figures, mut left_out) = (vec![], vec![]);
    for metric in metrics {
        match over_steps(report, metric) {
            Some(figure) => figures.push(figure),
            None => left_out.push(Block::Html(not_recorded(metric.title, metric.name))),
        }
    }
    (figures, left_out)
}

const ENTROPY_CURVE: Metric<'_> = Metric {
    reading: "Exact over the whole vocabulary, averaged over the sampled tokens.",
    ..Metric::new(ENTROPY, "entropy", "Entropy of the policy", "Entropy (nats per token)")
};
const REWARD_CURVE: Metric<'_> = Metric {
    reading: "Mean over the responses sampled at that step.",
    ..Metric::new(REWARD, "reward", "Reward of the sampled responses", "Mean reward (0 to 1)")
};

/// Builds the charts of entropy, reward and held-out accuracy.
pub(super) fn learning(report: &Report) -> Vec<Block> {
    let (mut figures, mut blocks) = drawn(report, &[ENTROPY_CURVE, REWARD_CURVE]);
    let names = accuracies(&report.runs);
    if names.is_empty() {
        let text = "No held-out accuracy was recorded (val-core/…/acc/mean@n): no evaluation ran.";
        blocks.push(Block::Html(absent(text)));
    }
    for (index, name) in names.iter().enumerate() {
        let title = format!("Held-out accuracy: {}", accuracy_source(name));
        let stem = format!("accuracy-{}", index + 1);
        let reading = "Questions the policy was never trained on.";
        let metric = Metric::new(name, &stem, &title, "Fraction right");
        figures.extend(accuracy(report, &Metric { reading, ..metric }));
    }
    blocks.insert(0, Block::Figures(figures));
    blocks
}

/// Builds the charts that tell if a run was healthy.
pub(super) fn health(report: &Report) -> Vec<Block> {
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
        match Metric::new(name, stem, title, label).named_figure(report) {
            Some(figure) => figures.push(figure),
            None => missing.push(name),
        }
    }
    let mut blocks = vec![Block::SmallFigures(figures)];
    if !missing.is_empty() {
        let text = format!("Not recorded, so not drawn: {}.", missing.join(", "));
        blocks.push(Block::Html(absent(&text)));
    }
    blocks
}

pub(super) fn not_recorded(title: &str, name: &str) -> String {
    absent(&format!("{title}: left out, {name} was not recorded by any run."))
}

/// Draws a metric over the steps: the moving average, of several seeds their mean with its interval, and every value of a
/// single run pale behind it; `None` if no run has the metric.
pub(super) fn over_steps(report: &Report, metric: &Metric<'_>) -> Option<Figure> {
    let curves = curves(report, metric);
    let (mut faint, mut smooth, mut raw_values) = (vec![], vec![], vec![]);
    let mut widest = 1;
    for Curve { colour, name, runs } in &curves {
        let mut averaged = vec![];
        for (_, points) in runs {
            averaged.push(smoothed(points));
            let width = window(points.len());
            widest = widest.max(width);
            if let ([_], true) = (runs.as_slice(), width > 1) {
                raw_values.extend(points.iter().map(|point| point.1));
                faint.push(Series::new(name, *colour, Mark::Faint, points.clone()));
            }
        }
        let (points, spread) = mean_curve(&averaged);
        smooth.push(Series::new(name, *colour, Mark::Line, points).with_spread(spread));
    }
    if curves.is_empty() {
        return None;
    }
    raw_values.sort_by(f64::total_cmp);
    let cut = raw_values.len() / OUTLIERS;
    let kept = raw_values[cut..raw_values.len() - cut].iter().copied();
    let y = Axis::around(metric.label, kept.chain(heights(&smooth)), metric.zero, 0.04);
    let mut caption = metric.reading.to_owned();
    if widest > 1 {
        let pale = if faint.is_empty() { "Lines:" } else { "Pale: every step; bold:" };
        caption += &format!(" {pale} moving average over {widest} steps.");
        let outside = raw_values.iter().filter(|&&value| !y.holds(value)).count();
        if outside > 0 {
            let verb = if outside == 1 { "value lies" } else { "values lie" };
            caption += &format!(" {outside} pale {verb} outside the axes.");
        }
    }
    if smooth.iter().any(|one| !one.spread.is_empty()) {
        caption += SEEDS_NOTE;
    }
    faint.extend(smooth);
    Some(steps_figure([metric.stem, metric.title], 0.0, y, faint, caption))
}

/// Heights of the lines, and of their bands where these reach no further than half the range of the lines beyond them: two seeds
/// have very wide intervals. Bands of what is nowhere negative end at zero.
fn heights(lines: &[Series]) -> Vec<f64> {
    let points = lines.iter().flat_map(|line| line.points.iter().map(|point| point.1));
    let Some((low, high)) = ends(points) else { return vec![] };
    let room = 0.5 * (high - low);
    let floor = if low >= 0.0 { (low - room).max(0.0) } else { low - room };
    let ends = lines.iter().flat_map(Series::heights).filter(|end| end.is_finite());
    ends.map(|end| end.max(floor).min(high + room)).collect()
}

/// Draws an accuracy: few values, each with a marker, not averaged.
fn accuracy(report: &Report, metric: &Metric<'_>) -> Option<Figure> {
    let (mut series, mut of_questions, mut of_seeds) = (vec![], "", "");
    for Curve { colour, name, runs } in curves(report, metric) {
        let points: Vec<Vec<(f64, f64)>> = runs.iter().map(|(_, points)| points.clone()).collect();
        let (points, mut spread) = mean_curve(&points);
        if !spread.is_empty() {
            of_seeds = SEEDS_NOTE;
        }
        if let [(run, _)] = runs.as_slice() {
            spread = interval(run, metric.name);
            if !spread.is_empty() {
                of_questions = " Bars: the 0.95 interval over the questions.";
            }
        }
        series.push(Series::new(&name, colour, Mark::Marked, points).with_spread(spread));
    }
    series.iter().find(|one| !one.points.is_empty())?;
    let y = Axis::around(metric.label, heights(&series), true, 0.04);
    let y = Axis { high: y.high.min(1.0), ..y };
    let caption = format!("{}{of_questions}{of_seeds}", metric.reading);
    Some(steps_figure([metric.stem, metric.title], 0.02, y, series, caption))
}

/// `(step, low, high)` of an accuracy, where a run logged its interval.
fn interval(run: &ReportRun, name: &str) -> Vec<(f64, f64, f64)> {
    let Some(rest) = name.strip_prefix("val-core/") else { return vec![] };
    let end = |which: &str| series(run, &format!("val-aux/{rest}/{which}"));
    let ends = end("low").into_iter().zip(end("high"));
    let of_one_step = |&((low, _), (high, _)): &((f64, f64), (f64, f64))| (low - high).abs() < 0.5;
    ends.filter(of_one_step).map(|((step, low), (_, high))| (step, low, high)).collect()
}

/// Curves of the methods that have the metric.
fn curves<'a>(report: &'a Report, metric: &Metric<'_>) -> Vec<Curve<'a>> {
    let curve = |(colour, method): (usize, Method<'a>)| {
        let points = |run: &ReportRun| {
            let points = series(run, metric.name).into_iter();
            points.map(|(step, value)| (step, metric.factor * value)).collect::<Vec<_>>()
        };
        let runs = method.runs.into_iter().map(|run| (run, points(run)));
        let runs: Vec<_> = runs.filter(|(_, points)| !points.is_empty()).collect();
        (!runs.is_empty()).then_some(Curve { colour, name: method.name, runs })
    };
    methods(&report.runs).into_iter().enumerate().filter_map(curve).collect()
}

/// Draws curves over the steps, and describes the named ones in words, by their first and last values.
pub(crate) fn steps_figure(
    [stem, title]: [&str; 2],
    air: f64,
    y: Axis,
    series: Vec<Series>,
    caption: String,
) -> Figure {
    let sentence = |line: &Series| {
        let [first, last] = [line.points.first()?.1, line.points.last()?.1];
        let [first, last] = [first, last].map(|value| significant(value, 3));
        Some(format!("{} goes from {first} to {last}.", line.name))
    };
    let named = series.iter().filter(|one| one.mark.is_named());
    let description = named.filter_map(sentence).collect::<Vec<_>>().join(" ");
    let x = Axis::steps(series.iter().flat_map(|one| one.points.iter().map(|p| p.0)), air);
    Figure { chart: Chart::new([stem, title, &description], x, y, series), caption }
}
