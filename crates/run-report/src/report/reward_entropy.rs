//! The law `R = −a exp(H) + b`, fitted per run.

use std::iter;

use figures::html::{Table, escape, paragraph};
use figures::number_format::{fixed, significant};
use figures::{Axis, Block, Chart, Figure, Mark, Series};

use entropy_core::{FitError, PerformanceLaw};

use super::Report;
use super::curves::not_recorded;
use super::entropy_change::thinned;
use super::methods::{MethodRun, method_runs, name_cell};
use super::metric::{ENTROPY, REWARD, pairs};

const CURVE_POINTS: usize = 41;

pub(super) fn blocks(report: &Report) -> Vec<Block> {
    let intro = "The law R = −a·exp(H) + b says that reward is bought with entropy. It is empirical: believe it \
                 only where its R² is clearly above that of a straight line.";
    let mut blocks = vec![Block::Html(paragraph(intro))];
    let runs = method_runs(&report.runs);
    let columns: Vec<_> = runs.iter().map(|one| pairs(one.run, ENTROPY, REWARD)).collect();
    let all = || columns.iter().flatten();
    if all().next().is_none() {
        let name = format!("{ENTROPY} together with {REWARD}");
        blocks.push(Block::Html(not_recorded("Reward against entropy", &name)));
        return blocks;
    }
    let x = Axis::around("Entropy (nats per token)", all().map(|p| p.0), false, 0.04);
    let y = Axis::around("Mean reward (0 to 1)", all().map(|p| p.1), false, 0.05);
    let (mut scatter, mut curves, mut description) = (vec![], vec![], String::new());
    let mut table = Table::new(
        "Least squares over all steps of a run; ± one standard error.",
        &["Run", "a", "b", "R²", "R² of a straight line", "RMSE"],
        |column| column > 0,
    );
    for (MethodRun { colour, method, run }, points) in runs.iter().zip(&columns) {
        if points.is_empty() {
            continue;
        }
        let name = &run.name;
        scatter.push(Series::new(method, *colour, Mark::Points, thinned(points)));
        let (entropy, reward): (Vec<f64>, Vec<f64>) = points.iter().copied().unzip();
        let law = PerformanceLaw::fit(&entropy, &reward);
        if let Ok(law) = &law {
            curves.push(curve(*colour, name, &entropy, law));
            description += &format!("{name}: R² {}. ", share(law.r_squared));
        }
        let without = |error: &FitError| {
            let reason = escape(&format!("no fit: {error}"));
            let reason = format!("<span class=\"absent\">{reason}</span>");
            [&reason, "–", "–", "–", "–"].map(str::to_owned)
        };
        let cells = law.as_ref().map_or_else(without, constants);
        table.html_row(iter::once(name_cell(*colour, name)).chain(cells).collect());
    }
    scatter.extend(curves);
    let texts = ["reward-entropy", "Reward against entropy, with the fitted law", &description];
    let caption = "One marker per step; curves: the fitted law of each run. Training moves from right to left."
        .to_owned();
    let chart = Chart::new(texts, x, y, scatter);
    blocks.push(Block::Figures(vec![Figure { chart, caption }]));
    blocks.push(Block::Html(table.html()));
    blocks
}

fn constants(law: &PerformanceLaw) -> [String; 5] {
    [
        with_error(law.a, law.standard_error_a),
        with_error(law.b, law.standard_error_b),
        share(law.r_squared),
        share(law.linear_r_squared),
        significant(law.rmse, 2),
    ]
}

fn curve(colour: usize, name: &str, entropy: &[f64], law: &PerformanceLaw) -> Series {
    let low = entropy.iter().copied().fold(f64::INFINITY, f64::min);
    let high = entropy.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let points = (0..CURVE_POINTS).map(|index| {
        let entropy = low + (high - low) * index as f64 / (CURVE_POINTS - 1) as f64;
        (entropy, law.predict(entropy))
    });
    Series::new(name, colour, Mark::Fit, points.collect())
}

pub(super) fn share(value: Option<f64>) -> String {
    fixed(value.unwrap_or(f64::NAN), 3)
}

fn with_error(value: f64, error: Option<f64>) -> String {
    match error {
        Some(error) => format!("{} ± {}", significant(value, 3), significant(error, 2)),
        None => significant(value, 3),
    }
}
