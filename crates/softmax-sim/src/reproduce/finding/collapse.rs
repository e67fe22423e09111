//! Entropy collapses in the first part of training, and reward saturates with it.

use super::law_runs::of_grpo;
use crate::reproduce::charts::{chart, rollouts};
use crate::reproduce::seeds::curve;
use crate::reproduce::{ExperimentResult, Finding, Measure, Progress, Setting, Target};
use crate::training::{Curve, CurvePoint};
use figures::{Axis, Chart, Mark};

/// The finding.
pub(super) const FINDING: Finding = Finding {
    name: "collapse",
    title: "Entropy collapses early and reward saturates with it",
    claim: "The first twelfth of 2400 gradient steps uses 0.73 of the entropy for 0.76 of the gain. The first \
            third: 0.94 and 0.93. Figure 2.",
    method: "GRPO on 1024 bandits of eight actions with a pretrained-like prior (L1) and with a log-linear policy of \
             shared weights, its reward taken on held-out prompts (L2); 300 rollout batches of groups of 8, ratio \
             clipped at 0.2. Entropy and expected reward are exact. A share is the part of the whole change between \
             first and last evaluation that has happened by then.",
    target: "In both environments, at least 0.70 of the entropy and of the gain after one twelfth of \
             training, and at least 0.90 of both after one third.",
    theory: &["performance-law"],
    sources: &[include_str!("collapse.rs"), include_str!("law_runs.rs")],
    run,
};

fn run(setting: &Setting, progress: &Progress) -> ExperimentResult {
    let runs = of_grpo(setting, progress);
    let environments = || ["L1", "L2"].into_iter().enumerate();
    let mut measures = vec![];
    for (environment, name) in environments() {
        for (part, words, least) in [(1.0 / 12.0, "1/12", 0.70), (1.0 / 3.0, "1/3", 0.90)] {
            let shares = runs.iter().map(|pair| pair[environment].shares_spent(part));
            let (entropy, gain): (Vec<f64>, Vec<f64>) = shares.unzip();
            for (what, values) in [("the fall of entropy", entropy), ("the gain of reward", gain)] {
                let quantity = format!("{name}: share of {what} after {words}");
                measures.push(Measure::new(quantity, values, Target::AtLeast(least)));
            }
        }
    }
    for (environment, name) in environments() {
        let mut add = |when: &str, point: fn(&Curve) -> &CurvePoint| {
            let values = runs.iter().map(|pair| point(&pair[environment]).entropy);
            let quantity = format!("{name}: entropy at the {when}");
            measures.push(Measure::new(quantity, values, Target::None).in_unit("nat"));
        };
        add("start", Curve::first);
        add("end", Curve::last);
    }
    let bandits: Vec<&Curve> = runs.iter().map(|pair| &pair[0]).collect();
    ExperimentResult::new(measures)
        .figure(
            over_training(&bandits),
            "L1: mean over the seeds with its 0.95 interval; entropy as a part of its start, reward as it is.",
        )
        .note(
            "The toys collapse somewhat faster than the language models of the paper: their prompts do not share \
             parameters (L1) or share few (L2).",
        )
}

/// Entropy over its start, and reward.
fn over_training(curves: &[&Curve]) -> Chart {
    let x: Vec<f64> = curves[0].points.iter().map(|point| point.rollouts as f64).collect();
    let rows = |of: fn(&Curve, &CurvePoint) -> f64| -> Vec<Vec<f64>> {
        curves.iter().map(|run| run.points.iter().map(|point| of(run, point)).collect()).collect()
    };
    let entropy = rows(|run, point| point.entropy / run.first().entropy);
    let series = vec![
        curve("entropy over its start", 0, Mark::Line, &x, &entropy),
        curve("expected reward", 1, Mark::Line, &x, &rows(|_, point| point.reward)),
    ];
    let texts = [
        "collapse",
        "Entropy and reward over training",
        "Entropy falls steeply and then levels off; reward rises as it falls.",
    ];
    chart(texts, rollouts(x), Axis::from_to("Part of its start; reward", 0.0, 1.02), series)
}
