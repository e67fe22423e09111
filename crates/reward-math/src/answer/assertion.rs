//! The last statement of a derivation or sentence, where the text as a whole is no value and no relation.

use super::{Node, list};
use crate::parser::Parser;
use crate::table::lists;
use crate::token::{Kind, Token};
use crate::words::{self, is_conjunction};

/// Longest derivation that is read, in tokens.
const LONGEST: usize = 1024;

/// Returns the statement behind the last sign or word of conclusion. Labels that are no mathematics become words.
///
/// `None` if the text sets a condition, or takes something back.
pub(super) fn asserted(tokens: &[Token]) -> Option<Node> {
    if tokens.len() > LONGEST {
        return None;
    }
    let tokens = without_boxes(inside_environment(&Parser::aligned(tokens)))?;
    let mut words = tokens.iter().filter_map(|token| token.kind.word());
    if words.any(|word| !is_conjunction(word) && words::takes_back(&word.to_lowercase())) {
        return None;
    }
    let conclusion = conclusion(tokens);
    if let Ok(node) = Parser::new(conclusion.clone()).answer() {
        return Some(node);
    }
    let statements = split(&conclusion, separates);
    let several = statements.len() > 1;
    let statements: Option<Vec<Node>> = statements
        .into_iter()
        .filter(|statement| !statement.is_empty())
        .map(|statement| chain(statement).filter(|_| !several || starts_with_formula(statement)))
        .collect();
    statements.filter(|statements| !statements.is_empty()).map(|items| list(' ', ' ', items))
}

/// Removes marks of the end of a proof.
pub(super) fn without_closing_mark(tokens: &mut Vec<Token>) {
    let is_mark =
        |token: &Token| token.kind.is_any("✓✔✅■□∎◼.", "blacksquare square Box checkmark qed");
    while tokens.len() > 1 && tokens.pop_if(|token| is_mark(token)).is_some() {}
}

/// Returns the rows of an aligned derivation, without its marks of alignment.
fn inside_environment(tokens: &[Token]) -> Vec<Token> {
    const DERIVATIONS: &str = "aligned align gathered split eqnarray";
    let kind = |position: usize| tokens.get(position).map(|token| &token.kind);
    let name = match (kind(0), kind(2)) {
        (Some(Kind::Command(begin)), Some(Kind::Word(name))) if begin == "begin" => name,
        _ => return tokens.to_vec(),
    };
    let starred = usize::from(kind(3).is_some_and(|kind| kind.is_symbol('*')));
    let (start, end) = (4 + starred, tokens.len().saturating_sub(4 + starred));
    let closes = kind(end).is_some_and(|kind| kind.is_command("end"));
    if !lists(DERIVATIONS, name) || !closes || start > end {
        return tokens.to_vec();
    }
    let rows = tokens[start..end].iter();
    rows.filter(|token| !token.kind.is_symbol('&')).cloned().collect()
}

/// Removes boxes around a statement or its value; `None` for a box within a calculation.
fn without_boxes(mut tokens: Vec<Token>) -> Option<Vec<Token>> {
    while let Some(start) = tokens.iter().position(|token| token.kind.is_any("", "boxed fbox")) {
        let close = start + 1 + Parser::exactly(&tokens[start + 1..])?.bracket()?.0;
        let before = start.checked_sub(1).map(|last| &tokens[last].kind);
        let after = tokens.get(close + 1).map(|token| &token.kind);
        let begins = before.is_none_or(|kind| {
            concludes(kind) || separates(kind) || kind.word().is_some() || kind.is_symbol('=')
        });
        if !begins || !after.is_none_or(|kind| concludes(kind) || separates(kind)) {
            return None;
        }
        tokens.remove(close);
        tokens.drain(start..start + 2);
    }
    Some(tokens)
}

/// Returns the tokens behind the last sign or word of conclusion, and before a reason.
fn conclusion(mut tokens: Vec<Token>) -> Vec<Token> {
    // A row that begins with a relation goes on with the row before.
    let goes_on: Vec<bool> = (0..tokens.len())
        .map(|row| tokens[row].kind.is_command("\\") && begins_with_relation(&tokens[row + 1..]))
        .collect();
    let mut goes_on = goes_on.into_iter();
    tokens.retain(|_| goes_on.next() != Some(true));
    let reason = tokens.iter().position(|token| {
        token.kind.is_any("", "because Leftarrow")
            || matches!(first_word(&token.kind), Some("because" | "since"))
    });
    if let Some(reason) = reason.filter(|reason| *reason > 0) {
        tokens.truncate(reason);
    }
    split(&tokens, concludes).pop().unwrap_or_default().to_vec()
}

fn begins_with_relation(tokens: &[Token]) -> bool {
    let ahead = tokens.len().min(3);
    Parser::new(tokens[..ahead].to_vec()).relation().is_some()
}

fn first_word(kind: &Kind) -> Option<&str> {
    kind.word()?.split_whitespace().next()
}

/// Returns true for `\Rightarrow`, "so" and the like.
fn concludes(kind: &Kind) -> bool {
    const SIGNS: &str = "implies Rightarrow Longrightarrow rightarrow longrightarrow to iff Leftrightarrow \
                         Longleftrightarrow therefore";
    kind.is_any("", SIGNS) || kind.word().is_some_and(words::concludes)
}

fn separates(kind: &Kind) -> bool {
    kind.is_any(",;", "\\") || kind.word().is_some_and(is_conjunction)
}

/// Splits at tokens outside of all brackets and environments.
fn split(tokens: &[Token], splits: fn(&Kind) -> bool) -> Vec<&[Token]> {
    let mut parts = Vec::new();
    let mut start = 0;
    for position in outside_brackets(tokens) {
        if splits(&tokens[position].kind) {
            parts.push(&tokens[start..position]);
            start = position + 1;
        }
    }
    parts.push(&tokens[start..]);
    parts
}

/// Returns the positions of the tokens outside of all brackets and environments, the outermost brackets included.
fn outside_brackets(tokens: &[Token]) -> Vec<usize> {
    let mut positions = Vec::new();
    let Some(mut parser) = Parser::exactly(tokens) else { return positions };
    while parser.peek().is_some() {
        positions.push(parser.position);
        parser.skip();
    }
    positions
}

fn starts_with_formula(statement: &[Token]) -> bool {
    statement[0].kind.word().is_none()
}

/// Reads sides joined by relations. Only the first may hold words, and none of them may be the last.
fn chain(statement: &[Token]) -> Option<Node> {
    let mut parser = Parser::exactly(statement)?;
    let (mut sides, mut relations) = (Vec::new(), Vec::new());
    let mut start = 0;
    loop {
        let end = parser.position;
        let relation = parser.eat_relation();
        if relation.is_none() && end < statement.len() {
            parser.skip();
            continue;
        }
        let side = &statement[start..end];
        let first = sides.is_empty();
        match Parser::new(side.to_vec()).answer() {
            Ok(node) if first || !matches!(node, Node::Words(_)) => sides.push(node),
            _ if relation.is_some() && !side.is_empty() && (first || starts_with_formula(side)) => {
                sides.push(Node::Words(label(side)?));
            }
            _ => return None,
        }
        match relation {
            Some(relation) => relations.push(relation),
            None => break,
        }
        start = parser.position;
    }
    (!relations.is_empty()).then_some(Node::Chain { sides, relations })
}

/// Returns the text of a label; `None` if a sign outside of its brackets makes the statement another.
fn label(side: &[Token]) -> Option<String> {
    const SIGNS: &str =
        "mid nmid not notin subset subseteq parallel perp mapsto forall cong sim propto";
    let foreign = |kind: &Kind| {
        kind.is_any("?", SIGNS) || matches!(kind, Kind::Command(name) if name.ends_with("arrow"))
    };
    if outside_brackets(side).into_iter().any(|position| foreign(&side[position].kind)) {
        return None;
    }
    let text: Vec<String> =
        side.iter().map(|token| token.kind.describe().replace('`', "")).collect();
    Some(text.join(" "))
}
