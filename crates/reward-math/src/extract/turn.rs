//! The model's own last reply: without text of chat templates, and after closed reasoning.

use std::ops::Range;
use std::sync::LazyLock;

use crate::table::{captured, pattern};

/// Kinds and marks of chat templates: they open a turn of the user or of the system (`prompt`) or of the model (`reply`),
/// stand before the first turn (`beginning`) or end one (`end`).
static MARKS: LazyLock<Vec<(&str, &str)>> = LazyLock::new(|| {
    include_str!("turns.txt").lines().filter_map(|line| line.split_once(' ')).collect()
});

fn marks(kind: &str) -> impl Iterator<Item = &'static str> {
    MARKS.iter().filter(move |(own, _)| *own == kind).map(|(_, mark)| *mark)
}

/// Roles on lines of their own, if decoding removed the marks of the template.
const BARE: [(&str, &str); 4] = [
    ("system\n", "\nassistant\n"),
    ("user\n", "\nassistant\n"),
    ("User:", "\nAssistant:"),
    ("Human:", "\nAssistant:"),
];

/// Returns the part of a text that is the model's own reply; `None` if that is all of it.
///
/// It begins after a prompt that a template left and after closed reasoning, and ends before the next user turn.
pub(super) fn own(response: &str) -> Option<Range<usize>> {
    let start = behind_prompt(response);
    let (mut end, mut thought) = (response.len(), start);
    let stops: Vec<&str> = marks("prompt").chain(marks("end")).collect();
    // Every other mark begins with this character, which is rare.
    for (offset, _) in response[start..].match_indices('<') {
        let mark_start = start + offset;
        let rest = &response[mark_start..];
        if rest.starts_with("</think>") {
            thought = mark_start + "</think>".len();
        } else if !response[start..mark_start].trim().is_empty()
            && stops.iter().any(|stop| rest.starts_with(stop))
        {
            end = mark_start;
            break;
        }
    }
    if let Some(next) = next_problem(&response[thought..end]) {
        end = thought + next;
    }
    (thought > 0 || end < response.len()).then_some(thought..end)
}

/// Returns the start of another problem behind an answer, with which a base model goes on: "Problem 2: …", "Human: …".
fn next_problem(reply: &str) -> Option<usize> {
    let heading = pattern!(
        r"\n\s*(?:#+ *|\*\*)?(?:Human:|User:|Q:|Instruction:|Pregunta ?:|Frage:|Вопрос:|Задача:|[问題题][题目目]?[：:]|(?:Problem|Question|Exercise|Example)(?: ?[0-9]+)?(?:[:.*]|\s*\n))"
    );
    // "The answer is 1/4.\n\nWhat fraction of an hour is 40 minutes?"
    let asked = pattern!(
        r"(?i:answer is|answer:|respuesta:|答案[是：:]|答[：:])[^\n]*\n(\s*\n(?:[0-9]+[.)] )?(?:What|Which|How|Find|Solve|Write|Calculate|Evaluate|A|An) [^\n]{20,}\?)\s*[^\n]*\n"
    );
    // " C\n\nWhat is the remainder …?\nA. 1"
    let listed = pattern!(
        r"^\s*\(?[A-J](?:[).][^\n]{0,60})?(\n\s*\n)(?:[^\n]{15,}\?\s*\n|[^\n]{30,}:\s*\n(?s:.*)\nAnswer:)"
    );
    if let Some(behind) = captured(listed, reply).filter(|_| !reply.contains("boxed")) {
        return Some(behind.start());
    }
    let heading = heading.find(reply).map(|heading| heading.start());
    let asked = captured(asked, reply).map(|asked| asked.start());
    let next = heading.into_iter().chain(asked).min()?;
    let before = reply[..next].trim_end();
    // The problem itself, and others with their answers, are parts of the reply.
    let repeats = pattern!(
        r"\b(?:Problem|Question|Exercise|Example|Part)\b|\b(?:example|(?:problem|question) (?:is|was|says))\b"
    )
    .is_match(before);
    let concludes = before.ends_with(['.', '$', ']', ')', '}', '*', '!', '`', '。'])
        || before.ends_with(char::is_numeric);
    let answers = concludes
        && (before.contains(|c: char| c.is_ascii_digit() || c == '$') || before.contains("answer"));
    // Of several boxes the last counts, wherever it is.
    (answers && !repeats && !reply[next..].contains("boxed")).then_some(next)
}

/// Returns the start of the last reply in a text that opens with a prompt; 0 in any other.
fn behind_prompt(response: &str) -> usize {
    let mut opening = response.trim_start();
    for beginning in marks("beginning") {
        opening = opening.strip_prefix(beginning).map_or(opening, str::trim_start);
    }
    let marked = marks("prompt").any(|prompt| opening.starts_with(prompt));
    let bare = BARE.iter().find(|(prompt, _)| opening.starts_with(prompt));
    let last = |reply: &str| {
        let behind = |(at, _): (usize, &str)| at + reply.len();
        let ends = response.rmatch_indices(reply).map(behind);
        ends.into_iter().find(|end| !response[*end..].trim().is_empty())
    };
    match bare {
        _ if marked => marks("reply").filter_map(last).max().unwrap_or(0),
        Some((_, reply)) => last(reply).unwrap_or(0),
        None => 0,
    }
}
