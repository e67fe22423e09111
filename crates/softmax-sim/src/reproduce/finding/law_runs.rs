//! The runs behind the findings about the law: six algorithms in two environments.

use crate::environment::{SharedSetting, TabularSetting};
use crate::reproduce::charts::{chart, heights, places};
use crate::training::{Curve, Method, Schedule, train};
use entropy_core::PerformanceLaw;
use figures::{Chart, Mark, Series};
use rl_losses::{AdvantageEstimator, Prime, Reinforce, ReinforcePlusPlus, ReturnBaseline};

/// An algorithm, by its advantages, and its learning rate over that of GRPO.
#[derive(Debug, Clone, Copy)]
pub(super) struct Algorithm {
    pub(super) name: &'static str,
    estimator: AdvantageEstimator,
    rate: f64,
}

/// The advantages of RLOO, Dr. GRPO and REINFORCE are not divided by a deviation, so their learning
/// rates are larger. PRIME has the settings of its scripts but for `β`: a response has one token or four, and not hundreds.
pub(super) const ALGORITHMS: [Algorithm; 6] = [
    Algorithm { name: "GRPO", estimator: AdvantageEstimator::Grpo, rate: 1.0 },
    Algorithm { name: "RLOO", estimator: AdvantageEstimator::Rloo, rate: 2.2 },
    Algorithm { name: "Dr. GRPO", estimator: AdvantageEstimator::DrGrpo, rate: 2.5 },
    Algorithm {
        name: "REINFORCE++",
        estimator: AdvantageEstimator::ReinforcePlusPlus(ReinforcePlusPlus { discount: 1.0 }),
        rate: 1.0,
    },
    Algorithm {
        name: "REINFORCE",
        estimator: AdvantageEstimator::Reinforce(Reinforce {
            discount: 1.0,
            baseline: ReturnBaseline::BatchMean,
        }),
        rate: 2.2,
    },
    Algorithm { name: "PRIME", estimator: AdvantageEstimator::Prime(PRIME), rate: 1.0 },
];

const PRIME: Prime = Prime { beta: 1.0, ..Prime::DEFAULT };

/// How many of the [`ALGORITHMS`], from the first, compare a response with others of its group.
pub(super) const GROUPED: usize = 3;

const RATE: f64 = 1.5;

/// A run of an algorithm in one environment, of a seed.
type Run = fn(u64, &Algorithm) -> Curve;

/// Environments of the law.
pub(super) const ENVIRONMENTS: [(&str, Run); 2] = [("L1", on_bandits), ("L2", held_out)];

/// A run of `algorithm` on the bandits of the law.
pub(super) fn on_bandits(seed: u64, algorithm: &Algorithm) -> Curve {
    let schedule = Schedule::tabular(RATE * algorithm.rate);
    let method = Method::default().with_advantage(algorithm.estimator);
    train(&TabularSetting::LAW.draw(seed), &method, &schedule, seed)
}

/// A run of `algorithm` with shared weights, examined on prompts not trained on.
pub(super) fn held_out(seed: u64, algorithm: &Algorithm) -> Curve {
    let schedule = Schedule::shared(RATE * algorithm.rate);
    let method = Method::default().with_advantage(algorithm.estimator);
    train(&SharedSetting::HELD_OUT.draw(seed), &method, &schedule, seed)
}

/// The law of a run; a run of which the entropy never changed has none.
pub(super) fn law(curve: &Curve) -> PerformanceLaw {
    curve.law().expect("training changes the entropy")
}

/// One law for several runs.
pub(super) fn pooled_law(curves: &[Curve]) -> PerformanceLaw {
    let entropy: Vec<f64> = curves.iter().flat_map(Curve::entropies).collect();
    let reward: Vec<f64> = curves.iter().flat_map(Curve::rewards).collect();
    PerformanceLaw::fit(&entropy, &reward).expect("training changes the entropy")
}

/// Share of the variance of reward that the law explains.
pub(super) fn explained(law: &PerformanceLaw) -> f64 {
    law.r_squared.unwrap_or(f64::NAN)
}

/// Share that a straight line explains.
pub(super) fn explained_by_line(law: &PerformanceLaw) -> f64 {
    law.linear_r_squared.unwrap_or(f64::NAN)
}

/// Share that the law explains beyond a straight line.
pub(super) fn lead(law: &PerformanceLaw) -> f64 {
    explained(law) - explained_by_line(law)
}

/// Reward against entropy, one series of points for each of the [`ALGORITHMS`], under the curve of `law`.
pub(super) fn law_chart(stem: &str, curves: &[Curve], law: &PerformanceLaw) -> Chart {
    let highest = curves.iter().flat_map(Curve::entropies).fold(0.0, f64::max);
    let fit: Vec<(f64, f64)> = (0..=100)
        .map(|index| f64::from(index) / 100.0 * highest)
        .map(|entropy| (entropy, law.predict(entropy)))
        .collect();
    let mut series = vec![];
    for (colour, (algorithm, curve)) in std::iter::zip(ALGORITHMS, curves).enumerate() {
        let points = curve.points.iter().map(|point| (point.entropy, point.reward)).collect();
        series.push(Series::new(algorithm.name, colour, Mark::Points, points));
    }
    series.push(Series::new("law", 0, Mark::Reference, fit));
    let x = places("Entropy (nats per token)", &series, 0.03);
    chart(stem, x, heights("Expected reward", &series, false), series)
}
