//! A field as one line of a page.

use training_run::config::Field;

/// True if `path` leads to something within `outer`.
pub(super) fn inside(path: &str, outer: &str) -> bool {
    path.strip_prefix(outer).is_some_and(|rest| rest.starts_with('.'))
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
