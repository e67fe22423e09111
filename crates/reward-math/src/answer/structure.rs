//! Bracketed lists and sets.

use super::{Node, expand};
use crate::parser::{Parser, Result};
use crate::token::Kind;

impl Parser {
    /// A bracketed list, a set or a matrix that fills the whole operand.
    pub(super) fn structure(&mut self) -> Result<Option<Node>> {
        if self.at_command("begin") && !self.at_matrix() {
            return self.environment().map(Some);
        }
        if self.at_command("{") && self.command_at(1, "begin") {
            self.advance();
            let system = self.braced_system()?;
            self.eat_command("}");
            return Ok(Some(system));
        }
        if let Some(built) = self.builder()? {
            return Ok(Some(built));
        }
        let open = match self.peek() {
            Some(Kind::Symbol(c @ ('(' | '['))) => *c,
            // `{1, 2}`: braces that TeX would not show.
            Some(Kind::Symbol('{')) if self.bracket().is_some_and(|(_, separated)| separated) => {
                '{'
            }
            Some(Kind::Command(name)) if name == "{" => '{',
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
        // `\{x + y\} z`: a factor.
        let is_factor = open == '{'
            && !separated
            && matches!(self.kind_at(end + 1), Some(Kind::Letter(_) | Kind::Symbol('(')));
        if is_factor || !separated && open != '{' {
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
            // A tuple with the mark of a column is that column.
            if open != '{' && parser.at_symbol('^') {
                parser.eat_transposition();
            }
            let items = if open == '{' { expand(items) } else { items };
            Ok(Some(Node::List { open, close, items }))
        })
    }
}
