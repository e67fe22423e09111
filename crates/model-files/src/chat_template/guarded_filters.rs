//! Filters and methods whose result can be much longer than their arguments, with the length checked first.

use std::io::Write;

use minijinja::value::{Kwargs, Rest, StringInput, ValueKind, from_args};
use minijinja::{Environment, Error as JinjaError, ErrorKind, State, Value, filters};
use minijinja_contrib::pycompat::unknown_method_callback;
use serde::Serialize;
use serde_json::Serializer;
use serde_json::ser::{Formatter, PrettyFormatter};

use super::guard::{LONGEST_VALUE_BYTES, beyond, charge, size_of};

/// Widest indent.
const WIDEST_INDENT: usize = 32;

/// Replaces the filters and methods; those that no chat template needs are removed.
pub(super) fn install(environment: &mut Environment<'static>) {
    for name in ["batch", "slice", "pprint"] {
        environment.remove_filter(name);
    }
    environment.remove_global("debug");
    environment.add_filter("replace", replace);
    environment.add_filter("join", join);
    environment.add_filter("indent", indent);
    environment.add_filter("format", format);
    environment.add_filter("tojson", to_json);
    environment.set_unknown_method_callback(method);
}

fn replace(
    state: &State,
    value: StringInput<'_>,
    from: StringInput<'_>,
    to: StringInput<'_>,
) -> Result<Value, JinjaError> {
    check_replace(value.as_str(), from.as_str(), to.as_str())?;
    charged(state, filters::replace(state, value, from, to)?)
}

fn join(
    state: &State,
    value: &Value,
    joiner: Option<StringInput<'_>>,
) -> Result<Value, JinjaError> {
    check_join(value, joiner.as_ref().map_or("", |joiner| joiner.as_str()))?;
    charged(state, filters::join(state, value, joiner)?)
}

#[expect(clippy::needless_pass_by_value, reason = "filters take their arguments by value")]
fn indent(state: &State, value: StringInput<'_>, args: Rest<Value>) -> Result<Value, JinjaError> {
    let (width, first, blank, named): (Option<usize>, Option<bool>, Option<bool>, Kwargs) =
        from_args(&args)?;
    let width = width.or(named.get("width")?);
    let lines = value.as_str().lines().count();
    check_length(lines.saturating_add(1).saturating_mul(width.unwrap_or(4)))?;
    charged(state, filters::indent(value, width, first, blank, named)?)
}

fn format(state: &State, pattern: &Value, values: Rest<Value>) -> Result<Value, JinjaError> {
    check_format(pattern.as_str().unwrap_or_default(), &values)?;
    charged(state, filters::format(state, pattern, values)?)
}

/// Writes JSON as `transformers` does: spaces behind `,` and `:`, or lines with an indent, and no character escaped that need not be.
#[expect(clippy::needless_pass_by_value, reason = "filters take their arguments by value")]
fn to_json(
    state: &State,
    value: &Value,
    indent: Option<Value>,
    named: Kwargs,
) -> Result<Value, JinjaError> {
    let indent = indent.or(named.get("indent")?).filter(|indent| !indent.is_none());
    named.assert_all_used()?;
    let width = indent.map(usize::try_from).transpose()?;
    if width.is_some_and(|width| width > WIDEST_INDENT) {
        return Err(beyond("an indent of 32"));
    }
    let parts = size_of(value)?.parts;
    check_length(parts.saturating_mul(WIDEST_INDENT).saturating_mul(width.unwrap_or(0)))?;
    let mut text = Vec::new();
    let written = match width {
        Some(width) => {
            let blanks = vec![b' '; width];
            let lines = PrettyFormatter::with_indent(&blanks);
            value.serialize(&mut Serializer::with_formatter(&mut text, lines))
        }
        None => value.serialize(&mut Serializer::with_formatter(&mut text, OneLine)),
    };
    let failed = |problem: String| {
        JinjaError::new(
            ErrorKind::BadSerialization,
            format!("cannot be written as JSON: {problem}"),
        )
    };
    written.map_err(|error| failed(error.to_string()))?;
    let text = String::from_utf8(text).map_err(|error| failed(error.to_string()))?;
    charged(state, Value::from(text))
}

/// One line, with a space behind `,` and `:`.
struct OneLine;

impl Formatter for OneLine {
    fn begin_array_value<W: ?Sized + Write>(
        &mut self,
        to: &mut W,
        first: bool,
    ) -> std::io::Result<()> {
        to.write_all(if first { b"" } else { b", " })
    }

    fn begin_object_key<W: ?Sized + Write>(
        &mut self,
        to: &mut W,
        first: bool,
    ) -> std::io::Result<()> {
        to.write_all(if first { b"" } else { b", " })
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, to: &mut W) -> std::io::Result<()> {
        to.write_all(b": ")
    }
}

fn method(state: &State, value: &Value, name: &str, args: &[Value]) -> Result<Value, JinjaError> {
    if let (ValueKind::String, Some(text)) = (value.kind(), value.as_str()) {
        match name {
            "replace" => {
                let (from, to, _): (&str, &str, Option<i32>) = from_args(args)?;
                check_replace(text, from, to)?;
            }
            "join" => {
                let (values,): (&Value,) = from_args(args)?;
                check_join(values, text)?;
            }
            "format" => check_format(text, args)?,
            _ => {}
        }
    }
    unknown_method_callback(state, value, name, args)
}

/// Filters that `map` calls for each item pass no guard of their own.
fn charged(state: &State, value: Value) -> Result<Value, JinjaError> {
    charge(state, &value)?;
    Ok(value)
}

fn check_length(bytes: usize) -> Result<(), JinjaError> {
    if bytes > LONGEST_VALUE_BYTES {
        return Err(beyond("8 MiB of text of one value"));
    }
    Ok(())
}

fn check_replace(text: &str, from: &str, to: &str) -> Result<(), JinjaError> {
    let places = text.matches(from).count();
    check_length(text.len().saturating_add(places.saturating_mul(to.len())))
}

fn check_join(values: &Value, joiner: &str) -> Result<(), JinjaError> {
    let size = size_of(values)?;
    check_length(size.bytes.saturating_add(size.parts.saturating_mul(joiner.len())))
}

/// A pattern may name a width or precision of at most three digits, and each value once or a few times.
fn check_format(pattern: &str, values: &[Value]) -> Result<(), JinjaError> {
    let is_wide = pattern.split(|character: char| !character.is_ascii_digit());
    if is_wide.map(str::len).max() > Some(3) || pattern.contains('*') {
        return Err(beyond("a width of three digits"));
    }
    let fields = pattern.matches(['%', '{']).count();
    let longest = values.iter().map(|value| Ok(size_of(value)?.bytes));
    let longest = longest.collect::<Result<Vec<_>, JinjaError>>()?.into_iter().max().unwrap_or(0);
    check_length(pattern.len().saturating_add(fields.saturating_mul(longest.saturating_add(999))))
}
