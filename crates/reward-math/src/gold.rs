//! A ground truth, parsed once and compared with many responses.

use std::sync::Arc;

use crate::answer::{Answer, Node};
use crate::decide::{decide, decide_with_witness};
use crate::extract::{
    Extracted, Question, Rule, by_parts, extract, extract_answering, letter_behind, only_number,
};
use crate::options::Options;
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
        if !verdict.is_right()
            && let Some(right) = self.with_decimal_commas(response, &extracted.text)
        {
            return right;
        }
        // A box for each of the parts (a), (b).
        let several = matches!(self.answer.readings.as_deref(), Ok([Node::List { .. }, ..]));
        if !verdict.is_right()
            && several
            && extracted.rule == Rule::Box
            && let Some(parts) = by_parts(response)
        {
            return self.verify_answer(&parts);
        }
        // `\boxed{12}`, which is choice (D).
        if !verdict.is_right() && extracted.rule == Rule::Box && self.answer.is_choice() {
            let behind = &response[extracted.span.end..];
            if let Some(letter) = letter_behind(behind) {
                return self.verify_answer(letter);
            }
        }
        // "Jane started growing it 3 hours ago": a sentence with one number, if the ground truth is a number.
        let in_words = !verdict.is_right()
            && extracted.text.len() <= LONGEST_SENTENCE
            && !matches!(extracted.rule, Rule::Box | Rule::Tag | Rule::HashMarks)
            && Answer::parse(&extracted.text).is_ok_and(|answer| answer.is_words())
            && !self.answer.is_words()
            && !words::takes_back(&extracted.text.to_lowercase());
        match only_number(&extracted.text) {
            Some(span) if in_words => self.verify_answer(&extracted.text[span]),
            _ => verdict,
        }
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
