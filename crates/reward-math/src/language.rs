//! Lists of words and phrases, in `language.txt`: a line holds a name, and its phrases between bars.

use std::collections::HashMap;
use std::sync::LazyLock;

static LISTS: LazyLock<HashMap<&str, Vec<&str>>> = LazyLock::new(|| {
    let lists = include_str!("language.txt").lines().filter_map(|line| line.split_once(": "));
    lists.map(|(name, phrases)| (name, phrases.split('|').collect())).collect()
});

/// Returns the phrase behind another in a list of pairs.
pub(crate) fn paired(name: &str, phrase: &str) -> Option<&'static str> {
    phrases(name).chunks_exact(2).find(|pair| pair[0] == phrase).map(|pair| pair[1])
}

/// Returns a pattern for any phrase of a list.
pub(crate) fn any_of(name: &str) -> String {
    phrases(name).iter().map(|phrase| regex::escape(phrase)).collect::<Vec<_>>().join("|")
}

/// Returns the phrases of a list.
pub(crate) fn phrases(name: &str) -> &'static [&'static str] {
    LISTS.get(name).map_or(&[], Vec::as_slice)
}
