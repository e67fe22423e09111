//! LaTeX environments: matrices, determinants and systems.

use super::{Node, expand, value};
use crate::expression::Expression;
use crate::parser::{Parser, Result};
use crate::token::Kind;

/// Largest determinant that is expanded.
const MAX_ORDER: usize = 4;

impl Parser {
    /// `\begin{…} … \end{…}` as a matrix, the value of a determinant, or the equations of a system.
    pub(super) fn environment(&mut self) -> Result<Node> {
        let expected = "a matrix or a system of equations";
        let name = self.environment_name().ok_or_else(|| self.unexpected(expected))?;
        match name.as_str() {
            "matrix" | "pmatrix" | "bmatrix" | "array" | "smallmatrix" | "Bmatrix" => {
                if name == "array" && self.at_symbol('{') {
                    self.skip_group();
                }
                let rows = self.rows(&name)?;
                let transposed = self.at_symbol('^')
                    && self.peek_at(1).is_some_and(|kind| {
                        kind.is_command("top") || matches!(kind, Kind::Letter('T'))
                    });
                if transposed {
                    self.advance();
                    self.advance();
                }
                Ok(Node::Matrix(if transposed { transpose(&rows) } else { rows }))
            }
            "vmatrix" => {
                let rows = self.rows(&name)?;
                let order = rows.len();
                if order == 0 || order > MAX_ORDER || rows.iter().any(|row| row.len() != order) {
                    return Err(self.unexpected("a square determinant of at most four rows"));
                }
                Ok(value(determinant(&rows), None, false))
            }
            "cases" | "aligned" | "align" | "gathered" => self.system(&name),
            _ => Err(self.unexpected(expected)),
        }
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

    fn skip_group(&mut self) {
        let close = self.bracket().map(|(close, _)| close);
        while close.is_some_and(|close| self.position() <= close) {
            self.advance();
        }
    }

    fn rows(&mut self, name: &str) -> Result<Vec<Vec<Expression>>> {
        let mut rows = vec![Vec::new()];
        while !self.eat_end(name)? {
            if self.eat_command("\\") {
                rows.push(Vec::new());
            } else if !self.eat_symbol('&') {
                let cell = self.sum()?;
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
        if !equations.iter().all(|node| matches!(node, Node::Chain { .. })) {
            return Err(self.unexpected("equations alone"));
        }
        Ok(Node::List { open: ' ', close: ' ', items: equations })
    }
}

fn transpose(rows: &[Vec<Expression>]) -> Vec<Vec<Expression>> {
    let columns = rows.iter().map(Vec::len).min().unwrap_or_default();
    (0..columns).map(|column| rows.iter().map(|row| row[column].clone()).collect()).collect()
}

/// Expansion along the first row.
fn determinant(rows: &[Vec<Expression>]) -> Expression {
    if let [row] = rows
        && let [entry] = row.as_slice()
    {
        return entry.clone();
    }
    let Some((first, below)) = rows.split_first() else { return Expression::Sum(Vec::new()) };
    let term = |(column, entry): (usize, &Expression)| {
        let without = |row: &Vec<Expression>| {
            let kept = row.iter().enumerate().filter(|(index, _)| *index != column);
            kept.map(|(_, entry)| entry.clone()).collect::<Vec<_>>()
        };
        let minor = determinant(&below.iter().map(without).collect::<Vec<_>>());
        let product = Expression::Product(vec![entry.clone(), minor]);
        if column % 2 == 0 { product } else { Expression::Negative(Box::new(product)) }
    };
    Expression::Sum(first.iter().enumerate().map(term).collect())
}
