//! Items between separators, their sides and relations, their operands.

use super::{Node, Relation, is_conjunction, list, value};
use crate::expression::Expression;
use crate::parser::{Parser, Result};
use crate::token::Kind;

impl Parser {
    pub(super) fn answer(&mut self) -> Result<Node> {
        let items = self.items()?;
        match self.peek() {
            None => {}
            Some(Kind::Command(name)) if name == "\\" => {}
            Some(_) => return Err(self.unexpected("the end of the answer")),
        }
        Ok(list(' ', ' ', items))
    }

    /// Items between separators.
    pub(super) fn items(&mut self) -> Result<Vec<Node>> {
        let mut items = vec![self.item()?];
        while self.eat_separator() {
            items.push(self.item()?);
        }
        Ok(items)
    }

    pub(super) fn eat_separator(&mut self) -> bool {
        let mut any = false;
        loop {
            let separator = match self.peek() {
                Some(Kind::Symbol(',' | ';')) => true,
                Some(Kind::Word(word) | Kind::Text(word)) => is_conjunction(word),
                _ => false,
            };
            if !separator {
                return any;
            }
            any = true;
            self.advance();
        }
    }

    pub(super) fn item(&mut self) -> Result<Node> {
        let mut sides = Vec::new();
        let mut relations = Vec::new();
        // "≈ 3.14": a relation without a left side.
        if matches!(self.relation(), Some((Relation::Approximately | Relation::Equal, _))) {
            self.eat_relation();
        }
        loop {
            sides.push(self.side()?);
            match self.eat_relation() {
                Some(relation) => relations.push(relation),
                None => break,
            }
        }
        if sides.len() == 1 {
            return Ok(sides.remove(0));
        }
        Ok(Node::Chain { sides, relations })
    }

    pub(super) fn relation(&self) -> Option<(Relation, usize)> {
        let equals = self.peek_at(1).is_some_and(|kind| kind.is_symbol('='));
        Some(match self.peek()? {
            Kind::Symbol('=') => (Relation::Equal, if equals { 2 } else { 1 }),
            Kind::Symbol('<') if equals => (Relation::LessEqual, 2),
            Kind::Symbol('>') if equals => (Relation::GreaterEqual, 2),
            Kind::Symbol('!') if equals => (Relation::NotEqual, 2),
            Kind::Symbol('<') => (Relation::Less, 1),
            Kind::Symbol('>') => (Relation::Greater, 1),
            Kind::Command(name) => match name.as_str() {
                "lt" => (Relation::Less, 1),
                "gt" => (Relation::Greater, 1),
                "le" | "leq" | "leqslant" => (Relation::LessEqual, 1),
                "ge" | "geq" | "geqslant" => (Relation::GreaterEqual, 1),
                "ne" | "neq" => (Relation::NotEqual, 1),
                "in" => (Relation::In, 1),
                "approx" | "simeq" => (Relation::Approximately, 1),
                _ => return None,
            },
            _ => return None,
        })
    }

    pub(super) fn eat_relation(&mut self) -> Option<Relation> {
        let (relation, length) = self.relation()?;
        for _ in 0..length {
            self.advance();
        }
        Some(relation)
    }

    pub(super) fn side(&mut self) -> Result<Node> {
        let mut parts = vec![self.operand()?];
        while self.eat_command("cup") {
            parts.push(self.operand()?);
        }
        if parts.len() == 1 {
            return Ok(parts.remove(0));
        }
        Ok(Node::Union(parts))
    }

    pub(super) fn operand(&mut self) -> Result<Node> {
        if let Some(structure) = self.structure()? {
            return Ok(structure);
        }
        if let Some(words) = self.words() {
            return Ok(Node::Words(words));
        }
        let currency = self.currency();
        let start = self.position();
        let expression = self.sum()?;
        if self.at_symbol(':') {
            let mut parts = vec![expression];
            while self.eat_symbol(':') {
                parts.push(self.sum()?);
            }
            return Ok(Node::Ratio(parts));
        }
        let percent = self.eat_symbol('%') || self.eat_command("%") || self.eat_word("percent");
        let unit = self.unit(start)?.or(currency);
        Ok(match (expression, unit) {
            (Expression::Degrees(inner), None) => value(*inner, Some("degree".to_owned()), percent),
            (expression, unit) => value(expression, unit, percent),
        })
    }
}
