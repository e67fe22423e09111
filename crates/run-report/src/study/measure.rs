//! One number of a finding over the seeds, and its target.

use entropy_core::Interval;
use figures::moving_average::mean;
use figures::number_format::significant;
use serde::{Deserialize, Serialize};

use crate::run_law::CONFIDENCE;

/// A quantity measured once a seed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Measure {
    /// Quantity measured, in words, with its unit.
    pub quantity: String,
    /// One value a seed; those that could not be measured are left out.
    pub values: Vec<f64>,
    /// Mean over the seeds, geometric of ratios; none without any.
    pub mean: Option<f64>,
    /// Interval of their mean, or that of the fit which the only value is of; none of one value.
    pub interval: Option<Interval>,
    /// Values that it is to have.
    pub target: Target,
}

/// Target of a [`Measure`], met if the whole interval of the mean lies there.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Target {
    /// This or more.
    AtLeast(f64),
    /// This or less.
    AtMost(f64),
    /// Within both ends.
    Between(f64, f64),
    /// Nothing: reported for context.
    None,
}

impl Target {
    /// Returns true if a value meets the target; none without a target.
    fn is_met(self, value: f64) -> Option<bool> {
        match self {
            Self::AtLeast(low) => Some(value >= low),
            Self::AtMost(high) => Some(value <= high),
            Self::Between(low, high) => Some((low..=high).contains(&value)),
            Self::None => None,
        }
    }

    /// `≥ 0.5`, `≤ 0.5`, `0 to 1` or a dash.
    pub fn text(self) -> String {
        match self {
            Self::AtLeast(low) => format!("≥ {low}"),
            Self::AtMost(high) => format!("≤ {high}"),
            Self::Between(low, high) => format!("{low} to {high}"),
            Self::None => "–".to_owned(),
        }
    }
}

impl Measure {
    /// A measure of values that are finite.
    pub fn new(quantity: &str, values: impl IntoIterator<Item = f64>, target: Target) -> Self {
        let values: Vec<f64> = values.into_iter().filter(|value| value.is_finite()).collect();
        let mean = (!values.is_empty()).then(|| mean(&values));
        let interval = Interval::of_mean(&values, CONFIDENCE).ok();
        Self { quantity: quantity.to_owned(), values, mean, interval, target }
    }

    /// A measure of ratios above 0: mean and interval are those of their logarithms.
    pub fn ratios(quantity: &str, logs: impl IntoIterator<Item = f64>, target: Target) -> Self {
        let logs = Self::new(quantity, logs, target);
        let interval = logs.interval.map(|of| Interval { low: of.low.exp(), high: of.high.exp() });
        let values = logs.values.iter().map(|log| log.exp()).collect();
        Self { values, mean: logs.mean.map(f64::exp), interval, ..logs }
    }

    /// A measure of all seeds together, with the interval of the fit that it is of.
    pub fn pooled(quantity: &str, value: f64, interval: Option<Interval>, target: Target) -> Self {
        Self { interval, ..Self::new(quantity, [value], target) }
    }

    /// Returns true if the whole interval meets the target, false where there is no interval; none without a target.
    pub fn met(&self) -> Option<bool> {
        self.target.is_met(0.0)?;
        let ends = self.interval.map(|interval| [interval.low, interval.high]);
        Some(ends.is_some_and(|ends| ends.iter().all(|&end| self.target.is_met(end) == Some(true))))
    }

    /// Number of seeds that meet the target by themselves.
    pub fn seeds_met(&self) -> usize {
        self.values.iter().filter(|&&value| self.target.is_met(value) == Some(true)).count()
    }

    /// `0.50 [0.40, 0.60]`; the mean alone without an interval, a dash without values.
    pub fn text(&self) -> String {
        let number = |value: f64| significant(value, 3);
        match (self.mean.map(number), self.interval) {
            (None, _) => "–".to_owned(),
            (Some(mean), None) => mean,
            (Some(mean), Some(Interval { low, high })) => {
                format!("{mean} [{}, {}]", number(low), number(high))
            }
        }
    }

    /// `yes`, `no` or a dash, with the number of seeds that meet the target.
    pub fn met_text(&self) -> String {
        let word = match self.met() {
            Some(true) => "yes",
            Some(false) => "**no**",
            None => return "–".to_owned(),
        };
        format!("{word}, {} of {}", self.seeds_met(), self.values.len())
    }
}
