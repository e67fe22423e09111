//! Lemma 1 along a whole run: what a step costs in entropy is known before it is taken.

use crate::reproduce::charts::{chart, heights};
use crate::reproduce::{ExperimentResult, Measure, Progress, Setting, Target};
use entropy_core::{Categorical, PairedMoments, UpdateRule};
use figures::{Axis, Chart, Mark, Series};
use ndarray_rand::rand_distr::StandardNormal;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

const STATES: usize = 128;
const ACTIONS: usize = 8;
const ETA: f64 = 0.5;

pub(super) fn run(setting: &Setting, progress: &Progress) -> ExperimentResult {
    let steps = setting.pick(300, 3000);
    progress.plan((setting.seeds * steps) as u64);
    let runs = setting.over_seeds(|seed| Trace::of(seed, steps, progress));
    let measure = |quantity: &str, value: fn(&Trace) -> f64, target| {
        Measure::new(quantity, runs.iter().map(value), target)
    };
    let lost = |run: &Trace| -run.measured.iter().sum::<f64>();
    let measures = vec![
        measure("Pearson correlation", Trace::correlation, Target::AtLeast(0.99)),
        measure("errors over changes", Trace::relative_error, Target::AtMost(0.05)),
        measure("error over that of half the step", |run| run.order, Target::Between(3.5, 4.5)),
        measure("entropy lost over the run", lost, Target::None).in_unit("nat"),
    ];
    ExperimentResult::new(measures).figure(runs[0].scatter()).figure(runs[0].over_steps())
}

/// Predicted and measured change of the mean entropy, step by step, nats.
struct Trace {
    predicted: Vec<f64>,
    measured: Vec<f64>,
    /// Error of the first step over that of half of it, from the same policy.
    order: f64,
}

impl Trace {
    fn of(seed: u64, steps: usize, progress: &Progress) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let states = (0..STATES).map(|_| State::draw(&mut rng)).collect::<Vec<_>>();
        let order = error(&states, ETA) / error(&states, ETA / 2.0);
        let mut trace = Self { predicted: vec![], measured: vec![], order };
        let mut states = states;
        for _ in 0..steps {
            let (mut predicted, mut measured) = (0.0, 0.0);
            for state in &mut states {
                let (policy, step) = state.step(ETA);
                predicted += policy.entropy_change_first_order(&step);
                measured += policy.entropy_change(&step);
                std::iter::zip(&mut state.logits, step).for_each(|(logit, step)| *logit += step);
            }
            trace.predicted.push(predicted / STATES as f64);
            trace.measured.push(measured / STATES as f64);
            progress.advance(1);
        }
        trace
    }

    fn correlation(&self) -> f64 {
        PairedMoments::of(&self.predicted, &self.measured).correlation().unwrap_or(f64::NAN)
    }

    fn relative_error(&self) -> f64 {
        let pairs = || std::iter::zip(&self.predicted, &self.measured);
        let errors: f64 = pairs().map(|(predicted, measured)| (predicted - measured).abs()).sum();
        errors / self.measured.iter().map(|change| change.abs()).sum::<f64>()
    }

    fn scatter(&self) -> Chart {
        let points: Vec<_> = std::iter::zip(&self.predicted, &self.measured)
            .map(|(&predicted, &measured)| (predicted, measured))
            .step_by((self.predicted.len() / 300).max(1))
            .collect();
        let x = points.iter().map(|point| point.0);
        let x = Axis::around("Predicted change of entropy (nats)", x, false, 0.05);
        let y = points.iter().map(|point| point.1);
        let y = Axis::around("Measured change of entropy (nats)", y, false, 0.05);
        let series = vec![
            Series::new("equality", 0, Mark::Reference, vec![(x.low, x.low), (x.high, x.high)]),
            Series::new("steps", 0, Mark::Points, points),
        ];
        chart("lemma-1-scatter", x, y, series)
    }

    fn over_steps(&self) -> Chart {
        let curve = |values: &[f64]| -> Vec<(f64, f64)> {
            (1_u32..).map(f64::from).zip(values.iter().copied()).collect()
        };
        let series = vec![
            Series::new("measured", 0, Mark::Line, curve(&self.measured)),
            Series::new("predicted", 1, Mark::Dashed, curve(&self.predicted)),
        ];
        let x = Axis::log("Step", [1.0, self.measured.len() as f64]);
        chart(
            "lemma-1-steps",
            x,
            heights("Change of entropy per step (nats)", &series, true),
            series,
        )
    }
}

/// One softmax policy and its rewards, both `[actions]`.
struct State {
    logits: Vec<f64>,
    reward: Vec<f64>,
}

impl State {
    fn draw(rng: &mut ChaCha8Rng) -> Self {
        let mut normal = || (0..ACTIONS).map(|_| rng.sample(StandardNormal)).collect::<Vec<f64>>();
        Self { logits: normal(), reward: normal() }
    }

    /// The policy and the logit step it takes, `[actions]`.
    fn step(&self, eta: f64) -> (Categorical, Vec<f64>) {
        let policy = Categorical::from_logits(&self.logits).expect("the logits stay finite");
        let step = UpdateRule::PolicyGradient.step(&policy, &self.reward, eta);
        (policy, step)
    }
}

/// Mean over states of the error of the prediction for one step of size `eta`, nats.
fn error(states: &[State], eta: f64) -> f64 {
    let errors = states.iter().map(|state| {
        let (policy, step) = state.step(eta);
        policy.first_order_remainder(&step)
    });
    errors.sum::<f64>() / states.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::{Scale, Verdict};

    #[test]
    fn a_theorem_is_reproduced_for_any_seed() {
        let setting = Setting { scale: Scale::Quick, seed: 11, seeds: 3 };
        let outcome = run(&setting, &Progress::silent());
        assert_eq!(outcome.verdict, Verdict::Reproduced, "{}", outcome.reason);
    }
}
