//! What an answer is, once read: a value, words, or a structure of them.

use crate::expression::Expression;
use crate::fold::fold;
use crate::parser::{Parser, Result};
use crate::token::{Kind, tokenize};
use crate::verdict::ParseError;
use crate::words;

/// Longest answer that is read, in bytes; longer ones are compared by spelling alone.
const MAX_BYTES: usize = 16 * 1024;

/// An answer with all that its text may mean.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    /// The text without decoration and spaces.
    pub(crate) spelling: String,
    /// The letter, if it reads as a choice.
    pub(crate) choice: Option<char>,
    /// One or two readings (`1,234` is a number and a list), or why there is none.
    pub(crate) readings: std::result::Result<Vec<Node>, ParseError>,
}

/// One reading of an answer.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Node {
    /// A number or expression.
    Value { expression: Expression, unit: Option<String>, percent: bool, plus: bool },
    /// Anything in plain language, normalised.
    Words(String),
    /// Items with the brackets around them; a space where there are none.
    List { open: char, close: char, items: Vec<Node> },
    /// A union of sets.
    Union(Vec<Node>),
    /// Sides joined by relations, one fewer than sides.
    Chain { sides: Vec<Node>, relations: Vec<Relation> },
    /// A matrix by rows.
    Matrix(Vec<Vec<Expression>>),
    /// `a:b:c`.
    Ratio(Vec<Expression>),
}

/// A relation between two sides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Relation {
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    In,
    Approximately,
}

impl Relation {
    /// The relation read from right to left.
    pub(crate) fn flipped(self) -> Self {
        match self {
            Self::Less => Self::Greater,
            Self::LessEqual => Self::GreaterEqual,
            Self::Greater => Self::Less,
            Self::GreaterEqual => Self::LessEqual,
            other => other,
        }
    }
}

impl Answer {
    /// Reads an answer.
    pub(crate) fn parse(text: &str) -> std::result::Result<Self, ParseError> {
        let text = text.trim();
        if text.is_empty() {
            return Err(ParseError::Empty);
        }
        if text.len() > MAX_BYTES {
            let why = ParseError::TooLong { found: text.len(), limit: MAX_BYTES };
            return Ok(Self { spelling: text.to_owned(), choice: None, readings: Err(why) });
        }
        let folded = fold(text);
        let folded = folded.trim();
        let folded = folded.strip_suffix('.').filter(|rest| !rest.ends_with('.')).unwrap_or(folded);
        let folded = folded.trim_end_matches([',', ';', ' ']);
        if folded.is_empty() {
            return Err(ParseError::Empty);
        }
        let readings = read(folded, true).map(|first| {
            let mut readings = vec![first];
            if has_grouping(folded)
                && let Ok(second) = read(folded, false)
            {
                readings.push(second);
            }
            readings
        });
        let readings = match readings {
            Err(why @ (ParseError::Syntax { .. } | ParseError::Undefined { .. })) => {
                match words::normalise(folded) {
                    Some(words) => Ok(vec![Node::Words(words)]),
                    None => Err(why),
                }
            }
            other => other,
        };
        Ok(Self { spelling: spelling(folded), choice: words::choice(folded), readings })
    }
}

fn read(folded: &str, grouping: bool) -> Result<Node> {
    let mut parser = Parser::new(tokenize(folded, grouping)?);
    parser.answer()
}

fn has_grouping(folded: &str) -> bool {
    tokenize(folded, true).is_ok_and(|tokens| {
        tokens.iter().any(|token| matches!(token.kind, Kind::Number { grouped: true, .. }))
    })
}

/// The text without spaces and decoration, for the first rung.
fn spelling(folded: &str) -> String {
    let mut text = folded.replace("\\left", "").replace("\\right", "").replace("\\!", "");
    for (long, short) in [("\\dfrac", "\\frac"), ("\\tfrac", "\\frac"), ("\\,", ""), ("\\;", "")] {
        text = text.replace(long, short);
    }
    // A space ends a command (`\pi r`) and separates digits; elsewhere it means nothing.
    let kept: Vec<char> = text.chars().filter(|c| *c != '$').collect();
    let mut spelled = String::with_capacity(kept.len());
    let mut previous = ' ';
    for (at, &c) in kept.iter().enumerate() {
        if c == ' ' {
            let next = kept[at..].iter().find(|c| **c != ' ').copied().unwrap_or(' ');
            if previous.is_alphanumeric() && next.is_alphanumeric() && !spelled.ends_with(' ') {
                spelled.push(' ');
            }
        } else {
            spelled.push(c);
            previous = c;
        }
    }
    spelled
}

impl Parser {
    fn answer(&mut self) -> Result<Node> {
        let items = self.items()?;
        match self.peek() {
            None => {}
            Some(Kind::Command(name)) if name == "\\" => {}
            Some(_) => return Err(self.unexpected("the end of the answer")),
        }
        Ok(list(' ', ' ', items))
    }

    /// Items between separators.
    fn items(&mut self) -> Result<Vec<Node>> {
        let mut items = vec![self.item()?];
        while self.eat_separator() {
            items.push(self.item()?);
        }
        Ok(items)
    }

    fn eat_separator(&mut self) -> bool {
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

    fn item(&mut self) -> Result<Node> {
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

    fn relation(&self) -> Option<(Relation, usize)> {
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

    fn eat_relation(&mut self) -> Option<Relation> {
        let (relation, length) = self.relation()?;
        for _ in 0..length {
            self.advance();
        }
        Some(relation)
    }

    fn side(&mut self) -> Result<Node> {
        let mut parts = vec![self.operand()?];
        while self.eat_command("cup") {
            parts.push(self.operand()?);
        }
        if parts.len() == 1 {
            return Ok(parts.remove(0));
        }
        Ok(Node::Union(parts))
    }

    fn operand(&mut self) -> Result<Node> {
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

    /// A bracketed list, a set or a matrix that fills the whole operand.
    fn structure(&mut self) -> Result<Option<Node>> {
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

    fn environment(&mut self) -> Option<String> {
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

    fn matrix(&mut self) -> Result<Node> {
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

    /// Words up to the end of the item, if it starts with one.
    fn words(&mut self) -> Option<String> {
        let starts = match self.peek() {
            Some(Kind::Word(word) | Kind::Text(word)) => !self.is_name(word),
            _ => false,
        };
        if !starts {
            return None;
        }
        let mut text = Vec::new();
        while let Some(Kind::Word(word) | Kind::Text(word)) = self.peek() {
            if is_conjunction(word) {
                break;
            }
            text.push(word.clone());
            self.advance();
        }
        words::normalise(&text.join(" "))
    }

    fn is_name(&self, word: &str) -> bool {
        matches!(
            word,
            "pi" | "inf"
                | "infinity"
                | "oo"
                | "Infinity"
                | "sqrt"
                | "sin"
                | "cos"
                | "tan"
                | "cot"
                | "sec"
                | "csc"
                | "ln"
                | "log"
                | "lg"
                | "exp"
                | "abs"
                | "arcsin"
                | "arccos"
                | "arctan"
                | "tg"
                | "ctg"
                | "arctg"
                | "gcd"
                | "lcm"
                | "max"
                | "min"
                | "sinh"
                | "cosh"
                | "tanh"
        ) && !self.peek_at(1).is_some_and(|kind| kind.is_symbol('='))
    }

    /// A currency sign before the number, also after its sign.
    fn currency(&mut self) -> Option<String> {
        let behind_minus = self.at_symbol('-') && self.peek_at(1).and_then(currency_name).is_some();
        let ahead = usize::from(behind_minus);
        let name = self.peek_at(ahead).and_then(currency_name)?;
        if behind_minus {
            self.swap_with_next();
        }
        self.advance();
        Some(name.to_owned())
    }

    fn eat_word(&mut self, expected: &str) -> bool {
        let found =
            matches!(self.peek(), Some(Kind::Word(word) | Kind::Text(word)) if word == expected);
        if found {
            self.advance();
        }
        found
    }

    /// The words of measurement after a value.
    fn unit(&mut self, start: usize) -> Result<Option<String>> {
        let mut unit = String::new();
        loop {
            match self.peek() {
                Some(Kind::Word(word) | Kind::Text(word)) if !is_conjunction(word) => {
                    if self.position() == start {
                        return Err(self.unexpected("a value before its unit"));
                    }
                    unit.push(' ');
                    unit.push_str(word);
                }
                Some(Kind::Symbol(c)) if currency_name(&Kind::Symbol(*c)).is_some() => {
                    unit.push_str(currency_name(&Kind::Symbol(*c)).unwrap_or_default());
                }
                Some(Kind::Symbol('/' | '^' | '{' | '}') | Kind::Number { .. })
                    if !unit.is_empty() =>
                {
                    let inside = matches!(self.peek(), Some(Kind::Symbol('}')));
                    if inside && !unit.contains('{') {
                        break;
                    }
                    match self.peek() {
                        Some(Kind::Symbol(c)) => unit.push(*c),
                        Some(Kind::Number { digits, .. }) => unit.push_str(digits),
                        _ => {}
                    }
                }
                Some(Kind::Symbol('(')) if !unit.is_empty() => {
                    // A remark in brackets after the unit.
                    let Some((close, _)) = self.bracket() else { break };
                    while self.position() < close {
                        self.advance();
                    }
                }
                _ => break,
            }
            self.advance();
        }
        Ok(words::unit(&unit))
    }
}

fn value(expression: Expression, unit: Option<String>, percent: bool) -> Node {
    Node::Value { expression, unit, percent, plus: true }
}

/// A list, or its only item; `±` makes two items of one.
fn list(open: char, close: char, items: Vec<Node>) -> Node {
    let mut items = expand(items);
    if items.len() == 1 {
        return items.remove(0);
    }
    Node::List { open, close, items }
}

fn expand(items: Vec<Node>) -> Vec<Node> {
    let mut expanded = Vec::with_capacity(items.len());
    for item in items {
        match item {
            Node::Value { expression, unit, percent, .. } if has_either(&expression) => {
                for plus in [true, false] {
                    let (expression, unit) = (expression.clone(), unit.clone());
                    expanded.push(Node::Value { expression, unit, percent, plus });
                }
            }
            Node::Chain { sides, relations }
                if relations == [Relation::Equal]
                    && matches!(&sides[1], Node::Value { expression, .. } if has_either(expression)) =>
            {
                for plus in [true, false] {
                    let mut sides = sides.clone();
                    if let Node::Value { plus: sign, .. } = &mut sides[1] {
                        *sign = plus;
                    }
                    expanded.push(Node::Chain { sides, relations: relations.clone() });
                }
            }
            other => expanded.push(other),
        }
    }
    expanded
}

fn has_either(expression: &Expression) -> bool {
    expression.any(&|node| matches!(node, Expression::PlusMinus(..)))
}

fn is_conjunction(word: &str) -> bool {
    matches!(word.trim().to_lowercase().as_str(), "and" | "or" | ", and" | ", or")
}

fn currency_name(kind: &Kind) -> Option<&'static str> {
    match kind {
        Kind::Symbol('$') => Some("dollar"),
        Kind::Symbol('€') => Some("euro"),
        Kind::Symbol('£') => Some("pound sterling"),
        Kind::Symbol('¥') => Some("yen"),
        _ => None,
    }
}
