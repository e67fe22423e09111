//! Bracketed lists, and sets by their members or by what holds of these: `\{x \mid x > 2\}`.

use super::sign::counted;
use super::{Combination, Node, expand};
use crate::parser::{Parser, Result};
use crate::table::lists;
use crate::token::Kind;
use crate::words;

impl Parser {
    /// A bracketed list, a set or a matrix that fills the whole operand.
    pub(super) fn structure(&mut self) -> Result<Option<Node>> {
        if self.at_command("begin") && !self.at_matrix() {
            return self.environment(false).map(Some);
        }
        // `\{\begin{pmatrix} 1 \\ 2 \end{pmatrix}\}` is a set.
        let in_brackets =
            |kind: &Kind| kind.word().is_some_and(|name| lists("pmatrix bmatrix", name));
        let columns = self.bracket().is_some() && self.peek_at(3).is_some_and(in_brackets);
        if self.at_command("{") && self.command_at(1, "begin") && !columns {
            self.advance();
            let system = self.environment(true)?;
            self.eat_command("}");
            return Ok(Some(system));
        }
        if let Some(built) = self.builder()? {
            return Ok(Some(built));
        }
        let open = match self.peek() {
            Some(Kind::Symbol(c @ ('(' | '['))) => *c,
            // `{1, 2}`: braces that TeX would not show.
            Some(Kind::Symbol('{')) if self.at_separated() => '{',
            Some(Kind::Command(name)) if name == "{" => '{',
            Some(Kind::Command(name)) if name == "langle" => '(',
            Some(kind) if kind.is_any("", "emptyset varnothing oslash") => {
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
            if parser.position == end {
                parser.advance();
                return Ok(Some(Node::List { open, close, items: Vec::new() }));
            }
            let items = parser.items()?;
            if parser.position != end {
                return Err(parser.unexpected("a closing bracket"));
            }
            parser.advance();
            // A tuple with the mark of a column is that column.
            if open != '{' && parser.at_symbol('^') {
                parser.eat_transposition();
            }
            let items = if open == '{' { counted(expand(items)) } else { items };
            Ok(Some(Node::List { open, close, items }))
        })
    }

    /// Gives the unit behind `(3, 4)\text{ m}` to each coordinate.
    pub(super) fn with_measure(&mut self, structure: Node) -> Result<Node> {
        let measured = self.peek_word().is_some_and(words::is_measure);
        let Node::List { open: open @ ('(' | '['), close, mut items } = structure else {
            return Ok(structure);
        };
        if measured {
            let measure = self.unit(0)?;
            for item in &mut items {
                if let Node::Value { unit: unit @ None, .. } = item {
                    unit.clone_from(&measure);
                }
            }
        }
        Ok(Node::List { open, close, items })
    }

    /// A set with a bar or colon behind the look of its members.
    pub(super) fn builder(&mut self) -> Result<Option<Node>> {
        let opens = self.at_symbol('{') || self.at_command("{");
        let Some((close, _)) = self.bracket().filter(|_| opens) else { return Ok(None) };
        if !(self.position + 1..close).any(|at| self.kind_at(at).is_some_and(is_bar)) {
            return Ok(None);
        }
        self.attempt(|parser| parser.deeper(|parser| parser.builder_inside(close)))
    }

    fn builder_inside(&mut self, close: usize) -> Result<Option<Node>> {
        self.advance();
        // `x : x > 2` is no ratio.
        let outer = std::mem::replace(&mut self.around.builder, true);
        let mut heads = self.with_bars(true, Self::items)?;
        let mut head = if heads.len() == 1 { heads.remove(0) } else { Node::bare(heads) };
        self.around.builder = outer;
        if !self.peek().is_some_and(is_bar) {
            return Ok(None);
        }
        self.advance();
        let mut conditions = expand(self.items()?);
        if self.position != close {
            return Ok(None);
        }
        self.advance();
        // `x \in \mathbb{R}` before the bar is a condition like those behind it.
        if let Some(member) = head.membership().map(|(member, _)| member.clone()) {
            conditions.push(std::mem::replace(&mut head, member));
        }
        Ok(Some(Node::Builder { head: Box::new(head), conditions }))
    }
}

fn is_bar(kind: &Kind) -> bool {
    kind.is_any("|:", "mid")
}

/// Returns the pairs of `\{1, 2\} \times \{3\}`, if there are not too many.
pub(super) fn pairs(first: &Node, second: &Node) -> Option<Node> {
    const MOST: usize = 64;
    let members = |set: &Node| match set {
        Node::List { open: '{', items, .. } => Some(items.clone()),
        _ => None,
    };
    let (first, second) = (members(first)?, members(second)?);
    let pair = |a: &Node, b: &Node| Node::tuple(vec![a.clone(), b.clone()]);
    let all = first.iter().flat_map(|a| second.iter().map(move |b| pair(a, b)));
    let items = all.take(MOST + 1).collect::<Vec<_>>();
    (items.len() <= MOST).then_some(Node::List { open: '{', close: '}', items })
}

/// Joins two sets: `\{(0, 0)\} \cup \{(1, 1)\}` is the set of both points.
pub(super) fn joined(combination: Combination, first: Node, second: Node) -> Node {
    let is_point = |item: &Node| matches!(item, Node::List { open: '(', .. });
    match (first, second) {
        (Node::Joined(Combination::Union, mut parts), next)
            if combination == Combination::Union =>
        {
            parts.push(next);
            Node::Joined(combination, parts)
        }
        (
            Node::List { open: open @ '{', close, items: mut points },
            Node::List { open: '{', items, .. },
        ) if combination == Combination::Union && points.iter().chain(&items).all(is_point) => {
            points.extend(items);
            Node::List { open, close, items: points }
        }
        (first, second) => Node::Joined(combination, vec![first, second]),
    }
}
