//! What an answer is, once read: a value, words, or a structure of them.

mod environment;
mod item;
mod measure;
mod structure;

use std::borrow::Cow;

use crate::expression::Expression;
use crate::fold::fold;
use crate::parser::{Parser, Result};
use crate::token::{Kind, tokenize};
use crate::verdict::ParseError;
use crate::words;

/// Longest answer that is read, in bytes; longer ones are compared by spelling alone.
const MAX_BYTES: usize = 32 * 1024;

/// An answer with all that its text may mean.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    /// The text without decoration and spaces.
    pub(crate) spelling: String,
    /// The letters, if it reads as a choice or as several.
    pub(crate) choices: Vec<char>,
    /// What follows "for all", without spaces.
    pub(crate) condition: Option<String>,
    /// The places behind the point, if it is a decimal with so many that it can only be a rounded value.
    pub(crate) rounded_to: Option<u32>,
    /// One or two readings (`1,234` is a number and a list), or why there is none.
    pub(crate) readings: std::result::Result<Vec<Node>, ParseError>,
}

/// One reading of an answer.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Node {
    /// A number or expression.
    Value { expression: Expression, unit: Option<String>, percent: bool, plus: bool },
    /// Anything in plain language, normalised.
    Words(String),
    /// Items with the brackets around them; a space where there are none.
    List { open: char, close: char, items: Vec<Node> },
    /// A union of sets.
    Union(Vec<Node>),
    /// What several sets share; also inequalities joined by "and".
    Intersection(Vec<Node>),
    /// The first set without the others.
    Difference(Vec<Node>),
    /// Sides joined by relations, one fewer than sides.
    Chain { sides: Vec<Node>, relations: Vec<Relation> },
    /// A matrix by rows.
    Matrix(Vec<Vec<Expression>>),
    /// `a:b:c`.
    Ratio(Vec<Expression>),
}

/// A relation between two sides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Relation {
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    In,
    Approximately,
}

impl Relation {
    /// The relation read from right to left.
    pub(crate) fn flipped(self) -> Self {
        match self {
            Self::Less => Self::Greater,
            Self::LessEqual => Self::GreaterEqual,
            Self::Greater => Self::Less,
            Self::GreaterEqual => Self::LessEqual,
            other => other,
        }
    }
}

impl Answer {
    /// Whether it reads as plain language.
    pub(crate) fn is_words(&self) -> bool {
        matches!(self.readings.as_deref(), Ok([Node::Words(_)]) | Err(_))
    }

    /// Reads an answer.
    pub(crate) fn parse(text: &str) -> std::result::Result<Self, ParseError> {
        let text = text.trim();
        if text.is_empty() {
            return Err(ParseError::Empty);
        }
        if text.len() > MAX_BYTES {
            let why = ParseError::TooLong { found: text.len(), limit: MAX_BYTES };
            return Ok(Self {
                spelling: text.to_owned(),
                choices: Vec::new(),
                condition: None,
                rounded_to: None,
                readings: Err(why),
            });
        }
        let folded = fold(&with_single_backslashes(text));
        let folded = folded.trim();
        let folded = folded.strip_suffix('.').filter(|rest| !rest.ends_with('.')).unwrap_or(folded);
        let folded = folded.trim_end_matches([',', ';', ' ']);
        // A full stop left inside a bracket.
        let folded = &folded.replace(".]", "]").replace(".)", ")");
        if folded.is_empty() {
            return Err(ParseError::Empty);
        }
        let (folded, condition) = split_condition(folded);
        if let Some(clock) = words::clock(folded) {
            let readings = Ok(vec![Node::Words(clock)]);
            return Ok(Self {
                spelling: spelling(folded),
                choices: Vec::new(),
                condition,
                rounded_to: None,
                readings,
            });
        }
        let readings = read(folded, true).map(|first| {
            let mut readings = vec![first];
            if has_grouping(folded)
                && let Ok(second) = read(folded, false)
            {
                readings.push(second);
            }
            readings
        });
        let readings = match readings {
            Err(why @ (ParseError::Syntax { .. } | ParseError::Undefined { .. })) => {
                match words::normalise(folded) {
                    Some(words) => Ok(vec![Node::Words(words)]),
                    None => Err(why),
                }
            }
            other => other,
        };
        Ok(Self {
            spelling: spelling(folded),
            choices: words::choices(folded),
            condition,
            rounded_to: rounded_to(folded),
            readings,
        })
    }
}

/// Fewest places of a decimal that is taken for a rounded value.
const ROUNDED_PLACES: usize = 10;

fn rounded_to(folded: &str) -> Option<u32> {
    let (whole, places) = folded.trim_start_matches('-').split_once('.')?;
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    (digits(whole) && digits(places) && places.len() >= ROUNDED_PLACES)
        .then(|| u32::try_from(places.len()).unwrap_or(u32::MAX))
}

/// `\\\\frac` of a text that was escaped once too often. A matrix has such pairs of its own.
fn with_single_backslashes(text: &str) -> Cow<'_, str> {
    let doubled = text.match_indices("\\\\").any(|(at, _)| {
        text[at + 2..].starts_with(|c: char| c.is_ascii_alphabetic() || matches!(c, '{' | '%'))
    });
    if doubled && !text.contains("begin") {
        return Cow::Owned(text.replace("\\\\", "\\"));
    }
    Cow::Borrowed(text)
}

/// Cuts "for all x in …" off an answer that something stands before.
fn split_condition(folded: &str) -> (&str, Option<String>) {
    const OPENINGS: [&str; 6] =
        ["\\text{ for all", "\\text{for all", "\\quad\\forall", "\\forall", "for all", "for every"];
    let cut = OPENINGS.iter().filter_map(|opening| folded.find(opening)).min();
    match cut {
        Some(at) if at > 0 => {
            let condition = spelling(&folded[at..]);
            let rest = folded[..at].trim_end_matches([',', ' ', ';', '(']);
            (rest.strip_suffix("\\quad").unwrap_or(rest), Some(condition))
        }
        _ => (folded, None),
    }
}

fn read(folded: &str, grouping: bool) -> Result<Node> {
    let mut parser = Parser::new(tokenize(folded, grouping)?);
    parser.answer()
}

fn has_grouping(folded: &str) -> bool {
    tokenize(folded, true).is_ok_and(|tokens| {
        tokens.iter().any(|token| matches!(token.kind, Kind::Number { grouped: true, .. }))
    })
}

/// The text without spaces and decoration, for the first rung.
fn spelling(folded: &str) -> String {
    let mut text = folded.replace("\\left", "").replace("\\right", "").replace("\\!", "");
    for (long, short) in [("\\dfrac", "\\frac"), ("\\tfrac", "\\frac"), ("\\,", ""), ("\\;", "")] {
        text = text.replace(long, short);
    }
    // A space ends a command (`\pi r`) and separates digits; elsewhere it means nothing.
    let kept: Vec<char> = text.chars().filter(|c| *c != '$').collect();
    let mut spelled = String::with_capacity(kept.len());
    let mut previous = ' ';
    for (at, &c) in kept.iter().enumerate() {
        if c == ' ' {
            let next = kept[at..].iter().find(|c| **c != ' ').copied().unwrap_or(' ');
            if previous.is_alphanumeric() && next.is_alphanumeric() && !spelled.ends_with(' ') {
                spelled.push(' ');
            }
        } else {
            spelled.push(c);
            previous = c;
        }
    }
    spelled
}

fn value(expression: Expression, unit: Option<String>, percent: bool) -> Node {
    Node::Value { expression, unit, percent, plus: true }
}

/// A list, or its only item; `±` makes two items of one.
fn list(open: char, close: char, items: Vec<Node>) -> Node {
    let mut items = expand(items);
    if items.len() == 1 {
        return items.remove(0);
    }
    Node::List { open, close, items }
}

fn expand(items: Vec<Node>) -> Vec<Node> {
    let mut expanded = Vec::with_capacity(items.len());
    for item in items {
        match item {
            Node::Value { expression, unit, percent, .. } if has_either(&expression) => {
                for plus in [true, false] {
                    let (expression, unit) = (expression.clone(), unit.clone());
                    expanded.push(Node::Value { expression, unit, percent, plus });
                }
            }
            Node::Chain { sides, relations }
                if relations == [Relation::Equal]
                    && matches!(&sides[1], Node::Value { expression, .. } if has_either(expression)) =>
            {
                for plus in [true, false] {
                    let mut sides = sides.clone();
                    if let Node::Value { plus: sign, .. } = &mut sides[1] {
                        *sign = plus;
                    }
                    expanded.push(Node::Chain { sides, relations: relations.clone() });
                }
            }
            other => expanded.push(other),
        }
    }
    expanded
}

fn has_either(expression: &Expression) -> bool {
    expression.any(&|node| matches!(node, Expression::PlusMinus(..)))
}

fn is_conjunction(word: &str) -> bool {
    matches!(word.trim().to_lowercase().as_str(), "and" | "or" | ", and" | ", or")
}
