//! Ranges of numbers, as the attributes of fields give them.

use serde_json::Value;

use super::schema;

/// The range of a field in words; `None` where the type is the only limit.
pub(super) fn range(path: &str) -> Option<String> {
    Range::of_field(path).map(|range| range.words())
}

/// The numbers that a field takes.
pub(super) struct Range {
    is_count: bool,
    least: Option<f64>,
    above: Option<f64>,
    most: Option<f64>,
}

impl Range {
    /// The limits of a field, if an attribute gives any.
    pub(super) fn of_field(path: &str) -> Option<Self> {
        schema::of_field(path).and_then(Self::of)
    }

    /// The limits that an attribute of the field gives; those of an unsigned type alone are none.
    fn of(schema: &Value) -> Option<Self> {
        let number = |key: &str| schema.get(key).and_then(Value::as_f64);
        let is_count = schema.get("type").is_some_and(|kind| kind == "integer");
        let least = number("minimum").filter(|least| !is_count || *least > 0.0);
        let (above, most) = (number("exclusiveMinimum"), number("maximum"));
        let is_limited = least.is_some() || above.is_some() || most.is_some();
        is_limited.then_some(Self { is_count, least, above, most })
    }

    /// True for a finite number within the limits.
    pub(super) fn contains(&self, number: f64) -> bool {
        number.is_finite()
            && self.least.is_none_or(|least| number >= least)
            && self.above.is_none_or(|above| number > above)
            && self.most.is_none_or(|most| number <= most)
    }

    /// The limits in words, as an error and the page say them.
    pub(super) fn words(&self) -> String {
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
