//! Parser of integrals, limits and derivatives.

use dashu::Rational;

use super::{Parser, Result};
use crate::expression::Expression;
use crate::token::Kind;

impl Parser {
    /// Parses `\int_a^b f dx` and `\int \frac{dx}{x}`; what is added behind the differential stands outside.
    pub(super) fn integral(&mut self) -> Result<Expression> {
        self.advance();
        let (mut low, mut high) = (None, None);
        loop {
            if self.eat_symbol('_') {
                low = Some(self.end_of_range()?);
            } else if self.eat_symbol('^') {
                high = Some(self.end_of_range()?);
            } else {
                break;
            }
        }
        let outer = std::mem::replace(&mut self.in_integral, true);
        let integrand = self.deeper(Self::up_to_differential);
        self.in_integral = outer;
        let (mut body, mut variable, behind) = integrand?;
        // Between ends the name means nothing.
        if let (true, Expression::Symbol(name)) = (low.is_some(), &variable)
            && !body.holds("t")
        {
            body = body.renamed(name, "t");
            variable = Expression::symbol("t");
        }
        let parts = [Some(variable), low, high, Some(body)].into_iter().flatten();
        let integral = Expression::function("int", parts.collect::<Vec<_>>());
        Ok(Expression::product([vec![integral], behind].concat()))
    }

    /// Parses the terms up to the first with a differential: body, variable, and differentials of outer integrals.
    fn up_to_differential(&mut self) -> Result<(Expression, Expression, Vec<Expression>)> {
        let mut terms = Vec::new();
        while let Some(sign) = self.signs(terms.is_empty()) {
            let term = sign.apply(self.term()?);
            if let Some((term, variable, behind)) = without_differential(&term) {
                terms.push(term);
                return Ok((Expression::sum(terms), variable, behind));
            }
            terms.push(term);
        }
        Err(self.unexpected("the differential of an integral"))
    }

    /// Parses an end of a range: a group, or one token.
    pub(super) fn end_of_range(&mut self) -> Result<Expression> {
        let end = match self.peek() {
            Some(Kind::Number { value, .. }) => Expression::Number(value.clone()),
            Some(Kind::Letter(letter)) => Expression::Symbol(letter.to_string()),
            _ => return self.deeper(Self::primary),
        };
        self.advance();
        Ok(end)
    }

    /// Parses `\lim_{x \to a} f`.
    pub(super) fn limit(&mut self) -> Result<Expression> {
        self.advance();
        if !(self.eat_symbol('_') && self.eat_symbol('{')) {
            return Err(self.unexpected("the variable of the limit, as in `_{x \\to 0}`"));
        }
        let variable = self.primary()?;
        let arrows = "to rightarrow Rightarrow longrightarrow Longrightarrow";
        if !self.eat_if(self.peek().is_some_and(|kind| kind.is_any("", arrows))) {
            return Err(self.unexpected("an arrow"));
        }
        let end = self.sum()?;
        self.expect('}')?;
        Ok(Expression::function("lim", [variable, end, self.term()?]))
    }

    /// Parses the sign of `a^+` or `a^{-}`, from which side a limit is taken.
    pub(super) fn eat_side(&mut self) -> Option<char> {
        let symbol = |ahead: usize| match self.peek_at(ahead) {
            Some(Kind::Symbol(c)) => Some(*c),
            _ => None,
        };
        let (sign, length) = match (symbol(0)?, symbol(1)?, symbol(2), symbol(3)) {
            ('^', sign @ ('+' | '-'), Some('}' | ')' | ',' | ';'), _) => (sign, 2),
            ('^', '{', Some(sign @ ('+' | '-')), Some('}')) => (sign, 4),
            _ => return None,
        };
        self.position += length;
        Some(sign)
    }

    /// Parses a quotient, which may be a derivative.
    pub(super) fn fraction(&mut self) -> Result<Expression> {
        let top = self.argument()?;
        let bottom = self.argument()?;
        let Some((sign, variable, order)) = operator(&bottom) else {
            return Ok(top / bottom);
        };
        let body = match &top {
            Expression::Product(above) if is_differential(&above[0], sign, order.as_ref()) => {
                Expression::product(above[1..].to_vec())
            }
            top if is_differential(top, sign, order.as_ref()) => self.term()?,
            _ => return Ok(top / bottom),
        };
        Ok(derived(sign, variable, order.as_ref(), body))
    }
}

/// Returns the sign of the differential, the variable and the order of `dx^2`.
fn operator(bottom: &Expression) -> Option<(&str, &str, Option<Rational>)> {
    let Expression::Product(below) = bottom else { return None };
    let [Expression::Symbol(sign), argument] = below.as_slice() else { return None };
    let (variable, order) = with_order(argument)?;
    matches!(sign.as_str(), "d" | "\\partial").then_some((sign, variable, order))
}

fn is_differential(expression: &Expression, sign: &str, order: Option<&Rational>) -> bool {
    with_order(expression).is_some_and(|(name, own)| name == sign && own.as_ref() == order)
}

/// Returns a name and the power behind it.
fn with_order(expression: &Expression) -> Option<(&str, Option<Rational>)> {
    match expression {
        Expression::Power(base, order) => Some((base.as_symbol()?, Some(order.literal()?))),
        name => Some((name.as_symbol()?, None)),
    }
}

/// Returns `dy/dx` as a name, and the derivative of anything else as a function of it.
fn derived(sign: &str, variable: &str, order: Option<&Rational>, body: Expression) -> Expression {
    let order = order.map_or_else(String::new, |order| format!("^{order}"));
    match body {
        Expression::Symbol(name) => {
            Expression::Symbol(format!("{sign}{order}{name}/{sign}{variable}{order}"))
        }
        body => {
            let name = format!("\\frac{{{sign}{order}}}{{{sign} {variable}{order}}}");
            Expression::function(&name, [body])
        }
    }
}

/// Splits a term from its differential: the term, the variable, and the differentials behind it, of outer integrals.
fn without_differential(term: &Expression) -> Option<(Expression, Expression, Vec<Expression>)> {
    match term {
        Expression::Product(factors) => {
            let is_differential = |pair: &[Expression]| {
                pair[0].is_symbol("d") && matches!(pair[1], Expression::Symbol(_))
            };
            let pairs = factors.rchunks_exact(2).take_while(|pair| is_differential(pair)).count();
            let (before, differentials) = factors.split_at(factors.len() - 2 * pairs);
            let [_, variable, behind @ ..] = differentials else { return None };
            Some((Expression::product(before.to_vec()), variable.clone(), behind.to_vec()))
        }
        Expression::Quotient(top, bottom) => {
            let (top, variable, behind) = without_differential(top)?;
            Some((top / (**bottom).clone(), variable, behind))
        }
        Expression::Negative(inner) => {
            let (inner, variable, behind) = without_differential(inner)?;
            Some((-inner, variable, behind))
        }
        _ => None,
    }
}
