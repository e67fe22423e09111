//! Parsed answer: a value, words, or a structure of them.

mod assertion;
mod clause;
mod constants;
mod declaration;
mod derivation;
mod environment;
mod expansion;
mod facts;
mod item;
pub(crate) mod logic;
mod matrix;
mod measure;
mod node;
mod notation;
mod prose;
mod readings;
mod sign;
mod spelling;
mod structure;
mod substance;

use std::borrow::Cow;

use regex::Captures;

use crate::fold::{fold, undecorated};
use crate::parser::{function_name, is_greek};
use crate::relation;
use crate::table::{captured, lists, pattern, unwrapped, without};
use crate::token::group;
use crate::verdict::ParseError;
use crate::words;
use declaration::{Constants, Declared, declared, in_latin};
use derivation::{Steps, last_calculation, last_side, steps, tail, without_words_in_brackets};
pub(crate) use expansion::orders;
pub(crate) use node::{Combination, Node, Piece, Relation};
use readings::readings;
use sign::{expand, list};
pub(crate) use spelling::same_set;
use spelling::spelling;

/// Longest answer that is parsed, in bytes; longer ones are compared by spelling only.
const MAX_BYTES: usize = 32 * 1024;

/// Longest answer that is more than one formula or list, in bytes: a derivation, a sentence, a rarer notation.
const MAX_WORDED: usize = 4096;

/// Longest answer that may be plain language, in bytes.
const MAX_WORDS: usize = 2048;

/// An answer with all possible readings of its text.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    /// The text without decoration and spaces.
    pub(crate) spelling: String,
    /// Text as plain language, if it has any words.
    pub(crate) words: Option<String>,
    /// Letters of the answer, if it reads as one choice or several.
    pub(crate) choices: Vec<char>,
    /// Answer after the letter of a single choice: 12 in `(B) 12`.
    pub(crate) content: Option<Box<Answer>>,
    /// The last of several steps in rows.
    pub(crate) derivation: Option<Box<Derivation>>,
    /// The last statement of a text that is not read as a whole, or that calculates with the others.
    pub(crate) tail: Option<Box<Answer>>,
    /// Values with their names, if it lists several.
    pub(crate) facts: Option<Node>,
    /// Name of the number that numbers a family of answers, and the letter of its set: `Z`, `R` or `C`.
    pub(crate) parameter: Option<(String, String)>,
    /// Constants that the answer declares together: `a, b \in \mathbb{R}`.
    pub(crate) constants: Option<Constants>,
    /// True if the answer says to which set something belongs.
    pub(crate) declares: bool,
    /// Text after "for all", without spaces.
    pub(crate) condition: Option<String>,
    /// Number of decimal places, if there are so many that the value must be rounded.
    pub(crate) rounded_to: Option<u32>,
    /// The error of a text that holds mathematics and was read as words alone.
    pub(crate) unread: Option<ParseError>,
    /// A few readings (`1,234` is a number and a list), or the error if there is none.
    pub(crate) readings: std::result::Result<Vec<Node>, ParseError>,
}

/// A derivation of which the last step is the answer.
#[derive(Debug, Clone)]
pub(crate) struct Derivation {
    pub(crate) last: Answer,
    /// Steps that must be right too.
    pub(crate) alike: Vec<Answer>,
    steps: Steps,
}

impl Derivation {
    fn parse(folded: &str) -> Option<Self> {
        let steps = steps(folded)?;
        let answer = |text: &String| Answer::parse_with(text, false).ok();
        let alike = steps.alike.iter().map(answer).collect::<Option<_>>()?;
        Some(Self { last: answer(&steps.last)?, alike, steps })
    }
}

impl Answer {
    /// Returns true if the answer reads as plain language.
    pub(crate) fn is_words(&self) -> bool {
        matches!(self.readings.as_deref(), Ok([Node::Words(_), ..]) | Err(_))
    }

    /// Returns true for letters of choices alone, without the text of a choice.
    pub(crate) fn is_choice(&self) -> bool {
        !self.choices.is_empty() && self.content.is_none()
    }

    /// Returns the number of decimal places at the end; `None` if there is no decimal.
    pub(crate) fn decimals(&self) -> Option<u32> {
        let decimals = captured(pattern!(r"\.([0-9]+)[^0-9]*$"), &self.spelling)?;
        u32::try_from(decimals.len()).ok()
    }

    /// Adds a reading in which `\log` without a base is natural, as it is in some books.
    pub(crate) fn with_natural_logarithms(mut self) -> Self {
        if let Ok(readings) = &mut self.readings {
            let natural: Vec<Node> =
                readings.iter().filter_map(Node::with_natural_logarithms).collect();
            readings.extend(natural);
        }
        self
    }

    pub(crate) fn parse(text: &str) -> std::result::Result<Self, ParseError> {
        Self::parse_with(text, true)
    }

    /// Parses an answer, as the last of several steps too if wanted.
    pub(crate) fn parse_with(text: &str, stepwise: bool) -> std::result::Result<Self, ParseError> {
        // `$f(t) = 3t, t \ge 0$.`
        let text = unwrapped(pattern!(r"^\$([^$]+)\$\.?$"), text.trim());
        let text = &*without_frames(without_box(without_signs(text.trim())));
        let text = &*with_formulas(text);
        if text.is_empty() {
            return Err(ParseError::Empty);
        }
        if let Some(answer) = Self::of_numbers(text) {
            return Ok(answer);
        }
        let too_long = |found: usize, limit: usize| {
            Self::of(text.to_owned(), Err(ParseError::TooLong { found, limit }))
        };
        if text.len() > MAX_BYTES {
            return Ok(too_long(text.len(), MAX_BYTES));
        }
        let folded = fold(&with_single_backslashes(&logic::from_keyboard(text)));
        if folded.len() > 2 * MAX_BYTES {
            return Ok(too_long(folded.len(), 2 * MAX_BYTES));
        }
        let folded = undecorated(&folded);
        let folded = folded.strip_suffix('.').filter(|rest| !rest.ends_with('.')).unwrap_or(folded);
        let folded = folded.trim_end_matches([',', ';', ' ']);
        // The mark of a list behind `2)`, and full stops left inside a bracket.
        let folded = unwrapped(pattern!(r"^([^()\[\]]*[0-9])\)$"), folded);
        let folded = folded.replace(".]", "]").replace(".)", ")");
        let folded = &*spelling::rewrite("fraction of units", &folded);
        if folded.is_empty() {
            return Err(ParseError::Empty);
        }
        if folded.len() > MAX_WORDED {
            return Ok(Self::of(spelling(folded), readings::plain(folded)));
        }
        if let Some(statement) = readings::quantified(folded) {
            return Ok(Self::of(spelling(folded), Ok(vec![statement])));
        }
        let folded = spelling::rewrite("criterion", folded);
        let folded = spelling::rewrite("declared index", &folded);
        let folded = in_latin(&folded);
        let folded = prose::in_cases(&folded).map_or(folded, Cow::Owned);
        Ok(Self::read(&spelling::without_rejected(&folded), stepwise))
    }

    /// Reads a formula of numbers alone, as most answers are: it has no other reading.
    fn of_numbers(text: &str) -> Option<Self> {
        let numbers = pattern!(
            r"^(?:[0-9]+(?:\.[0-9]+)?|[-+*/^{}\x20]|\\(?:[dt]?frac|sqrt|pi|cdot|times))+$"
        );
        if text.len() > MAX_WORDS || !numbers.is_match(text) {
            return None;
        }
        let readings = Ok(vec![readings::read(text)?]);
        let (words, rounded_to) = (words::normalise(text), rounded_to(text));
        Some(Self { words, rounded_to, ..Self::of(spelling(text), readings) })
    }

    /// Reads a text without decoration.
    fn read(whole: &str, stepwise: bool) -> Self {
        let folded = whole;
        let stepwise =
            stepwise && logic::statement(folded).is_none() && readings::path(folded).is_none();
        let derivation = stepwise.then(|| Derivation::parse(folded)).flatten().map(Box::new);
        let steps = derivation.as_deref().map(|derivation| &derivation.steps);
        let in_rows = steps.is_some_and(|steps| steps.in_rows);
        let Declared { rest, parameter, constants, condition } = declared(folded);
        let condition = condition.or_else(|| spelling::criterion(&rest));
        let rest = spelling::without_reason(without_words_in_brackets(&rest));
        let spoken = words::spoken_time(&rest);
        let folded = spoken.as_deref().unwrap_or(spelling::without_domain(&rest));
        if let Some(clock) = words::clock(folded) {
            let readings = Ok(vec![Node::Words(clock)]);
            return Self { condition, ..Self::of(spelling(folded), readings) };
        }
        let mut unread = None;
        let mut readings = readings(folded, in_rows, &mut unread);
        if let (Some((name, set)), Ok(all)) = (&parameter, &mut readings) {
            all.extend(all.first().and_then(|first| node::all_of(first, name, set)));
        }
        // "Ana, Ben, Carl (from first to last)"
        if pattern!("‹in order›").is_match(whole)
            && let Ok(all) = &mut readings
        {
            all.iter_mut().for_each(Node::order);
        }
        // `M = 5 = 10/2, \text{ the square of the radius}`
        let beside_words = |all: &Vec<Node>| {
            let items = all[0].items();
            items.len() > 1 && items.iter().any(|item| matches!(item, Node::Words(_)))
        };
        let choices = words::choices(folded);
        let is_sentence = choices.is_empty()
            && folded.contains("\\text")
            && readings.as_ref().is_ok_and(|all| is_worded(&all[0], folded));
        let is_unread = unread.is_some() || in_rows || readings.as_ref().map_or(true, beside_words);
        let tail = match steps {
            Some(Steps { calculated: Some(end), .. }) => Self::statement(end),
            _ if stepwise => Self::of_last_part(folded)
                .or_else(|| is_unread.then(|| Self::of_tail(whole, steps))?)
                .or_else(|| is_sentence.then(|| Self::of_clause(folded))?),
            _ => None,
        };
        Self {
            tail,
            choices,
            words: Some(folded).filter(|text| text.len() <= MAX_WORDS).and_then(words::normalise),
            // Only one label: the rest is parsed without looking for another.
            content: words::behind_choice(folded)
                .filter(|rest| words::behind_choice(rest).is_none())
                .and_then(|rest| Self::parse(rest).ok())
                .map(Box::new),
            derivation,
            facts: if stepwise { facts::facts(folded, whole) } else { None },
            parameter,
            constants,
            declares: whole.contains("\\in"),
            condition,
            rounded_to: rounded_to(folded),
            unread,
            ..Self::of(spelling(folded), readings)
        }
    }

    /// Reads the last statement of a text, or what stands behind its last equals sign; `None` unless that is read.
    fn of_tail(folded: &str, steps: Option<&Steps>) -> Option<Box<Self>> {
        let last = steps.map_or(folded, |steps| &steps.last);
        if let Some(clause) = Self::of_clause(last) {
            return Some(clause);
        }
        if let Some(tail) = tail(folded, last) {
            // What is not read before the last equals sign cannot contradict.
            return Self::statement(&tail).or_else(|| {
                let side = last_side(&tail)?;
                // `N = \frac{E}{E_1} = \frac{…\text{ J}}{…\text{ J}} \approx 10^{16}`
                let rounded = || Self::statement(side.rsplit_once("\\approx")?.1);
                Self::statement(side).or_else(rounded)
            });
        }
        // `\max_t [\ldots] = 5 + \frac23 - \frac13 = \frac{16}{3}`
        let end = Self::statement(last_calculation(last)?)?;
        let known = |side: &Node| side.plain().is_some_and(|side| !side.has_variable());
        let calculates =
            |node: &Node| matches!(node, Node::Chain { sides, .. } if sides.iter().all(known));
        end.readings.as_ref().is_ok_and(|all| calculates(&all[0])).then_some(end)
    }

    /// Reads `S = 5` of `(1)\ x > 0;\quad (2)\ S = 5`: a ground truth may be the last part alone, but no verdict.
    fn of_last_part(folded: &str) -> Option<Box<Self>> {
        let parts = spelling::labelled_parts(folded)?;
        let verdict = pattern!(r"(?i)^(?:\\text\s*\{)?\s*(?:true|false|yes|no)\b");
        Self::statement(parts.last().filter(|part| !verdict.is_match(part))?)
    }

    /// Reads the value that the main clause of a sentence states.
    fn of_clause(folded: &str) -> Option<Box<Self>> {
        if let Some(values) = clause::values(folded) {
            return Self::statement(&values);
        }
        let clause = clause::main_clause(folded)?;
        let value = Self::statement(&clause.text)?;
        // `x^2 + y^2 = 25` is a curve.
        let open = |node: &Node| match relation::labelled(node) {
            Some((label, value)) if relation::is_label(label) || !label.names().contains("y") => {
                value.has_variable()
            }
            _ => node.has_variable(),
        };
        let stands = !clause.closed || !value.readings.as_ref().is_ok_and(|all| open(&all[0]));
        stands.then_some(value)
    }

    fn statement(text: &str) -> Option<Box<Self>> {
        let answer = Self::parse_with(text, false).ok()?;
        (answer.unread.is_none() && answer.readings.is_ok()).then(|| Box::new(answer))
    }

    fn of(spelling: String, readings: std::result::Result<Vec<Node>, ParseError>) -> Self {
        Self {
            spelling,
            words: None,
            choices: Vec::new(),
            content: None,
            derivation: None,
            tail: None,
            facts: None,
            parameter: None,
            constants: None,
            declares: false,
            condition: None,
            rounded_to: None,
            unread: None,
            readings,
        }
    }
}

/// Returns true for words, `\text{The smallest prime } p > 7 \text{ is } p = 11`, and an equation of words with a verb of its own.
fn is_worded(reading: &Node, folded: &str) -> bool {
    let verb = pattern!(r"\\text\{ *(?:is|equals) *\}");
    match reading {
        Node::Words(_) => true,
        Node::Chain { sides, relations } => {
            let equations = relations.iter().filter(|sign| **sign == Relation::Equal).count();
            let bounded = equations > 0 && equations < relations.len();
            matches!(sides[0], Node::Words(_))
                && (bounded || sides.len() > 2 && verb.is_match(folded))
        }
        _ => false,
    }
}

/// Returns the number of decimal places of a value that is taken as rounded: of ten or more, or two behind `\approx`.
fn rounded_to(folded: &str) -> Option<u32> {
    let places = pattern!(r"^-?[0-9]*\.([0-9]{10,})$|\\approx\s*-?[0-9]*\.([0-9]{2,})$");
    let places = places.captures(folded)?;
    u32::try_from(places.get(1).or(places.get(2))?.len()).ok()
}

/// Replaces `\\\\frac` in a text that was escaped once too often. A matrix contains such pairs legitimately.
fn with_single_backslashes(text: &str) -> Cow<'_, str> {
    let twice = pattern!(r"\\\\[A-Za-z{%]").is_match(text);
    let is_matrix = || text.contains("begin") || text.contains("stack");
    if twice && !is_matrix() { text.replace("\\\\", "\\").into() } else { text.into() }
}

/// Returns `\text{the sum is } 29` for `\text{the sum is $29$}`, and for the same without the command.
fn with_formulas(text: &str) -> Cow<'_, str> {
    if let Some(text) = with_words(text) {
        return Cow::Owned(text);
    }
    let plain = pattern!(r"^[A-Z][a-z]* [^\\{}$]*\$(?:[^$]*\$[^\\{}$]*\$)*[^$]*\$[^\\{}$]*$");
    // "$f(x)$ is odd": the words are the answer.
    let predicate = pattern!(r"\b(?:is|are) [^$]*$").is_match(text)
        && !pattern!(r"\b(?:is|are) \$").is_match(text);
    if plain.is_match(text) && !predicate && !text.contains("\\$") {
        let text = text.trim_end_matches('.');
        return Cow::Owned(with_formulas(&format!("\\text{{{text}}}")).into_owned());
    }
    let sentence = text.strip_prefix("\\text").and_then(group);
    let fills = |inner: &&str| inner.len() + "\\text{}".len() == text.len();
    if !sentence.filter(fills).is_some_and(|all| all.contains('$') && !all.contains("\\$")) {
        return Cow::Borrowed(text);
    }
    let parts = pattern!(r"\$([^$]*)\$").replace_all(text, "} $1 \\text{");
    Cow::Owned(parts.replace("\\text{}", ""))
}

/// Returns the formula of `\(…\)` or `\[…\]`.
fn without_signs(text: &str) -> &str {
    let inner = unwrapped(pattern!(r"(?s)^\\[(\[](.*)\\[)\]]\.?$"), text).trim();
    // `\(a\) or \(b\)`
    if inner.contains("\\(") { text } else { inner }
}

/// Returns `n = 42` for `\bbox[5px]{n = 42}` and `\text{…}` for a `minipage`: what only shows the content is removed.
fn without_frames(text: &str) -> Cow<'_, str> {
    if !text.contains("box") && !text.contains("{minipage}") && !text.contains("color") {
        return Cow::Borrowed(text);
    }
    let page = pattern!(
        r"\\parbox\s*(?:\[[^\]]*\])*\s*\{[^{}]*\}|\\begin\{minipage\}(?:\[[^\]]*\])*\{[^{}]*\}"
    );
    let shown = |page: &Captures<'_>| if page[0].starts_with("\\p") { "\\text" } else { "\\text{" };
    let text = page.replace_all(text, shown).replace("\\end{minipage}", "}");
    let frame = pattern!(
        r"\\(?:bbox\s*(?:\[[^\]]*\])?|colorbox\s*(?:\[[^\]]*\])?\s*\{[^{}]*\}|fcolorbox\s*\{[^{}]*\}\s*\{[^{}]*\}|(?:text)?color\s*\{[^{}]*\}|framebox|makebox)\s*"
    );
    let text = frame.replace_all(&text, "");
    // The group that was shown.
    let inner = group(&text).filter(|inner| inner.len() + 2 == text.len());
    Cow::Owned(inner.unwrap_or(&text).to_owned())
}

/// Returns the content of a box around all of the text.
fn without_box(text: &str) -> &str {
    // A box that never closes.
    if let Some(open) = text.strip_prefix("\\boxed{")
        && open.matches('{').count() == open.matches('}').count()
    {
        return open.trim();
    }
    unwrapped(pattern!(r"^\\boxed\{([^{}]*)\}$"), text).trim()
}

/// Returns `5\text{ m}` for `$5$ m`, and `20\text{ N upward}` for "20 N upward"; `None` for other texts.
fn with_words(text: &str) -> Option<String> {
    // `$9.8 \times 10^4$ Pa`
    let measured = pattern!(
        r"^\$([^$]+)\$(?:\s|~|\\[,;\x20])*([A-Za-zμΩ](?:[A-Za-zμΩ*/()·⋅²³⁻¹⁴\x20]|\\cdot |\^?\{?-?[0-9]\}?){0,24})$"
    );
    if let Some(parts) = measured.captures(text) {
        let unit = without(&fold(&parts[2]).replace("\\cdot", "*"), &["{", "}"]);
        if words::is_measure(&unit) {
            return Some(format!("{}\\text{{ {unit}}}", &parts[1]));
        }
    }
    // "20 N, to the left", "$20$ N upward"
    let directed = pattern!(
        r"^\$?(-?[0-9][0-9.,]*(?:\s*(?:\\times|×|\\cdot)\s*10\^\{?-?[0-9]+\}?)?)\$?\s([A-Za-z/^0-9²]+),?\s((?:(?:‹before a direction›) )*(?:‹direction of motion›)(?:wards?)?(?: direction)?)\.?$"
    );
    if let Some(parts) = directed.captures(text).filter(|parts| words::is_measure(&parts[2])) {
        return Some(format!("{}\\text{{ {} {}}}", &parts[1], &parts[2], &parts[3]));
    }
    // `$45^\circ$ north of east`
    let behind = pattern!(r"^\$([^$]+)\$([,;]? [A-Za-z]{2}[A-Za-z ,'-]*)\.?$");
    // `$3$ pi` and "$x$ and y" go on, "$f$ is even" is a sentence.
    let goes_on = |word: &str| {
        words::is_conjunction(word)
            || is_greek(word)
            || function_name(word).is_some()
            || word.len() == 1 && !lists("a I f g h", word)
            || lists("sqrt inf infinity times plus minus over mod divided", word)
    };
    let plain = |parts: &Captures<'_>| {
        let sentence = pattern!(r"^ (?:is|are) ").is_match(&parts[2])
            && parts[1].contains(char::is_alphabetic);
        !sentence && !parts[2].split([' ', ',', ';']).filter(|word| !word.is_empty()).any(goes_on)
    };
    let parts = behind.captures(text).filter(plain)?;
    Some(format!("{}\\text{{{}}}", &parts[1], &parts[2]))
}
