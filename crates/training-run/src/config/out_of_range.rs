//! Numbers of a configuration outside the range of their field.

use messages::Problem;
use toml::{Table, Value};

use super::field::{fields, value_at};
use super::range::Range;
use super::sections::RunConfig;

/// Lists the numbers outside the range that the attribute of their field gives, in the order of the fields.
pub(super) fn out_of_range(config: &RunConfig) -> Vec<Problem> {
    let table = Table::try_from(config).expect("a configuration is a table");
    let problem = |path: &String| {
        let (number, value) = match value_at(&table, path)? {
            Value::Integer(count) => (*count as f64, count.to_string()),
            Value::Float(number) => (*number, format!("{number:?}")),
            _ => return None,
        };
        let range = Range::of_field(path).filter(|range| !range.contains(number))?;
        Some(Problem { field: path.clone(), value, expected: range.words() })
    };
    fields().iter().filter_map(|field| problem(&field.path)).collect()
}
