//! A ground truth, parsed once and compared with many responses.

use std::sync::Arc;

use crate::answer::{Answer, Node};
use crate::decide::{decide, decide_with_witness};
use crate::extract::{
    Extracted, Question, Rule, all_of_last_paragraph, by_parts, extract, extract_answering,
    letter_behind, only_number, own_turn,
};
use crate::options::Options;
use crate::table::pattern;
use crate::verdict::{ParseError, Side, Verdict};
use crate::witness::Witness;
use crate::words;

/// A ground truth, parsed once and compared with the responses of a group.
#[derive(Debug, Clone)]
pub struct Gold {
    answer: Answer,
    /// The answer with its comma as a decimal point, if it may be one.
    pointed: Option<Answer>,
    options: Options,
    question: Option<Arc<Question>>,
}

/// Longest sentence of which the only number is taken, in bytes.
const LONGEST_SENTENCE: usize = 2048;

impl Gold {
    /// Parses a ground truth: a bare answer, or a text with the answer in a box or after `####`.
    ///
    /// # Errors
    ///
    /// An error if the text holds no readable answer.
    pub fn parse(ground_truth: &str, options: &Options) -> Result<Self, ParseError> {
        let marked = ["\\boxed", "\\fbox", "####"].iter().any(|mark| ground_truth.contains(mark));
        let every_mark = Options { strict: false, ..options.clone() };
        let inner = marked.then(|| extract(ground_truth, &every_mark)).flatten();
        let text = inner.as_ref().map_or(ground_truth, |extracted| extracted.text.as_str());
        let pointed = words::with_decimal_point(text).and_then(|text| Answer::parse(&text).ok());
        let mut answer = Answer::parse(text)?;
        if text.contains("log") {
            answer = answer.with_natural_logarithms();
        }
        Ok(Self { answer, pointed, options: options.clone(), question: None })
    }

    /// Adds the question, so that nothing is extracted from a response's repetition of it.
    #[must_use]
    pub fn asked(self, question: &str) -> Self {
        Self { question: Some(Arc::new(Question::new(question))), ..self }
    }

    /// Extracts the answer of a response as [`Gold::verify`] does.
    pub fn extract(&self, response: &str) -> Option<Extracted> {
        extract_answering(response, self.question.as_deref(), &self.options)
    }

    /// Compares a response with this ground truth.
    pub fn verify(&self, response: &str) -> Verdict {
        let Some(extracted) = self.extract(response) else {
            return Verdict::Unparsed { which: Side::Response, why: ParseError::NoAnswer };
        };
        let verdict = self.verify_answer(&extracted.text);
        if verdict.is_right() {
            return verdict;
        }
        if let Some(right) = self.with_decimal_commas(response, &extracted.text) {
            return right;
        }
        let others = [
            self.parts(response, &extracted),
            self.letter(response, &extracted),
            with_domain(response, &extracted),
            self.number(&extracted),
        ];
        let verdicts = others.into_iter().flatten().map(|answer| self.verify_answer(&answer));
        verdicts.into_iter().find(Verdict::is_right).unwrap_or(verdict)
    }

    /// Returns all marked answers, where the ground truth is a list: a box for each of the parts (a), (b), or several
    /// marks in a paragraph.
    fn parts(&self, response: &str, extracted: &Extracted) -> Option<String> {
        let Ok([Node::List { items, .. }, ..]) = self.answer.readings.as_deref() else {
            return None;
        };
        if !matches!(extracted.rule, Rule::Box | Rule::Bold | Rule::LastNumber) {
            return None;
        }
        let response = own_turn(response);
        if let Some(parts) = by_parts(response).filter(|_| extracted.rule == Rule::Box) {
            return Some(parts);
        }
        let all = all_of_last_paragraph(response, items.len())?;
        // What each value is called is said in words, in the order of the ground truth.
        let named = items.iter().any(|item| matches!(item, Node::Chain { .. }));
        Some(if named && !all.contains('=') { format!("({all})") } else { all })
    }

    /// Returns D for `\boxed{12}`, "which is choice (D)".
    fn letter(&self, response: &str, extracted: &Extracted) -> Option<String> {
        let choice = extracted.rule == Rule::Box && self.answer.is_choice();
        let behind = choice.then(|| &response[extracted.span.end..])?;
        letter_behind(behind).map(str::to_owned)
    }

    /// Returns the only number of a sentence, if the ground truth is one: "Jane started growing it 3 hours ago".
    fn number(&self, extracted: &Extracted) -> Option<String> {
        let in_words = extracted.text.len() <= LONGEST_SENTENCE
            && !matches!(extracted.rule, Rule::Box | Rule::Tag | Rule::HashMarks)
            && Answer::parse(&extracted.text).is_ok_and(|answer| answer.is_words())
            && !self.answer.is_words()
            && !words::takes_back(&extracted.text.to_lowercase());
        let number = only_number(&extracted.text).filter(|_| in_words)?;
        Some(extracted.text[number].to_owned())
    }

    /// Compares with commas as decimal points, in a response in a language that writes them; `None` if not right.
    fn with_decimal_commas(&self, response: &str, answer: &str) -> Option<Verdict> {
        let pointed = words::with_decimal_point(answer);
        if pointed.is_none() && self.pointed.is_none() || !words::writes_decimal_commas(response) {
            return None;
        }
        let answer = Answer::parse(pointed.as_deref().unwrap_or(answer)).ok()?;
        let gold = self.pointed.as_ref().unwrap_or(&self.answer);
        Some(decide(&answer, gold, &self.options)).filter(Verdict::is_right)
    }

    /// Returns evidence that a bare answer is wrong, if [`Gold::verify_answer`] says so.
    pub fn witness(&self, answer: &str) -> Option<Witness> {
        decide_with_witness(&Answer::parse(answer).ok()?, &self.answer, &self.options).1
    }

    /// Compares a bare answer, without extraction, with this ground truth.
    pub fn verify_answer(&self, answer: &str) -> Verdict {
        match Answer::parse(answer) {
            Ok(answer) => decide(&answer, &self.answer, &self.options),
            Err(why) => Verdict::Unparsed { which: Side::Response, why },
        }
    }
}

/// Returns a boxed answer with the domain of its parameter behind the box: `\boxed{x = 2k\pi}, k \in \mathbb{Z}`.
fn with_domain(response: &str, extracted: &Extracted) -> Option<String> {
    let behind = (extracted.rule == Rule::Box).then(|| &response[extracted.span.end..])?;
    let domain = pattern!(
        r"(?x)^[}\s$,;.)\]\\]*(?:\\quad)?[\s$(\\]*(?:where|for|with|\\text\{[a-z\x20]*\})?[\s$(\\]*([a-zA-Z])\s*\\in\s*\\mathbb\s*\{?([ZNRC])"
    );
    // "where $a, b$ are arbitrary integers"
    let constants = pattern!(
        r"^[}\s$,;.)\]\\]*(?:where|for|with)[\s$]*(?:arbitrary|any|some|real|constants|integers|\s)*[\s$]*([a-zA-Z]),\s*([a-zA-Z])[\s$]*(?:are|\.|$|\)|,)"
    );
    if let Some(names) = constants.captures(behind) {
        return Some(format!(
            "{}, {}, {} \\in \\mathbb{{R}}",
            extracted.text, &names[1], &names[2]
        ));
    }
    let parts = domain.captures(behind).filter(|_| !extracted.text.contains("\\in"))?;
    let occurs = extracted.text.contains(&parts[1]);
    occurs.then(|| format!("{}, {} \\in \\mathbb{{{}}}", extracted.text, &parts[1], &parts[2]))
}
