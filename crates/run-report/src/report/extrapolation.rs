//! Reward still to gain: the law extrapolated to entropy 0, and forecasts compared with the end of each run.

use entropy_core::Forecast;
use figures::html::{Table, escape, paragraph};
use figures::number_format::{fixed, significant};
use figures::{Axis, Block, Chart, Figure, Mark, Series};

use super::Report;
use super::curves::not_recorded;
use super::entropy_change::thinned;
use super::methods::{MethodRun, method_runs, name_cell};
use super::metric::{ENTROPY, REWARD, pairs};
use super::reward_entropy::share;
use crate::run_law::{CONFIDENCE, LawExtrapolation, LawSource, RunLaw};

const CURVE_POINTS: usize = 41;

/// Fractions of a run from which its end is forecast; the first is the paper's.
const SHARES: [f64; 3] = [0.15, 0.3, 0.5];

/// Builds the law of each run so far with its ceiling, and the forecasts compared with what came.
pub(super) fn blocks(report: &Report) -> Vec<Block> {
    let intro = "The law of each run, fitted to its held-out evaluations, or to the rewards of its steps where it \
                 has none, and continued to entropy 0: there lies the most it can earn. Shaded: the 0.95 interval \
                 of the curve, of methods with one seed. It takes the residuals as independent, so it is the least the \
                 uncertainty can be. A law whose interval lies above the largest possible reward does not hold here.";
    let mut blocks = vec![Block::Html(paragraph(intro))];
    let extrapolations: Vec<ExtrapolatedRun<'_>> =
        method_runs(&report.runs).into_iter().filter_map(extrapolated).collect();
    if extrapolations.is_empty() {
        let name =
            format!("{ENTROPY} together with {REWARD} or an evaluation, at three steps or more,");
        blocks.push(Block::Html(not_recorded("The law continued", &name)));
        return blocks;
    }
    blocks.push(Block::Figures(vec![continued(&extrapolations)]));
    blocks.push(Block::Html(table(&extrapolations)));
    let foretold = foretold(report);
    if !foretold.is_empty() {
        let text = "Would the beginning have told? The law and a straight line, both fitted to the rewards of the \
                    first steps alone, against the reward of the last step.";
        blocks.push(Block::Html(paragraph(text) + &foretold.html()));
    }
    blocks
}

/// A run, the points of its law, and the law.
type ExtrapolatedRun<'a> = (MethodRun<'a>, Vec<(f64, f64)>, LawExtrapolation);

fn extrapolated(one: MethodRun<'_>) -> Option<ExtrapolatedRun<'_>> {
    let law = RunLaw::of(&one.run.steps);
    let extrapolation = law.extrapolation()?;
    Some((one, law.points(), extrapolation))
}

fn continued(extrapolations: &[ExtrapolatedRun<'_>]) -> Figure {
    let all = || extrapolations.iter().flat_map(|(_, points, _)| points);
    let x = Axis::around("Entropy (nats per token)", all().map(|point| point.0), true, 0.04);
    let (mut series, mut curves, mut description) = (vec![], vec![], String::new());
    for (MethodRun { colour, method, run }, points, extrapolation) in extrapolations {
        series.push(Series::new(method, *colour, Mark::Points, thinned(points)));
        let high = points.iter().map(|point| point.0).fold(0.0, f64::max);
        let mut curve = curve(*colour, &run.name, high, extrapolation);
        // The curves of several seeds show the spread themselves.
        if extrapolations.iter().filter(|(one, _, _)| one.colour == *colour).count() > 1 {
            curve.spread.clear();
        }
        curves.push(curve);
        description += &format!("{}: ceiling {}. ", run.name, ceiling(extrapolation).join(", "));
    }
    // The bands of poorly determined laws may leave the chart; curves and points stay in it.
    let heights =
        series.iter().chain(&curves).flat_map(|one| one.points.iter().map(|point| point.1));
    let mut y = Axis::around("Reward (0 to 1)", heights, false, 0.12);
    let bounds = extrapolations.iter().map(|(_, _, extrapolation)| extrapolation.bound);
    if let Some(bound) = bounds.reduce(|one, other| Some(one?.max(other?))).flatten()
        && bound < y.high
    {
        y.high = bound;
        series.push(Series::level("largest possible", &x, bound));
    }
    for mut curve in curves {
        for (_, low, high) in &mut curve.spread {
            (*low, *high) = (low.clamp(y.low, y.high), high.clamp(y.low, y.high));
        }
        series.push(curve);
    }
    let caption = "Markers: what was measured. Training moves from right to left; each curve \
                   ends on the left at its ceiling or at the largest possible reward."
        .to_owned();
    let texts = ["forecast", "The law continued to entropy 0", &description];
    Figure { chart: Chart::new(texts, x, y, series), caption }
}

/// The fitted curve and its interval, up to the bound of the reward.
fn curve(colour: usize, name: &str, high: f64, extrapolation: &LawExtrapolation) -> Series {
    let law = &extrapolation.law;
    // Below this entropy the law exceeds the bound.
    let start = extrapolation.bound.map_or(0.0, |bound| ((law.b - bound) / law.a).ln());
    let start = if start > 0.0 && start < high { start } else { 0.0 };
    let step = (high - start) / (CURVE_POINTS - 1) as f64;
    let entropies = || (0..CURVE_POINTS).map(|index| start + step * index as f64);
    let points =
        entropies().map(|entropy| (entropy, extrapolation.within_bound(law.predict(entropy))));
    let band = entropies().filter_map(|entropy| {
        let interval = law.confidence_interval(entropy, CONFIDENCE).ok()?;
        let ends = [interval.low, interval.high].map(|end| extrapolation.within_bound(end));
        Some((entropy, ends[0], ends[1]))
    });
    Series::new(name, colour, Mark::Fit, points.collect()).with_spread(band.collect())
}

/// Ceiling, its interval and what is left to gain, or why there is none.
fn ceiling(extrapolation: &LawExtrapolation) -> [String; 3] {
    if extrapolation.law.r_squared.is_none() {
        return ["all points are equal", "–", "–"].map(str::to_owned);
    }
    let ends = [extrapolation.interval.low, extrapolation.interval.high];
    let interval = |ends: [f64; 2]| ends.map(|end| significant(end, 3)).join(" to ");
    let Some(left) = extrapolation.gain_left() else {
        return ["the law does not hold here".to_owned(), interval(ends), "–".to_owned()];
    };
    let within = |value: f64| extrapolation.within_bound(value);
    let ceiling = significant(within(extrapolation.law.ceiling()), 3);
    [ceiling, interval(ends.map(within)), significant(left, 3)]
}

fn table(extrapolations: &[ExtrapolatedRun<'_>]) -> String {
    let mut table = Table::new(
        "Entropy and reward over the first and the last tenth of the points. AIC: that of a straight line less that of \
         the law; above 2 the points support the law, below −2 the line.",
        &[
            "Run",
            "Points",
            "Entropy spent (nat)",
            "Gain",
            "Ceiling",
            "0.95 interval",
            "Still to gain",
            "R²",
            "R² of the line",
            "AIC",
        ],
        |column| column > 1,
    );
    for (MethodRun { colour, run, .. }, _, extrapolation) in extrapolations {
        let law = &extrapolation.law;
        let source = match extrapolation.source {
            LawSource::Evaluations => "evaluations",
            LawSource::Rewards => "steps",
        };
        let number = |value: f64| significant(value, 3);
        let [ceiling, interval, left] = ceiling(extrapolation);
        table.html_row(vec![
            name_cell(*colour, &run.name),
            format!("{} {source}", law.points),
            number(extrapolation.entropy_spent()),
            number(extrapolation.gain()),
            if extrapolation.holds() {
                ceiling
            } else {
                format!("<span class=\"wrap\">{ceiling}</span>")
            },
            interval,
            left,
            share(law.r_squared),
            share(law.linear_r_squared),
            fixed(law.aic_over_linear().unwrap_or(f64::NAN), 1),
        ]);
    }
    table.html()
}

/// Builds the table of forecasts from the first steps of each run; runs too short, or without a law, have no row.
fn foretold(report: &Report) -> Table {
    let mut table = Table::new(
        "Reward of the last step, foretold from the first share of the steps; 0.95 prediction interval.",
        &[
            "Run",
            "Share",
            "Steps",
            "Foretold",
            "Interval",
            "Came",
            "RMSE of the rest",
            "RMSE of the line",
        ],
        |column| column > 0,
    );
    for MethodRun { colour, run, .. } in method_runs(&report.runs) {
        let (entropy, reward): (Vec<f64>, Vec<f64>) =
            pairs(run, ENTROPY, REWARD).into_iter().unzip();
        for share in SHARES {
            let Ok(forecast) = Forecast::from_share(&entropy, &reward, share, CONFIDENCE) else {
                continue;
            };
            let Some(interval) = forecast.final_interval else { continue };
            let came = reward.last().copied().unwrap_or(f64::NAN);
            let number = |value: f64| significant(value, 3);
            table.html_row(vec![
                name_cell(colour, &run.name),
                escape(&share.to_string()),
                forecast.fitted.to_string(),
                number(came + forecast.final_error),
                format!("{} to {}", number(interval.low), number(interval.high)),
                number(came),
                number(forecast.rmse_rest),
                number(forecast.linear_rmse_rest),
            ]);
        }
    }
    table
}
