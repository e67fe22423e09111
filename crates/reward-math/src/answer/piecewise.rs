//! Parser of values by cases, each with its condition.

use super::node::{Combination, Node, Piece};
use super::sign::list;
use crate::parser::{Parser, Result};
use crate::table::pattern;
use crate::token::Kind;

/// Most rows that are parsed.
const MAX_PIECES: usize = 64;

impl Parser {
    /// Parses the rows up to the end of the environment; `None` if one of them has no condition.
    pub(super) fn pieces(&mut self, name: &str) -> Result<Option<Vec<Piece>>> {
        let mut pieces = Vec::new();
        while !self.eat_end(name)? {
            if self.eat_command("\\") {
                continue;
            }
            if pieces.len() == MAX_PIECES {
                return Ok(None);
            }
            let value = self.item()?;
            while self.eat_symbol(',') {}
            let marked = self.eat_symbol('&');
            if !(self.eat_condition_word() || marked) {
                return Ok(None);
            }
            let Some(piece) = self.condition(value)? else { return Ok(None) };
            pieces.push(piece);
        }
        Ok((pieces.len() > 1).then_some(pieces))
    }

    /// Skips "if", "when" or "for" before a condition.
    fn eat_condition_word(&mut self) -> bool {
        let word = self.peek_word().unwrap_or_default().trim();
        let is_condition = matches!(word, "if" | "when" | "for" | "where" | "If" | "当" | "若");
        self.eat_if(is_condition)
    }

    /// Parses the condition of a row, up to the end of the row.
    fn condition(&mut self, value: Node) -> Result<Option<Piece>> {
        self.eat_symbol('&');
        self.eat_condition_word();
        let start = self.position;
        let mut end = start;
        while self.kind_at(end).is_some_and(|kind| !kind.is_any("", "\\ end")) {
            end += 1;
        }
        let tokens: Vec<&Kind> = (start..end).filter_map(|at| self.kind_at(at)).collect();
        let text: String = tokens.iter().map(|kind| kind.describe().replace('`', "")).collect();
        // `n \ge 2, n \in \mathbb{N}^*`: the cases of a sequence.
        let domain = pattern!(r",[a-z]\\in(?:\\mathbb)?\{?[NZ][*+^{}]*[.,;]*$");
        let of_integers = domain.is_match(&text);
        let text = domain.replace(&text, "").trim_end_matches(['.', ',', ';']).to_lowercase();
        if matches!(text.as_str(), "otherwise" | "else" | "elsewhere" | "其他" | "其它") {
            self.position += end - start;
            return Ok(Some(Piece { value, condition: None, region: None }));
        }
        if text.is_empty() {
            return Ok(None);
        }
        let region = self.attempt(|parser| {
            let items = if of_integers { vec![parser.item()?] } else { parser.items()? };
            while parser.eat_symbol('.') || parser.eat_symbol(';') {}
            Ok((of_integers || parser.position == end).then(|| list(' ', ' ', items)))
        })?;
        self.position = end;
        // "n is even" reads as a variable with its unit.
        let region = region.filter(states);
        Ok(Some(Piece { value, condition: Some(text), region }))
    }
}

/// Returns true if the node is a statement about numbers only.
fn states(node: &Node) -> bool {
    match node {
        Node::Chain { sides, .. } => sides.iter().all(|side| {
            side.plain().is_some()
                || matches!(side, Node::List { open, .. } if *open != ' ')
                || matches!(side, Node::Joined(Combination::Union, _))
        }),
        Node::Joined(Combination::Intersection, items) | Node::List { open: ' ', items, .. } => {
            items.iter().all(states)
        }
        _ => false,
    }
}
