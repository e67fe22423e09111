//! Ranges of numbers, as the attributes of fields give them.

use messages::Problem;
use serde_json::Value;
use toml::Table;

use super::field::{fields, value_at};
use super::schema;
use super::sections::RunConfig;

/// The range of a field in words; `None` where the type is the only limit.
pub(super) fn range(path: &str) -> Option<String> {
    schema::of_field(path).and_then(Range::of).map(|range| range.words())
}

/// The values of a configuration outside the range of their field, in the order of the fields.
pub(super) fn out_of_range(config: &RunConfig) -> Vec<Problem> {
    let table = Table::try_from(config).expect("a configuration is a table");
    let problem = |path: &str| {
        let (number, value) = match value_at(&table, path)? {
            toml::Value::Integer(count) => (*count as f64, count.to_string()),
            toml::Value::Float(number) => (*number, format!("{number:?}")),
            _ => return None,
        };
        let range = Range::of(schema::of_field(path)?).filter(|range| !range.contains(number))?;
        Some(Problem { field: path.to_owned(), value, expected: range.words() })
    };
    fields().iter().filter_map(|field| problem(&field.path)).collect()
}

/// The numbers that a field takes.
struct Range {
    is_count: bool,
    least: Option<f64>,
    above: Option<f64>,
    most: Option<f64>,
}

impl Range {
    /// The limits that an attribute of the field gives; those of an unsigned type alone are none.
    fn of(schema: &Value) -> Option<Self> {
        let number = |key: &str| schema.get(key).and_then(Value::as_f64);
        let is_count = schema.get("type").is_some_and(|kind| kind == "integer");
        let least = number("minimum").filter(|least| !is_count || *least > 0.0);
        let (above, most) = (number("exclusiveMinimum"), number("maximum"));
        let is_limited = least.is_some() || above.is_some() || most.is_some();
        is_limited.then_some(Self { is_count, least, above, most })
    }

    fn contains(&self, number: f64) -> bool {
        number.is_finite()
            && self.least.is_none_or(|least| number >= least)
            && self.above.is_none_or(|above| number > above)
            && self.most.is_none_or(|most| number <= most)
    }

    fn words(&self) -> String {
        match (self.least, self.above, self.most) {
            (Some(least), _, Some(most)) if self.is_count => format!("{least} to {most}"),
            (Some(least), _, Some(most)) => format!("a number in {least}..={most}"),
            (Some(least), _, None) if self.is_count => format!("at least {least}"),
            (Some(least), _, None) => format!("a finite number of at least {least}"),
            (None, Some(above), Some(most)) => format!("above {above} and at most {most}"),
            (None, Some(above), None) => format!("a finite number above {above}"),
            (None, None, most) => format!("at most {}", most.unwrap_or(f64::INFINITY)),
        }
    }
}
