//! The law of reward and entropy of a run so far.
//!
//! `entropy_core::PerformanceLaw` fits, compares and gives intervals; this module selects the points of a run.

use std::fmt;

use entropy_core::{Interval, PerformanceLaw};
use figures::moving_average::first_and_last_tenth;
use figures::number_format::significant;
use training_run::metric;
use training_run::metrics::StepMetrics;

/// Confidence level of the law's intervals.
pub const CONFIDENCE: f64 = 0.95;

/// Source of the points' rewards.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LawSource {
    /// Accuracy on held-out questions, mean over their sources.
    Evaluations,
    /// Mean reward of the sampled responses of each step, where nothing was evaluated.
    Rewards,
}

/// Points of a run for its law, collected step by step.
///
/// An evaluation after step `n` measures the policy that samples in step `n + 1`. Its entropy is the `actor/entropy` of that step.
/// Until that is known, it is the entropy of step `n` plus the measured change by its update.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct RunLaw {
    rewards: Vec<(f64, f64)>,
    evaluations: Vec<(f64, f64)>,
    /// The last evaluation, whose policy has not sampled yet: its entropy if known, and its accuracy.
    last: Option<(Option<f64>, f64)>,
    /// Largest reward of a response, and the number of steps that reached it.
    largest: Option<(f64, u32)>,
}

impl RunLaw {
    /// Collects the points of these steps, ascending.
    pub fn of(steps: &[StepMetrics]) -> Self {
        let mut law = Self::default();
        for step in steps {
            law.push(step);
        }
        law
    }

    /// Adds a step.
    pub fn push(&mut self, step: &StepMetrics) {
        let entropy = step.get("actor/entropy");
        if let (Some(entropy), Some((_, accuracy))) = (entropy, self.last) {
            self.evaluations.push((entropy, accuracy));
            self.last = None;
        }
        self.rewards.extend(entropy.zip(step.get("critic/rewards/mean")));
        if let Some(largest) = step.get("critic/rewards/max") {
            self.largest = match self.largest {
                Some((before, steps)) if largest < before => Some((before, steps)),
                Some((before, steps)) if largest <= before => Some((before, steps + 1)),
                _ => Some((largest, 1)),
            };
        }
        if let Some(accuracy) = mean_accuracy(step) {
            let change = step.get("entropy/measured_change");
            let after = entropy.zip(change).map(|(before, change)| before + change);
            self.last = Some((after, accuracy));
        }
    }

    /// Source of the points.
    pub fn source(&self) -> LawSource {
        let is_evaluated = !self.evaluations.is_empty() || self.last.is_some();
        if is_evaluated { LawSource::Evaluations } else { LawSource::Rewards }
    }

    /// Points `(entropy in nats, reward)`, in the order of training.
    pub fn points(&self) -> Vec<(f64, f64)> {
        match self.source() {
            LawSource::Rewards => self.rewards.clone(),
            LawSource::Evaluations => {
                let last = self.last.and_then(|(entropy, accuracy)| entropy.zip(Some(accuracy)));
                self.evaluations.iter().copied().chain(last).collect()
            }
        }
    }

    /// Largest value that the points can have; `None` if it is not known.
    ///
    /// An accuracy is at most 1. A reward is at most what its best response earned, if two steps reached that: rewards without
    /// such a bound are hardly ever equal.
    pub fn bound(&self) -> Option<f64> {
        match self.source() {
            LawSource::Evaluations => Some(1.0),
            LawSource::Rewards => {
                self.largest.filter(|&(_, steps)| steps > 1).map(|(largest, _)| largest)
            }
        }
    }

    /// Fits the law so far; `None` with fewer than three points, or if all entropies are equal.
    pub fn extrapolation(&self) -> Option<LawExtrapolation> {
        let (entropy, reward): (Vec<f64>, Vec<f64>) = self.points().into_iter().unzip();
        let law = PerformanceLaw::fit(&entropy, &reward).ok()?;
        Some(LawExtrapolation {
            source: self.source(),
            bound: self.bound(),
            interval: law.interval_ceiling(CONFIDENCE).ok()?,
            entropy: first_and_last_tenth(&entropy),
            reward: first_and_last_tenth(&reward),
            reward_now: law.predict(*entropy.last()?),
            law,
        })
    }
}

/// Mean over the sources of the held-out accuracies of a step; `None` without an evaluation.
pub(crate) fn mean_accuracy(step: &StepMetrics) -> Option<f64> {
    let of_source =
        step.iter().filter(|(name, _)| held_out(name).is_some()).map(|(_, value)| value);
    let (count, sum) = of_source.fold((0_u32, 0.0), |(count, sum), value| (count + 1, sum + value));
    (count > 0).then(|| sum / f64::from(count))
}

/// Source and number of answers of a held-out accuracy, `val-core/SOURCE/acc/mean@N`; `None` for another metric.
pub(crate) fn held_out(name: &str) -> Option<(&str, &str)> {
    let parts = name.strip_prefix("val-core/")?.split_once("/acc/mean@");
    parts.filter(|(_, n)| !n.is_empty() && n.bytes().all(|byte| byte.is_ascii_digit()))
}

/// The fitted law of a run so far, and what it predicts.
#[derive(Debug, Clone, PartialEq)]
pub struct LawExtrapolation {
    /// Source of the points.
    pub source: LawSource,
    /// The law, with the straight line that it is compared with.
    pub law: PerformanceLaw,
    /// Largest value that the points can have; `None` if it is not known.
    pub bound: Option<f64>,
    /// Interval of the law's reward at entropy 0, at [`CONFIDENCE`]; it may exceed the bound.
    pub interval: Interval,
    /// Entropy over the first and over the last tenth of the points, in nats.
    pub entropy: (f64, f64),
    /// Reward over the first and over the last tenth of the points.
    pub reward: (f64, f64),
    /// Reward that the law gives at the entropy of the last point.
    pub reward_now: f64,
}

impl LawExtrapolation {
    /// Entropy spent so far, in nats; negative where it rose.
    pub fn entropy_spent(&self) -> f64 {
        self.entropy.0 - self.entropy.1
    }

    /// Reward gained so far.
    pub fn gain(&self) -> f64 {
        self.reward.1 - self.reward.0
    }

    /// Returns `value`, or the bound where that is lower.
    pub fn within_bound(&self, value: f64) -> f64 {
        self.bound.map_or(value, |bound| value.min(bound))
    }

    /// Returns false if even the lower end of the ceiling's interval exceeds the bound: the law does not hold here.
    pub fn holds(&self) -> bool {
        self.bound.is_none_or(|bound| self.interval.low <= bound)
    }

    /// Reward that spending all entropy that is left would bring; `None` where the law does not hold.
    pub fn gain_left(&self) -> Option<f64> {
        self.holds().then(|| self.within_bound(self.law.ceiling()) - self.reward_now)
    }

    /// Writes the metrics `law/…`, except values that are not finite.
    pub fn record(&self, metrics: &mut StepMetrics) {
        let law = &self.law;
        let of_evaluations = f64::from(u8::from(self.source == LawSource::Evaluations));
        let rows = [
            (metric!("law/a"), Some(law.a)),
            (metric!("law/b"), Some(law.b)),
            (metric!("law/ceiling"), Some(law.ceiling())),
            (metric!("law/ceiling_low"), Some(self.interval.low)),
            (metric!("law/ceiling_high"), Some(self.interval.high)),
            (metric!("law/points"), Some(law.points as f64)),
            (metric!("law/from_evaluations"), Some(of_evaluations)),
            (metric!("law/r_squared"), law.r_squared),
            (metric!("law/linear_r_squared"), law.linear_r_squared),
            (metric!("law/rmse"), Some(law.rmse)),
            (metric!("law/linear_rmse"), Some(law.linear_rmse)),
            (metric!("law/aic_over_linear"), law.aic_over_linear()),
            (metric!("law/entropy_spent"), Some(self.entropy_spent())),
            (metric!("law/gain"), Some(self.gain())),
            (metric!("law/gain_left"), self.gain_left()),
        ];
        for (name, value) in rows {
            if let Some(value) = value.filter(|value| value.is_finite()) {
                metrics.insert(name, value);
            }
        }
    }
}

impl fmt::Display for LawExtrapolation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = |value: f64| significant(value, 3);
        let (what, unit) = match self.source {
            LawSource::Evaluations => ("held-out accuracy", "evaluations"),
            LawSource::Rewards => ("reward", "steps"),
        };
        let law = &self.law;
        let verb = if self.entropy_spent() >= 0.0 { "spent" } else { "won" };
        let (points, gain) = (law.points, self.gain());
        let [spent, before, after] =
            [self.entropy_spent().abs(), self.entropy.0, self.entropy.1].map(number);
        let [first, last] = [self.reward.0, self.reward.1].map(number);
        write!(
            formatter,
            "{spent} nat of entropy {verb} ({before} to {after}), {what} {first} to {last} ({gain:+.3}); "
        )?;
        let (Some(law_share), Some(line_share)) = (law.r_squared, law.linear_r_squared) else {
            return write!(formatter, "all {points} {unit} have the same {what}: no law yet");
        };
        write!(formatter, "the law of {points} {unit} ")?;
        let [ceiling, low, high] = [law.ceiling(), self.interval.low, self.interval.high];
        match (self.gain_left(), self.bound) {
            (None, Some(bound)) => write!(
                formatter,
                "does not hold here: at entropy 0 it gives {} (0.95 interval {} to {}), above {}, the largest possible",
                number(ceiling),
                number(low),
                number(high),
                number(bound),
            )?,
            (gain_left, _) => write!(
                formatter,
                "gives at most {} (0.95 interval {} to {}), {} more than now",
                number(self.within_bound(ceiling)),
                number(low),
                number(self.within_bound(high)),
                number(gain_left.unwrap_or(f64::NAN)),
            )?,
        }
        write!(formatter, "; R² {law_share:.3}, of a straight line {line_share:.3}")?;
        match law.aic_over_linear() {
            Some(difference) if difference.is_finite() && difference.abs() >= 2.0 => {
                let better = if difference > 0.0 { "the law" } else { "the straight line" };
                write!(formatter, "; {better} fits better by {:.1} of AIC", difference.abs())
            }
            Some(_) => write!(formatter, "; AIC cannot tell them apart"),
            None => Ok(()),
        }
    }
}
