//! Every field of a configuration: its path, default and meaning, read off the types.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use rl_losses::registry;
use toml::{Table, Value};

use super::defaults::{SHAPES, shaped};
use super::feedable::feedable;
use super::range::range;
use super::schema;
use super::sections::RunConfig;

/// One field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Field {
    /// Dotted path.
    pub path: String,
    /// Default as TOML; `None` for a field that must be given.
    pub default: Option<String>,
    /// Values it takes, where its type is not the only limit and `meaning` does not say it.
    pub range: Option<String>,
    /// Meaning and unit: the doc comment of the field.
    pub meaning: String,
}

/// Settings that are one of several shapes: a field as a whole.
const WHOLE: [&str; 6] = ["select", "treatment", "base", "correction", "custom", "by_source"];

/// Lists every field: section by section, then the settings of every policy loss and advantage estimator.
pub fn fields() -> &'static [Field] {
    static FIELDS: LazyLock<Vec<Field>> = LazyLock::new(|| {
        let mut seen = BTreeSet::new();
        let mut fields: Vec<Field> =
            configurations().flat_map(|config| fields_of(&config, &mut seen)).collect();
        let mut sections: Vec<String> = Vec::new();
        for field in &fields {
            if !sections.iter().any(|section| section == section_of(field)) {
                sections.push(section_of(field).to_owned());
            }
        }
        fields.sort_by_key(|field| sections.iter().position(|name| name == section_of(field)));
        fields
    });
    &FIELDS
}

/// The first name of a field's path; empty for a field of the run itself.
pub(super) fn section_of(field: &Field) -> &str {
    field.path.split_once('.').map_or("", |(section, _)| section)
}

/// Configurations that together have every field.
fn configurations() -> impl Iterator<Item = RunConfig> {
    let losses =
        registry().iter().map(|method| format!("algorithm.policy_loss = \"{}\"", method.name));
    let estimators = feedable().map(|entry| format!("algorithm.advantage = \"{}\"", entry.name));
    let shapes = SHAPES.into_iter().map(str::to_owned);
    shapes.chain(losses).chain(estimators).map(|choice| shaped(&choice))
}

/// The fields of one configuration that `seen` does not have yet, in the order of their structs.
fn fields_of(config: &RunConfig, seen: &mut BTreeSet<String>) -> Vec<Field> {
    let table = Table::try_from(config).expect("a configuration is a table");
    let text = toml::to_string(config).expect("a configuration is TOML");
    let mut fields = Vec::new();
    for path in paths(&text).into_iter().map(whole) {
        let value = value_at(&table, &path).expect("the path was read off this configuration");
        let is_empty = value.as_table().is_none_or(Table::is_empty);
        let is_whole = path == whole(format!("{path}.x"));
        if (is_empty || is_whole) && seen.insert(path.clone()) {
            fields.push(field(path, value));
        }
    }
    fields
}

fn field(path: String, value: &Value) -> Field {
    let default = match value {
        // `1e-8`, where `toml` would write every zero.
        Value::Float(number) => format!("{number:?}"),
        other => other.to_string(),
    };
    let default = (!schema::is_required(&path)).then_some(default);
    let (range, meaning) = (range(&path), schema::meaning(&path));
    Field { path, default, range, meaning }
}

/// Dotted paths of all lines of a TOML text, headers of sections included, in its order.
fn paths(text: &str) -> Vec<String> {
    let mut section = String::new();
    let mut paths = Vec::new();
    for line in text.lines() {
        if let Some(header) = line.strip_prefix('[') {
            header.trim_end_matches(']').clone_into(&mut section);
            paths.push(section.clone());
        } else if let Some((key, _)) = line.split_once(" = ") {
            let is_top = section.is_empty();
            paths.push(if is_top { key.to_owned() } else { format!("{section}.{key}") });
        }
    }
    paths
}

/// Cuts a path within a field of several shapes to that field.
fn whole(path: String) -> String {
    let names: Vec<&str> = path.split('.').collect();
    match names.iter().position(|name| WHOLE.contains(name)) {
        Some(last) => names[..=last].join("."),
        None => path,
    }
}

/// True if `path` leads to something within `outer`.
pub(super) fn inside(path: &str, outer: &str) -> bool {
    path.strip_prefix(outer).is_some_and(|rest| rest.starts_with('.'))
}

/// The value at a dotted path.
pub(super) fn value_at<'a>(table: &'a Table, path: &str) -> Option<&'a Value> {
    match path.split_once('.') {
        Some((first, rest)) => value_at(table.get(first)?.as_table()?, rest),
        None => table.get(path),
    }
}

/// Lines of a page, one a field: `key = default`, range and the first sentence of its meaning.
pub(super) fn list<'a>(fields: impl Iterator<Item = &'a Field>) -> String {
    let mut list = String::new();
    for Field { path, default, range, meaning } in fields {
        let range = range.as_deref().map(short_range);
        let (default, notes) = match (default, range) {
            (Some(text), None) => (format!(" = {text}"), String::new()),
            (Some(text), Some(range)) => (format!(" = {text}"), format!(" ({range})")),
            (None, None) => (String::new(), " (required)".to_owned()),
            (None, Some(range)) => (String::new(), format!(" (required, {range})")),
        };
        list.extend(["- `", path, &default, "`", &notes, ": ", &short_meaning(meaning), "\n"]);
    }
    list
}

/// A range without the words that say it is one of finite numbers.
fn short_range(range: &str) -> &str {
    let starts = ["a finite number of ", "a finite number ", "a number in "];
    starts.into_iter().find_map(|start| range.strip_prefix(start)).unwrap_or(range)
}

/// The first sentence of a meaning with its links; `…` in place of the full stop if there is more.
pub(super) fn short_meaning(meaning: &str) -> String {
    let first = first_sentence(meaning);
    let text = linked(first);
    if first.len() == meaning.len() { text } else { format!("{}…", text.trim_end_matches('.')) }
}

/// Words whose full stop ends no sentence.
const ABBREVIATIONS: [&str; 3] = ["e.g", "i.e", "Dr"];

/// A text up to its first full stop outside code that a space and an upper-case letter or a backtick follow.
pub(super) fn first_sentence(text: &str) -> &str {
    let mut is_code = false;
    for (index, character) in text.char_indices() {
        if character == '`' {
            is_code = !is_code;
        }
        let rest = text[index..].strip_prefix(". ").unwrap_or_default();
        let is_end = rest.starts_with(|next: char| next.is_uppercase() || next == '`');
        let is_short = ABBREVIATIONS.into_iter().any(|word| text[..index].ends_with(word));
        if is_end && !is_code && !is_short {
            return &text[..=index];
        }
    }
    text
}

/// Pages that a meaning names (`docs/PAGE.md`) as links.
fn linked(meaning: &str) -> String {
    let mut text = String::new();
    for (index, part) in meaning.split('`').enumerate() {
        let is_code = index % 2 == 1;
        match part.strip_prefix("docs/").filter(|_| is_code) {
            Some(page) => {
                let name = page.split(".md").next().unwrap_or(page);
                text.extend(["[", name, "](", page, ")"]);
            }
            None if is_code => text.extend(["`", part, "`"]),
            None => text.push_str(part),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_links_and_code_stays() {
        assert_eq!(
            linked("See (`docs/rollout.md#truncated-sampling`), not `top_p`."),
            "See ([rollout](rollout.md#truncated-sampling)), not `top_p`."
        );
    }

    #[test]
    fn a_first_sentence_ends_at_a_full_stop_before_a_capital_or_code() {
        for (text, first) in [
            ("One. Two.", "One."),
            ("One, `a. B`, one. `b` is two.", "One, `a. B`, one."),
            ("A list, e.g. `a`, of Dr. GRPO. Two.", "A list, e.g. `a`, of Dr. GRPO."),
            ("Version 1. 2 is not out", "Version 1. 2 is not out"),
            ("Above 0.5. no capital.", "Above 0.5. no capital."),
            ("Length in Å. Ångström.", "Length in Å."),
            ("", ""),
        ] {
            assert_eq!(first_sentence(text), first);
        }
    }

    #[test]
    fn a_line_has_default_range_and_first_sentence() {
        let field = |default: Option<&str>, range: Option<&str>, meaning: &str| Field {
            path: "a.b".to_owned(),
            default: default.map(str::to_owned),
            range: range.map(str::to_owned),
            meaning: meaning.to_owned(),
        };
        let fields = [
            field(Some("1.0"), Some("a finite number above 0"), "One (`docs/rollout.md`). Two."),
            field(Some("\"x\""), None, "One."),
            field(None, Some("at least 1"), "One."),
            field(None, None, "One."),
        ];
        assert_eq!(
            list(fields.iter()),
            "- `a.b = 1.0` (above 0): One ([rollout](rollout.md))…\n\
             - `a.b = \"x\"`: One.\n\
             - `a.b` (required, at least 1): One.\n\
             - `a.b` (required): One.\n"
        );
    }

    #[test]
    fn every_field_of_the_schema_is_listed_with_its_meaning() {
        let listed: BTreeSet<&str> = fields().iter().map(|field| field.path.as_str()).collect();
        assert_eq!(listed.len(), fields().len(), "a field is listed twice");
        for field in fields() {
            assert!(field.meaning.ends_with(['.', ')']), "{}: {:?}", field.path, field.meaning);
        }
        // The trainer refuses GAE, which needs a critic.
        let is_refused = |path: &str| path.starts_with("algorithm.advantage.gae.");
        for path in schema::leaves().into_iter().map(whole) {
            assert!(listed.contains(path.as_str()) || is_refused(&path), "{path} is not listed");
        }
    }
}
