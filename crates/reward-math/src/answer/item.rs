//! Parser of items between separators, of their sides, relations and operands.

use super::measure::{in_degrees, is_copula};
use super::structure::{joined, pairs};
use super::{Combination, Node, Relation, list, matrix};
use crate::expression::Expression;
use crate::parser::{Parser, Result};
use crate::table::{lists, paired, phrases};
use crate::token::Kind;
use crate::words::{self, is_conjunction};

impl Parser {
    pub(super) fn answer(&mut self) -> Result<Node> {
        if let Some(inner) = self.attempt(Self::in_outer_brackets)? {
            return Ok(inner);
        }
        let items = self.items()?;
        match self.peek() {
            None => {}
            Some(Kind::Command(name)) if name == "\\" && self.peek_at(1).is_none() => {}
            Some(_) => return Err(self.unexpected("the end of the answer")),
        }
        let close = if self.alternatives { '|' } else { ' ' };
        Ok(list(' ', close, items))
    }

    /// Parses `(\$5)`, `(x = 5)`: brackets around all of an answer that is no tuple.
    fn in_outer_brackets(&mut self) -> Result<Option<Node>> {
        let last = self.bracket().filter(|(_, separated)| !separated).map(|(close, _)| close);
        let last = last.filter(|at| self.kind_at(*at).is_some_and(|kind| kind.is_any(")}", "")));
        let opens = self.peek().is_some_and(|kind| kind.is_any("({", ""));
        let encloses_all = opens && last.is_some_and(|at| self.kind_at(at + 1).is_none());
        if !encloses_all {
            return Ok(None);
        }
        self.advance();
        let item = self.item()?;
        Ok((Some(self.position) == last).then(|| list(' ', ' ', vec![item])))
    }

    /// Parses items between separators. Inequalities joined by "and" are one item.
    pub(super) fn items(&mut self) -> Result<Vec<Node>> {
        let mut items = vec![self.item()?];
        while let Some(both) = self.eat_separator() {
            // A separator at the end of a row or of the answer.
            if self.peek().is_none() || self.at_command("\\") || self.at_command("end") {
                break;
            }
            let mut item = self.item()?;
            // `x \ne 1, 2`
            if let (Some(Node::Chain { sides, relations }), Node::Value { .. }) =
                (items.last(), &item)
                && relations == &[Relation::NotEqual]
            {
                let (sides, relations) = (vec![sides[0].clone(), item], relations.clone());
                item = Node::Chain { sides, relations };
            }
            let joins = |last: &mut Node| both && is_inequality(last) && is_inequality(&item);
            if let Some(last) = items.pop_if(joins) {
                item = Node::Joined(Combination::Intersection, vec![last, item]);
            }
            items.push(item);
        }
        share_modulus(&mut items);
        // `x = \frac{6 \pm 2}{2} = 3 \pm 1 = 4, 2`: the values of both signs follow.
        if let [Node::Chain { sides, relations }, Node::Value { .. }] = items.as_mut_slice() {
            while let [.., both, _] = sides.as_slice()
                && relations.len() > 1
                && both.expression().is_some_and(|both| both.calls("pm mp"))
            {
                sides.remove(sides.len() - 2);
                relations.pop();
            }
        }
        Ok(items)
    }

    /// Skips commas and conjunctions; returns whether they contain "and", `None` if there are none.
    pub(super) fn eat_separator(&mut self) -> Option<bool> {
        let mut both = None;
        loop {
            let and = match self.peek() {
                Some(Kind::Symbol('&')) if self.environments == 0 => true,
                Some(Kind::Word(word) | Kind::Text(word)) if is_conjunction(word) => {
                    let word = word.trim().to_lowercase();
                    self.alternatives |= lists("or oder ou 或 または", &word.replace(", ", ""));
                    word.ends_with("and") || matches!(word.as_str(), "und" | "et" | "且")
                }
                // `dx \wedge dy` is not `dy \wedge dx`.
                Some(kind)
                    if kind.is_command("wedge") && self.peek_at(1) == Some(&Kind::Letter('d')) =>
                {
                    return both;
                }
                Some(kind) if kind.is_any("", "land wedge cap") || *kind == Kind::Letter('и') => {
                    true
                }
                Some(kind) if kind.is_any(",;", "lor vee cup") => false,
                _ => return both,
            };
            both = Some(and || both == Some(true));
            self.advance();
        }
    }

    pub(super) fn item(&mut self) -> Result<Node> {
        let mut sides = Vec::new();
        let (mut relations, mut signed) = (Vec::new(), false);
        // "≈ 3.14": a relation without a left side.
        if matches!(self.relation(), Some((Relation::Approximately | Relation::Equal, _))) {
            self.eat_relation();
        }
        // "all real numbers greater than 2"
        let bound = self.peek_word().and_then(words::normalise);
        if let Some(relation) =
            bound.and_then(|words| Relation::of(paired("numbers in words", &words)?))
        {
            self.advance();
            sides.push(Expression::symbol("x").into());
            relations.push(relation);
        }
        if let Some(label) = self.quantity() {
            sides.push(Node::Words(label));
            relations.push(Relation::Equal);
        }
        loop {
            let side = self.side()?;
            sides.push(if sides.is_empty() { side } else { in_digits(side) });
            // "increasing on (0, ∞)"
            let opens = self.peek().is_some_and(|kind| kind.is_any("([", ""));
            if sides.len() == 1
                && matches!(&sides[0], Node::Words(words) if words.ends_with(" on"))
                && opens
                && self.at_separated()
            {
                relations.push(Relation::Equal);
                continue;
            }
            signed |= relations.is_empty() && self.at_symbol('=');
            let Some(relation) = self.eat_relation() else { break };
            relations.push(relation);
        }
        self.around.congruence = false;
        // "The equation is y = 2x": the words before an equation are no side of it, as they are in
        // `\text{Area} = \pi r^2 = 4\pi`.
        let introduced = !signed && sides.len() > 2;
        if introduced && matches!(sides[0], Node::Words(_)) && relations[0] == Relation::Equal {
            sides.remove(0);
            relations.remove(0);
        }
        if let Some(modulus) = self.modulus()?
            && let Some(Node::Value { expression, .. }) = sides.last_mut()
        {
            *expression = Expression::function("pmod", [expression.clone(), modulus]);
        }
        if sides.len() == 1 {
            return Ok(sides.remove(0));
        }
        Ok(Node::Chain { sides, relations })
    }

    /// Parses "max" and the name of a quantity before its value: `\text{max } 5`.
    fn quantity(&mut self) -> Option<String> {
        let label = self.peek_word()?.trim().to_lowercase();
        let sign = usize::from(self.symbol_at(1, '-'));
        let behind = self.peek_at(1 + sign)?;
        // `\operatorname{rank}(A)`
        let bracket = !lists("rank nullity", &label) && behind.is_any("(", "");
        let value = bracket || matches!(behind, Kind::Number { .. });
        let known = lists("max min maximum minimum", &label)
            || phrases("quantity").contains(&label.as_str());
        // "radius r = 5"
        let lettered = known && matches!(behind, Kind::Letter(_)) && self.symbol_at(2, '=');
        let is_label = known && (value || behind.is_any("", "frac dfrac tfrac sqrt"));
        self.position += if lettered { 2 } else { 0 };
        self.eat_if(lettered || is_label).then_some(label)
    }

    /// Parses `\pmod 7`, `\mod 7` and `(\mod 7)` after a residue.
    fn modulus(&mut self) -> Result<Option<Expression>> {
        if self.eat_command("pmod") || self.eat_command("mod") {
            return self.primary().map(Some);
        }
        let bracketed = self.at_symbol('(') && self.peek_at(1).is_some_and(Kind::is_modulo);
        if !bracketed {
            return Ok(None);
        }
        self.position += 2;
        let modulus = self.sum()?;
        self.expect(')')?;
        Ok(Some(modulus))
    }

    pub(super) fn relation(&self) -> Option<(Relation, usize)> {
        let sign = |ahead: usize| match self.peek_at(ahead)? {
            Kind::Symbol(c @ ('=' | '<' | '>' | '!')) => Some(c.to_string()),
            Kind::Command(name) => Some(format!("\\{name}")),
            _ => None,
        };
        if let Some(word) = self.peek()?.word() {
            let sign = if is_copula(word) { "=" } else { paired("relation in words", word)? };
            return Some((Relation::of(sign)?, 1));
        }
        let first = sign(0)?;
        // `97! = 97`
        let apart = first == "!" && self.spaced(1);
        let second = sign(1).filter(|_| !apart);
        let both = second.and_then(|second| Relation::of(&(first.clone() + &second)));
        both.map(|relation| (relation, 2)).or_else(|| Some((Relation::of(&first)?, 1)))
    }

    pub(super) fn eat_relation(&mut self) -> Option<Relation> {
        let (relation, length) = self.relation()?;
        self.around.congruence |= self.at_command("equiv");
        self.position += length;
        Some(relation)
    }

    /// Parses sets joined by `\cup`, `\cap` and `\setminus`, from left to right.
    pub(super) fn side(&mut self) -> Result<Node> {
        let mut side = self.operand()?;
        // `x < 1 \cup x > 2` joins the two conditions on `x`, not 1 and `x`.
        while is_set(&side) {
            let capital_u = matches!(self.peek(), Some(Kind::Letter('U')))
                && matches!(self.peek_at(1), Some(Kind::Symbol('(' | '[') | Kind::Command(_)));
            // `\mathbb{R} - \{0\}`, `\mathbb{R} / \{0\}`
            let removes = (self.at_symbol('-') || self.at_symbol('/')) && self.command_at(1, "{");
            let combination = if self.eat_command("cup") || self.eat_if(capital_u) {
                Combination::Union
            } else if self.eat_command("cap") {
                Combination::Intersection
            } else if self.eat_command("setminus")
                || self.eat_command("backslash")
                || self.eat_if(removes)
            {
                Combination::Difference
            } else if self.at_command("times") && self.command_at(1, "{") {
                self.advance();
                side = pairs(&side, &self.operand()?).ok_or_else(|| self.unexpected("a set"))?;
                continue;
            } else {
                return Ok(side);
            };
            // `\cup {5}` without backslashes is a set, too.
            if self.at_symbol('{') && !self.peek_at(1).is_some_and(|kind| kind.is_any("([", "")) {
                self.replace(Kind::Command("{".to_owned()));
            }
            let next = self.operand()?;
            side = joined(combination, side, next);
        }
        Ok(side)
    }

    /// Returns true before `:` or "to" and the next part of a ratio.
    fn at_ratio(&self) -> bool {
        (self.at_symbol(':') && !self.around.builder)
            || (self.peek_word() == Some("to")
                && matches!(self.peek_at(1), Some(Kind::Number { .. })))
    }

    pub(super) fn operand(&mut self) -> Result<Node> {
        let (before, replaced) = (self.position, self.replaced.len());
        if let Some(structure) = self.structure()? {
            // `(1, 2) + t(3, 4)`
            let structure = self.with_measure(structure)?;
            let removes = self.at_symbol('-') && self.command_at(1, "{");
            let multiplies = self.at_command("cdot")
                && self.peek_at(1).is_some_and(|kind| kind.is_any("(", "langle"));
            let continues = self.at_symbol('+') || self.at_symbol('-') && !removes || multiplies;
            if !continues || !matches!(structure, Node::List { open: '(', .. }) {
                return Ok(structure);
            }
            self.position = before;
            self.put_back(replaced);
        }
        let currency = self.currency();
        if currency.is_none()
            && let Some(words) = self.words()
        {
            return self.with_exception(words);
        }
        let start = self.position;
        let mut expression = self.sum()?;
        if expression.holds_matrix() {
            match matrix::value(&expression, &mut self.matrix_budget)? {
                matrix::Value::Matrix(rows) => return Ok(Node::Matrix(rows)),
                matrix::Value::Scalar(value) => expression = value,
            }
        }
        if self.at_ratio() {
            let mut parts = vec![expression];
            let mut minutes = false;
            while self.at_ratio() {
                self.advance();
                minutes = matches!(self.peek(), Some(Kind::Number { digits, .. })
                    if digits.len() == 2 && digits.starts_with('0'));
                parts.push(self.sum()?);
            }
            // `4:05` is a time, with its seconds.
            if minutes && parts.len() == 2 {
                parts.push(Expression::integer(0));
            }
            return Ok(Node::Ratio(parts));
        }
        if let Some(factor) = self.magnitude() {
            expression = expression * Expression::Number(factor);
        }
        if self.eat_percent() {
            self.unit(start)?;
            return Ok(Node::Value { expression, unit: Some("percent".to_owned()) });
        }
        // A temperature or an angle.
        if let Some(expression) = in_degrees(&expression) {
            let scale = self.temperature_scale().unwrap_or("degree");
            return Ok(Node::Value { expression, unit: Some(scale.to_owned()) });
        }
        match self.unit(start)?.or(currency) {
            Some(unit) => self.with_smaller_unit(expression, unit),
            None => Ok(expression.into()),
        }
    }

    /// Turns "all real numbers except 2" into a difference; other words stay words.
    fn with_exception(&mut self, words: String) -> Result<Node> {
        let mut rests = phrases("leaves out").iter().filter_map(|end| words.strip_suffix(end));
        let excepted = rests.any(|rest| phrases("all reals").contains(&rest.trim()));
        if !excepted || self.peek().is_none() {
            return Ok(Node::Words(words));
        }
        let items = self.items()?.iter_mut().map(|item| stated(item).clone()).collect();
        let reals = Expression::symbol("\\mathbb R").into();
        let points = Node::List { open: '{', close: '}', items };
        Ok(Node::Joined(Combination::Difference, vec![reals, points]))
    }
}

/// Returns the value of an equation; other nodes as they are.
fn stated(item: &mut Node) -> &mut Node {
    if !matches!(item, Node::Chain { relations, .. } if *relations == [Relation::Equal]) {
        return item;
    }
    match item {
        Node::Chain { sides, .. } => &mut sides[1],
        value => value,
    }
}

/// Gives the modulus of the last of `n \equiv 1, 3 \pmod 8` to the numbers before it.
fn share_modulus(items: &mut [Node]) {
    let Some((last, before)) = items.split_last_mut() else { return };
    let modulus = stated(last).expression().and_then(|last| last.arguments_of("pmod"));
    let Some([_, modulus]) = modulus else { return };
    for item in before {
        if let Node::Value { expression, unit: None } = stated(item)
            && expression.literal().is_some()
        {
            *expression = Expression::function("pmod", [expression.clone(), modulus.clone()]);
        }
    }
}

/// Returns true if the node may be a set, as an operand of the signs that join sets.
fn is_set(node: &Node) -> bool {
    match node {
        Node::List { open, .. } => *open != ' ',
        Node::Value { expression: Expression::Symbol(name), .. } => {
            name.starts_with("\\mathbb ") || name.len() == 1 && name.starts_with(char::is_uppercase)
        }
        Node::Joined(..) | Node::Builder { .. } | Node::Words(_) => true,
        _ => false,
    }
}

fn is_inequality(node: &Node) -> bool {
    use Relation::{Approximately, Equal, In};
    let equal = |relation: &Relation| matches!(relation, Equal | In | Approximately);
    matches!(node, Node::Chain { relations, .. } if !relations.iter().any(equal))
}

/// Returns a side that is a number in words as that number: `\dim \ker T = \text{two}`.
fn in_digits(side: Node) -> Node {
    let Node::Words(words) = &side else { return side };
    words::number(words).map_or(side, |number| Expression::Number(number).into())
}
