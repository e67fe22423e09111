//! LaTeX environments: matrices, determinants, systems, and values by cases.

use super::node::Piece;
use super::{Combination, Node, expand, list, matrix};
use crate::expression::Expression;
use crate::parser::{Parser, Result};
use crate::table::{lists, pattern};
use crate::token::Kind;

/// Environments of a matrix or determinant.
const MATRICES: &str = "matrix pmatrix bmatrix array smallmatrix Bmatrix vmatrix";

/// Most rows that are parsed.
const MAX_PIECES: usize = 64;

impl Parser {
    /// `\begin{…} … \end{…}` as a matrix, the value of a determinant or the equations of a system; behind `\{` no matrix.
    pub(super) fn environment(&mut self, braced: bool) -> Result<Node> {
        self.environments += 1;
        let node = self.deeper(|parser| parser.environment_inside(braced));
        self.environments -= 1;
        node
    }

    /// Returns true before an environment that is a matrix or a determinant.
    pub(crate) fn at_matrix(&self) -> bool {
        let named = |kind: &Kind| matches!(kind, Kind::Word(name) if lists(MATRICES, name));
        self.at_command("begin") && self.peek_at(2).is_some_and(named) && !self.holds_equations()
    }

    /// Returns true if the environment that begins here is an `array` of equations, or of values with their conditions.
    fn holds_equations(&self) -> bool {
        let array = self.peek_at(2).and_then(Kind::word) == Some("array");
        let end = self.bracket().filter(|_| array).map_or(0, |(end, _)| end);
        let states = |kind: &Kind| {
            let word = kind.word().is_some_and(|word| lists("if when otherwise", word.trim()));
            word || kind.is_any("=<>", "equiv mid nmid")
        };
        (self.position..end).any(|at| self.kind_at(at).is_some_and(states))
    }

    /// A matrix as a part of an expression, or the value of a determinant.
    pub(crate) fn matrix(&mut self) -> Result<Expression> {
        match self.environment(false)? {
            Node::Matrix(rows) => Ok(Expression::matrix(rows)),
            Node::Value { expression, .. } => Ok(expression),
            _ => Err(self.unexpected("a matrix")),
        }
    }

    fn environment_inside(&mut self, braced: bool) -> Result<Node> {
        let expected = "a matrix or a system of equations";
        let equations = self.holds_equations();
        let name = self.environment_name().ok_or_else(|| self.unexpected(expected))?;
        if name == "array" && self.at_symbol('{') {
            self.skip();
        }
        let cases = braced || lists("cases dcases rcases", &name);
        // Rows of a value and its condition in an `array`, as in `cases`.
        let pieces = self.attempt(|parser| {
            let pieces = if cases || name == "array" { parser.pieces(&name)? } else { None };
            Ok(pieces.filter(|pieces| cases || pieces.iter().all(Piece::is_conditional)))
        })?;
        if let Some(pieces) = pieces {
            return Ok(Node::Piecewise(pieces));
        }
        if cases || equations || lists("aligned align gathered split eqnarray", &name) {
            return self.system(&name);
        }
        if !lists(MATRICES, &name) {
            return Err(self.unexpected(expected));
        }
        let rows = self.rows(&name)?;
        if name == "vmatrix" {
            let value = matrix::determinant(&rows, &mut self.matrix_budget)?;
            // No literal: a determinant beside its value is a calculation.
            return Ok(Expression::Sum(vec![value]).into());
        }
        Ok(Node::Matrix(rows))
    }

    /// Skips `'`, `^T`, `^{\top}` and the like, and returns "transpose"; "adjoint" for `^*`, `^H` and `^\dagger`.
    pub(crate) fn eat_transposition(&mut self) -> Option<&'static str> {
        if self.eat_symbol('\'') {
            return Some("transpose");
        }
        let mark = |ahead: usize| {
            let kind = self.peek_at(ahead)?;
            let letter = |name: char| {
                *kind == Kind::Letter(name) || kind.word() == Some(name.encode_utf8(&mut [0; 4]))
            };
            let transpose = letter('T') || kind.is_any("'", "top prime intercal");
            let adjoint = letter('H') || kind.is_any("*†", "dagger star");
            if transpose { Some("transpose") } else { adjoint.then_some("adjoint") }
        };
        let grouped = self.symbol_at(1, '{') && self.symbol_at(3, '}');
        let place = if grouped { 2 } else { 1 };
        let name = mark(place).filter(|_| self.at_symbol('^'))?;
        self.position += 2 * place;
        Some(name)
    }

    fn environment_name(&mut self) -> Option<String> {
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

    fn rows(&mut self, name: &str) -> Result<Vec<Vec<Expression>>> {
        let mut rows = vec![Vec::new()];
        while !self.eat_end(name)? {
            if self.eat_command("\\") {
                rows.push(Vec::new());
            } else if !self.eat_symbol('&') {
                let cell = self.sum()?;
                if cell.holds_matrix() {
                    return Err(self.unexpected("an entry"));
                }
                if let Some(row) = rows.last_mut() {
                    row.push(cell);
                }
            }
        }
        rows.retain(|row| !row.is_empty());
        Ok(rows)
    }

    fn eat_end(&mut self, name: &str) -> Result<bool> {
        if !self.at_command("end") {
            return Ok(false);
        }
        if self.environment_name().is_none_or(|found| found != name) {
            return Err(self.unexpected("the end of the same environment"));
        }
        Ok(true)
    }

    /// Equations, one a row; alignment marks mean nothing. A column of conditions is not read.
    fn system(&mut self, name: &str) -> Result<Node> {
        let mut equations = Vec::new();
        while !self.eat_end(name)? {
            if self.eat_command("\\") || self.eat_symbol('&') {
                continue;
            }
            equations.extend(self.items()?);
            self.eat_symbol('.');
        }
        let equations = expand(equations);
        // Points, a few in each row.
        let is_point = |item: &Node| matches!(item, Node::List { open: '(', .. });
        if !equations.iter().all(Node::is_chain) && !equations.iter().all(is_point) {
            return Err(self.unexpected("equations alone"));
        }
        Ok(Node::bare(equations))
    }

    /// Parses the rows up to the end of the environment; `None` if one of them has no condition.
    fn pieces(&mut self, name: &str) -> Result<Option<Vec<Piece>>> {
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
        let kinds = (start..).map_while(|at| self.kind_at(at));
        let row = kinds.take_while(|kind| !kind.is_any("", "\\ end"));
        let texts: Vec<String> = row.map(|kind| kind.describe().replace('`', "")).collect();
        let (end, text) = (start + texts.len(), texts.concat());
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
            let outer = std::mem::take(&mut parser.alternatives);
            let items = if of_integers { vec![parser.item()?] } else { parser.items()? };
            let close = if parser.alternatives { '|' } else { ' ' };
            parser.alternatives |= outer;
            while parser.eat_symbol('.') || parser.eat_symbol(';') {}
            Ok((of_integers || parser.position == end).then(|| list(' ', close, items)))
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
