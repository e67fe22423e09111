//! Reward follows `R = -a e^H + b`, within each algorithm and across those with a group baseline.

use super::law_runs::{
    ALGORITHMS, GROUPED, explained, explained_by_line, law, law_chart, lead, on_bandits, pooled_law,
};
use crate::reproduce::seeds::mean;
use crate::reproduce::{ExperimentResult, Measure, Progress, Setting, Table, Target};
use crate::training::Curve;
use entropy_core::PerformanceLaw;

pub(super) fn run(setting: &Setting, progress: &Progress) -> ExperimentResult {
    let runs = setting.over_runs(progress, &ALGORITHMS, on_bandits);
    let laws: Vec<Vec<PerformanceLaw>> =
        runs.iter().map(|curves| curves.iter().map(law).collect()).collect();
    let mut measures = vec![];
    for (index, algorithm) in ALGORITHMS.iter().enumerate() {
        let values = laws.iter().map(|laws| explained(&laws[index]));
        let quantity = format!("R² of the law, {}", algorithm.name);
        measures.push(Measure::new(quantity, values, Target::AtLeast(0.99)));
    }
    let least = |laws: &Vec<PerformanceLaw>| laws.iter().map(lead).fold(f64::INFINITY, f64::min);
    let quantity = "least lead in R² over a line, any algorithm";
    measures.push(Measure::new(quantity, laws.iter().map(least), Target::AtLeast(0.0)));
    let pooled = |count: usize| -> Vec<PerformanceLaw> {
        runs.iter().map(|runs| pooled_law(&runs[..count])).collect()
    };
    let grouped = pooled(GROUPED);
    let all = pooled(ALGORITHMS.len());
    for (name, laws) in [("GRPO, RLOO and Dr. GRPO", &grouped), ("all six", &all)] {
        let mut add = |what: &str, of: fn(&PerformanceLaw) -> f64, target| {
            measures.push(Measure::new(format!("{name}: {what}"), laws.iter().map(of), target));
        };
        add("R² of one law", explained, Target::AtLeast(0.995));
        add("its error (RMSE)", |law| law.rmse, Target::AtMost(0.0045));
    }
    ExperimentResult::new(measures).table(table(&runs, &laws)).figure(law_chart(
        "law",
        &runs[0],
        &grouped[0],
    ))
}

/// Means over seeds, one row an algorithm.
fn table(runs: &[Vec<Curve>], laws: &[Vec<PerformanceLaw>]) -> Table {
    let columns = [
        "Algorithm",
        "a",
        "b",
        "Ceiling b − a",
        "Reward at the end",
        "R², law",
        "R², line",
        "RMSE",
    ];
    let mut table = Table::new("The law of each algorithm: means over the seeds.", &columns);
    for (index, algorithm) in ALGORITHMS.iter().enumerate() {
        let of_law = |of: fn(&PerformanceLaw) -> f64| mean(laws, |laws| of(&laws[index])).into();
        table.row([
            algorithm.name.into(),
            of_law(|law| law.a),
            of_law(|law| law.b),
            of_law(PerformanceLaw::ceiling),
            mean(runs, |curves| curves[index].last().reward).into(),
            of_law(explained),
            of_law(explained_by_line),
            of_law(|law| law.rmse),
        ]);
    }
    table
}
