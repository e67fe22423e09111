//! File and `--set` to a [`RunConfig`].

use std::ops::Range;
use std::path::Path;

use toml::{Table, Value};

use super::nearest::nearest;
use super::{ConfigError, RunConfig, fields};

/// Fields whose value is one key of several: setting another key replaces the one there.
const ONE_OF: [&str; 12] = [
    "data.train",
    "data.evaluation",
    "reward.overlong",
    "rollout.engine",
    "rollout.engine.openai.correction",
    "algorithm.advantage",
    "algorithm.aggregation",
    "algorithm.policy_loss",
    "algorithm.policy_loss.covariance-control.base",
    "algorithm.policy_loss.covariance-control.select",
    "algorithm.policy_loss.covariance-control.treatment",
    "algorithm.reference_kl.coefficient",
];

/// Fields that a bare string names a file for.
const SOURCES: [&str; 2] = ["data.train", "data.evaluation"];

impl RunConfig {
    /// Reads a TOML file, then applies `key.path=value` overrides in order.
    ///
    /// A value is read as TOML; a bare word that is none is taken as a string (`model.dtype=bf16`).
    ///
    /// # Errors
    ///
    /// [`ConfigError`]: a syntax error, unknown key or wrong type with file, line and column; an override with
    /// the keys it may have meant.
    pub fn load(path: &Path, overrides: &[String]) -> Result<Self, ConfigError> {
        let text = std::fs::read_to_string(path)
            .map_err(|source| ConfigError::Read { path: path.to_path_buf(), source })?;
        Self::parse(&text, path, overrides)
    }

    /// Like [`RunConfig::load`], from the text of the file; `path` names it in errors.
    ///
    /// # Errors
    ///
    /// As for [`RunConfig::load`].
    pub fn parse(text: &str, path: &Path, overrides: &[String]) -> Result<Self, ConfigError> {
        let syntax = |error: &toml::de::Error| {
            let (line, column) = place(text, error.span());
            let message = explain(error.message());
            ConfigError::Syntax { path: path.to_path_buf(), line, column, message }
        };
        let written = toml::from_str::<Self>(text);
        if overrides.is_empty() {
            return written.map_err(|error| syntax(&error));
        }
        let mut table: Table = toml::from_str(text).map_err(|error| syntax(&error))?;
        apply_all(&mut table, overrides)?;
        match (from_table(table), written) {
            (Ok(config), _) => Ok(config),
            // The file itself was wrong, and the overrides did not mend it.
            (Err(_), Err(error)) => Err(syntax(&error)),
            (Err(message), Ok(_)) => {
                Err(ConfigError::Override { argument: overrides.join(" --set "), message })
            }
        }
    }
}

/// The configuration of a whole table.
pub(super) fn from_table(table: Table) -> Result<RunConfig, String> {
    Value::Table(table).try_into().map_err(|error: toml::de::Error| {
        let text = error.to_string();
        explain(text.trim_end())
    })
}

/// Applies `key.path=value` overrides in order.
pub(super) fn apply_all(table: &mut Table, overrides: &[String]) -> Result<(), ConfigError> {
    overrides.iter().try_for_each(|argument| {
        apply(table, argument)
            .map_err(|message| ConfigError::Override { argument: argument.clone(), message })
    })
}

fn apply(table: &mut Table, argument: &str) -> Result<(), String> {
    let (path, value) = argument.split_once('=').ok_or("has no `=`, expected key.path=value")?;
    let path = path.trim();
    check_known(path)?;
    let value = parse_value(value.trim())?;
    let mut keys: Vec<&str> = path.split('.').collect();
    let last = keys.pop().ok_or("has no key, expected key.path=value")?;
    let mut inner = table;
    let mut walked = String::new();
    for key in keys {
        walked = if walked.is_empty() { key.to_owned() } else { format!("{walked}.{key}") };
        let entry = inner.entry(key).or_insert_with(|| Value::Table(Table::new()));
        if !entry.is_table() && ONE_OF.contains(&walked.as_str()) {
            *entry = Value::Table(Table::new());
        }
        let Value::Table(next) = entry else {
            return Err(format!("`{walked}` is a value, expected a table"));
        };
        if ONE_OF.contains(&walked.as_str()) {
            let chosen = path[walked.len() + 1..].split('.').next().unwrap_or_default();
            next.retain(|other, _| other == chosen);
        }
        inner = next;
    }
    let value = match value {
        // A file of questions by its bare name.
        Value::String(file) if SOURCES.contains(&path) => {
            let path = Table::from_iter([("path".to_owned(), Value::String(file))]);
            Value::Table(Table::from_iter([("file".to_owned(), Value::Table(path))]))
        }
        value => value,
    };
    inner.insert(last.to_owned(), value);
    Ok(())
}

/// A key is known if it is a field, a table on the way to one, or inside a field that is one of several shapes.
fn check_known(path: &str) -> Result<(), String> {
    let inside = |inner: &str, outer: &str| {
        inner.strip_prefix(outer).is_some_and(|rest| rest.starts_with('.'))
    };
    let known = |field: &str| {
        field == path || inside(field, path) || (ONE_OF.contains(&field) && inside(path, field))
    };
    let paths = || fields().iter().map(|field| field.path.as_ref());
    if paths().any(known) {
        return Ok(());
    }
    let leaf = |path: &'static str| path.rsplit('.').next().unwrap_or(path);
    let mut close = nearest(path, paths(), 3);
    if close.is_empty() {
        // The section may be missing: compare last names only.
        let written = path.rsplit('.').next().unwrap_or(path);
        let leaves = nearest(written, paths().map(leaf), 3);
        let has_leaf = |path: &&'static str| leaves.contains(&leaf(path));
        close = paths().filter(has_leaf).collect();
        // Those of the run itself before those of a part of it.
        close.sort_by_key(|path| path.matches('.').count());
        close.truncate(3);
    }
    let close: Vec<String> = close.iter().map(|path| format!("`{path}`")).collect();
    Err(match close.as_slice() {
        [] => format!("unknown key `{path}`, expected one of docs/configuration.md"),
        _ => format!("unknown key `{path}`, did you mean {}?", close.join(" or ")),
    })
}

fn parse_value(text: &str) -> Result<Value, String> {
    let parsed = toml::from_str::<Table>(&format!("value = {text}"));
    match parsed {
        Ok(mut table) if table.len() == 1 => Ok(table.remove("value").expect("it has one key")),
        Ok(_) => Err(format!("value {text:?} holds more than one value, expected one")),
        Err(_) if is_bare(text) => Ok(Value::String(text.to_owned())),
        Err(error) => Err(format!("value {text:?} is not TOML: {}", one_line(error.message()))),
    }
}

/// What a shell user means as a string without quoting it twice: a word or a path.
fn is_bare(text: &str) -> bool {
    let plain = |c: char| c.is_alphanumeric() || "._-/:+".contains(c);
    !text.is_empty() && text.chars().all(plain)
}

/// Adds the nearest name to serde's "unknown field `x`, expected one of `a`, `b`".
fn explain(message: &str) -> String {
    let message = one_line(message);
    let quoted: Vec<&str> = message.split('`').skip(1).step_by(2).collect();
    match quoted.as_slice() {
        [wrong, known @ ..] if message.contains("unknown ") => {
            match nearest(wrong, known.iter().copied(), 1).first() {
                Some(close) => format!("{message} (did you mean `{close}`?)"),
                None => message,
            }
        }
        _ => message,
    }
}

fn one_line(message: &str) -> String {
    message.trim().replace('\n', ", ")
}

/// Line and column, in characters from 1, of the start of a byte range.
fn place(text: &str, span: Option<Range<usize>>) -> (usize, usize) {
    let before = span.and_then(|span| text.get(..span.start)).unwrap_or_default();
    let line_start = before.rfind('\n').map_or(0, |end| end + 1);
    (before.matches('\n').count() + 1, before[line_start..].chars().count() + 1)
}
