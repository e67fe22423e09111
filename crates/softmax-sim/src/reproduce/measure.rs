//! One number of an experiment, over seeds, and its target.

use super::seeds::{Interval, interval};
use figures::number_format::significant;
use serde::{Deserialize, Deserializer, Serialize};

/// A quantity measured once a seed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Measure {
    /// Quantity measured, in words.
    pub quantity: String,
    /// Its unit; `1` for a pure number, a fraction or a correlation.
    pub unit: String,
    /// One value a seed; NaN where it could not be measured.
    #[serde(deserialize_with = "numbers")]
    pub values: Vec<f64>,
    /// Mean over the seeds with its 0.95 interval.
    pub interval: Interval,
    /// Target of the mean.
    pub target: Target,
    /// True if the interval of the mean lies within the target; none without a target or a verdict.
    pub met: Option<bool>,
}

fn numbers<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<f64>, D::Error> {
    let values: Vec<Option<f64>> = Vec::deserialize(deserializer)?;
    Ok(values.into_iter().map(|value| value.unwrap_or(f64::NAN)).collect())
}

/// Target of a [`Measure`].
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Target {
    /// This or more.
    AtLeast(f64),
    /// This or less.
    AtMost(f64),
    /// Within both ends.
    Between(f64, f64),
    /// True in every seed; the values are 1 for true and 0 for false.
    True,
    /// Nothing: reported for context.
    None,
}

impl Target {
    /// Returns true if `value` meets the target, which NaN never does; none without a target.
    pub fn is_met(self, value: f64) -> Option<bool> {
        match self {
            Self::AtLeast(low) => Some(value >= low),
            Self::AtMost(high) => Some(value <= high),
            Self::Between(low, high) => Some((low..=high).contains(&value)),
            Self::True => Some(value >= 1.0),
            Self::None => None,
        }
    }

    /// `≥ 0.99`, `≤ 0.012`, `0.9 to 1.1`, `true` or a dash.
    pub fn text(self) -> String {
        match self {
            Self::AtLeast(low) => format!("≥ {}", shortest(low)),
            Self::AtMost(high) => format!("≤ {}", shortest(high)),
            Self::Between(low, high) => format!("{} to {}", shortest(low), shortest(high)),
            Self::True => "true".to_owned(),
            Self::None => "–".to_owned(),
        }
    }
}

/// A bound as it was written, not padded with zeros.
fn shortest(value: f64) -> String {
    let magnitude = value.abs();
    if magnitude > 0.0 && !(1e-3..1e5).contains(&magnitude) {
        return significant(value, 2);
    }
    format!("{value}").replacen('-', "−", 1)
}

impl Measure {
    /// A pure number with one value a seed, and the target of their mean.
    ///
    /// A target is met by the whole 0.95 interval of the mean, so that no verdict hangs on the draw of one seed. A value that
    /// could not be measured misses it. A statement has to be true in every seed.
    pub fn new(
        quantity: impl Into<String>,
        values: impl IntoIterator<Item = f64>,
        target: Target,
    ) -> Self {
        let values: Vec<f64> = values.into_iter().collect();
        let interval = interval(&values);
        let measured = values.iter().all(|value| value.is_finite());
        let met = |end: f64| target.is_met(end).map(|met| met && measured);
        let met = met(interval.low).and_then(|low| Some(low && met(interval.high)?));
        Self { quantity: quantity.into(), unit: "1".to_owned(), values, interval, target, met }
    }

    /// Sets the unit.
    #[must_use]
    pub fn in_unit(self, unit: &str) -> Self {
        Self { unit: unit.to_owned(), ..self }
    }

    /// A statement that has to be true in every seed.
    pub fn holds(statement: impl Into<String>, values: impl IntoIterator<Item = bool>) -> Self {
        Self::new(statement, values.into_iter().map(f64::from), Target::True)
    }

    /// The mean with its interval, `0.993 [0.992, 0.995]`; of a statement, in how many seeds it is true.
    pub fn value_text(&self) -> String {
        if self.target == Target::True {
            let count = self.values.iter().filter(|&&value| value >= 1.0).count();
            return format!("true in {count} of {} seeds", self.values.len());
        }
        self.interval.text()
    }

    /// `; 11 of 12 seeds`, those that meet the target by themselves; empty where that adds nothing.
    pub(super) fn seeds_text(&self) -> String {
        if self.target == Target::True || self.met.is_none() {
            return String::new();
        }
        let met = self.values.iter().filter(|&&value| self.target.is_met(value) == Some(true));
        format!("; {} of {} seeds", met.count(), self.values.len())
    }

    /// The mean with its interval and unit.
    pub fn text(&self) -> String {
        let unit = if self.unit == "1" { String::new() } else { format!(" {}", self.unit) };
        self.value_text() + &unit
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_of_the_mean_has_to_meet_the_target() {
        let met = |values: &[f64], target| Measure::new("x", values.to_vec(), target).met;
        // One seed below, and the interval of the mean, 0.596 to 0.654, above.
        let twelve = [0.49, 0.62, 0.65, 0.63, 0.61, 0.66, 0.64, 0.62, 0.65, 0.63, 0.66, 0.64];
        assert_eq!(met(&twelve, Target::AtLeast(0.59)), Some(true));
        assert_eq!(met(&twelve, Target::AtLeast(0.60)), Some(false));
        assert_eq!(met(&twelve, Target::Between(0.59, 0.66)), Some(true));
        assert_eq!(met(&twelve, Target::Between(0.59, 0.64)), Some(false));
        // Every seed meets it, and three of such a spread say little about the mean.
        assert_eq!(met(&[0.6, 0.9, 1.5], Target::AtLeast(0.5)), Some(false));
        assert_eq!(met(&[0.5, f64::NAN, 0.5], Target::AtLeast(0.1)), Some(false));
        assert_eq!(met(&[f64::NAN; 3], Target::AtMost(0.1)), Some(false));
        assert_eq!(met(&[], Target::AtMost(1.0)), Some(false));
        assert_eq!(met(&[7.0], Target::None), None);
        assert_eq!(Measure::holds("x", [true, true, false]).met, Some(false));
        assert_eq!(Measure::holds("x", [true, true]).met, Some(true));
    }

    #[test]
    fn what_json_cannot_hold_comes_back() {
        let measure =
            Measure::new("x", [1.0, f64::NAN, 0.1 + 0.2], Target::AtMost(2.0)).in_unit("nat");
        let json = serde_json::to_string(&measure).unwrap();
        let read: Measure = serde_json::from_str(&json).unwrap();
        assert!(read.values[1].is_nan() && read.values[2].to_bits() == (0.1f64 + 0.2).to_bits());
        assert_eq!((read.target, read.met), (measure.target, Some(false)));
    }
}
