//! Comparison of several values with their names: "mean 4, variance 16".

use std::collections::BTreeSet;

use super::Comparison;
use crate::answer::{Answer, Node};
use crate::verdict::{ParseError, Side, Verdict};
use crate::words;

impl Comparison {
    /// Returns the verdict on the facts of both answers, if it is another than that on their readings.
    pub(super) fn decide_facts(
        response: &Answer,
        gold: &Answer,
        is_right: bool,
        fuel: u64,
    ) -> Option<Verdict> {
        let (facts, others) = facts(response, gold)?;
        if is_right && !one_by_one(facts, others) {
            return None;
        }
        match Comparison::new(fuel).compare(facts, others) {
            Ok((true, rung)) if !is_right => Some(Verdict::decided(true, rung)),
            // "0 is stable, 1 is unstable" for "1 is stable, 0 is unstable"
            Ok((false, _)) if is_right => {
                Some(Verdict::Unparsed { which: Side::Response, why: ParseError::Undecided })
            }
            _ => None,
        }
    }

    /// Returns true if both answers have facts, named in words.
    pub(super) fn names_facts(response: &Answer, gold: &Answer) -> bool {
        [response, gold].iter().all(|answer| answer.facts.as_ref().is_some_and(named_in_words))
    }
}

/// Returns true if words alone name the values: `y = 4, x = 1` is not the point (4, 1).
fn named_in_words(facts: &Node) -> bool {
    let letter = |byte: u8| byte.is_ascii_lowercase() || byte == b' ';
    facts.items().iter().all(|fact| match fact {
        Node::Chain { sides, .. } => {
            matches!(&sides[0], Node::Words(label) if label.len() > 2 && label.bytes().all(letter))
        }
        _ => false,
    })
}

/// Returns true for values of the same names in words.
fn one_by_one(facts: &Node, others: &Node) -> bool {
    let labels = |facts: &Node| {
        let label = |fact: &Node| match fact {
            Node::Chain { sides, .. } => format!("{:?}", sides[0]),
            _ => String::new(),
        };
        facts.items().iter().map(label).collect::<BTreeSet<String>>()
    };
    named_in_words(facts) && named_in_words(others) && labels(facts) == labels(others)
}

/// Returns the values with names of both answers; of one beside as many bare values of the other.
fn facts<'a>(response: &'a Answer, gold: &'a Answer) -> Option<(&'a Node, &'a Node)> {
    let bare = |answer: &'a Answer, facts: &Node| {
        let first = answer.readings.as_ref().ok()?.first()?;
        let Node::List { open: ' ' | '(', close: ' ' | '|' | ')', items } = first else {
            return None;
        };
        // "5 girls and 3 boys" names its values itself.
        let plain = |item: &Node| {
            !item.is_chain()
                && !matches!(item, Node::Words(_))
                && item.unit().is_none_or(words::is_measure)
        };
        let plain = items.iter().all(plain);
        (plain && named_in_words(facts) && items.len() == facts.items().len()).then_some(first)
    };
    match (&response.facts, &gold.facts) {
        (Some(facts), Some(others)) => Some((facts, others)),
        (Some(facts), None) => Some((facts, bare(gold, facts)?)),
        (None, Some(facts)) => Some((bare(response, facts)?, facts)),
        (None, None) => None,
    }
}
