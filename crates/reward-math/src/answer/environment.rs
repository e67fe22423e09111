//! LaTeX environments: matrices, determinants and systems.

use super::node::Piece;
use super::{Node, expand, matrix};
use crate::expression::Expression;
use crate::parser::{Parser, Result};
use crate::table::lists;
use crate::token::Kind;

/// Environments of a matrix or determinant.
const MATRICES: &str = "matrix pmatrix bmatrix array smallmatrix Bmatrix vmatrix";

impl Parser {
    /// `\begin{…} … \end{…}` as a matrix, the value of a determinant, or the equations of a system.
    ///
    /// Behind `\{` every environment is a system or holds cases.
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
        if braced || lists("cases dcases rcases", &name) {
            return match self.attempt(|parser| parser.pieces(&name))? {
                Some(pieces) => Ok(Node::Piecewise(pieces)),
                None => self.system(&name),
            };
        }
        // Rows of a value and its condition, as in `cases`.
        let by_cases = self.attempt(|parser| {
            let pieces = if name == "array" { parser.pieces(&name)? } else { None };
            Ok(pieces.filter(|pieces| pieces.iter().all(Piece::is_conditional)))
        })?;
        if let Some(pieces) = by_cases {
            return Ok(Node::Piecewise(pieces));
        }
        if equations || lists("aligned align gathered split eqnarray", &name) {
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

    pub(super) fn eat_end(&mut self, name: &str) -> Result<bool> {
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
}
