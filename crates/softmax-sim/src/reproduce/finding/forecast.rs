//! The law fitted to the start of a run predicts the rest of it.

use crate::environment::{SharedSetting, TabularSetting};
use crate::reproduce::charts::{chart, heights, rollouts};
use crate::reproduce::{ExperimentResult, Finding, Measure, Progress, Setting, Target};
use crate::training::{Curve, Method, Schedule, train};
use entropy_core::Forecast;
use figures::{Chart, Mark, Series};

/// The finding.
pub(super) const FINDING: Finding = Finding {
    name: "forecast",
    title: "The first 0.15 of a run predicts its reward",
    claim: "Fitted to the first 36 of 240 steps, the law predicts later validation reward from entropy. Errors \
            (RMSE) are 0.009 on mathematics and 0.012 on code, at the final step 0.005 and 0.019. Figure 5.",
    method: "GRPO on the bandits (L1) and with shared weights on held-out prompts (L2), as in the findings on the law but with \
             a fifteenth of the learning rate, so that the forecast begins before the collapse is over. The law is fitted by \
             least squares to the evaluations of the first 0.15 of the rollout batches and judged on the others, given their \
             entropy. So are a straight line R = αH + β and persistence, the reward of the last evaluation fitted. Skill is \
             1 - RMSE of the law over that of the other; bias is the error at the end, with its sign, over the gain left.",
    target: "On L1 and L2: at least 0.3 of the gain is left where the forecast begins; root mean squared error at most \
             0.012 and error at the end at most 0.019; skill over persistence at least 0.5 and over the line at least 0; bias \
             within 0.2.",
    theory: &["performance-law", "forecast"],
    sources: &[include_str!("forecast.rs")],
    run,
};

const PREFIX: f64 = 0.15;

/// A fifteenth of the rate of the findings on the law.
const RATE: f64 = 0.1;

fn run(setting: &Setting, progress: &Progress) -> ExperimentResult {
    progress.plan(2 * setting.seeds as u64);
    let runs = setting.over_seeds(|seed| {
        let train = |environment, schedule| {
            let curve = train(&environment, &Method::default(), &schedule, seed);
            progress.advance(1);
            let forecast = Forecast::from_share(&curve.entropies(), &curve.rewards(), PREFIX, 0.95);
            (curve, forecast.expect("training changes the entropy from the start"))
        };
        [
            train(TabularSetting::LAW.draw(seed), Schedule::tabular(RATE)),
            train(SharedSetting::HELD_OUT.draw(seed), Schedule::shared(RATE)),
        ]
    });
    let mut measures = vec![];
    for (environment, name) in ["L1", "L2"].into_iter().enumerate() {
        let mut add = |what: &str, value: fn(&Curve, &Forecast) -> f64, target| {
            let values = runs.iter().map(|pair| value(&pair[environment].0, &pair[environment].1));
            measures.push(Measure::new(format!("{name}: {what}"), values, target));
        };
        let left = |curve: &Curve, one: &Forecast| {
            one.gain_left / (curve.last().reward - curve.first().reward)
        };
        add("gain left where the forecast begins", left, Target::AtLeast(0.3));
        add("error of the law (RMSE)", |_, one| one.rmse_rest, Target::AtMost(0.012));
        add("error of the law at the end", |_, one| one.final_error.abs(), Target::AtMost(0.019));
        add("skill over persistence", |_, one| one.skill_over_persistence(), Target::AtLeast(0.5));
        add("skill over a line", |_, one| one.skill_over_line(), Target::AtLeast(0.0));
        add("bias over the gain left", |_, one| one.bias(), Target::Between(-0.2, 0.2));
        add("error of persistence (RMSE)", |_, one| one.persistence_rmse_rest, Target::None);
        add("error of a line (RMSE)", |_, one| one.linear_rmse_rest, Target::None);
    }
    let (curve, forecast) = &runs[0][0];
    ExperimentResult::new(measures)
        .figure(
            over_rollouts(curve, forecast),
            "L1, first seed. Fitted to the evaluations before the curves begin; later rewards are predicted from the \
             entropy of their step.",
        )
        .note(
            "The forecast takes the entropy of the later steps as known, as the paper's does: it predicts the \
             exchange of entropy for reward, not how fast either moves.",
        )
}

fn over_rollouts(curve: &Curve, forecast: &Forecast) -> Chart {
    let over = |of: &dyn Fn(f64, f64) -> f64, from: usize| -> Vec<(f64, f64)> {
        let points = curve.points[from..].iter();
        points.map(|point| (point.rollouts as f64, of(point.entropy, point.reward))).collect()
    };
    let law = over(&|entropy, _| forecast.law.predict(entropy), forecast.fitted);
    let line = over(&|entropy, _| forecast.linear.predict(entropy), forecast.fitted);
    let series = vec![
        Series::new("reward", 0, Mark::Points, over(&|_, reward| reward, 0)),
        Series::new("law", 1, Mark::Line, law),
        Series::new("line", 2, Mark::Dashed, line),
    ];
    let texts = [
        "forecast",
        "Reward predicted from the first 0.15 of a run",
        "The law's prediction follows the measured reward; the line's lies above it.",
    ];
    let x = rollouts(curve.points.iter().map(|point| point.rollouts as f64));
    chart(texts, x, heights("Expected reward", &series, false), series)
}
