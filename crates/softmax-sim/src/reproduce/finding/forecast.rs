//! The law fitted to the start of a run predicts the rest of it.

use crate::environment::{SharedSetting, TabularSetting};
use crate::experiment::World;
use crate::reproduce::charts::{chart, heights, rollouts};
use crate::reproduce::{ExperimentResult, Measure, Progress, Setting, Target};
use crate::training::{Curve, Method, Schedule, train};
use entropy_core::Forecast;
use figures::{Chart, Mark, Series};

const PREFIX: f64 = 0.15;

/// A fifteenth of the rate of the findings on the law.
const RATE: f64 = 0.1;

pub(super) fn run(setting: &Setting, progress: &Progress) -> ExperimentResult {
    let environments = [
        ("L1", World::Tabular(TabularSetting::LAW), Schedule::tabular(RATE)),
        ("L2", World::Shared(SharedSetting::HELD_OUT), Schedule::shared(RATE)),
    ];
    let runs = setting.over_runs(progress, &environments, |seed, (_, world, schedule)| {
        let curve = train(&world.draw(seed), &Method::default(), schedule, seed);
        let forecast = Forecast::from_share(&curve.entropies(), &curve.rewards(), PREFIX, 0.95);
        (curve, forecast.expect("training changes the entropy from the start"))
    });
    let mut measures = vec![];
    for (environment, (name, ..)) in environments.iter().enumerate() {
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
    ExperimentResult::new(measures).figure(over_rollouts(curve, forecast))
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
    let x = rollouts(curve.points.iter().map(|point| point.rollouts as f64));
    chart("forecast", x, heights("Expected reward", &series, false), series)
}
