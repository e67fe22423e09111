//! Environments where the exponential law holds, and where a straight line fits better.

use super::law_runs::{explained, explained_by_line, law, lead};
use crate::environment::TabularSetting;
use crate::reproduce::charts::{chart, heights};
use crate::reproduce::seeds::{curve, mean};
use crate::reproduce::{ExperimentResult, Finding, Measure, Progress, Setting, Table, Target};
use crate::training::{Curve, Method, Schedule, train};
use entropy_core::PerformanceLaw;
use figures::{Axis, Chart, Mark};
use rayon::prelude::*;

/// The finding.
pub(super) const FINDING: Finding = Finding {
    name: "law-limits",
    title: "The exponential form needs few alternatives and a prior that knows something",
    claim: "The law holds for every model and data set of the paper, instruct models included, with coefficients \
            of their own. Sections 2.3 and 2.4, Figures 13 and 14.",
    method: "GRPO on the bandits of the law (L1) with one thing changed: 2 to 64 actions; a sharper prior (scale 4, as \
             of an instruct model); easier and harder data (strictness 0.75 and 3); a prior that knows nothing \
             (κ = 0) or misleads (κ = -0.3). Each run is fitted by the law and by a straight line.",
    target: "With 4 and 8 actions, the sharper prior and both data sets the law explains at least 0.98 \
             and more than the line, with other coefficients on other data (the harder a at least 1.2 times the easier); \
             with 32 and 64 actions, and with a prior that knows nothing or misleads, the line explains more.",
    theory: &["performance-law"],
    sources: &[include_str!("law_limits.rs"), include_str!("law_runs.rs")],
    run,
};

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

fn run(setting: &Setting, progress: &Progress) -> ExperimentResult {
    progress.plan((setting.seeds * VARIANTS.len()) as u64);
    let fitted = |seed: u64, environment: &TabularSetting| -> (Curve, PerformanceLaw) {
        let schedule = Schedule::tabular(1.5);
        let curve = train(&environment.draw(seed), &Method::default(), &schedule, seed);
        progress.advance(1);
        let law = law(&curve);
        (curve, law)
    };
    let runs: Vec<Fits> = setting.over_seeds(|seed| {
        VARIANTS.par_iter().map(|(_, environment, _)| fitted(seed, environment)).collect()
    });
    let rows = |of: fn(&PerformanceLaw) -> f64| -> Vec<Vec<f64>> {
        let row = |fits: &Fits| fits[..BRANCHING.len()].iter().map(|(_, law)| of(law)).collect();
        runs.iter().map(row).collect()
    };
    ExperimentResult::new(measures(&runs))
        .figure(
            over_actions(&rows(explained), &rows(explained_by_line)),
            "Mean over the seeds with its 0.95 interval. Above some 30 alternatives the line wins.",
        )
        .table(table(&runs))
        .note(
            "On one exactly solvable state reward and entropy are tied by H = h(R) + R H_c + (1 - R) H_w; the exponential \
             fits that curve best for 4 to 12 effective alternatives and worse than a line above 30. A language model \
             has a vocabulary of 10⁵ but few plausible next tokens, which is why the law can hold for it.",
        )
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
    let texts = [
        "law-limits",
        "Variance explained against the number of actions",
        "The law explains most with four to sixteen actions; with more the line does.",
    ];
    chart(texts, Axis::log("Actions", x), heights("R²", &series, false), series)
}
