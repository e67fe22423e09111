//! Bracketed lists, sets and matrices.

use super::{Node, expand};
use crate::parser::{Parser, Result};
use crate::token::Kind;

impl Parser {
    /// A bracketed list, a set or a matrix that fills the whole operand.
    pub(super) fn structure(&mut self) -> Result<Option<Node>> {
        if self.at_command("begin") {
            return self.matrix().map(Some);
        }
        let open = match self.peek() {
            Some(Kind::Symbol(c @ ('(' | '['))) => *c,
            Some(Kind::Command(name)) if name == "{" || name == "lbrace" => '{',
            Some(Kind::Command(name)) if name == "langle" => '(',
            Some(Kind::Command(name)) if name == "emptyset" || name == "varnothing" => {
                self.advance();
                return Ok(Some(Node::List { open: '{', close: '}', items: Vec::new() }));
            }
            _ => return Ok(None),
        };
        let Some((end, separated)) = self.bracket() else { return Ok(None) };
        let close = match self.kind_at(end) {
            Some(Kind::Symbol(c)) => *c,
            Some(Kind::Command(name)) if name == "rangle" => ')',
            _ => '}',
        };
        let holds_matrix = self.peek_at(1).is_some_and(|kind| kind.is_command("begin"));
        if !separated && open != '{' && !holds_matrix {
            return Ok(None);
        }
        self.deeper(|parser| {
            parser.advance();
            if parser.position() == end {
                parser.advance();
                return Ok(Some(Node::List { open, close, items: Vec::new() }));
            }
            let items = parser.items()?;
            if parser.position() != end {
                return Err(parser.unexpected("a closing bracket"));
            }
            parser.advance();
            match <[Node; 1]>::try_from(items) {
                Ok([matrix @ Node::Matrix(_)]) => Ok(Some(matrix)),
                Ok(items) => Ok(Some(Node::List { open, close, items: items.into() })),
                Err(items) => {
                    let items = if open == '{' { expand(items) } else { items };
                    Ok(Some(Node::List { open, close, items }))
                }
            }
        })
    }

    pub(super) fn environment(&mut self) -> Option<String> {
        self.advance();
        if !self.eat_symbol('{') {
            return None;
        }
        let Some(Kind::Word(name)) = self.peek() else { return None };
        let name = name.clone();
        self.advance();
        self.eat_symbol('*');
        self.eat_symbol('}').then_some(name)
    }

    pub(super) fn matrix(&mut self) -> Result<Node> {
        let expected = "a matrix environment";
        let name = self.environment().ok_or_else(|| self.unexpected(expected))?;
        if !matches!(name.as_str(), "matrix" | "pmatrix" | "bmatrix" | "array" | "smallmatrix") {
            return Err(self.unexpected(expected));
        }
        if name == "array" && self.at_symbol('{') {
            let close = self.bracket().map(|(close, _)| close);
            while close.is_some_and(|close| self.position() <= close) {
                self.advance();
            }
        }
        let mut rows = vec![Vec::new()];
        loop {
            if self.at_command("end") {
                self.environment().ok_or_else(|| self.unexpected(expected))?;
                break;
            }
            if self.eat_command("\\") {
                rows.push(Vec::new());
                continue;
            }
            if self.eat_symbol('&') {
                continue;
            }
            let cell = self.sum()?;
            if let Some(row) = rows.last_mut() {
                row.push(cell);
            }
        }
        rows.retain(|row| !row.is_empty());
        Ok(Node::Matrix(rows))
    }
}
