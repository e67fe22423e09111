//! The law `R = −a exp(H) + b`, fitted per run.

use figures::chart::{Axis, Chart, Mark, Series};
use figures::html::{Table, escape, paragraph};
use figures::number_format::{fixed, significant};
use figures::{Block, Figure, Section};

use entropy_core::PerformanceLaw;

use super::Report;
use super::curves::not_recorded;
use super::entropy_change::thinned;
use super::methods::{MethodRun, method_runs, name_cell};
use super::metric::{ENTROPY, REWARD, pairs};

/// Points along a fitted curve.
const CURVE_POINTS: usize = 41;

/// Builds scatter, curves, and the table of constants.
pub(super) fn section(report: &Report) -> Section {
    let id = "law";
    let heading = "Reward against entropy";
    let intro = "The law R = −a·exp(H) + b says that reward is bought with entropy. It is empirical: believe it \
                 only where its R² is clearly above that of a straight line.";
    let mut blocks = vec![Block::Html(paragraph(intro))];
    let runs = method_runs(&report.runs);
    let columns: Vec<_> = runs.iter().map(|one| pairs(one.run, ENTROPY, REWARD)).collect();
    let all = || columns.iter().flatten();
    if all().next().is_none() {
        let name = format!("{ENTROPY} together with {REWARD}");
        blocks.push(Block::Html(not_recorded("Reward against entropy", &name)));
        return Section::new(id, heading, blocks);
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
        let constants = law.map_or_else(|error| absent(&error.to_string()), |law| constants(&law));
        table.html_row([vec![name_cell(*colour, name)], constants].concat());
    }
    scatter.extend(curves);
    let texts = ["reward-entropy", "Reward against entropy, with the fitted law", &description];
    let caption = "One marker per step; curves: the fitted law of each run. Training moves from right to left."
        .to_owned();
    let chart = Chart::new(texts, x, y, scatter);
    blocks.push(Block::Figures(vec![Figure { chart, caption }]));
    blocks.push(Block::Html(table.html()));
    Section::new(id, heading, blocks)
}

/// The cells of a law's constants.
fn constants(law: &PerformanceLaw) -> Vec<String> {
    vec![
        with_error(law.a, law.standard_error_a),
        with_error(law.b, law.standard_error_b),
        share(law.r_squared),
        share(law.linear_r_squared),
        significant(law.rmse, 2),
    ]
}

/// The cells of a run without a law.
fn absent(error: &str) -> Vec<String> {
    let reason = format!("<span class=\"absent\">{}</span>", escape(&format!("no fit: {error}")));
    [vec![reason], vec!["–".to_owned(); 4]].concat()
}

fn curve(colour: usize, name: &str, entropy: &[f64], law: &PerformanceLaw) -> Series {
    let low = entropy.iter().copied().fold(f64::INFINITY, f64::min);
    let high = entropy.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let entropy_at = |index| low + (high - low) * index as f64 / (CURVE_POINTS - 1) as f64;
    let points = (0..CURVE_POINTS)
        .map(|index| (entropy_at(index), law.predict(entropy_at(index))))
        .collect();
    Series::new(name, colour, Mark::Fit, points)
}

fn share(value: Option<f64>) -> String {
    fixed(value.unwrap_or(f64::NAN), 3)
}

fn with_error(value: f64, error: Option<f64>) -> String {
    match error {
        Some(error) => format!("{} ± {}", significant(value, 3), significant(error, 2)),
        None => significant(value, 3),
    }
}
