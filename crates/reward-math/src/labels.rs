//! Answers that name several values, of which the question asks for one: `\text{width} = 14, \text{area} = 322`.

use crate::table::pattern;

/// Returns the value whose label alone the last sentence of the question holds.
pub(crate) fn asked(answer: &str, question: &str) -> Option<String> {
    let label =
        pattern!(r"\\text(?:bf)?\s*\{\s*([A-Za-z][A-Za-z ]{0,30}?)\s*(?::\s*\}|\}\s*[:=]|=\s*\})");
    let labels: Vec<_> =
        label.captures_iter(answer).filter_map(|all| all.get(0).zip(all.get(1))).collect();
    if labels.len() < 2 {
        return None;
    }
    let sentence = question.trim_end().trim_end_matches(['.', '?', '!']);
    let start = sentence.rfind(['.', '?', '!', '\n']).map_or(0, |end| end + 1);
    let words: Vec<String> = words(&sentence[start..]);
    let named = |label: &str| {
        let label = self::words(label);
        words.windows(label.len()).any(|part| part == label)
    };
    let mut named = labels.iter().enumerate().filter(|(_, (_, label))| named(label.as_str()));
    let (place, (all, _)) = named.next().filter(|_| named.next().is_none())?;
    let end = labels.get(place + 1).map_or(answer.len(), |(next, _)| next.start());
    let separators = pattern!(r"^[\s:=]+|(?:[\s,;.]|\\[,;\x20]|\\q?quad)+$");
    Some(separators.replace_all(&answer[all.end()..end], "").into_owned())
}

/// Returns the words in small letters, without "'s".
fn words(text: &str) -> Vec<String> {
    let lower = text.to_lowercase().replace("'s", "").replace("’s", "");
    lower
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_owned)
        .collect()
}
