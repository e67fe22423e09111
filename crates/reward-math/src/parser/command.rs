//! Parser of LaTeX commands and named functions with their arguments.

use dashu::base::Signed;
use dashu::{Integer, Natural, Rational};

use super::function::{
    function_name, inverse_name, is_fraction, is_letter_command, starts_primary,
};
use super::{Parser, Result};
use crate::algebra::constant;
use crate::expression::Expression;
use crate::table::{lists, paired};
use crate::token::Kind;

/// Largest half of an odd number of which the Gamma function is written out.
const LARGEST_HALF: i32 = 64;

impl Parser {
    pub(super) fn command(&mut self, name: &str) -> Result<Expression> {
        if is_fraction(name) {
            return self.behind(Self::fraction);
        }
        match name {
            "binom" | "dbinom" | "tbinom" => self.behind(|parser| {
                Ok(Expression::function("binomial", [parser.argument()?, parser.argument()?]))
            }),
            "sqrt" => self.behind(Self::square_root),
            "begin" if self.at_matrix() => self.matrix(),
            "det" => Ok(Expression::function("det", self.behind(Self::arguments)?)),
            "zeta" | "Gamma" if self.symbol_at(1, '(') => {
                let arguments = self.behind(Self::arguments)?;
                Ok(match arguments.as_slice() {
                    [argument] if name == "zeta" => zeta(argument),
                    [argument] => gamma(argument),
                    _ => Expression::Function(format!("\\{name}"), arguments),
                })
            }
            "angle" | "triangle" | "measuredangle" => Ok(self.figure(name)),
            "sum" | "prod" => self.behind(|parser| parser.series(name)),
            "int" => self.deeper(Self::integral),
            "lim" => self.deeper(Self::limit),
            "surd" => Ok(Expression::root(self.behind(Self::primary)?, 2)),
            "cbrt" => Ok(Expression::root(self.behind(Self::primary)?, 3)),
            "lvert" => self.bars(|parser| parser.eat_command("rvert")),
            "|" => self.bars(|parser| parser.eat_command("|")).map(|bars| match bars {
                Expression::Function(_, inner) if inner[0].holds_matrix() => {
                    Expression::Function("norm".to_owned(), inner)
                }
                bars => bars,
            }),
            "lfloor" | "lceil" => {
                self.advance();
                let (inner, function) = (self.sum()?, &name[1..]);
                self.expect_command(&format!("r{function}"))?;
                Ok(Expression::function(function, [inner]))
            }
            "boxed" | "fbox" | "overline" | "bar" | "vec" | "hat" | "dot" | "ddot" | "tilde"
            | "mathbb" | "mathcal" => self.accent(name),
            // `2\{3 + [4 - 1]\}`
            "{" => {
                self.advance();
                let inner = self.sum()?;
                self.expect_command("}").map(|()| inner)
            }
            "pi" | "infty" | "ldots" => {
                self.advance();
                Ok(Expression::Symbol(format!("\\{name}")))
            }
            _ => {
                if let Some(function) = function_name(name) {
                    return self.application(function);
                }
                if is_letter_command(name) {
                    self.advance();
                    return self.variable(format!("\\{name}"));
                }
                Err(self.unexpected("a number, a variable or a bracket"))
            }
        }
    }

    /// Parses `\sqrt{a}` and `\sqrt[n]{a}`.
    fn square_root(&mut self) -> Result<Expression> {
        if !self.eat_symbol('[') {
            return Ok(Expression::root(self.argument()?, 2));
        }
        let index = self.sum()?;
        self.expect(']')?;
        let radicand = self.argument()?;
        Ok(match index.as_integer().and_then(|index| u32::try_from(index).ok()) {
            Some(index) => Expression::root(radicand, index),
            None => Expression::power(radicand, Expression::integer(1) / index),
        })
    }

    /// Parses an accent: a box shows its content; a bar is a conjugate of a number, or like a hat part of a name.
    fn accent(&mut self, name: &str) -> Result<Expression> {
        let inner = self.behind(Self::primary)?;
        let conjugate =
            matches!(name, "overline" | "bar") && !inner.has_variable() && inner.holds("i");
        Ok(match inner {
            inner if matches!(name, "boxed" | "fbox") => inner,
            Expression::Symbol(letter) if name == "hat" && lists("i j k", &letter) => {
                Expression::Symbol(format!("\\vec {letter}"))
            }
            // `\hat{\mathbf i}`
            Expression::Symbol(unit) if name == "hat" && unit.starts_with("\\vec ") => {
                Expression::Symbol(unit)
            }
            inner if conjugate => inner.conjugate(),
            Expression::Symbol(letter) if name == "overline" && !self.at_symbol('_') => {
                Expression::Symbol(format!("\\bar {letter}"))
            }
            Expression::Symbol(letter) if self.eat_symbol('_') => {
                Expression::Symbol(format!("\\{name} {letter}_{}", self.subscript()?))
            }
            Expression::Symbol(letter) => Expression::Symbol(format!("\\{name} {letter}")),
            Expression::Product(ends) if name == "vec" && ends.len() == 2 => arrow(ends),
            inner => Expression::function(name, [inner]),
        })
    }

    /// Parses the ends and the body of `\sum_{k=1}^{n} …`: the body extends to the next sign.
    fn series(&mut self, name: &str) -> Result<Expression> {
        // `\sum^{4}_{k=1}` as `\sum_{k=1}^{4}`.
        let above = if self.eat_symbol('^') { Some(self.end_of_range()?) } else { None };
        if !self.eat_symbol('_') {
            return Err(self.unexpected("the index of the sum or product, as in `_{k=1}`"));
        }
        let grouped = self.eat_symbol('{');
        let index = self.primary()?;
        if !matches!(index, Expression::Symbol(_)) {
            return Err(self.unexpected("an index"));
        }
        // `\sum_k x_k`: the range is not said.
        if !grouped || self.symbol_at(0, '}') && !self.symbol_at(1, '^') {
            self.position += usize::from(grouped);
            return Ok(Expression::function(
                &format!("{name} over"),
                [index, self.signed(Self::term)?],
            ));
        }
        // `\sum_{n \ge 1}`
        let endless = self.eat_command("ge") || self.eat_command("geq");
        if !endless && !self.eat_symbol('=') {
            return Err(self.unexpected("`=` after the index"));
        }
        let low = self.sum()?;
        let closed = self.eat_symbol('}');
        let high = match above {
            Some(high) if closed => high,
            None if closed && endless => Expression::symbol("\\infty"),
            None if closed && self.eat_symbol('^') => self.exponent()?,
            _ => return Err(self.unexpected("the upper end of the sum or product")),
        };
        Ok(Expression::function(name, [index, low, high, self.signed(Self::term)?]))
    }

    /// Parses one TeX argument: a group, or the next single digit.
    pub(super) fn argument(&mut self) -> Result<Expression> {
        match self.peek() {
            Some(Kind::Number { digits, value, grouped: false })
                if digits.len() > 1
                    && digits.bytes().all(|b| b.is_ascii_digit())
                    && value.is_int() =>
            {
                Ok(self.first_digits(1))
            }
            _ => self.primary(),
        }
    }

    /// Parses the base of a logarithm: an argument, but all digits of `\log_10 100`, as no base is 1; 10 of `log10(100)`.
    fn base_of_logarithm(&mut self, name: &str) -> Result<Option<Expression>> {
        let ten = matches!(self.peek(), Some(Kind::Number { digits, .. }) if digits == "10");
        let joined = ten && !self.spaced(0) && self.symbol_at(1, '(');
        if name != "log" || !joined && !self.eat_symbol('_') {
            return Ok(None);
        }
        let base = match self.peek() {
            Some(Kind::Number { digits, value, .. })
                if digits.starts_with('1') && value.is_int() =>
            {
                let count = digits.bytes().take_while(u8::is_ascii_digit).count();
                self.first_digits(count)
            }
            _ => self.argument()?,
        };
        Ok(Some(base))
    }

    /// Returns true before the digits of an exponent and an argument, as TeX shows `\ln^32`.
    fn at_digits_of_two(&self) -> bool {
        let digits = matches!(self.peek(), Some(Kind::Number { digits, value, .. }) if digits.len() == 2 && value.is_int());
        let ends = |kind: &Kind| kind.is_any("=,;)}]+-<>", "le ge leq geq approx");
        digits && self.peek_at(1).is_none_or(ends)
    }

    /// Parses the first digits of the number here; the others remain.
    fn first_digits(&mut self, count: usize) -> Expression {
        let Some(Kind::Number { digits, .. }) = self.peek() else { return Expression::integer(1) };
        let (first, rest) = digits.split_at(count);
        let value = |text: &str| Rational::from(text.parse::<Integer>().unwrap_or_default());
        let (first, rest) = (value(first), rest.replace(' ', ""));
        if rest.is_empty() {
            self.advance();
        } else {
            self.replace(Kind::Number { value: value(&rest), digits: rest, grouped: false });
        }
        Expression::Number(first)
    }

    /// Parses a named function with its exponent, base and argument.
    pub(super) fn application(&mut self, name: &'static str) -> Result<Expression> {
        self.advance();
        // `\gcd = 42`: a label.
        if self.at_symbol('=') {
            return Ok(Expression::symbol(name));
        }
        self.deeper(|parser| {
            let mut base = parser.base_of_logarithm(name)?;
            let mut exponent = match parser.eat_symbol('^') {
                true if parser.at_digits_of_two() => Some(parser.first_digits(1)),
                true => Some(parser.deeper(Self::exponent)?),
                false => None,
            };
            // `\log^{2}_{3} x`
            if base.is_none() && parser.at_symbol('_') {
                base = parser.base_of_logarithm(name)?;
            }
            let mut name = name;
            if exponent.as_ref().and_then(Expression::literal) == Some(Rational::NEG_ONE)
                && let Some(inverse) = inverse_name(name)
            {
                (name, exponent) = (inverse, None);
            }
            // `\max\{a, b\}`
            let braced = matches!(name, "max" | "min" | "gcd" | "lcm") && parser.eat_command("{");
            let arguments = if braced { parser.sums()? } else { parser.arguments()? };
            if braced {
                parser.expect_command("}")?;
            }
            let value = match (name, <[Expression; 1]>::try_from(arguments)) {
                // The base of `\log` alone is a matter of convention.
                ("log" | "lg", Ok([argument])) => {
                    match base.or_else(|| (name == "lg").then(|| Expression::integer(10))) {
                        Some(base) => Expression::function("logarithm", [base, argument]),
                        None => Expression::function("log", [argument]),
                    }
                }
                ("exp", Ok([argument])) => Expression::power(Expression::symbol("e"), argument),
                // Conventions differ below 0.
                ("arccot", Ok([argument]))
                    if constant(&argument).is_some_and(|value| value.is_positive()) =>
                {
                    Expression::function("arctan", [Expression::integer(1) / argument])
                }
                ("cis", Ok([argument])) => {
                    let apply = |name: &str| Expression::function(name, [argument.clone()]);
                    apply("cos") + Expression::symbol("i") * apply("sin")
                }
                ("erf", Ok([argument])) => error_function(argument),
                ("erfc", Ok([argument])) => Expression::integer(1) - error_function(argument),
                (name, Ok([argument])) => match paired("of the reciprocal", name) {
                    Some(other) => Expression::function(other, [Expression::integer(1) / argument]),
                    None => Expression::function(name, [argument]),
                },
                ("diag", Err(entries)) => diagonal(&entries),
                (name, Err(arguments)) => Expression::function(name, arguments),
            };
            Ok(match exponent {
                Some(exponent) => Expression::power(value, exponent),
                None => value,
            })
        })
    }

    /// Parses sums with commas between.
    pub(super) fn sums(&mut self) -> Result<Vec<Expression>> {
        let mut sums = vec![self.sum()?];
        while self.eat_symbol(',') {
            sums.push(self.sum()?);
        }
        Ok(sums)
    }

    /// Parses `(a, b)`, `{a}` or the factors up to the next sign or function.
    pub(super) fn arguments(&mut self) -> Result<Vec<Expression>> {
        if self.at_symbol('(') {
            self.advance();
            let arguments = self.sums()?;
            self.expect(')')?;
            return Ok(arguments);
        }
        // `\ln -x`
        let mut factors = vec![self.signed(Self::factor)?];
        loop {
            // `\cos 25^\circ \sqrt 2`
            let is_angle = factors.last().is_some_and(|last| last.is_call("degrees"));
            let continues = match self.peek() {
                _ if is_angle => false,
                Some(Kind::Letter('d')) if self.in_integral => false,
                Some(Kind::Letter(_)) => true,
                Some(Kind::Command(name)) => starts_primary(name),
                _ => false,
            };
            if !continues {
                break;
            }
            factors.push(self.factor()?);
        }
        Ok(vec![Expression::product(factors)])
    }
}

/// Returns the vector from one point to another: `\vec{BA}` is `-\vec{AB}`.
fn arrow(ends: Vec<Expression>) -> Expression {
    let [Expression::Symbol(from), Expression::Symbol(to)] = ends.as_slice() else {
        return Expression::function("vec", [Expression::Product(ends)]);
    };
    let (first, second) = if from < to { (from, to) } else { (to, from) };
    let vector = Expression::Symbol(format!("\\vec {first}{second}"));
    if from > to { -vector } else { vector }
}

/// Returns `(z - 1)!` for the Gamma function of `z`, and `\frac34 \sqrt\pi` for that of `5/2`.
fn gamma(argument: &Expression) -> Expression {
    let before = Expression::sum(vec![argument.clone(), Expression::integer(-1)]);
    let largest = Rational::from(LARGEST_HALF);
    let half = constant(argument).filter(|value| {
        value.denominator() == &Natural::from(2_u8) && value.is_positive() && *value < largest
    });
    let Some(mut factor) = half else { return Expression::function("factorial", [before]) };
    let mut product = Rational::ONE;
    factor -= Rational::ONE;
    while factor.is_positive() {
        product *= &factor;
        factor -= Rational::ONE;
    }
    Expression::Number(product) * Expression::root(Expression::symbol("\\pi"), 2)
}

/// Returns `\frac{2}{\sqrt\pi} \int_0^x e^{-t^2} dt`.
fn error_function(argument: Expression) -> Expression {
    let (name, number) = (Expression::symbol("t"), Expression::integer);
    let body =
        Expression::power(Expression::symbol("e"), -Expression::power(name.clone(), number(2)));
    let integral = Expression::function("int", [name, number(0), argument, body]);
    number(2) / Expression::root(Expression::symbol("\\pi"), 2) * integral
}

/// Returns the series of the zeta function of a number above 1, another as it is.
fn zeta(argument: &Expression) -> Expression {
    let converges = constant(argument).is_some_and(|value| value > Rational::ONE);
    if !converges {
        return Expression::function("\\zeta", [argument.clone()]);
    }
    let index = Expression::symbol("n");
    let power = Expression::power(index.clone(), argument.clone());
    let (low, high) = (Expression::integer(1), Expression::symbol("\\infty"));
    Expression::function("sum", [index, low.clone(), high, low / power])
}

/// Returns the matrix with these entries on its diagonal.
fn diagonal(entries: &[Expression]) -> Expression {
    let rows = entries.iter().enumerate().map(|(place, entry)| {
        let mut row = vec![Expression::integer(0); entries.len()];
        row[place] = entry.clone();
        row
    });
    Expression::matrix(rows)
}
