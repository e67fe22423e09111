//! Numbers as the calculator reads them, each error naming the field and what was expected.

use serde::de::{Deserialize, Deserializer, Error, SeqAccess, Visitor};
use std::fmt;

const NUMBER: &str = "a finite number";
const LOGIT: &str = "a finite number, or null for an impossible action";

/// Logits, `[actions]`: null is `-∞`.
pub(super) fn logits<'de, D: Deserializer<'de>>(input: D) -> Result<Vec<f64>, D::Error> {
    let values = input.deserialize_any(Column { field: "logits", expected: LOGIT })?;
    Ok(values.into_iter().map(|value| value.unwrap_or(f64::NEG_INFINITY)).collect())
}

/// Advantages, `[actions]`; null where the action is impossible.
pub(super) fn advantages<'de, D: Deserializer<'de>>(
    input: D,
) -> Result<Vec<Option<f64>>, D::Error> {
    input.deserialize_any(Column { field: "advantages", expected: LOGIT })
}

pub(super) fn eta<'de, D: Deserializer<'de>>(input: D) -> Result<f64, D::Error> {
    let value = Option::deserialize(input).map_err(|error| located("eta", NUMBER, &error))?;
    value.ok_or_else(|| D::Error::custom(format!("`eta` is null; expected {NUMBER}")))
}

pub(super) fn rule<'de, D, R>(input: D) -> Result<R, D::Error>
where
    D: Deserializer<'de>,
    R: Deserialize<'de>,
{
    let expected = "`pg` or `npg`";
    R::deserialize(input).map_err(|error| located("rule", expected, &error))
}

/// Any JSON, kept as it stands.
pub(super) fn id<'de, D: Deserializer<'de>>(input: D) -> Result<serde_json::Value, D::Error> {
    serde_json::Value::deserialize(input).map_err(|error| located("id", "a JSON value", &error))
}

/// `error` with the name of its field in front and what was expected behind, where it does not say
/// so itself. The position that `serde_json` writes last stays last, where it is looked for.
fn located<E: Error>(field: &str, expected: &str, error: &E) -> E {
    let text = error.to_string();
    let (message, position) = text.split_at(text.find(" at line ").unwrap_or(text.len()));
    let message = if message == "expected value" { "not a JSON value" } else { message };
    // serde's name of a number.
    let message = match message.strip_suffix("f64") {
        Some(found) => format!("{found}{expected}"),
        None => message.to_owned(),
    };
    if message.ends_with(expected) {
        E::custom(format!("`{field}`: {message}{position}"))
    } else {
        E::custom(format!("`{field}`: {message}; expected {expected}{position}"))
    }
}

struct Column {
    field: &'static str,
    expected: &'static str,
}

impl<'de> Visitor<'de> for Column {
    type Value = Vec<Option<f64>>;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "`{}` to be an array with one value per action", self.field)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut values: A) -> Result<Self::Value, A::Error> {
        let mut column = Vec::new();
        loop {
            match values.next_element() {
                Ok(Some(value)) => column.push(value),
                Ok(None) => return Ok(column),
                Err(error) => {
                    let field = format!("{}[{}]", self.field, column.len());
                    return Err(located(&field, self.expected, &error));
                }
            }
        }
    }
}
