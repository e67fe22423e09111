//! Bounds on the values, the output and the time of a rendering.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use minijinja::value::{Object, ValueKind};
use minijinja::{Environment, Error as JinjaError, ErrorKind, State, Value, escape_formatter};

/// Name of the filter that guards a value; no template can write it.
pub(super) const GUARD: &str = "guard:value";

/// Name of the filter that guards a value which a namespace will hold: it may be no namespace, or one could hold itself.
pub(super) const GUARD_OF_KEPT: &str = "guard:kept";

/// Longest text of a value, in bytes.
pub(super) const LONGEST_VALUE_BYTES: usize = 8 << 20;

/// Most parts of a list or map, those of its parts counted too.
const MOST_PARTS: usize = 1 << 20;

/// Deepest list or map.
const DEEPEST: usize = 32;

/// Bytes of all values and of the output of one rendering.
const MOST_BYTES_IN_ALL: u64 = 128 << 20;

/// A list's part costs as much as this many bytes of text.
const BYTES_OF_A_PART: usize = 16;

/// Longest rendering.
const LONGEST: Duration = Duration::from_secs(10);

/// Sets the guard of values, and the formatter that bounds the output.
pub(super) fn install(environment: &mut Environment<'static>) {
    environment.add_filter(GUARD, |state: &State, value: Value| {
        charge(state, &value)?;
        Ok::<_, JinjaError>(value)
    });
    environment.add_filter(GUARD_OF_KEPT, |value: Value| {
        add(&mut Size::default(), &value, 1)?;
        Ok::<_, JinjaError>(value)
    });
    environment.set_formatter(|output, state, value| {
        spend(state, size_of(value)?.bytes)?;
        escape_formatter(output, state, value)
    });
}

/// Refuses a value that is too large, and takes its size from what is left of the rendering.
pub(super) fn charge(state: &State, value: &Value) -> Result<(), JinjaError> {
    let size = size_of(value)?;
    // A list shares its texts with the values it was made of.
    let bytes = value.as_str().map_or(size.parts.saturating_mul(BYTES_OF_A_PART), str::len);
    spend(state, bytes)
}

/// Error of a rendering that goes beyond a bound.
pub(super) fn beyond(bound: &str) -> JinjaError {
    JinjaError::new(ErrorKind::InvalidOperation, format!("the template goes beyond {bound}"))
}

/// Size of a value with all its parts.
#[derive(Default)]
pub(super) struct Size {
    /// Length of its text.
    pub(super) bytes: usize,
    /// Values it consists of, itself among them.
    pub(super) parts: usize,
}

/// Returns the size of a value.
///
/// # Errors
///
/// If it is longer, larger or deeper than bounds allow, or if a list or map holds a namespace: a namespace changes, so
/// that a list of many would have no size.
pub(super) fn size_of(value: &Value) -> Result<Size, JinjaError> {
    let mut size = Size::default();
    add(&mut size, value, 0)?;
    Ok(size)
}

fn add(size: &mut Size, value: &Value, depth: usize) -> Result<(), JinjaError> {
    size.parts += 1;
    size.bytes += match value.kind() {
        ValueKind::String => value.as_str().map_or(0, str::len),
        ValueKind::Bytes => value.as_bytes().map_or(0, <[u8]>::len),
        ValueKind::Undefined => 0,
        _ => BYTES_OF_A_PART,
    };
    if size.bytes > LONGEST_VALUE_BYTES || size.parts > MOST_PARTS {
        return Err(beyond("8 MiB of text or a million parts of one value"));
    }
    let is_namespace =
        value.as_object().is_some_and(|object| object.type_name().ends_with("Namespace"));
    if is_namespace && depth > 0 {
        let problem =
            "a list, map or namespace holds a namespace, expected values that do not change";
        return Err(JinjaError::new(ErrorKind::InvalidOperation, problem));
    }
    if !matches!(value.kind(), ValueKind::Seq | ValueKind::Map | ValueKind::Iterable) {
        return Ok(());
    }
    if depth == DEEPEST {
        return Err(beyond("32 levels of lists in lists"));
    }
    for part in value.try_iter()? {
        add(size, &part, depth + 1)?;
        if value.kind() == ValueKind::Map {
            add(size, &value.get_item(&part)?, depth + 1)?;
        }
    }
    Ok(())
}

/// Bounds that remain for one rendering.
#[derive(Debug)]
struct Budget {
    bytes: AtomicU64,
    start: Instant,
}

impl Object for Budget {}

fn spend(state: &State, bytes: usize) -> Result<(), JinjaError> {
    let budget = state.get_or_set_temp_object("budget", || Budget {
        bytes: AtomicU64::new(MOST_BYTES_IN_ALL),
        start: Instant::now(),
    });
    if budget.start.elapsed() > LONGEST {
        return Err(beyond("10 seconds"));
    }
    let left = budget.bytes.load(Ordering::Relaxed);
    let left =
        left.checked_sub(bytes as u64).ok_or_else(|| beyond("128 MiB of values and output"))?;
    budget.bytes.store(left, Ordering::Relaxed);
    Ok(())
}
