use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use super::table::TABLE;
use super::validation::Validation;

/// Name of a metric in [`METRICS`](super::METRICS) or in one of the families of [`Validation`].
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MetricName(Cow<'static, str>);

impl MetricName {
    /// Returns the metric of that name; use it through [`metric!`](crate::metric), which checks while compiling.
    ///
    /// # Panics
    ///
    /// If the table has no such name.
    pub const fn known(name: &'static str) -> Self {
        let table = TABLE.as_bytes();
        let mut place = 0;
        while place < table.len() {
            if begins(table, place, name.as_bytes()) {
                return Self(Cow::Borrowed(name));
            }
            while table[place] != b'\n' {
                place += 1;
            }
            place += 1;
        }
        panic!("no metric of this name in METRICS (training-run, metrics/table.txt)")
    }

    /// Names a metric of the evaluation on the questions of `source`.
    pub fn validation(source: &str, what: Validation) -> Self {
        Self(Cow::Owned(what.name_on(source)))
    }
}

impl fmt::Display for MetricName {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

/// True if the row of the table that starts at `place` is of this name.
const fn begins(table: &[u8], place: usize, name: &[u8]) -> bool {
    let mut index = 0;
    while index < name.len() {
        if table[place + index] != name[index] {
            return false;
        }
        index += 1;
    }
    table[place + index] == b' '
}

/// The metrics of one step, sorted by name. Every value is finite.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct StepMetrics {
    step: u64,
    values: BTreeMap<String, f64>,
}

const OMITTED: &str = "training/omitted_metrics";

impl StepMetrics {
    /// Makes an empty record of step `step`, counted from 1; 0 is before the first update.
    pub fn new(step: u64) -> Self {
        Self { step, values: BTreeMap::new() }
    }

    /// Makes a record of step `step` with these values, whatever their names.
    pub fn from_values(step: u64, values: BTreeMap<String, f64>) -> Self {
        Self { step, values }
    }

    /// Sets a metric. A value that is not finite is left out and counted in `training/omitted_metrics`. An empty mean is thus an
    /// absent key, never a 0.
    pub fn insert(&mut self, name: MetricName, value: f64) {
        if value.is_finite() {
            self.values.insert(name.0.into_owned(), value);
        } else {
            *self.values.entry(OMITTED.to_owned()).or_insert(0.0) += 1.0;
        }
    }

    /// Inserts mean, largest and smallest of `values` under three names; nothing if there are no values.
    pub fn insert_spread(
        &mut self,
        [mean, largest, smallest]: [MetricName; 3],
        values: impl IntoIterator<Item = f64>,
    ) {
        let (mut sum, mut count) = (0.0, 0_u32);
        let (mut most, mut least) = (f64::NEG_INFINITY, f64::INFINITY);
        for value in values {
            sum += value;
            count += 1;
            most = most.max(value);
            least = least.min(value);
        }
        if count > 0 {
            self.insert(mean, sum / f64::from(count));
            self.insert(largest, most);
            self.insert(smallest, least);
        }
    }

    /// Number of the step.
    pub fn step(&self) -> u64 {
        self.step
    }

    /// Value of a metric; `None` if the step lacks it.
    pub fn get(&self, name: &str) -> Option<f64> {
        self.values.get(name).copied()
    }

    /// All metrics, sorted by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, f64)> {
        self.values.iter().map(|(name, &value)| (name.as_str(), value))
    }

    /// Formats one line of JSON, `step` first.
    pub(crate) fn to_json_line(&self) -> String {
        let mut line = format!("{{\"step\":{}", self.step);
        for (name, value) in &self.values {
            let name = serde_json::Value::from(name.as_str());
            let value = serde_json::Value::from(*value);
            line.extend([",", &name.to_string(), ":", &value.to_string()]);
        }
        line.push_str("}\n");
        line
    }
}
