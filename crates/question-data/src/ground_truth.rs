//! Ground truth of a question: mathematics, the letter of a choice, a text, or the tests of a program.

use std::collections::BTreeMap;
use std::str::FromStr;

use code_sandbox::{Sandbox, SandboxError, UnitTests, program_of};
use reward_math::{Gold, How, Options, ParseError, Rung, Side, Verdict, extract, normal_form};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Method that compares a response with the known answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RewardKind {
    /// Mathematics, by `reward-math`.
    #[default]
    Math,
    /// One letter of several choices.
    MultipleChoice,
    /// Equal text, after both are normalised.
    ExactMatch(ExactMatch),
    /// Unit tests, run against the program in the response.
    Code,
}

impl FromStr for RewardKind {
    type Err = String;

    /// Returns a kind by its name in a configuration; its settings have their defaults.
    fn from_str(name: &str) -> Result<Self, String> {
        match name {
            "math" => Ok(Self::Math),
            "multiple-choice" => Ok(Self::MultipleChoice),
            "exact-match" => Ok(Self::ExactMatch(ExactMatch::default())),
            "code" => Ok(Self::Code),
            other => Err(format!(
                "kind of reward is {other:?}, expected \"math\", \"multiple-choice\", \"exact-match\" or \"code\""
            )),
        }
    }
}

/// Settings of [`RewardKind::ExactMatch`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ExactMatch {
    /// Differences that do not count: `"none"`, `"whitespace"`, `"case"` (and white space) or
    /// `"words"` (and ASCII punctuation, a, an, the).
    pub normalisation: Normalisation,
}

/// Differences between two texts that do not count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Normalisation {
    /// None: the texts must be equal byte for byte.
    None,
    /// White space: removed at the ends, one blank between words.
    #[default]
    Whitespace,
    /// White space and case.
    Case,
    /// White space, case, ASCII punctuation and the articles a, an, the.
    ///
    /// Source: the official evaluation of `SQuAD` (arXiv:1606.05250), `normalize_answer`.
    Words,
}

impl Normalisation {
    /// Removes what does not count from a text.
    pub fn apply(self, text: &str) -> String {
        let joined = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        match self {
            Self::None => text.to_owned(),
            Self::Whitespace => joined(text),
            Self::Case => joined(&text.to_lowercase()),
            Self::Words => {
                let plain: String =
                    text.to_lowercase().chars().filter(|c| !c.is_ascii_punctuation()).collect();
                let words =
                    plain.split_whitespace().filter(|word| !["a", "an", "the"].contains(word));
                words.collect::<Vec<_>>().join(" ")
            }
        }
    }
}

/// Kind of the answers for each source of questions.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RewardKinds {
    /// Kind of sources that are not named.
    pub otherwise: RewardKind,
    /// Kinds by [`Question::source`](crate::dataset::Question::source).
    pub by_source: BTreeMap<String, RewardKind>,
}

impl RewardKinds {
    /// Returns the kind of a source.
    pub fn of(&self, source: &str) -> RewardKind {
        self.by_source.get(source).copied().unwrap_or(self.otherwise)
    }

    /// Returns true if a kind needs programs to be run.
    pub fn run_programs(&self) -> bool {
        self.otherwise == RewardKind::Code
            || self.by_source.values().any(|kind| *kind == RewardKind::Code)
    }
}

/// A known answer, parsed, or several accepted ones.
#[derive(Debug, Clone)]
pub struct GroundTruth {
    /// The accepted answers, at least one, all of one kind.
    accepted: Vec<Kind>,
    options: Options,
}

#[derive(Debug, Clone)]
enum Kind {
    Math(Gold),
    Choice(Gold),
    Text { answer: String, normalisation: Normalisation },
    Code { text: String, tests: UnitTests },
}

impl RewardKind {
    /// Parses a known answer; `["1/2", "0.5"]`, a list of texts as JSON, holds accepted answers, of which each is right.
    ///
    /// # Errors
    ///
    /// An answer that does not fit this kind: no response could be right.
    pub fn read(self, answer: &str, options: &Options) -> Result<GroundTruth, ParseError> {
        let answers = if self == Self::Code { None } else { accepted(answer) };
        let answers = answers.unwrap_or_else(|| vec![answer.to_owned()]);
        let accepted = answers.iter().map(|answer| self.read_one(answer, options));
        let accepted = accepted.collect::<Result<Vec<Kind>, ParseError>>()?;
        Ok(GroundTruth { accepted, options: options.clone() })
    }

    fn read_one(self, answer: &str, options: &Options) -> Result<Kind, ParseError> {
        Ok(match self {
            Self::Math => Kind::Math(Gold::parse(answer, options)?),
            Self::MultipleChoice => {
                let inner = extract(answer, &Options::strict());
                let text = inner.as_ref().map_or(answer, |extracted| extracted.text.as_str());
                let expected = "the letter of a choice, A to J";
                let (_, gold) = letter(text).ok_or_else(|| unread(text.trim(), expected))?;
                Kind::Choice(gold)
            }
            Self::ExactMatch(ExactMatch { normalisation }) => {
                let answer = normalisation.apply(answer);
                if answer.is_empty() {
                    return Err(ParseError::Empty);
                }
                Kind::Text { answer, normalisation }
            }
            Self::Code => {
                let tests = UnitTests::read(answer)
                    .map_err(|error| unread(answer, format!("unit tests: {error}")))?;
                Kind::Code { text: answer.to_owned(), tests }
            }
        })
    }

    /// Refuses a known answer that no response could match, or only its exact spelling.
    ///
    /// # Errors
    ///
    /// The problem of the answer.
    pub fn check(self, answer: &str) -> Result<(), ParseError> {
        let truth = self.read(answer, &Options::default())?;
        truth.accepted.iter().try_for_each(|kind| match kind {
            Kind::Math(gold) => check_readable(gold),
            Kind::Choice(_) | Kind::Text { .. } | Kind::Code { .. } => Ok(()),
        })
    }
}

impl GroundTruth {
    /// Adds the question: neither its text nor a formula that it asks to calculate is an answer, by [`Gold::asked`].
    #[must_use]
    pub fn asked(self, question: &str) -> Self {
        let asked = |kind: Kind| match kind {
            Kind::Math(gold) => Kind::Math(gold.asked(question)),
            other => other,
        };
        Self { accepted: self.accepted.into_iter().map(asked).collect(), ..self }
    }

    /// Compares a response with this answer.
    ///
    /// The response's answer is found as for mathematics: in a box, after "answer is" and so on, as the options say.
    /// Programs are not run: [`GroundTruth::judge`] runs them.
    pub fn verify(&self, response: &str) -> Verdict {
        self.first_right(|kind| kind.verify(response, &self.options))
    }

    /// Returns the answer that [`GroundTruth::verify`] finds in a response, as written.
    pub fn answer_in(&self, response: &str) -> Option<String> {
        let extraction = match self.first() {
            Kind::Math(gold) => gold.extract(response),
            Kind::Choice(_) | Kind::Text { .. } => extract(response, &self.options),
            Kind::Code { .. } => return program_of(response).map(str::to_owned),
        };
        extraction.map(|extracted| extracted.text)
    }

    /// Returns a form that is equal for equal answers of this kind.
    ///
    /// It is the normal form of `reward-math`, the letter of a choice, or the normalised text. An answer that cannot be
    /// read is returned as it is, up to white space or case.
    pub fn normal_form(&self, answer: &str) -> String {
        match self.first() {
            Kind::Math(_) => normal_form(answer, &self.options)
                .unwrap_or_else(|_| Normalisation::Whitespace.apply(answer)),
            Kind::Choice(_) => {
                letter(answer).map_or_else(|| upper_case(answer), |(letter, _)| letter.to_string())
            }
            Kind::Text { normalisation, .. } => normalisation.apply(answer),
            Kind::Code { .. } => answer.to_owned(),
        }
    }

    /// Compares a response with this answer by [`GroundTruth::verify`], or runs its unit tests in `sandbox`.
    ///
    /// # Errors
    ///
    /// [`SandboxError`] if a program cannot be run; no program can cause that.
    pub fn judge(
        &self,
        response: &str,
        sandbox: Option<&Sandbox>,
    ) -> Result<Verdict, SandboxError> {
        match (self.first(), sandbox) {
            (Kind::Code { tests, .. }, Some(sandbox)) => sandbox.judge(tests, response),
            _ => Ok(self.verify(response)),
        }
    }

    /// Compares a bare answer with this one; unit tests are compared as texts.
    pub fn verify_answer(&self, answer: &str) -> Verdict {
        self.first_right(|kind| kind.verify_answer(answer))
    }

    fn first(&self) -> &Kind {
        &self.accepted[0]
    }

    /// Returns the first verdict that is right, else that on the first accepted answer.
    fn first_right(&self, verdict: impl Fn(&Kind) -> Verdict) -> Verdict {
        let first = verdict(self.first());
        if first.is_right() {
            return first;
        }
        self.accepted[1..].iter().map(verdict).find(Verdict::is_right).unwrap_or(first)
    }
}

impl Kind {
    fn verify(&self, response: &str, options: &Options) -> Verdict {
        match self {
            Self::Math(gold) => gold.verify(response),
            Self::Choice(_) | Self::Text { .. } => match extract(response, options) {
                Some(extracted) => self.verify_answer(&extracted.text),
                None => Verdict::Unparsed { which: Side::Response, why: ParseError::NoAnswer },
            },
            Self::Code { .. } => {
                let why = ParseError::Undefined { what: "a program that is not run".to_owned() };
                Verdict::Unparsed { which: Side::GroundTruth, why }
            }
        }
    }

    fn verify_answer(&self, answer: &str) -> Verdict {
        let right = match self {
            Self::Math(gold) => return gold.verify_answer(answer),
            Self::Choice(gold) => return gold.verify_answer(&upper_case(answer)),
            Self::Text { answer: expected, normalisation } => {
                normalisation.apply(answer) == *expected
            }
            Self::Code { text, .. } => answer == text,
        };
        let how = How { rung: Rung::Spelling, response: None, ground_truth: None };
        if right { Verdict::Right { how } } else { Verdict::Wrong { how } }
    }
}

/// Returns the answers of a list of texts in JSON: a row's several accepted answers. `[1, 2]` is an interval.
pub(crate) fn accepted(answer: &str) -> Option<Vec<String>> {
    answer.starts_with("[\"").then(|| serde_json::from_str(answer).ok())?
}

/// Refuses an answer that only its exact spelling could match.
///
/// It is compared with a plain number and with a letter of a choice. The verdict blames the ground truth if it cannot
/// be read, has no value or costs too much.
fn check_readable(gold: &Gold) -> Result<(), ParseError> {
    const PROBES: [&str; 2] = ["0", "B"];
    let faults = PROBES.map(|probe| match gold.verify_answer(probe) {
        Verdict::Unparsed { which: Side::GroundTruth, why } => Some(why),
        _ => None,
    });
    // A ground truth that can be compared with one of them is readable.
    faults.into_iter().reduce(Option::and).flatten().map_or(Ok(()), Err)
}

/// Returns the letter of a multiple-choice answer, in any spelling that `reward-math` reads: `B`, `(B)`, `\text{B}`.
fn letter(answer: &str) -> Option<(char, Gold)> {
    ('A'..='J').find_map(|letter| {
        let gold = Gold::parse(&letter.to_string(), &Options::default()).ok()?;
        gold.verify_answer(&upper_case(answer)).is_right().then_some((letter, gold))
    })
}

/// Turns `b` and `(b)` into `B` and `(B)`; longer texts are words and stay.
fn upper_case(answer: &str) -> String {
    let answer = answer.trim();
    let letters = answer.chars().filter(char::is_ascii_alphabetic).count();
    if letters == 1 { answer.to_ascii_uppercase() } else { answer.to_owned() }
}

fn unread(answer: &str, expected: impl Into<String>) -> ParseError {
    let start = answer.chars().take(40).collect();
    ParseError::Syntax { at: 0, found: start, expected: expected.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(kind: RewardKind, answer: &str) -> GroundTruth {
        kind.read(answer, &Options::default()).unwrap()
    }

    fn exact(normalisation: Normalisation) -> RewardKind {
        RewardKind::ExactMatch(ExactMatch { normalisation })
    }

    #[test]
    fn letters_of_a_choice_are_read_in_their_usual_spellings() {
        let truth = read(RewardKind::MultipleChoice, "(B)");
        for spelling in
            ["B", "b", " (B) ", "B.", "B)", "(b)", "B: 12", "\\text{B}", "\\text{(B)}", "option B"]
        {
            assert!(truth.verify_answer(spelling).is_right(), "{spelling}");
            RewardKind::MultipleChoice.check(spelling).unwrap();
        }
        for wrong in ["A", "(c)", "12", "Beta", "AB", "é"] {
            assert!(!truth.verify_answer(wrong).is_right(), "{wrong}");
        }
        for none in ["12", "Beta", "AB", "é", "Z"] {
            let refused = RewardKind::MultipleChoice.check(none).unwrap_err();
            assert!(refused.to_string().contains("expected the letter of a choice"), "{refused}");
        }
    }

    #[test]
    fn a_choice_is_right_wrong_or_unread() {
        let truth = read(RewardKind::MultipleChoice, "\\boxed{B}");
        assert!(truth.verify("so \\boxed{(b)}").is_right());
        let wrong = truth.verify("The answer is C.");
        assert!(matches!(wrong, Verdict::Wrong { how } if how.rung == Rung::Choice));
        let (which, why) = (Side::Response, ParseError::NoAnswer);
        assert_eq!(truth.verify("I do not know"), Verdict::Unparsed { which, why });
    }

    #[test]
    fn texts_are_the_same_up_to_their_normalisation() {
        use Normalisation::{Case, None, Whitespace, Words};
        let pairs = [
            ("New York", "New York", [true, true, true, true]),
            ("New York", " New\n York ", [false, true, true, true]),
            ("New York", "new york", [false, false, true, true]),
            ("New York", "The New-York", [false, false, false, false]),
            ("New York", "the \"New York\".", [false, false, false, true]),
            ("New York", "York", [false, false, false, false]),
        ];
        for (truth, answer, expected) in pairs {
            let verdicts = [None, Whitespace, Case, Words].map(|normalisation| {
                read(exact(normalisation), truth).verify_answer(answer).is_right()
            });
            assert_eq!(verdicts, expected, "{answer}");
        }
        let boxed = read(exact(Case), "Paris").verify("It is \\boxed{paris}");
        assert!(matches!(boxed, Verdict::Right { how } if how.rung == Rung::Spelling));
        assert_eq!(exact(Words).read("the.", &Options::default()).unwrap_err(), ParseError::Empty);
    }

    #[test]
    fn each_of_several_accepted_answers_is_right() {
        let truth = read(RewardKind::Math, r#"["1/2", "\\frac{3}{4}", "none"]"#);
        for answer in ["0.5", "3/4", "None"] {
            assert!(truth.verify(&format!("so \\boxed{{{answer}}}")).is_right(), "{answer}");
            assert!(truth.verify_answer(answer).is_right(), "{answer}");
        }
        for wrong in ["1/4", "(1/2, 3/4)", "1/2, 3/4"] {
            assert!(matches!(truth.verify_answer(wrong), Verdict::Wrong { .. }), "{wrong}");
        }
        let letters = read(RewardKind::MultipleChoice, r#"["B", "(d)"]"#);
        assert!(
            letters.verify("so \\boxed{D}").is_right() && !letters.verify_answer("C").is_right()
        );
        // An interval is no list of texts; one bad answer of several is an error.
        assert!(read(RewardKind::Math, "[1, 2]").verify_answer("1 \\le x \\le 2").is_right());
        assert!(RewardKind::Math.check(r#"["1/2", "\\oint_C x"]"#).is_err());
        assert!(RewardKind::MultipleChoice.check(r#"["B", "12"]"#).is_err());
    }

    #[test]
    fn every_accepted_answer_knows_the_question() {
        let asked = read(RewardKind::Math, r#"["1/3", "0.5"]"#).asked("Find $2^{-2} + 2^{-2}$.");
        assert!(asked.verify("\\boxed{1/2}").is_right());
        assert!(!asked.verify("\\boxed{2^{-2} + 2^{-2}}").is_right());
    }
}
