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

    /// Items between separators. Inequalities joined by "and" are one item.
    pub(super) fn items(&mut self) -> Result<Vec<Node>> {
        let mut items = vec![self.item()?];
        while let Some(both) = self.eat_separator() {
            let item = self.item()?;
            match items.pop() {
                Some(last) if both && is_inequality(&last) && is_inequality(&item) => {
                    items.push(Node::Intersection(vec![last, item]));
                }
                last => {
                    items.extend(last);
                    items.push(item);
                }
            }
        }
        Ok(items)
    }

    /// Steps over commas and conjunctions; whether they say "and".
    pub(super) fn eat_separator(&mut self) -> Option<bool> {
        let mut both = None;
        loop {
            let and = match self.peek() {
                Some(Kind::Symbol(',' | ';')) => false,
                Some(Kind::Word(word) | Kind::Text(word)) if is_conjunction(word) => {
                    word.trim().to_lowercase().ends_with("and")
                }
                Some(Kind::Command(name)) if name == "land" || name == "wedge" => true,
                Some(Kind::Command(name)) if name == "lor" || name == "vee" => false,
                _ => return both,
            };
            both = Some(and || both == Some(true));
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

    /// Operands joined by `\cup`, `\cap` and `\setminus`, from left to right.
    pub(super) fn side(&mut self) -> Result<Node> {
        let mut side = self.operand()?;
        loop {
            let join: fn(Vec<Node>) -> Node = if self.eat_command("cup") {
                Node::Union
            } else if self.eat_command("cap") {
                Node::Intersection
            } else if self.eat_command("setminus") || self.eat_command("backslash") {
                Node::Difference
            } else {
                return Ok(side);
            };
            let next = self.operand()?;
            side = match (side, join(Vec::new())) {
                (Node::Union(mut parts), Node::Union(_)) => {
                    parts.push(next);
                    Node::Union(parts)
                }
                (side, _) => join(vec![side, next]),
            };
        }
    }

    /// `:` or "to" before the next part of a ratio.
    fn at_ratio(&self) -> bool {
        let to = matches!(self.peek(), Some(Kind::Word(word) | Kind::Text(word)) if word == "to");
        self.at_symbol(':') || (to && matches!(self.peek_at(1), Some(Kind::Number { .. })))
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
        if self.at_ratio() {
            let mut parts = vec![expression];
            while self.at_ratio() {
                self.advance();
                parts.push(self.sum()?);
            }
            return Ok(Node::Ratio(parts));
        }
        // A number before a matrix multiplies every entry.
        if self.at_command("begin")
            && let Node::Matrix(rows) = self.environment()?
        {
            let scaled = |entry: Expression| Expression::Product(vec![expression.clone(), entry]);
            let scaled_row = |row: Vec<Expression>| row.into_iter().map(scaled).collect();
            return Ok(Node::Matrix(rows.into_iter().map(scaled_row).collect()));
        }
        let percent = self.eat_symbol('%') || self.eat_command("%") || self.eat_percent_word();
        let unit = self.unit(start)?.or(currency);
        Ok(match (expression, unit) {
            (Expression::Degrees(inner), None) => value(*inner, Some("degree".to_owned()), percent),
            (expression, unit) => value(expression, unit, percent),
        })
    }
}

fn is_inequality(node: &Node) -> bool {
    let ordered = |relation: &Relation| {
        matches!(
            relation,
            Relation::Less | Relation::LessEqual | Relation::Greater | Relation::GreaterEqual
        )
    };
    matches!(node, Node::Chain { relations, .. } if relations.iter().all(ordered))
}
