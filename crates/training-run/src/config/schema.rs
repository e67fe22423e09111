//! JSON schema of a configuration, and what it says of a field: meaning, range, and where it stands.

use std::sync::LazyLock;

use schemars::SchemaGenerator;
use serde_json::Value;

use super::sections::RunConfig;

/// JSON schema (2020-12) of a configuration as written, for editors and other programs.
pub fn schema() -> &'static Value {
    static SCHEMA: LazyLock<Value> =
        LazyLock::new(|| SchemaGenerator::default().into_root_schema_for::<RunConfig>().to_value());
    &SCHEMA
}

pub(super) fn of_field(path: &str) -> Option<&'static Value> {
    find(path).map(|found| found.schema)
}

/// True if a field is a choice, whose table holds one key of several.
pub(super) fn is_choice(path: &str) -> bool {
    let Some(schema) = of_field(path) else { return false };
    let alternatives = branches(schema);
    alternatives.into_iter().any(|branch| is_alternative(branch, schema))
}

pub(super) struct Property<'a> {
    schema: &'a Value,
    /// The doc comment of the field.
    pub(super) description: Option<&'a str>,
    /// True if the field must be given where its section or choice is used.
    pub(super) is_required: bool,
}

pub(super) fn find(path: &str) -> Option<Property<'static>> {
    let root = Property { schema: schema(), description: None, is_required: false };
    path.split('.').try_fold(root, |parent, key| property(parent.schema, key))
}

/// The property `key` of an object, or the alternative of that name among several.
fn property<'a>(schema: &'a Value, key: &str) -> Option<Property<'a>> {
    branches(schema).into_iter().find_map(|branch| {
        let inner = branch.get("properties")?.get(key)?;
        let description = inner.get("description").or_else(|| branch.get("description"));
        let required = branch.get("required").and_then(Value::as_array);
        let is_named = required.is_some_and(|names| names.iter().any(|name| name == key));
        // The name of an alternative is required in its own object only.
        let is_required = is_named && !is_alternative(branch, schema);
        Some(Property {
            schema: inner,
            description: description.and_then(Value::as_str),
            is_required,
        })
    })
}

/// True if `branch` is an object of one name among the alternatives of `schema`.
fn is_alternative(branch: &Value, schema: &Value) -> bool {
    let names = branch.get("properties").and_then(Value::as_object);
    !std::ptr::eq(branch, resolved(schema)) && names.is_some_and(|names| names.len() == 1)
}

/// The schema itself and all its alternatives, references resolved.
pub(super) fn branches(schema: &Value) -> Vec<&Value> {
    let schema = resolved(schema);
    let alternatives = ["oneOf", "anyOf"].into_iter().filter_map(|key| schema.get(key)?.as_array());
    let inner = alternatives.flatten().flat_map(branches);
    std::iter::once(schema).chain(inner).collect()
}

/// The schema that a reference leads to.
fn resolved(part: &Value) -> &Value {
    let reference = part.get("$ref").and_then(Value::as_str);
    match reference.and_then(|reference| schema().pointer(reference.strip_prefix('#')?)) {
        Some(definition) => resolved(definition),
        None => part,
    }
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
        of_field(path).and_then(Self::of)
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
