//! Parser of letters as names: variables with subscripts, functions, events, angles, numbers of combinations.

use super::function::is_greek;
use super::{Parser, Result};
use crate::expression::Expression;
use crate::table::lists;
use crate::token::Kind;

impl Parser {
    /// Parses a letter with its subscript, or a function of that name.
    pub(super) fn variable(&mut self, name: String) -> Result<Expression> {
        if matches!(name.as_str(), "C" | "A" | "P")
            && let Some(count) = self.attempt(|parser| parser.combinations(&name))?
        {
            return Ok(count);
        }
        let (mut name, mut primes) = (name, String::new());
        loop {
            if self.eat_symbol('\'') {
                primes.push('\'');
            } else if !name.contains('_') && self.eat_symbol('_') {
                name.push('_');
                name.push_str(&self.subscript()?);
            } else {
                break;
            }
        }
        name.push_str(&primes);
        let order = self.order_of_derivative();
        name.push_str(order.as_deref().unwrap_or_default());
        if matches!(name.as_str(), "f" | "g" | "h" | "F" | "G") && self.at_inverse() {
            name.push_str("^{-1}");
            self.position += 5;
        }
        let plain = name.trim_end_matches('\'');
        let letter = plain.split('_').next().unwrap_or_default();
        // `f{\left(x\right)}`
        let braced = self.eat_if(self.at_braced_argument());
        let applies = braced
            || order.is_some()
            || matches!(letter, "f" | "g" | "h" | "F" | "G" | "P" | "O" | "\\Theta" | "\\Omega")
            || plain.ends_with("^{-1}")
            // A recurrence of numbers `e(n)`.
            || name == "e" && self.at_argument()
            // `A(2, 3)`: the coordinates of a named point.
            || (name.starts_with(char::is_uppercase)
                && (self.at_argument() || self.at_symbol('(') && self.at_separated()))
            || (self.at_argument()
                && self
                    .bracket()
                    .and_then(|(close, _)| self.kind_at(close + 1))
                    .is_some_and(|kind| kind.is_any("=", "approx")))
            || self.at_usual_argument(plain);
        if applies && self.at_symbol('(') && !self.spaced(0) {
            return self.behind(|parser| {
                let arguments = parser.sums()?;
                parser.expect(')')?;
                if braced {
                    parser.expect('}')?;
                }
                let orders = matches!(name.as_str(), "O" | "\\Theta" | "\\Omega");
                let arguments = arguments
                    .iter()
                    .map(|part| if orders { in_one_base(part) } else { part.clone() });
                Ok(Expression::Function(name, arguments.collect()))
            });
        }
        Ok(Expression::Symbol(name))
    }

    /// Returns true before braces around all of the brackets of an argument.
    fn at_braced_argument(&self) -> bool {
        let close = |at: usize| self.partner.get(at).copied().flatten();
        self.at_symbol('{')
            && self.symbol_at(1, '(')
            && close(self.position + 1).map(|end| end + 1) == close(self.position)
    }

    /// Parses `dy/dx` as a name: it is no quotient whose `d` cancels.
    pub(super) fn derivative(&mut self) -> Option<Expression> {
        let character = |ahead| match self.peek_at(ahead)? {
            Kind::Letter(c) | Kind::Symbol(c) => Some(*c),
            _ => None,
        };
        let characters = [0, 1, 2, 3, 4].map(character);
        let [Some('d'), Some(y), Some('/'), Some('d'), Some(x)] = characters else { return None };
        (y.is_alphabetic() && x.is_alphabetic()).then(|| {
            self.position += 5;
            Expression::Symbol(format!("d{y}/d{x}"))
        })
    }

    /// Returns true before a number or letter alone in brackets: `I(-1)` is a function value, `N(N + 1)` a product.
    fn at_argument(&self) -> bool {
        let sign = usize::from(self.symbol_at(1, '-'));
        let name = |kind: &Kind| match kind {
            Kind::Number { .. } | Kind::Letter(_) => true,
            Kind::Command(name) => is_greek(name),
            _ => false,
        };
        self.peek_at(1 + sign).is_some_and(name) && self.symbol_at(2 + sign, ')')
    }

    /// Returns true before `(t)`, `(x)` or `(n)` behind another small or Greek letter, and for `u(x, t)`: function values.
    fn at_usual_argument(&self, name: &str) -> bool {
        let letter = name.split('_').next().unwrap_or_default();
        let of_several = lists("u v w z \\phi \\varphi \\psi \\rho \\theta", letter)
            && matches!(self.peek_at(1), Some(Kind::Letter('x' | 'r' | 't')));
        if of_several && self.at_symbol('(') && self.at_separated() {
            return true;
        }
        let small = letter.len() == 1 && letter.starts_with(|c: char| c.is_ascii_lowercase());
        let Some(Kind::Letter(argument @ ('t' | 'x' | 'n'))) = self.peek_at(1) else {
            return false;
        };
        (small || letter.starts_with('\\')) && !letter.starts_with(*argument) && self.at_argument()
    }

    /// Skips the order of a derivative before its argument, `^{(3)}`, and returns it: as primes up to three.
    fn order_of_derivative(&mut self) -> Option<String> {
        let signs = [(0, '^'), (1, '{'), (2, '('), (4, ')'), (5, '}'), (6, '(')];
        let order = match self.peek_at(3)? {
            Kind::Number { digits, .. } => digits.clone(),
            Kind::Letter(letter) => letter.to_string(),
            _ => return None,
        };
        if !signs.into_iter().all(|(ahead, c)| self.symbol_at(ahead, c)) {
            return None;
        }
        self.position += 6;
        let primes = order.parse().ok().filter(|order| (1..=3).contains(order));
        Some(primes.map_or_else(|| format!("^({order})"), |primes| "'".repeat(primes)))
    }

    /// Returns true before `^{-1}(`, as after the name of a function.
    fn at_inverse(&self) -> bool {
        let signs = [(0, '^'), (1, '{'), (2, '-'), (4, '}'), (5, '(')];
        matches!(self.peek_at(3), Some(Kind::Number { digits, .. }) if digits == "1")
            && signs.into_iter().all(|(ahead, c)| self.symbol_at(ahead, c))
    }

    /// Parses `\angle BAC`, `\triangle ABC`: a name with the letters that follow.
    pub(super) fn figure(&mut self, name: &str) -> Expression {
        self.advance();
        let mut points: Vec<String> = Vec::new();
        loop {
            let braced = usize::from(self.symbol_at(1, '{'));
            match (self.peek(), self.peek_at(1 + braced), points.last_mut()) {
                (Some(Kind::Letter(letter)), ..) if letter.is_ascii_uppercase() => {
                    points.push(letter.to_string());
                }
                // `A_{1}`
                (Some(Kind::Symbol('_')), Some(Kind::Number { digits, .. }), Some(point)) => {
                    point.extend(["_", digits]);
                    self.position += 1 + 2 * braced;
                }
                _ => break,
            }
            self.advance();
        }
        // The angles `ABC` and `CBA` are one. The corners of similar triangles have an order.
        if points.len() == 3 && name != "triangle" && points[0] > points[2] {
            points.reverse();
        }
        Expression::Symbol(format!("\\{name} {}", points.concat()).trim_end().to_owned())
    }

    /// Parses `C_{10}^{3}`, `C_n^2` and `C(10, 3)`; `A` and `P` count arrangements, only with scripts.
    fn combinations(&mut self, name: &str) -> Result<Option<Expression>> {
        if name == "C" && self.at_symbol('(') && self.at_separated() {
            self.advance();
            let n = self.sum()?;
            if !self.eat_symbol(',') {
                return Ok(None);
            }
            let k = self.sum()?;
            return Ok((self.eat_symbol(')') && may_count(&n, &k)).then(|| counted(name, n, k)));
        }
        if !self.eat_symbol('_') {
            return Ok(None);
        }
        let n = self.deeper(Self::argument)?;
        if !self.eat_symbol('^') {
            return Ok(None);
        }
        let k = self.deeper(Self::argument)?;
        Ok(may_count(&n, &k).then(|| counted(name, n, k)))
    }

    /// Parses `_{10}C_3` and `^{10}P_3`.
    pub(super) fn combinations_before(&mut self) -> Result<Expression> {
        self.behind(|parser| {
            let n = parser.argument()?;
            let name = match parser.peek() {
                Some(Kind::Letter(c @ ('C' | 'P' | 'A'))) => c.to_string(),
                _ => return Err(parser.unexpected("`C` or `P`, as in `_{10}C_3`")),
            };
            parser.advance();
            if !(parser.eat_symbol('_') || parser.eat_symbol('^')) {
                return Err(parser.unexpected("the number chosen, as in `_{10}C_3`"));
            }
            Ok(counted(&name, n, parser.argument()?))
        })
    }
}

/// Returns an order of growth with natural logarithms: the base is a constant factor.
fn in_one_base(order: &Expression) -> Expression {
    order.replaced(&|node| match node {
        Expression::Function(name, inner) if lists("log logarithm", name) => {
            Some(Expression::function("ln", [in_one_base(inner.last()?)]))
        }
        // `O(|V| + |E|)`: the numbers of vertices and edges.
        Expression::Function(name, inner) if name == "abs" => match inner.first()? {
            set @ Expression::Symbol(name) if name.starts_with(char::is_uppercase) => {
                Some(set.clone())
            }
            _ => None,
        },
        _ => None,
    })
}

/// Returns the number of combinations, or for another letter of arrangements `n! / (n - k)!`.
fn counted(name: &str, n: Expression, k: Expression) -> Expression {
    if name == "C" {
        return Expression::function("binomial", [n, k]);
    }
    let factorial = |value| Expression::function("factorial", [value]);
    factorial(n.clone()) / factorial(n - k)
}

/// Returns true if `k` may be chosen from `n`.
///
/// They are integers in this order, or `n` is a usual letter for one. `C_1^2` is a square.
fn may_count(n: &Expression, k: &Expression) -> bool {
    if let Some((n, k)) = n.as_integer().zip(k.as_integer()) {
        return n >= 2 && (0..=n).contains(&k);
    }
    let letters = n.variables();
    !letters.is_empty() && letters.iter().all(|name| matches!(name.as_str(), "n" | "m" | "N"))
}
