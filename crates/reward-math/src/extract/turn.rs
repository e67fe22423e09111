//! The model's own last words: chat templates left in a text, and reasoning that was closed.

use std::ops::Range;

/// What opens a turn of the user or of the system.
const PROMPTS: [&str; 13] = [
    "<|im_start|>user",
    "<|im_start|>system",
    "<|start_header_id|>user",
    "<|start_header_id|>system",
    "<|user|>",
    "<|system|>",
    "<|User|>",
    "<｜User｜>",
    "<start_of_turn>user",
    "[INST]",
    "<s>[INST]",
    "### Instruction:",
    "### Question:",
];

/// What opens a turn of the model.
const REPLIES: [&str; 9] = [
    "<|im_start|>assistant",
    "<|start_header_id|>assistant<|end_header_id|>",
    "<|assistant|>",
    "<|Assistant|>",
    "<｜Assistant｜>",
    "<start_of_turn>model",
    "[/INST]",
    "### Response:",
    "### Answer:",
];

/// The same where the marks were left out when the text was decoded: the roles alone on their lines.
const BARE: [(&str, &str); 4] = [
    ("system\n", "\nassistant\n"),
    ("user\n", "\nassistant\n"),
    ("User:", "\nAssistant:"),
    ("Human:", "\nAssistant:"),
];

/// Marks before a first turn.
const BEGINNINGS: [&str; 4] =
    ["<|begin_of_text|>", "<|endoftext|>", "<｜begin▁of▁sentence｜>", "<s>"];

/// The part of a text that is the model's own answer: behind the prompt that a template left before it, before the next
/// turn of a user, behind closed reasoning. `None` where the whole text is.
pub(super) fn own(response: &str) -> Option<Range<usize>> {
    let start = behind_prompt(response);
    let (mut end, mut thought) = (response.len(), start);
    // Every other mark begins with this character, which is rare.
    for (at, _) in response[start..].match_indices('<') {
        let at = start + at;
        let rest = &response[at..];
        if rest.starts_with("</think>") {
            thought = at + "</think>".len();
        } else if !response[start..at].trim().is_empty()
            && PROMPTS.iter().any(|prompt| rest.starts_with(prompt))
        {
            end = at;
            break;
        }
    }
    let start = if response[thought..end].trim().is_empty() { start } else { thought };
    (start > 0 || end < response.len()).then_some(start..end)
}

/// Where the last reply begins in a text that opens with a prompt; 0 in any other.
fn behind_prompt(response: &str) -> usize {
    let mut opening = response.trim_start();
    for beginning in BEGINNINGS {
        opening = opening.strip_prefix(beginning).map_or(opening, str::trim_start);
    }
    let marked = PROMPTS.iter().any(|prompt| opening.starts_with(prompt));
    let bare = BARE.iter().find(|(prompt, _)| opening.starts_with(prompt));
    let last = |reply: &str| {
        let behind = |(at, _): (usize, &str)| at + reply.len();
        let ends = response.rmatch_indices(reply).map(behind);
        ends.into_iter().find(|end| !response[*end..].trim().is_empty())
    };
    match bare {
        _ if marked => REPLIES.iter().filter_map(|reply| last(reply)).max().unwrap_or(0),
        Some((_, reply)) => last(reply).unwrap_or(0),
        None => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::own;

    #[test]
    fn templates_and_closed_reasoning_are_left_out() {
        for (text, expected) in [
            ("<|im_start|>user\nQ<|im_end|>\n<|im_start|>assistant\nA", "\nA"),
            ("<s>[INST] Q [/INST] A", " A"),
            ("system\nS\nuser\nQ\nassistant\nA", "A"),
            ("A<|im_end|>\n<|im_start|>user\nQ", "A<|im_end|>\n"),
            ("<think>B</think> A", " A"),
            ("B</think>\nA", "\nA"),
        ] {
            assert_eq!(own(text).map(|span| &text[span]), Some(expected), "{text}");
        }
        for text in ["A", "<think>B", "<think>B</think>\n", "a < b", "user: A", "[INST]"] {
            assert_eq!(own(text), None, "{text}");
        }
    }
}
