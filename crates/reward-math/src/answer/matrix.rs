//! Arithmetic of matrices: sums, multiples, products, powers, inverses, transposes, determinants, lengths of vectors.

use dashu::Rational;
use dashu::base::UnsignedAbs;

use crate::algebra::{bits, constant};
use crate::expression::Expression;
use crate::parser::Result;
use crate::verdict::ParseError;

/// Largest order of a determinant or inverse.
const MAX_ORDER: usize = 4;
/// Largest power of a matrix.
const MAX_POWER: u64 = 1024;
/// Largest entry that is calculated, in bits; a larger one stays as written.
const MAX_ENTRY_BITS: u64 = 512;

type Matrix = Vec<Vec<Expression>>;

/// Value of an expression with matrices in it.
pub(super) enum Value {
    Scalar(Expression),
    Matrix(Matrix),
}

/// Calculates an expression; `budget` bounds the terms of all entries together.
pub(super) fn value(expression: &Expression, budget: &mut usize) -> Result<Value> {
    if !expression.holds_matrix() {
        return Ok(Value::Scalar(expression.clone()));
    }
    let scalar = |inner: &Expression, budget: &mut usize| match value(inner, budget)? {
        Value::Scalar(scalar) => Ok(Box::new(scalar)),
        Value::Matrix(_) => Err(undefined("a matrix in place of a number")),
    };
    Ok(match expression {
        Expression::Negative(inner) => value(inner, budget)?.map(|entry| -entry),
        Expression::Sum(items) => combined(items, budget, sum)?,
        Expression::Product(items) => combined(items, budget, product)?,
        Expression::Quotient(top, bottom) => {
            let (top, below) = (value(top, budget)?, scalar(bottom, budget)?);
            top.pay(&below, budget)?;
            top.map(|entry| entry / (*below).clone())
        }
        Expression::Power(base, exponent) => {
            match (value(base, budget)?, scalar(exponent, budget)?) {
                (Value::Matrix(rows), exponent) => Value::Matrix(power(rows, &exponent, budget)?),
                (Value::Scalar(base), exponent) => {
                    Value::Scalar(Expression::Power(Box::new(base), exponent))
                }
            }
        }
        Expression::Root(inner, index) => {
            Value::Scalar(Expression::Root(scalar(inner, budget)?, *index))
        }
        Expression::Function(name, arguments) => match (name.as_str(), arguments.as_slice()) {
            ("matrix", rows) => {
                let rows = rows.iter().filter_map(|row| row.arguments_of("row"));
                Value::Matrix(rows.map(<[_]>::to_vec).collect())
            }
            ("pm" | "mp", [inner]) => {
                value(inner, budget)?.map(|entry| Expression::function(name, [entry]))
            }
            ("transpose" | "adjoint", [inner]) => {
                let value = match value(inner, budget)? {
                    Value::Matrix(rows) => Value::Matrix(transposed(&rows)),
                    scalar @ Value::Scalar(_) => scalar,
                };
                if name == "adjoint" { value.map(|entry| entry.conjugate()) } else { value }
            }
            ("adj", [inner]) if inner.holds_matrix() => match value(inner, budget)? {
                Value::Matrix(rows) => Value::Matrix(adjugate(&rows, budget)?),
                Value::Scalar(_) => return Err(undefined("an adjugate of a number")),
            },
            ("det" | "abs" | "norm" | "tr", [inner]) => match value(inner, budget)? {
                Value::Matrix(rows) => Value::Scalar(size(name, &rows, budget)?),
                Value::Scalar(inner) => Value::Scalar(Expression::function(name, [inner])),
            },
            (name, arguments) => {
                let arguments =
                    arguments.iter().map(|inner| scalar(inner, budget).map(|inner| *inner));
                Value::Scalar(Expression::function(name, arguments.collect::<Result<Vec<_>>>()?))
            }
        },
        Expression::Number(_) | Expression::Symbol(_) => Value::Scalar(expression.clone()),
    })
}

impl Value {
    /// Pays for a copy of a factor beside each entry.
    fn pay(&self, factor: &Expression, budget: &mut usize) -> Result<()> {
        let Self::Matrix(rows) = self else { return Ok(()) };
        pay(budget, factor.size() * rows.iter().map(Vec::len).sum::<usize>())
    }

    fn map(self, with: impl Fn(Expression) -> Expression) -> Self {
        match self {
            Self::Scalar(entry) => Self::Scalar(with(entry)),
            Self::Matrix(rows) => {
                let row = |row: Vec<Expression>| row.into_iter().map(|entry| simple(with(entry)));
                Self::Matrix(rows.into_iter().map(|entries| row(entries).collect()).collect())
            }
        }
    }
}

fn undefined(what: &str) -> ParseError {
    ParseError::Undefined { what: what.to_owned() }
}

/// Combines values from left to right.
fn combined(
    items: &[Expression],
    budget: &mut usize,
    with: fn(Value, Value, &mut usize) -> Result<Value>,
) -> Result<Value> {
    let (first, others) = items.split_first().ok_or_else(|| undefined("a sum of nothing"))?;
    let first = value(first, budget)?;
    others.iter().try_fold(first, |before, next| {
        let next = value(next, budget)?;
        with(before, next, budget)
    })
}

fn sum(left: Value, right: Value, budget: &mut usize) -> Result<Value> {
    match (left, right) {
        (Value::Scalar(a), Value::Scalar(b)) => Ok(Value::Scalar(a + b)),
        (Value::Matrix(a), Value::Matrix(b)) if shape(&a) == shape(&b) => {
            pay(budget, weight(&a) + weight(&b))?;
            let add = |(a, b)| simple(a + b);
            let row = |(a, b): (Vec<_>, Vec<_>)| a.into_iter().zip(b).map(add).collect();
            Ok(Value::Matrix(a.into_iter().zip(b).map(row).collect()))
        }
        _ => Err(undefined("a sum of matrices of different sizes")),
    }
}

fn product(left: Value, right: Value, budget: &mut usize) -> Result<Value> {
    match (left, right) {
        (Value::Scalar(a), Value::Scalar(b)) => Ok(Value::Scalar(a * b)),
        (Value::Scalar(factor), matrix) | (matrix, Value::Scalar(factor)) => {
            matrix.pay(&factor, budget)?;
            Ok(matrix.map(|entry| factor.clone() * entry))
        }
        (Value::Matrix(a), Value::Matrix(b)) => {
            // `(1, 2) \cdot (3, 4)`
            let vectors =
                a.len() > 1 && shape(&a) == shape(&b) && a.iter().all(|row| row.len() == 1);
            let a = if vectors { transposed(&a) } else { a };
            let product = multiplied(&a, &b, budget)?;
            // A row times a column is a number.
            match product.as_slice() {
                [row] if row.len() == 1 => Ok(Value::Scalar(row[0].clone())),
                _ => Ok(Value::Matrix(product)),
            }
        }
    }
}

fn multiplied(left: &Matrix, right: &Matrix, budget: &mut usize) -> Result<Matrix> {
    let fits = left.iter().all(|row| row.len() == right.len());
    let columns = transposed(right);
    if !fits || right.iter().any(|row| row.len() != columns.len()) {
        return Err(undefined("a product of matrices whose sizes do not fit"));
    }
    pay(budget, weight(left) * columns.len() + weight(right) * left.len())?;
    let entry = |row: &[Expression], column: &[Expression]| {
        let zero = |entry: &Expression| entry.literal().is_some_and(|value| value.is_zero());
        let pairs = row.iter().zip(column).filter(|(a, b)| !zero(a) && !zero(b));
        let terms = pairs.map(|(a, b)| a.clone() * b.clone());
        simple(Expression::Sum(terms.collect()))
    };
    let row = |row: &Vec<Expression>| columns.iter().map(|column| entry(row, column)).collect();
    Ok(left.iter().map(row).collect())
}

fn power(rows: Matrix, exponent: &Expression, budget: &mut usize) -> Result<Matrix> {
    let exponent = constant(exponent).filter(Rational::is_int);
    let exponent = exponent.ok_or_else(|| undefined("a power of a matrix that is no integer"))?;
    let count = u64::try_from(exponent.numerator().unsigned_abs()).ok();
    let count = count.filter(|count| *count <= MAX_POWER).ok_or(ParseError::OutOfFuel)?;
    let order = order(&rows)?;
    let base = if exponent < Rational::ZERO { inverse(&rows, budget)? } else { rows };
    let multiply = |budget: &mut usize, a: &Matrix, b: &Matrix| multiplied(a, b, budget);
    let result = crate::power::power(budget, base, count, multiply, |budget, rows| {
        multiplied(rows, rows, budget)
    })?;
    let unit = |row, column| Expression::integer(i64::from(row == column));
    let identity =
        || (0..order).map(|row| (0..order).map(|column| unit(row, column)).collect()).collect();
    Ok(result.unwrap_or_else(identity))
}

/// Returns the determinant, the trace, or the length of a vector.
fn size(name: &str, rows: &Matrix, budget: &mut usize) -> Result<Expression> {
    let entries: Vec<&Expression> = rows.iter().flatten().collect();
    let vector = rows.len() == 1 || rows.iter().all(|row| row.len() == 1);
    match name {
        "abs" | "norm" if vector && entries.len() > 1 => {
            let square =
                |entry: &Expression| Expression::power(entry.clone(), Expression::integer(2));
            let squares = entries.into_iter().map(square).collect();
            Ok(Expression::root(Expression::Sum(squares), 2))
        }
        "norm" => Err(undefined("a norm of a matrix")),
        "tr" => {
            let order = order(rows)?;
            Ok(Expression::Sum((0..order).map(|place| rows[place][place].clone()).collect()))
        }
        // No literal: `\det A = 7` is a calculation.
        _ => Ok(Expression::Sum(vec![determinant(rows, budget)?])),
    }
}

/// Returns the determinant of a square matrix of at most four rows.
pub(super) fn determinant(rows: &Matrix, budget: &mut usize) -> Result<Expression> {
    pay(budget, weight(rows) * (1..=order(rows)?).product::<usize>())?;
    Ok(simple(expanded(rows)))
}

fn order(rows: &Matrix) -> Result<usize> {
    let order = rows.len();
    let fits = (1..=MAX_ORDER).contains(&order) && rows.iter().all(|row| row.len() == order);
    fits.then_some(order).ok_or_else(|| undefined("no square matrix of at most four rows"))
}

/// Expands a determinant along the first row.
fn expanded(rows: &Matrix) -> Expression {
    let Some(first) = rows.first() else { return Expression::integer(1) };
    let term = |(column, entry): (usize, &Expression)| {
        signed(column, entry.clone() * expanded(&without(rows, 0, column)))
    };
    Expression::Sum(first.iter().enumerate().map(term).collect())
}

fn inverse(rows: &Matrix, budget: &mut usize) -> Result<Matrix> {
    let determinant = determinant(rows, budget)?;
    if constant(&determinant).is_some_and(|value| value.is_zero()) {
        return Err(undefined("an inverse of a singular matrix"));
    }
    let adjugate = Value::Matrix(adjugate(rows, budget)?);
    adjugate.pay(&determinant, budget)?;
    match adjugate.map(|entry| entry / determinant.clone()) {
        Value::Matrix(rows) => Ok(rows),
        Value::Scalar(_) => Err(undefined("an inverse of a number")),
    }
}

/// Returns the cofactors, transposed.
fn adjugate(rows: &Matrix, budget: &mut usize) -> Result<Matrix> {
    let order = order(rows)?;
    pay(budget, order * weight(rows) * (1..=order).product::<usize>())?;
    let entry = |row: usize, column: usize| {
        simple(signed(row + column, expanded(&without(rows, column, row))))
    };
    Ok((0..order).map(|row| (0..order).map(|column| entry(row, column)).collect()).collect())
}

fn signed(place: usize, value: Expression) -> Expression {
    if place.is_multiple_of(2) { value } else { -value }
}

fn without(rows: &Matrix, row: usize, column: usize) -> Matrix {
    let mut rest = rows.clone();
    rest.remove(row);
    for row in &mut rest {
        row.remove(column);
    }
    rest
}

fn transposed(rows: &Matrix) -> Matrix {
    let columns = rows.iter().map(Vec::len).min().unwrap_or_default();
    (0..columns).map(|column| rows.iter().map(|row| row[column].clone()).collect()).collect()
}

fn shape(rows: &Matrix) -> Vec<usize> {
    rows.iter().map(Vec::len).collect()
}

fn pay(budget: &mut usize, terms: usize) -> Result<()> {
    *budget = budget.checked_sub(terms).ok_or(ParseError::OutOfFuel)?;
    Ok(())
}

/// Returns the number of nodes of all entries.
fn weight(rows: &Matrix) -> usize {
    rows.iter().flatten().map(Expression::size).sum()
}

/// Returns a rational number as one.
fn simple(entry: Expression) -> Expression {
    let value = constant(&entry).filter(|value| bits(value) <= MAX_ENTRY_BITS);
    value.map_or(entry, Expression::Number)
}
