//! File and `--set` to a [`RunConfig`].

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use messages::{in_file, nearest, plain_words};
use model_files::hub_name::HubName;
use question_data::dataset::DataSource;
use toml::{Table, Value};
use whole_file::{FileError, LONGEST_TEXT_BYTES, read_text_at_most};

use super::field::{dotted, inside, leaves};
use super::{ConfigError, Field, RunConfig, fields, schema};

/// Fields that a string may stand for, as [`DataSource::named`] reads it.
const SOURCES: [&str; 2] = ["data.train", "data.evaluation"];

impl RunConfig {
    /// Reads a TOML file, then applies `key.path=value` overrides in order.
    ///
    /// A value is read as TOML. Where a field holds text, what is no TOML string is taken as it stands
    /// (`model.dtype=bf16`). Paths of the file become relative to its folder; those of `overrides` stay relative to the
    /// working directory.
    ///
    /// # Errors
    ///
    /// [`ConfigError`]: a syntax error, unknown key or wrong type with file, line and column; an override with
    /// the keys it may have meant.
    pub fn load(path: &Path, overrides: &[String]) -> Result<Self, ConfigError> {
        let text = read_text_at_most(path, LONGEST_TEXT_BYTES)
            .map_err(|error| ConfigError(FileError::of(path, "read")(error).to_string()))?;
        Self::parse(&text, path, overrides)
    }

    /// Like [`RunConfig::load`], from the text of the file; `path` names it in errors.
    ///
    /// # Errors
    ///
    /// The errors of [`RunConfig::load`].
    pub fn parse(text: &str, path: &Path, overrides: &[String]) -> Result<Self, ConfigError> {
        let is_yaml = |extension: &OsStr| extension == "yaml" || extension == "yml";
        if path.extension().is_some_and(is_yaml) {
            return Err(ConfigError(format!(
                "{}: is YAML, expected TOML; docs/configuration.md has an example and, for verl's keys, the names here",
                path.display()
            )));
        }
        let syntax = |error: &toml::de::Error| {
            let mut message = explain(error.message());
            if let Some(here) = keys_of_verl(text, error.message()) {
                message = format!("{message}; {here}");
            }
            ConfigError(in_file(path, text, error.span(), message))
        };
        let written = toml::from_str::<Self>(text);
        let folder = path.parent().unwrap_or(Path::new(""));
        if overrides.is_empty() {
            let config = written.map_err(|error| syntax(&error))?;
            return Ok(config.with_paths_below(folder, overrides));
        }
        let mut table: Table = toml::from_str(text).map_err(|error| syntax(&error))?;
        apply_all(&mut table, overrides)?;
        match (from_table(table), written) {
            (Ok(config), _) => Ok(config.with_paths_below(folder, overrides)),
            // The file itself was wrong, and the overrides did not mend it.
            (Err(_), Err(error)) => Err(syntax(&error)),
            (Err(message), Ok(_)) => {
                Err(ConfigError::of_override(&overrides.join(" --set "), &message))
            }
        }
    }

    /// Makes the paths relative to `folder`, except names of the hub and those that `overrides` gave.
    fn with_paths_below(mut self, folder: &Path, overrides: &[String]) -> Self {
        let keys = || overrides.iter().filter_map(|argument| argument.split('=').next());
        let overridden =
            |field: &str| keys().map(str::trim).any(|key| key == field || inside(field, key));
        let relocate = |(field, path): (&str, &mut PathBuf)| {
            let is_name = HubName::of_path(path, folder).is_some();
            if !path.as_os_str().is_empty() && !overridden(field) && !is_name {
                *path = folder.join(&path);
            }
        };
        self.models().into_iter().for_each(relocate);
        let files = self.question_files().into_iter();
        files.map(|(field, file)| (field, &mut file.path)).for_each(relocate);
        self
    }
}

pub(super) fn from_table(table: Table) -> Result<RunConfig, String> {
    Value::Table(table).try_into().map_err(|error: toml::de::Error| {
        let text = error.to_string();
        explain(text.trim_end())
    })
}

pub(super) fn apply_all(table: &mut Table, overrides: &[String]) -> Result<(), ConfigError> {
    overrides.iter().try_for_each(|argument| {
        apply(table, argument).map_err(|message| ConfigError::of_override(argument, &message))
    })
}

fn apply(table: &mut Table, argument: &str) -> Result<(), String> {
    let (path, value) = argument.split_once('=').ok_or("has no `=`, expected key.path=value")?;
    let path = path.trim();
    check_known(path)?;
    let value = parse_value(value.trim(), path)?;
    let mut keys: Vec<&str> = path.split('.').collect();
    let last = keys.pop().ok_or("has no key, expected key.path=value")?;
    let mut inner = table;
    let mut walked = String::new();
    for key in keys {
        walked = dotted(&walked, key);
        let entry = inner.entry(key).or_insert_with(|| Value::Table(Table::new()));
        if let (Value::String(name), true) = (&*entry, SOURCES.contains(&walked.as_str())) {
            // A bare name is expanded, so that a setting within it can be changed.
            *entry = Value::try_from(DataSource::named(name)).expect("a source is a table");
        }
        if !entry.is_table() && schema::is_choice(&walked) {
            *entry = Value::Table(Table::new());
        }
        let Value::Table(next) = entry else {
            return Err(format!("`{walked}` is a value, expected a table"));
        };
        if schema::is_choice(&walked) {
            let chosen = path[walked.len() + 1..].split('.').next().unwrap_or_default();
            next.retain(|other, _| other == chosen);
        }
        inner = next;
    }
    inner.insert(last.to_owned(), value);
    Ok(())
}

/// Refuses a key that no configuration has, with the keys it may have meant.
pub(super) fn check_known(path: &str) -> Result<(), String> {
    if schema::of_field(path).is_some() {
        return Ok(());
    }
    let paths = || fields().iter().map(|field| field.path.as_str());
    if let Some(here) = verl_key(path) {
        return Err(here);
    }
    let (section, written) = parts(path);
    let named_so = |section: Option<&str>| -> Vec<&'static str> {
        let within = || paths().filter(|path| section.is_none_or(|known| parts(path).0 == known));
        let names = nearest(written, within().map(|path| parts(path).1), 3);
        let is_meant = |name| names.contains(&name) || abbreviates(written, name);
        within().filter(|path| is_meant(parts(path).1)).collect()
    };
    let mut close = named_so(Some(section));
    if close.is_empty() && schema::of_field(section).is_none() {
        close = nearest(path, paths(), 3);
    }
    if close.is_empty() {
        close = named_so(None);
        // Those of the run itself before those of a part of it.
        close.sort_by_key(|path| path.matches('.').count());
    }
    close.truncate(3);
    let close: Vec<String> = close.iter().map(|path| format!("`{path}`")).collect();
    Err(match close.as_slice() {
        [] => format!("unknown key `{path}`, expected one of docs/configuration.md"),
        _ => format!("unknown key `{path}`, did you mean {}?", close.join(" or ")),
    })
}

/// A path without its last name, and that.
fn parts(path: &str) -> (&str, &str) {
    path.rsplit_once('.').unwrap_or(("", path))
}

/// True if `short` begins a name, or is the first letters of its words: `lr` of `learning_rate`.
fn abbreviates(short: &str, name: &str) -> bool {
    let initials: String = name.split('_').filter_map(|word| word.chars().next()).collect();
    !short.is_empty() && (name.starts_with(short) || initials == short)
}

fn parse_value(text: &str, path: &str) -> Result<Value, String> {
    let as_it_stands = || Value::String(text.to_owned());
    match toml::from_str::<Table>(&format!("value = {text}")) {
        Ok(mut table) if table.len() == 1 => {
            let value = table.remove("value").expect("it has one key");
            let is_text = value.is_str() || value.is_table() || value.is_array();
            Ok(if holds_text(path) && !is_text { as_it_stands() } else { value })
        }
        Ok(_) => Err(format!("value {text:?} holds more than one value, expected one")),
        Err(_) if is_bare(text) => Ok(as_it_stands()),
        // A quote that is not closed is a slip, not a part of the text.
        Err(_) if holds_text(path) && !text.starts_with(['"', '\'']) => Ok(as_it_stands()),
        Err(error) => Err(format!("value {text:?} is not TOML: {}", one_line(error.message()))),
    }
}

/// True if the value of a field is a text, a path or a name.
fn holds_text(path: &str) -> bool {
    let is_text = |field: &Field| {
        let is_quoted = field.default.as_deref().is_some_and(|text| text.starts_with('"'));
        let of_text = is_quoted || field.path.ends_with("path");
        field.path == path && (of_text || path == "name")
    };
    SOURCES.contains(&path) || fields().iter().any(is_text)
}

/// True for a word or a path, which a shell user need not quote twice.
fn is_bare(text: &str) -> bool {
    let plain = |c: char| c.is_alphanumeric() || "._-/:+".contains(c);
    !text.is_empty() && text.chars().all(plain)
}

/// Adds the nearest name to serde's "unknown field `x`, expected one of `a`, `b`".
fn explain(message: &str) -> String {
    let message = plain_words(&one_line(message));
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

/// Names our fields for keys of verl in a file, if one of them is the field that serde does not know.
fn keys_of_verl(text: &str, message: &str) -> Option<String> {
    let unknown = message.split("unknown field `").nth(1)?.split('`').next()?;
    let table: Table = toml::from_str(text).ok()?;
    let keys: Vec<String> = leaves(&table)
        .into_iter()
        .filter(|(_, value)| !value.is_table())
        .map(|leaf| leaf.0)
        .collect();
    verl_keys_here(keys.iter().map(String::as_str), unknown)
}

fn one_line(message: &str) -> String {
    message.trim().replace('\n', ", ")
}

/// Returns the keys of verl's `ppo_trainer.yaml`, and of its entropy recipe, each with the field of the same meaning.
///
/// # Panics
///
/// If a line of the table has no field.
pub fn verl_keys() -> impl Iterator<Item = (&'static str, &'static str)> {
    include_str!("verl.txt").lines().map(|line| line.split_once(' ').expect("a key and a field"))
}

/// Most keys of a file that a message names.
const NAMED: usize = 3;

/// Page with all keys.
const PAGE: &str = "docs/configuration.md#keys-of-verl";

/// Names our field for a key of verl; `None` for any other key.
fn verl_key(key: &str) -> Option<String> {
    let key = key.trim_start_matches('+');
    let (_, field) = verl_keys().find(|(verl, _)| *verl == key)?;
    Some(format!("`{key}` is a key of verl, here it is `{field}` ({PAGE})"))
}

/// Names our fields for the keys of verl in a file that contain the name `unknown`.
fn verl_keys_here<'a>(keys: impl Iterator<Item = &'a str>, unknown: &str) -> Option<String> {
    let of_verl = |key: &str| verl_keys().find(|(verl, _)| *verl == key);
    let with_name = keys.filter(|key| key.split('.').any(|part| part == unknown));
    let named: Vec<String> = with_name
        .filter_map(of_verl)
        .take(NAMED)
        .map(|(key, field)| format!("`{key}` is `{field}`"))
        .collect();
    (!named.is_empty()).then(|| format!("of verl's keys, {} here ({PAGE})", named.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_of_verl_leads_to_a_field_and_stands_once() {
        for (index, (verl, field)) in verl_keys().enumerate() {
            assert_eq!(check_known(field), Ok(()), "{verl}");
            assert!(!verl_keys().take(index).any(|(other, _)| other == verl), "{verl} twice");
        }
    }
}
