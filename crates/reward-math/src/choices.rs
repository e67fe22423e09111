//! The choices that a question lists: `(A) 550 (B) 570`, `\textbf{(A)}\ 12 \qquad \textbf{(B)}\ 15`, lines `A. …`.

use std::ops::Range;

use crate::answer::Answer;
use crate::decide::if_right;
use crate::options::Options;
use crate::table::{Pattern, pattern, single, tail};
use crate::verdict::Verdict;
use crate::words;

/// Length of the end of a question in which its choices stand, in bytes.
const TAIL: usize = 8192;

/// One of the choices of a question: its letter as a capital, its text as [`plain`] returns it and as an answer.
#[derive(Debug, Clone)]
struct Choice {
    letter: char,
    plain: String,
    answer: Answer,
}

/// The choices that a question lists.
#[derive(Debug, Clone)]
pub(crate) struct Choices(Vec<Choice>);

impl Choices {
    /// Returns the choices of a question that can be read.
    pub(crate) fn of(question: &str) -> Self {
        let choice = |(letter, text): (char, String)| {
            Some(Choice { letter, plain: plain(&text), answer: Answer::parse(&text).ok()? })
        };
        Self(texts(question).into_iter().filter_map(choice).collect())
    }

    /// Returns the verdict on an answer that is the text of the choice which the ground truth names, or that names the
    /// choice whose text the ground truth is; `None` if it is wrong or no choice.
    pub(crate) fn verdict(&self, text: &str, gold: &Answer, options: &Options) -> Option<Verdict> {
        if self.0.is_empty() {
            return None;
        }
        let answer = Answer::parse(text).ok()?;
        // Two choices that say the same decide nothing.
        let only = |response: Option<&Answer>, gold: Option<&Answer>| {
            let equal = |choice: &Choice| {
                let content = &choice.answer;
                let verdict =
                    if_right(response.unwrap_or(content), gold.unwrap_or(content), options)?;
                Some((choice.letter, verdict))
            };
            single(self.0.iter().filter_map(equal))
        };
        let small = words::small_choices(&answer.spelling, false);
        let named = if answer.choices.is_empty() { &small } else { &answer.choices };
        // A choice may say `x = a`, `b` or `c` itself.
        let is_text = |letter: &char| {
            let plain = plain(&gold.spelling);
            letter.is_ascii()
                && !gold.is_choice()
                && self.0.iter().any(|choice| choice.plain == plain)
        };
        let Some(letter) = letter(gold).filter(|letter| !is_text(letter)) else {
            return only(None, Some(gold))
                .filter(|(equal, _)| answer.content.is_none() && named.as_slice() == [*equal])
                .map(|(_, verdict)| verdict);
        };
        // "(B)" where the ground truth is `b`.
        let is = |said: char| (said == letter).then(|| if_right(gold, gold, options))?;
        if let [named] = named.as_slice() {
            return is(*named);
        }
        let plain = plain(text);
        if let Some(written) = self.0.iter().find(|choice| choice.plain == plain) {
            return is(written.letter);
        }
        only(Some(&answer), None).filter(|(equal, _)| *equal == letter).map(|(_, verdict)| verdict)
    }

    /// Returns the letter of the choice with whose text the last sentence ends, if the ground truth is a letter.
    pub(crate) fn at_the_end(&self, response: &str, gold: &Answer) -> Option<String> {
        const SHORTEST: usize = 4;
        letter(gold)?;
        let last = response.trim_end().trim_end_matches(['.', '!', '*']);
        let start = last.rfind(['.', '!', '?', '\n']).map_or(0, |end| end + 1);
        let sentence = plain(&last[start..]);
        let ends = |choice: &&Choice| {
            let worded = choice.plain.contains(char::is_alphabetic);
            worded && choice.plain.len() >= SHORTEST && sentence.ends_with(&choice.plain)
        };
        let choice = self.0.iter().filter(ends).max_by_key(|choice| choice.plain.len())?;
        let before = &sentence[..sentence.len() - choice.plain.len()];
        let denied = pattern!(r"not|n['’]t|never|no$|instead|except");
        let names = |other: &Choice| other.plain.len() >= SHORTEST && before.contains(&other.plain);
        (!denied.is_match(before) && !self.0.iter().any(names)).then(|| choice.letter.to_string())
    }
}

/// Returns the letter that a ground truth is, as a capital.
fn letter(gold: &Answer) -> Option<char> {
    let small = words::small_choices(&gold.spelling, true);
    let letters = if gold.is_choice() { &gold.choices } else { &small };
    if let [letter] = letters.as_slice() { Some(*letter) } else { None }
}

/// Returns the letters of the choices, as capitals, and their texts, in order.
fn texts(question: &str) -> Vec<(char, String)> {
    let question = tail(question, TAIL);
    if !["A", "①", "a)", "a]", "a."].iter().any(|first| question.contains(first)) {
        return Vec::new();
    }
    let marks: [&Pattern; 4] = [
        pattern!(
            r"(?:\\(?:text|textbf|textrm|mathrm|mathbf|bf|rm)\s*\{*\s*)?[(\[]\s*(?:\\(?:text|textbf|mathrm|mathbf)\s*\{)?\s*([A-Ja-j])\s*\}?(?:\\?[ ,;~])*[)\]](?:\\?[ ,;~:])*\}*"
        ),
        pattern!(
            r"(?:^|[\s$*：:;,]|\\q?quad)\**([A-Ja-j])\**[.．、:：)](?P<text>[\s$*(\\\-0-9]|[^\x00-\x7F])"
        ),
        pattern!(r"(?m)^[ \t]*([A-J])[ \t　]"),
        pattern!(r"([①-⑨])\s*"),
    ];
    // Two letters are choices only in brackets or in lines of their own.
    let opens_lines =
        |run: &[Mark]| run.iter().all(|(_, mark)| question[..mark.start].ends_with('\n'));
    let is_list = |(kind, run): &(usize, Vec<Mark>)| {
        run.len() > 2 || run.len() == 2 && (*kind == 0 || *kind == 1 && opens_lines(run))
    };
    let runs = marks.into_iter().map(|mark| run(mark, question)).enumerate();
    let run = runs.into_iter().find(is_list).map(|(_, run)| run);
    let Some(run) = run else { return Vec::new() };
    let text = |place: usize| {
        let (letter, mark) = &run[place];
        let end = run.get(place + 1).map_or(question.len(), |(_, next)| next.start);
        let text = &question[mark.end..end];
        // Behind the last choice the question may go on.
        let line = text.trim_start().split('\n').next().filter(|_| place + 1 == run.len());
        (*letter, trimmed(line.unwrap_or(text)))
    };
    (0..run.len()).map(text).filter(|(_, text)| !text.is_empty()).collect()
}

/// A letter before the text of a choice, and its place.
type Mark = (char, Range<usize>);

/// Returns the marks from the last A or ① on, in the order of the letters.
fn run(mark: &Pattern, question: &str) -> Vec<Mark> {
    let mut run: Vec<Mark> = Vec::new();
    for mark in mark.captures_iter(question) {
        let Some((all, letter)) = mark.get(0).zip(mark[1].chars().next()) else { continue };
        let letter = letter.to_ascii_uppercase();
        let first = if letter.is_ascii() { 'A' } else { '①' };
        let place = u32::from(letter) - u32::from(first);
        if place == 0 {
            run.clear();
        } else if place as usize != run.len() {
            continue;
        }
        let end = mark.name("text").map_or(all.end(), |text| text.start());
        run.push((letter, all.start()..end));
    }
    run
}

/// Returns the text of a choice without the space and the signs that separate it from the next.
fn trimmed(text: &str) -> String {
    let separators = pattern!(
        r"^(?:[\s,;~*&}]|\\[ ,;\\]|\\q?quad\b)+|(?:[\s,;~*&]|\\[ ,;\\]|\\q?quad\b|\\text(?:bf)?\s*\{\s*)+$"
    );
    let text = separators.replace_all(text, "");
    // `$\textbf{(A)}\ 12 \qquad …$` is one formula.
    if text.matches('$').count() % 2 == 1 {
        return text.trim_matches('$').trim().to_owned();
    }
    text.into_owned()
}

/// Returns a text without the marks that may differ: commands for fonts, formulas, spaces and the full stop.
fn plain(text: &str) -> String {
    let marks = pattern!(r"\\(?:text|textbf|mathrm|mathbf|rm|bf)\b|\\[ ,;]|[\s{}$]|\.$");
    marks.replace_all(text, "").to_lowercase()
}
