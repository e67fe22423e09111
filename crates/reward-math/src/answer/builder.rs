//! Sets given by what holds of their members: `\{x \mid x > 2\}`.

use super::{Node, Relation};
use crate::parser::{Parser, Result};
use crate::token::Kind;

impl Parser {
    /// A set with a bar or colon behind the look of its members.
    pub(super) fn builder(&mut self) -> Result<Option<Node>> {
        let opens = self.at_symbol('{') || self.at_command("{");
        let Some((close, _)) = self.bracket().filter(|_| opens) else { return Ok(None) };
        if !(self.position() + 1..close).any(|at| self.kind_at(at).is_some_and(is_bar)) {
            return Ok(None);
        }
        self.attempt(|parser| parser.deeper(|parser| parser.builder_inside(close)))
    }

    fn builder_inside(&mut self, close: usize) -> Result<Option<Node>> {
        self.advance();
        // `x : x > 2` is no ratio.
        let outer = std::mem::replace(&mut self.around.builder, true);
        let head = self.until_bar(Self::item)?;
        self.around.builder = outer;
        if !self.peek().is_some_and(is_bar) {
            return Ok(None);
        }
        self.advance();
        let mut conditions = self.items()?;
        if self.position() != close {
            return Ok(None);
        }
        self.advance();
        // `x \in \mathbb{R}` before the bar is a condition like those behind it.
        let head = match head {
            Node::Chain { sides, relations } if relations == [Relation::In] => {
                let Some(member) = sides.first().cloned() else { return Ok(None) };
                conditions.push(Node::Chain { sides, relations });
                member
            }
            head => head,
        };
        Ok(Some(Node::Builder { head: Box::new(head), conditions }))
    }
}

fn is_bar(kind: &Kind) -> bool {
    kind.is_any("|:", "mid")
}
