//! Environments where the exponential law holds, and where a straight line fits better.

use super::law_runs::{explained, explained_by_line, law, lead};
use crate::environment::TabularSetting;
use crate::reproduce::charts::{chart, heights};
use crate::reproduce::seeds::{curve, mean};
use crate::reproduce::{ExperimentResult, Measure, Progress, Setting, Table, Target};
use crate::training::{Curve, Method, Schedule, train};
use entropy_core::PerformanceLaw;
use figures::{Axis, Chart, Mark};

/// Numbers of actions, of the first variants.
const BRANCHING: [usize; 6] = [2, 4, 8, 16, 32, 64];

/// Name, environment, and whether the exponential is expected to win; none where it is open.
type Variant = (&'static str, TabularSetting, Option<bool>);

const fn with(actions: usize) -> TabularSetting {
    TabularSetting { actions, ..TabularSetting::LAW }
}

const VARIANTS: [Variant; 11] = {
    let base = TabularSetting::LAW;
    [
        ("2 actions", with(2), None),
        ("4 actions", with(4), Some(true)),
        ("8 actions", with(8), Some(true)),
        ("16 actions", with(16), None),
        ("32 actions", with(32), Some(false)),
        ("64 actions", with(64), Some(false)),
        ("sharper prior", TabularSetting { prior_scale: 4.0, ..base }, Some(true)),
        ("easier data", TabularSetting { strictness: 0.75, ..base }, Some(true)),
        ("harder data", TabularSetting { strictness: 3.0, ..base }, Some(true)),
        ("prior knows nothing", TabularSetting { prior_merit: 0.0, ..base }, Some(false)),
        ("prior misleads", TabularSetting { prior_merit: -0.3, ..base }, Some(false)),
    ]
};

/// Runs and laws of the variants in one seed.
type Fits = Vec<(Curve, PerformanceLaw)>;

pub(super) fn run(setting: &Setting, progress: &Progress) -> ExperimentResult {
    let runs = setting.over_runs(progress, &VARIANTS, |seed, (_, environment, _)| {
        let schedule = Schedule::tabular(1.5);
        let curve = train(&environment.draw(seed), &Method::default(), &schedule, seed);
        let law = law(&curve);
        (curve, law)
    });
    let rows = |of: fn(&PerformanceLaw) -> f64| -> Vec<Vec<f64>> {
        let row = |fits: &Fits| fits[..BRANCHING.len()].iter().map(|(_, law)| of(law)).collect();
        runs.iter().map(row).collect()
    };
    ExperimentResult::new(measures(&runs))
        .figure(over_actions(&rows(explained), &rows(explained_by_line)))
        .table(table(&runs))
}

fn measures(runs: &[Fits]) -> Vec<Measure> {
    let mut measures = vec![];
    for (index, (name, _, expected)) in VARIANTS.iter().enumerate() {
        let mut add = |what: &str, of: fn(&PerformanceLaw) -> f64, target| {
            let values = runs.iter().map(|fits| of(&fits[index].1));
            measures.push(Measure::new(format!("{what}, {name}"), values, target));
        };
        if *expected == Some(true) {
            add("R² of the law", explained, Target::AtLeast(0.98));
        }
        let target = match expected {
            Some(true) => Target::AtLeast(0.0),
            Some(false) => Target::AtMost(0.0),
            None => Target::None,
        };
        add("R² of the law over that of a line", lead, target);
    }
    let (easier, harder) = (7, 8);
    let ratio = runs.iter().map(|fits| fits[harder].1.a / fits[easier].1.a);
    measures.push(Measure::new("a on harder over easier data", ratio, Target::AtLeast(1.2)));
    measures
}

fn table(runs: &[Fits]) -> Table {
    let columns = ["Variant", "Entropy at the start (nat)", "a", "b", "R², law", "R², line"];
    let mut table = Table::new("One thing changed at a time: means over the seeds.", &columns);
    for (index, (name, ..)) in VARIANTS.iter().enumerate() {
        let of_law = |of: fn(&PerformanceLaw) -> f64| mean(runs, |fits| of(&fits[index].1)).into();
        table.row([
            (*name).into(),
            mean(runs, |fits| fits[index].0.first().entropy).into(),
            of_law(|law| law.a),
            of_law(|law| law.b),
            of_law(explained),
            of_law(explained_by_line),
        ]);
    }
    table
}

fn over_actions(law: &[Vec<f64>], line: &[Vec<f64>]) -> Chart {
    let x = BRANCHING.map(|actions| actions as f64);
    let series = vec![
        curve("law, −a e^H + b", 0, Mark::Marked, &x, law),
        curve("line, αH + β", 1, Mark::Marked, &x, line),
    ];
    chart("law-limits", Axis::log("Actions", x), heights("R²", &series, false), series)
}
