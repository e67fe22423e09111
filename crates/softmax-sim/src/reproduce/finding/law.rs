//! Reward follows `R = -a e^H + b`, within each algorithm and across those with a group baseline.

use super::law_runs::{
    ALGORITHMS, GROUPED, explained, explained_by_line, law, law_chart, lead, of_all_algorithms,
    on_bandits, pooled_law,
};
use crate::reproduce::seeds::mean;
use crate::reproduce::{ExperimentResult, Finding, Measure, Progress, Setting, Table, Target};
use crate::training::Curve;
use entropy_core::PerformanceLaw;

/// The finding.
pub(super) const FINDING: Finding = Finding {
    name: "law",
    title: "Reward is minus a times e to the entropy plus b",
    claim: "Without entropy intervention, validation reward and policy entropy are tied by R = -a exp(H) + b. \
            GRPO, RLOO, REINFORCE++ and PRIME share the coefficients. Equation 6, Figures 1, 3 and 6.",
    method: "Six algorithms, each for 300 rollout batches on the same 1024 bandits of eight actions (L1: prior \
             scale 2 e^(0.5 N), merit 0.3 z + N, quality e^(-1.5 gap)); groups of 8, 4 mini-batches, 2 epochs, clip \
             0.2, learning rate 1.5 (times 2.2 for RLOO and REINFORCE, 2.5 for Dr. GRPO, whose advantages are not \
             divided by a deviation; PRIME with β = 1 and a reward model that learns twice as fast). Entropy and expected reward are exact, every 4 rollouts. Least squares of R on \
             e^H, beside a straight line of R on H.",
    target: "R² at least 0.99 for each algorithm, and more than the straight line's; one law for GRPO, RLOO and Dr. GRPO, \
             and one law for all six, each R² at least 0.995 and root mean squared error at most 0.0045.",
    theory: &["performance-law", "group-clock"],
    sources: &[include_str!("law.rs"), include_str!("law_runs.rs"), include_str!("../engine.rs")],
    run,
};

fn run(setting: &Setting, progress: &Progress) -> ExperimentResult {
    let runs = of_all_algorithms(setting, progress, on_bandits);
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
    ExperimentResult::new(measures)
        .table(table(&runs, &laws))
        .figure(
            law_chart("law", "Reward against entropy, six algorithms", &runs[0], &grouped[0]),
            "First seed, one marker an evaluation; dashed, the one law of GRPO, RLOO and Dr. GRPO. Training runs from \
             right to left.",
        )
        .note(
            "Algorithms without a group baseline (REINFORCE++, REINFORCE) obey laws of their own with a higher ceiling. \
             That the coefficients do not depend on the algorithm holds within a kind of baseline here; see the \
             held-out environment for all six.",
        )
        .note(
            "R² alone proves little: if reward followed the law exactly, a straight line would still reach 0.98 from \
             one nat and 0.996 from half a nat. Hence the comparison with the line, and the forecast finding.",
        )
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
