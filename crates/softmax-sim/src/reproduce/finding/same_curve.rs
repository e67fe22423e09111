//! A reference KL stops on the curve of reward against entropy; an entropy bonus leaves it.

use crate::environment::TabularSetting;
use crate::reproduce::charts::{chart, heights, places};
use crate::reproduce::{ExperimentResult, Measure, Progress, Setting, Target};
use entropy_core::{Categorical, NaturalFlow, UpdateRule, logit_step, same_curve_time};
use figures::{Chart, Mark, Series};

const BETAS: [f64; 3] = [0.1, 0.3, 1.0];
const ALPHA: f64 = 0.1;
/// Time after which nothing moves any more.
const LATE: f64 = 400.0;

pub(super) fn run(setting: &Setting, progress: &Progress) -> ExperimentResult {
    progress.plan(setting.seeds as u64);
    let runs = setting.over_seeds(|seed| {
        let bandits = Bandits::draw(seed);
        let figures = Figures::of(&bandits);
        progress.advance(1);
        (bandits, figures)
    });
    let measure = |quantity: &str, value: fn(&Figures) -> f64, target| {
        Measure::new(quantity, runs.iter().map(|(_, figures)| value(figures)), target)
    };
    let measures = vec![
        measure("distance from the free flow at τ", |f| f.apart, Target::AtMost(1e-12)),
        measure("final reward against the free flow at 1/β", |f| f.stop, Target::AtMost(1e-9)),
        measure("step by step: reward off the curve", |f| f.integrated, Target::AtMost(2e-3)),
        measure("entropy bonus: reward off the curve", |f| f.bonus, Target::AtLeast(0.01)),
        measure("reward given up by β = 0.3", |f| f.given_up, Target::None),
    ];
    ExperimentResult::new(measures).figure(runs[0].0.chart())
}

/// Independent states with a reward for each action.
struct Bandits {
    states: Vec<(Categorical, Vec<f64>)>,
}

impl Bandits {
    fn draw(seed: u64) -> Self {
        let environment = TabularSetting { prompts: 256, ..TabularSetting::LAW }.draw(seed);
        let state = |(prompt, logits): (usize, &[f64])| {
            let policy = Categorical::from_logits(logits).expect("a finite prior");
            (policy, environment.training.quality(prompt).to_vec())
        };
        let rows = environment.start.chunks_exact(TabularSetting::LAW.actions).enumerate();
        Self { states: rows.map(state).collect() }
    }

    /// Mean entropy and reward at `time`, with entropy bonus `alpha` and reference penalty `beta`.
    fn at(&self, alpha: f64, beta: f64, time: f64) -> (f64, f64) {
        let of_state = |(start, reward): &(Categorical, Vec<f64>)| {
            let flow = NaturalFlow::new(start.clone(), reward)
                .and_then(|flow| flow.with_entropy_bonus(alpha))
                .and_then(|flow| flow.with_reference(start.clone(), beta))
                .expect("finite rewards and coefficients");
            let point = flow.at(time);
            (point.policy.entropy(), point.reward)
        };
        mean(self.states.iter().map(of_state))
    }

    /// The penalised flow taken in steps of the natural gradient, from start to `time`.
    fn integrated(&self, beta: f64, time: f64, step: f64) -> (f64, f64) {
        let of_state = |(start, reward): &(Categorical, Vec<f64>)| {
            let mut policy = start.clone();
            let mut done = 0.0;
            while done < time {
                let natural = UpdateRule::NaturalPolicyGradient;
                let ascent = natural.step(&policy, reward, step);
                let pull = logit_step::kl_to_reference(&policy, start, natural, beta, step)
                    .expect("the reference has the same actions");
                let logits: Vec<f64> = (0..reward.len())
                    .map(|action| policy.log_probs()[action] + ascent[action] + pull[action])
                    .collect();
                policy = Categorical::from_logits(&logits).expect("finite steps");
                done += step;
            }
            (policy.entropy(), policy.mean(reward))
        };
        mean(self.states.iter().map(of_state))
    }

    /// Reward of the free flow where its entropy is `entropy`, by bisection in time.
    fn reward_at_entropy(&self, entropy: f64) -> f64 {
        let (mut early, mut late) = (0.0, LATE);
        for _ in 0..60 {
            let middle = 0.5 * (early + late);
            if self.at(0.0, 0.0, middle).0 > entropy {
                early = middle;
            } else {
                late = middle;
            }
        }
        self.at(0.0, 0.0, 0.5 * (early + late)).1
    }

    fn chart(&self) -> Chart {
        let times: Vec<f64> = (0..=80).map(|index| 1e-2 * 1.14_f64.powi(index) - 1e-2).collect();
        let curve = |alpha: f64, beta: f64| -> Vec<(f64, f64)> {
            times.iter().map(|&time| self.at(alpha, beta, time)).collect()
        };
        let mut series = vec![Series::new("no regulariser", 0, Mark::Line, curve(0.0, 0.0))];
        for (index, beta) in BETAS.into_iter().enumerate() {
            let end = vec![self.at(0.0, beta, LATE)];
            let name = format!("end with reference KL, β = {beta}");
            series.push(Series::new(&name, index + 1, Mark::Points, end));
        }
        series.push(Series::new("entropy bonus, α = 0.1", 4, Mark::Dashed, curve(ALPHA, 0.0)));
        let x = places("Entropy (nats)", &series, 0.05);
        chart("same-curve", x, heights("Expected reward", &series, false), series)
    }
}

/// Quantities measured in one seed.
struct Figures {
    apart: f64,
    stop: f64,
    integrated: f64,
    bonus: f64,
    given_up: f64,
}

impl Figures {
    fn of(bandits: &Bandits) -> Self {
        let (mut apart, mut stop) = (0.0_f64, 0.0_f64);
        for beta in BETAS {
            for time in [0.1, 1.0, 5.0, 20.0, 100.0] {
                let held = bandits.at(0.0, beta, time);
                let free = bandits.at(0.0, 0.0, same_curve_time(beta, time));
                apart = apart.max((held.0 - free.0).abs()).max((held.1 - free.1).abs());
            }
            let end = bandits.at(0.0, beta, LATE).1;
            stop = stop.max((end - bandits.at(0.0, 0.0, 1.0 / beta).1).abs());
        }
        let (entropy, reward) = bandits.integrated(0.3, 8.0, 0.01);
        let integrated = (reward - bandits.reward_at_entropy(entropy)).abs();
        let off = |time: f64| {
            let (entropy, reward) = bandits.at(ALPHA, 0.0, time);
            (reward - bandits.reward_at_entropy(entropy)).abs()
        };
        Self {
            apart,
            stop,
            integrated,
            bonus: [2.0, 8.0, 30.0].into_iter().map(off).fold(0.0, f64::max),
            given_up: bandits.at(0.0, 0.0, LATE).1 - bandits.at(0.0, 0.3, LATE).1,
        }
    }
}

fn mean(pairs: impl ExactSizeIterator<Item = (f64, f64)>) -> (f64, f64) {
    let count = pairs.len() as f64;
    let (first, second) = pairs.fold((0.0, 0.0), |(a, b), (x, y)| (a + x, b + y));
    (first / count, second / count)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reproduce::{Scale, Verdict};

    #[test]
    fn a_theorem_is_reproduced_for_any_seed() {
        let setting = Setting { scale: Scale::Quick, seed: 40, seeds: 3 };
        let outcome = run(&setting, &Progress::silent());
        assert_eq!(outcome.verdict, Verdict::Reproduced, "{}", outcome.reason);
    }
}
