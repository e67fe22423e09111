//! The ladder of comparisons: spelling, choice, then the readings of both sides against each other.

use dashu::{Natural, Rational};

mod bare;
mod cases;
mod chains;
mod collections;
mod constants;
mod difference;
mod evidence;
mod facts;
mod family;
mod flat;
mod group;
mod inequality;
mod mixed;
mod progression;
mod recurrence;
mod region;
mod solved;
mod triangle;
mod units;
mod values;

use crate::algebra::Algebra;
use crate::answer::{Answer, Combination, Node, Relation, logic, same_set};
use crate::normal_form;
use crate::options::Options;
use crate::relation;
use crate::table::pattern;
use crate::verdict::{ParseError, Rung, Side, Verdict, Witness};
use crate::words;
use difference::Difference;

type Result<T> = std::result::Result<T, ParseError>;

/// Result of a comparison (true: equal), and the rung that decided it.
pub(crate) type Finding = (bool, Rung);

/// Rung on which two readings are equal, and their indices: the response's, the ground truth's.
type Agreement = (Rung, (usize, usize));

/// Compares two answers, rung by rung; normal forms of both sides are printed only on request.
pub(crate) fn decide(response: &Answer, gold: &Answer, options: &Options) -> Verdict {
    decided(response, gold, options, true).0
}

/// Returns the verdict if it is right; for a wrong answer no evidence is looked for.
pub(crate) fn if_right(response: &Answer, gold: &Answer, options: &Options) -> Option<Verdict> {
    Some(decided(response, gold, options, false).0).filter(Verdict::is_right)
}

/// Compares two answers; a verdict that is wrong has a witness if the comparison `proves`.
pub(crate) fn decided(
    response: &Answer,
    gold: &Answer,
    options: &Options,
    proves: bool,
) -> (Verdict, Option<Witness>) {
    // `(B) 12` against 12: if only one side has a letter, its text is compared instead.
    let (text, gold_text) = (response.content.as_deref(), gold.content.as_deref());
    let unlabelled = [
        text.filter(|_| gold.choices.is_empty()).map(|text| (text, gold)),
        gold_text.filter(|_| response.choices.is_empty()).map(|text| (response, text)),
    ];
    let right = |(response, gold)| if_right(response, gold, options);
    if let Some(verdict) = unlabelled.into_iter().flatten().find_map(right) {
        return (verdict, None);
    }
    let Decision { mut verdict, readings: (response_reading, gold_reading), witness } =
        decide_between(response, gold, options.fuel, proves);
    let derivation = response.derivation.as_deref();
    let alike = derivation.map_or(&[][..], |derivation| &derivation.alike);
    let agrees = |step: &Answer| {
        if_right(step, gold, options).is_some() || is_identity(step, options.fuel / 4)
    };
    let last = derivation.map(|derivation| &derivation.last);
    let ends = last.into_iter().chain(response.tail.as_deref());
    if let Some(decided) =
        Comparison::decide_facts(response, gold, verdict.is_right(), options.fuel)
    {
        return (decided, None);
    }
    // The last of several facts does not stand for all.
    for end in ends.filter(|_| !verdict.is_right() && !Comparison::names_facts(response, gold)) {
        let is_equal = |a: &Answer, b: &Answer| if_right(a, b, options).is_some();
        if let Some(verdict) = if_right(end, gold, options)
            && alike.iter().all(agrees)
            && !solved::is_one_of_several(response, end, gold, is_equal)
        {
            return (verdict, None);
        }
    }
    if options.normal_forms
        && let Verdict::Right { how } | Verdict::Wrong { how } = &mut verdict
    {
        how.response = Some(in_normal_form(response, response_reading, options.fuel));
        how.ground_truth = Some(in_normal_form(gold, gold_reading, options.fuel));
    }
    (verdict, witness)
}

/// Returns true for `(x - 2)(x + 2) = x^2 - 4`, which says nothing of x.
fn is_identity(step: &Answer, fuel: u64) -> bool {
    let Ok([Node::Chain { sides, relations }, ..]) = step.readings.as_deref() else { return false };
    let equations = relations.iter().all(|relation| *relation == Relation::Equal);
    let mut comparison = Comparison::new(fuel);
    let equal = |pair: &[Node]| {
        pair[0].plain().zip(pair[1].plain()).is_some_and(|(a, b)| {
            a.has_variable() && comparison.expressions(a, b).is_ok_and(|(equal, _)| equal)
        })
    };
    equations && sides.windows(2).all(equal)
}

/// A verdict, the indices of the readings that decided it, and the evidence if it is wrong.
struct Decision {
    verdict: Verdict,
    readings: (usize, usize),
    witness: Option<Witness>,
}

impl Decision {
    fn right(rung: Rung, readings: (usize, usize)) -> Self {
        Self { verdict: Verdict::decided(true, rung), readings, witness: None }
    }

    /// Wrong if there is evidence, else undecided.
    fn wrong(rung: Rung, witness: Option<Witness>) -> Self {
        match witness {
            Some(_) => Self { verdict: Verdict::decided(false, rung), readings: (0, 0), witness },
            None => Self::unparsed(Side::Response, ParseError::Undecided),
        }
    }

    fn unparsed(which: Side, why: ParseError) -> Self {
        Self { verdict: Verdict::Unparsed { which, why }, readings: (0, 0), witness: None }
    }
}

/// Returns the reading in normal form; words or spelling if the answer was not parsed.
fn in_normal_form(answer: &Answer, reading: usize, fuel: u64) -> String {
    match answer.readings.as_deref().ok().and_then(|readings| readings.get(reading)) {
        Some(reading) => normal_form::of(reading, fuel),
        None => answer.words.clone().unwrap_or_else(|| answer.spelling.clone()),
    }
}

#[expect(clippy::too_many_lines, reason = "the rules of one decision, in their order")]
fn decide_between(response: &Answer, gold: &Answer, fuel: u64, proves: bool) -> Decision {
    // `t \in \mathbb{Z}` is not `t \in \mathbb{R}`.
    if let (Some((name, set)), Some((other, other_set))) = (&response.parameter, &gold.parameter)
        && (name == other || set.starts_with('_') && other_set.starts_with('_'))
        && !same_set(set, other_set)
    {
        return match Comparison::new(fuel).same_progression(response, gold) {
            Ok(true) => Decision::right(Rung::NormalForm, (0, 0)),
            _ => Decision::unparsed(Side::Response, ParseError::Undecided),
        };
    }
    // `a, b \ge 1` are not `a, b \ge 0`.
    if let (Some(constants), Some(others)) = (&response.constants, &gold.constants)
        && constants.names == others.names
        && !same_set(&constants.set, &others.set)
    {
        return Decision::unparsed(Side::Response, ParseError::Undecided);
    }
    if response.spelling == gold.spelling {
        return Decision::right(Rung::Spelling, (0, 0));
    }
    if words::in_another_order(&response.spelling, &gold.spelling) {
        let shapes = Witness::shapes(response.spelling.as_str(), gold.spelling.as_str());
        return Decision::wrong(Rung::Choice, shapes);
    }
    if solved::exchanges_sizes(response, gold) {
        return Decision::unparsed(Side::Response, ParseError::Undecided);
    }
    if words::spell_one_order(&response.spelling, &gold.spelling) {
        return Decision::right(Rung::Choice, (0, 0));
    }
    if logic::one_circuit(&response.spelling, &gold.spelling) {
        return Decision::right(Rung::Words, (0, 0));
    }
    if let Some(decision) = choices(response, gold, fuel) {
        return decision;
    }
    if let (Some(a), Some(b)) = (&response.condition, &gold.condition)
        && a != b
        && (response.parameter.is_none() || gold.parameter.is_none())
    {
        return Decision::wrong(Rung::Spelling, Witness::shapes(a, b));
    }
    let directions = [response, gold]
        .map(|answer| words::directions(answer.words.as_deref().unwrap_or_default()));
    if let [a, b] = &directions
        && a != b
        && !a.is_empty()
        && !b.is_empty()
    {
        return Decision::wrong(Rung::Words, Witness::shapes(format!("{a:?}"), format!("{b:?}")));
    }
    if let (Some(a), Some(b)) = (&response.words, &gold.words)
        && (a == b || words::implies(a, b))
        && (response.is_words() || gold.is_words())
    {
        return Decision::right(Rung::Words, (0, 0));
    }
    let (readings, gold_readings) = match (&response.readings, &gold.readings) {
        (Ok(readings), Ok(gold_readings)) => (readings, gold_readings),
        (_, Err(why)) => return Decision::unparsed(Side::GroundTruth, why.clone()),
        (Err(why), _) => return Decision::unparsed(Side::Response, why.clone()),
    };
    let mut comparison = Comparison::new(fuel);
    comparison.quantified = [response, gold]
        .iter()
        .any(|answer| pattern!(r"\\(?:exists|forall)").is_match(&answer.spelling));
    let (mut outcome, mut difference) = match comparison.readings(readings, gold_readings) {
        Ok((rung, places)) => return Decision::right(rung, places),
        Err(outcome) => (outcome, comparison.difference.take()),
    };
    // The other answer may name the integer of the family differently, or leave out what a function depends on.
    let ours = |renamed| (renamed, gold_readings.clone());
    let theirs = |renamed| (readings.clone(), renamed);
    let parameter = response.with_parameter_of(gold).map(ours);
    let parameter = parameter.or_else(|| gold.with_parameter_of(response).map(theirs));
    let renamed = parameter
        .into_iter()
        .chain(response.with_constants_of(gold).into_iter().map(ours))
        .chain(gold.with_constants_of(response).into_iter().map(theirs))
        .chain(response.with_constant_of_curve(gold).map(ours));
    for (readings, gold_readings) in renamed.chain(bare::variants(readings, gold_readings)) {
        match comparison.readings(&readings, &gold_readings) {
            Ok((rung, places)) => return Decision::right(rung, places),
            Err(found) => {
                outcome = outcome.or(found);
                difference = difference.or(comparison.difference.take());
            }
        }
    }
    let parity = |words: &String| words.ends_with("even") || words.ends_with("odd");
    // `6k \pm 1`: several formulas in an integer that is not declared.
    let numbered = [response, gold].iter().all(|answer| answer.integer().is_some())
        && [readings, gold_readings].iter().any(|nodes| nodes[0].items().len() > 1);
    let families = [response, gold].iter().any(|answer| answer.words.as_ref().is_some_and(parity))
        || numbered
        || response.parameter.is_some()
        || gold.parameter.is_some()
        || [readings, gold_readings].into_iter().any(|nodes| nodes.iter().any(Node::is_residue));
    if families && comparison.same_families(response, gold) == Some(true)
        || comparison.same_progression(response, gold) == Ok(true)
        || comparison.same_flat(response, gold)
            && !solved::leaves_unsolved(&readings[0], &gold_readings[0])
    {
        return Decision::right(Rung::NormalForm, (0, 0));
    }
    if let Some(places) = gold.rounded_to
        && match places {
            10.. => response.rounded_to.is_none(),
            _ => response.decimals().is_none_or(|given| given > places),
        }
        && comparison.rounds_to(readings, gold_readings, places)
    {
        return Decision::right(Rung::Rounding, (0, 0));
    }
    let unread = |answer: &Answer, side| Some((side, answer.unread.clone()?));
    let unread = unread(gold, Side::GroundTruth).or_else(|| unread(response, Side::Response));
    match (outcome, unread) {
        (Some(Ok(_)) | None, Some((which, why))) => Decision::unparsed(which, why),
        (Some(Ok((_, rung))), None) if !comparison.undecided => {
            let difference = difference.filter(|_| proves);
            Decision::wrong(rung, difference.and_then(|found| comparison.witness(found)))
        }
        (Some(Ok(_)) | None, None) => Decision::unparsed(Side::Response, ParseError::Undecided),
        (Some(Err(why)), _) => {
            // The ground truth is at fault only if it cannot be compared with itself.
            let mut self_comparison = Comparison { with_itself: true, ..Comparison::new(fuel / 4) };
            let faulty =
                gold_readings.iter().any(|gold| self_comparison.compare(gold, gold).is_err());
            Decision::unparsed(if faulty { Side::GroundTruth } else { Side::Response }, why)
        }
    }
}

/// Returns how far a number may be from its rounding to a unit: a tie is rounded either way.
fn half(unit: &Rational) -> Rational {
    unit * Rational::from_parts(51.into(), 100_u8.into())
}

/// Returns the unit of a decimal place.
fn last_place(places: u32) -> Rational {
    Rational::from_parts(1.into(), Natural::from(10_u8).pow(places as usize))
}

/// Compares the letters of a multiple choice; `None` unless the ground truth consists only of letters.
fn choices(response: &Answer, gold: &Answer, fuel: u64) -> Option<Decision> {
    if gold.choices.is_empty() {
        return None;
    }
    // "(b)": a small letter alone is a choice where the ground truth is one letter, or in brackets.
    let letter = gold.spelling.contains('(') || gold.spelling.len() == 1;
    let small = || match gold.choices[0] {
        '①'..='⑨' => words::numbered_choices(&response.spelling),
        _ => words::small_choices(&response.spelling, letter),
    };
    // "(D) 12" is not "(D) 21".
    if response.choices == gold.choices
        && let (Some(text), Some(other)) = (&response.content, &gold.content)
        && let decision = decide_between(text, other, fuel, true)
        && let Verdict::Wrong { how } = &decision.verdict
        && matches!(how.rung, Rung::Number | Rung::NormalForm | Rung::Enclosure)
    {
        return Some(decision);
    }
    // `DCA` for `ACD`: the same letters in another order, but `ABC` may be an order.
    let gap = |pair: &[char]| u32::from(pair[1]) > u32::from(pair[0]) + 1;
    let turned = || {
        let mut letters: Vec<char> = response.spelling.chars().collect();
        letters.sort_unstable();
        letters == gold.choices && letters.windows(2).any(gap)
    };
    let unmarked = response.choices.is_empty();
    if response.choices == gold.choices || unmarked && (small() == gold.choices || turned()) {
        return Some(Decision::right(Rung::Choice, (0, 0)));
    }
    let letters = gold.spelling.chars().filter(|c| c.is_alphanumeric()).count();
    let bare = letters == gold.choices.len() || gold.spelling.starts_with('\\');
    let letters = |answer: &Answer| answer.choices.iter().collect::<String>();
    let shapes = Witness::shapes(letters(response), letters(gold));
    (bare && !response.choices.is_empty()).then(|| Decision::wrong(Rung::Choice, shapes))
}

/// One comparison with its atoms and its fuel.
#[derive(Default)]
pub(crate) struct Comparison {
    pub(crate) algebra: Algebra,
    /// Fuel left for interval arithmetic.
    enclosure_fuel: u64,
    /// True if two values were neither proved equal nor different.
    undecided: bool,
    /// True if relations are statements with quantifiers, not parts of the line.
    quantified: bool,
    /// True if an answer is compared with itself, to learn whether it can be calculated.
    with_itself: bool,
    /// The latest difference found.
    difference: Option<Difference>,
}

impl Comparison {
    fn new(fuel: u64) -> Self {
        let enclosure_fuel = fuel.saturating_mul(2);
        Self { algebra: Algebra::new(fuel), enclosure_fuel, ..Self::default() }
    }

    /// Returns the first equal pair of readings with rung and indices, or the first other result.
    fn readings(
        &mut self,
        response: &[Node],
        gold: &[Node],
    ) -> std::result::Result<Agreement, Option<Result<Finding>>> {
        let (mut outcome, mut difference) = (None, None);
        for (gold_at, gold) in gold.iter().enumerate() {
            for (response_at, response) in response.iter().enumerate() {
                // What two sentences state may be equal of other subjects.
                let words = matches!((response, gold), (Node::Words(_), Node::Words(_)));
                if words && response_at > 0 && gold_at > 0 {
                    continue;
                }
                // A set of one number, where the other side says the number.
                let (response, gold) = (only_member(response, gold), only_member(gold, response));
                self.difference = None;
                match self.compare(response, gold) {
                    Ok((true, _)) if solved::leaves_unsolved(response, gold) => {
                        self.undecided = true;
                    }
                    Ok((true, rung)) => return Ok((rung, (response_at, gold_at))),
                    found if outcome.is_none() => {
                        outcome = Some(found);
                        difference = self.difference.take();
                    }
                    _ => {}
                }
            }
        }
        self.difference = difference;
        Err(outcome)
    }

    pub(crate) fn compare(&mut self, left: &Node, right: &Node) -> Result<Finding> {
        if let (Some(members), Node::List { .. }) = (self.by_members(left)?, right) {
            return self.compare(&members, right);
        }
        if let (Some(members), Node::List { .. }) = (self.by_members(right)?, left) {
            return self.compare(left, &members);
        }
        let finding = self.compare_as_written(left, right);
        let wrong = !matches!(finding, Ok((true, _)));
        if wrong && !self.quantified && (may_need_solving(left) || may_need_solving(right)) {
            let as_written = self.difference.take();
            match self.same_region(left, right)? {
                Some(true) => return Ok((true, Rung::Region)),
                Some(false) => self.difference = self.difference.take().or(as_written),
                None => self.difference = as_written,
            }
        }
        finding
    }

    fn compare_as_written(&mut self, left: &Node, right: &Node) -> Result<Finding> {
        self.algebra.spend(2)?;
        if solved::is_interval_and_point(left, right) || solved::is_interval_and_point(right, left)
        {
            return self.shapes(Rung::Structure, "an interval", "a point");
        }
        match (left, right) {
            (Node::Value { .. }, Node::Value { .. }) => self.values(left, right),
            (Node::Words(a), Node::Words(b))
                if words::same(a, b)
                    || is_nothing(a)
                        && is_nothing(b)
                        && (a == "no solution" || b == "no solution") =>
            {
                Ok((true, Rung::Words))
            }
            (Node::Words(a), Node::Words(b)) => self.shapes(Rung::Words, a, b),
            (Node::Builder { .. }, Node::Builder { .. }) => self.builders(left, right),
            (Node::Piecewise(a), Node::Piecewise(b)) => {
                let finding = self.piecewise(a, b)?;
                if finding.0 {
                    return Ok(finding);
                }
                let difference = self.difference.take();
                let pointwise = self.pointwise(left, right);
                self.undecided |= pointwise.is_none();
                self.difference = self.difference.take().or(difference);
                Ok(pointwise.unwrap_or(finding))
            }
            (Node::Ratio(a), Node::Ratio(b)) => self.ratios(a, b),
            (Node::Matrix(a), Node::Matrix(b)) => self.ordered(&Node::rows(a), &Node::rows(b)),
            (Node::Matrix(rows), Node::List { items, open: '(' | '[', .. }) => {
                self.vector(rows, items)
            }
            (Node::List { items, open: '(' | '[', .. }, Node::Matrix(rows)) => {
                self.turned(|comparison| comparison.vector(rows, items))
            }
            (Node::Joined(Combination::Union, a), Node::Joined(Combination::Union, b)) => {
                self.unordered(a, b)
            }
            (Node::List { .. }, Node::List { .. }) => {
                // `AB = BC = 5, AC = 6`
                let [a, b] = [left, right].map(relation::spread);
                self.lists(a.as_ref().unwrap_or(left), b.as_ref().unwrap_or(right))
            }
            // `n \equiv 1 \pmod 3` is not `n = 1`.
            (Node::Chain { .. }, Node::Chain { .. }) if left.is_residue() != right.is_residue() => {
                self.shapes(Rung::Relation, "a residue", "a number")
            }
            (Node::Chain { .. }, Node::Chain { .. }) => self.chains(left, right),
            (chain @ Node::Chain { .. }, other) => self.chain_with(chain, other),
            // An equation asked for is more than the value on its right: `x^2 + y^2 = 25` is not 25.
            (other, chain @ Node::Chain { .. }) => self.turned(|comparison| {
                if relation::names_plainly(chain) {
                    comparison.chain_with(chain, other)
                } else {
                    comparison.shared_with(chain, other)
                }
            }),
            _ => self.mixed(left, right),
        }
    }
}

/// Returns the only member of a set if the other side is a value, or as that member a pair.
fn only_member<'a>(node: &'a Node, other: &Node) -> &'a Node {
    let Node::List { open: '{', items, .. } = node else { return node };
    match (items.as_slice(), other) {
        ([only @ Node::Value { .. }], Node::Value { .. })
        | ([only @ Node::List { open: '(', .. }], Node::List { open: '(', .. }) => only,
        _ => node,
    }
}

/// Returns true if the words mean the empty set.
fn is_nothing(words: &str) -> bool {
    matches!(words, "empty set" | "none")
        || (words.starts_with("no ") && words.contains("solution"))
}

/// Returns true if an answer describes a part of the real line that can be spelled otherwise.
fn may_need_solving(node: &Node) -> bool {
    match node {
        Node::Joined(..) | Node::Chain { .. } | Node::Builder { .. } => true,
        Node::Words(words) => words == "all reals",
        Node::Value { expression, .. } => expression.is_symbol("\\mathbb R"),
        Node::List { open: ' ', items, .. } => items.iter().all(Node::is_chain),
        _ => false,
    }
}
