//! Tokens to expressions, by precedence climbing with a depth limit.

use num_bigint::BigInt;
use num_rational::BigRational;
use num_traits::Signed;

use crate::expression::Expression;
use crate::token::{Kind, Token};
use crate::verdict::ParseError;

/// Deepest nesting of brackets, fractions, roots and exponents.
pub(crate) const MAX_DEPTH: usize = 64;

pub(crate) type Result<T> = std::result::Result<T, ParseError>;

/// A cursor over tokens.
pub(crate) struct Parser {
    tokens: Vec<Token>,
    position: usize,
    depth: usize,
    /// Inside `|…|` another `|` closes.
    in_bars: bool,
    /// The closing partner of each opening bracket.
    partner: Vec<Option<usize>>,
    /// Whether a comma or semicolon stands directly between an opening bracket and its partner.
    separated: Vec<bool>,
}

impl Parser {
    pub(crate) fn new(tokens: Vec<Token>) -> Self {
        let mut parser = Self {
            partner: vec![None; tokens.len()],
            separated: vec![false; tokens.len()],
            tokens,
            position: 0,
            depth: 0,
            in_bars: false,
        };
        let mut open: Vec<usize> = Vec::new();
        for at in 0..parser.tokens.len() {
            match class(&parser.tokens[at].kind) {
                Class::Open => open.push(at),
                Class::Close => {
                    if let Some(start) = open.pop() {
                        parser.partner[start] = Some(at);
                    }
                }
                Class::Separator => {
                    if let Some(&start) = open.last() {
                        parser.separated[start] = true;
                    }
                }
                Class::Other => {}
            }
        }
        parser
    }

    pub(crate) fn peek(&self) -> Option<&Kind> {
        self.peek_at(0)
    }

    pub(crate) fn peek_at(&self, ahead: usize) -> Option<&Kind> {
        self.tokens.get(self.position + ahead).map(|token| &token.kind)
    }

    fn spaced(&self) -> bool {
        self.tokens.get(self.position).is_some_and(|token| token.spaced)
    }

    pub(crate) fn advance(&mut self) {
        self.position += 1;
    }

    pub(crate) fn at_symbol(&self, c: char) -> bool {
        self.peek().is_some_and(|kind| kind.is_symbol(c))
    }

    pub(crate) fn at_command(&self, name: &str) -> bool {
        self.peek().is_some_and(|kind| kind.is_command(name))
    }

    pub(crate) fn eat_symbol(&mut self, c: char) -> bool {
        let found = self.at_symbol(c);
        self.position += usize::from(found);
        found
    }

    pub(crate) fn eat_command(&mut self, name: &str) -> bool {
        let found = self.at_command(name);
        self.position += usize::from(found);
        found
    }

    /// Token index of the bracket that closes the one here, and whether it holds a separator.
    pub(crate) fn bracket(&self) -> Option<(usize, bool)> {
        let close = (*self.partner.get(self.position)?)?;
        Some((close, self.separated[self.position]))
    }

    /// Exchanges this token and the next.
    pub(crate) fn swap_with_next(&mut self) {
        if self.position + 1 < self.tokens.len() {
            self.tokens.swap(self.position, self.position + 1);
        }
    }

    pub(crate) fn position(&self) -> usize {
        self.position
    }

    pub(crate) fn kind_at(&self, index: usize) -> Option<&Kind> {
        self.tokens.get(index).map(|token| &token.kind)
    }

    pub(crate) fn unexpected(&self, expected: &str) -> ParseError {
        let token = self.tokens.get(self.position);
        ParseError::Syntax {
            at: token
                .map_or_else(|| self.tokens.last().map_or(0, |last| last.at + 1), |token| token.at),
            found: token.map_or_else(|| "the end".to_owned(), |token| token.kind.describe()),
            expected: expected.to_owned(),
        }
    }

    /// Runs a rule one level deeper.
    pub(crate) fn deeper<T>(&mut self, rule: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.depth >= MAX_DEPTH {
            return Err(ParseError::TooDeep { limit: MAX_DEPTH });
        }
        self.depth += 1;
        let result = rule(self);
        self.depth -= 1;
        result
    }

    /// A sum of signed terms.
    pub(crate) fn sum(&mut self) -> Result<Expression> {
        self.deeper(|parser| {
            let mut terms = Vec::new();
            loop {
                let sign = parser.signs(terms.is_empty());
                let Some(sign) = sign else { break };
                let term = parser.term()?;
                terms.push(sign.apply(term));
            }
            if terms.len() == 1 { Ok(terms.remove(0)) } else { Ok(Expression::Sum(terms)) }
        })
    }

    /// The signs before a term; `None` where a sum ends.
    fn signs(&mut self, first: bool) -> Option<Sign> {
        let (mut sign, mut any) = (Sign::Plus, first);
        loop {
            if self.eat_symbol('+') {
            } else if self.eat_symbol('-') {
                sign = match sign {
                    Sign::Plus => Sign::Minus,
                    Sign::Minus => Sign::Plus,
                    Sign::Either(flipped) => Sign::Either(!flipped),
                };
            } else if self.eat_command("pm") {
                sign = Sign::Either(sign == Sign::Minus);
            } else if self.eat_command("mp") {
                sign = Sign::Either(sign != Sign::Minus);
            } else {
                return any.then_some(sign);
            }
            any = true;
        }
    }

    /// A product of factors, with divisions.
    fn term(&mut self) -> Result<Expression> {
        let (mut above, mut below) = (vec![self.factor()?], Vec::new());
        loop {
            let explicit =
                self.at_symbol('*') || self.at_command("cdot") || self.at_command("times");
            if explicit {
                self.advance();
                above.push(self.signed_factor()?);
            } else if self.at_symbol('/') || self.at_command("div") {
                self.advance();
                below.push(self.signed_factor()?);
            } else if let Some(mixed) = self.mixed_fraction(&above, &below)? {
                above = vec![mixed];
            } else if self.starts_factor(above.last()) {
                above.push(self.factor()?);
            } else {
                break;
            }
        }
        let product = |mut factors: Vec<Expression>| {
            if factors.len() == 1 { factors.remove(0) } else { Expression::Product(factors) }
        };
        if below.is_empty() {
            return Ok(product(above));
        }
        Ok(Expression::Quotient(Box::new(product(above)), Box::new(product(below))))
    }

    fn signed_factor(&mut self) -> Result<Expression> {
        let mut negative = false;
        while self.at_symbol('-') || self.at_symbol('+') {
            negative ^= self.at_symbol('-');
            self.advance();
        }
        let factor = self.factor()?;
        Ok(if negative { Expression::Negative(Box::new(factor)) } else { factor })
    }

    /// `3 3/4` and `3\frac{3}{4}`: a whole number followed by a proper fraction of whole numbers.
    fn mixed_fraction(
        &mut self,
        above: &[Expression],
        below: &[Expression],
    ) -> Result<Option<Expression>> {
        let ([Expression::Number(whole)], []) = (above, below) else { return Ok(None) };
        let after_number = matches!(
            self.position.checked_sub(1).and_then(|at| self.kind_at(at)),
            Some(Kind::Number { .. })
        );
        if !whole.is_integer() || !after_number {
            return Ok(None);
        }
        let whole = whole.clone();
        let part = match self.peek() {
            Some(Kind::Command(name)) if is_fraction(name) => {
                let start = self.position;
                let fraction = self.factor()?;
                let Expression::Quotient(top, bottom) = &fraction else { return Ok(None) };
                match (top.literal(), bottom.literal()) {
                    (Some(top), Some(bottom)) if bottom.is_positive() && !top.is_negative() => {
                        top / bottom
                    }
                    _ => {
                        self.position = start;
                        return Ok(None);
                    }
                }
            }
            Some(Kind::Number { value: top, .. }) if self.spaced() => {
                let slash = self.peek_at(1).is_some_and(|kind| kind.is_symbol('/'));
                let Some(Kind::Number { value: bottom, .. }) = self.peek_at(2) else {
                    return Ok(None);
                };
                if !slash || !top.is_integer() || !bottom.is_integer() || top >= bottom {
                    return Ok(None);
                }
                let part = top / bottom;
                self.position += 3;
                part
            }
            _ => return Ok(None),
        };
        Ok(Some(Expression::Number(whole + part)))
    }

    /// Whether a factor follows without a sign of multiplication.
    fn starts_factor(&self, last: Option<&Expression>) -> bool {
        match self.peek() {
            // Two literals side by side are no product, `2^6 3^5` is.
            Some(Kind::Number { .. }) => !matches!(last, Some(Expression::Number(_)) | None),
            Some(Kind::Letter(_) | Kind::Symbol('(' | '{')) => true,
            Some(Kind::Symbol('|')) => !self.in_bars,
            Some(Kind::Command(name)) => starts_primary(name) || function_name(name).is_some(),
            Some(Kind::Word(name) | Kind::Text(name)) => {
                function_name(name).is_some() || name == "pi"
            }
            _ => false,
        }
    }

    /// A primary with its postfixes: powers, factorials, degrees.
    fn factor(&mut self) -> Result<Expression> {
        let mut base = self.primary()?;
        let mut postfixes = 0;
        loop {
            let power = if self.eat_symbol('^') {
                true
            } else if self.at_symbol('*') && self.peek_at(1).is_some_and(|kind| kind.is_symbol('*'))
            {
                self.position += 2;
                true
            } else {
                false
            };
            if power {
                if self.degree_mark() {
                    base = Expression::Degrees(Box::new(base));
                } else {
                    let exponent = self.deeper(Self::exponent)?;
                    base = Expression::Power(Box::new(base), Box::new(exponent));
                }
            } else if self.at_symbol('!')
                && !self.peek_at(1).is_some_and(|kind| kind.is_symbol('='))
            {
                self.advance();
                base = Expression::Factorial(Box::new(base));
            } else if self.eat_command("degree") {
                base = Expression::Degrees(Box::new(base));
            } else {
                return Ok(base);
            }
            postfixes += 1;
            if postfixes > MAX_DEPTH / 4 {
                return Err(ParseError::TooDeep { limit: MAX_DEPTH });
            }
        }
    }

    /// `\circ` or `{\circ}` after `^`.
    fn degree_mark(&mut self) -> bool {
        if self.eat_command("circ") {
            return true;
        }
        let grouped = self.at_symbol('{')
            && self.peek_at(1).is_some_and(|kind| kind.is_command("circ"))
            && self.peek_at(2).is_some_and(|kind| kind.is_symbol('}'));
        if grouped {
            self.position += 3;
        }
        grouped
    }

    fn exponent(&mut self) -> Result<Expression> {
        let mut negative = false;
        while self.at_symbol('-') || self.at_symbol('+') {
            negative ^= self.at_symbol('-');
            self.advance();
        }
        let base = self.primary()?;
        // Right-associative where braces are missing: 2^3^2 = 2^9.
        let exponent =
            if self.at_symbol('^') && !self.peek_at(1).is_some_and(|k| k.is_command("circ")) {
                self.advance();
                let above = self.deeper(Self::exponent)?;
                Expression::Power(Box::new(base), Box::new(above))
            } else {
                base
            };
        Ok(if negative { Expression::Negative(Box::new(exponent)) } else { exponent })
    }

    fn primary(&mut self) -> Result<Expression> {
        match self.peek().cloned() {
            Some(Kind::Number { value, digits, .. }) => {
                self.advance();
                if self.at_symbol('_') {
                    return self.number_in_base(&digits);
                }
                Ok(Expression::Number(value))
            }
            Some(Kind::Letter(c)) => {
                self.advance();
                self.variable(c.to_string())
            }
            Some(Kind::Symbol('{')) => self.enclosed('{', '}'),
            Some(Kind::Symbol('(')) => self.enclosed('(', ')'),
            Some(Kind::Symbol('[')) => self.enclosed('[', ']'),
            Some(Kind::Symbol('|')) => self.bars(|parser| parser.eat_symbol('|')),
            Some(Kind::Command(name)) => self.command(&name),
            Some(Kind::Word(name) | Kind::Text(name)) => match name.as_str() {
                "pi" => {
                    self.advance();
                    Ok(Expression::Symbol("\\pi".to_owned()))
                }
                "inf" | "infinity" | "oo" | "Infinity" => {
                    self.advance();
                    Ok(Expression::Symbol("\\infty".to_owned()))
                }
                "sqrt" => {
                    self.advance();
                    self.deeper(|parser| Ok(Expression::Root(Box::new(parser.primary()?), 2)))
                }
                _ => match function_name(&name) {
                    Some(function) => self.application(function),
                    None => Err(self.unexpected("a number, a variable or a bracket")),
                },
            },
            _ => Err(self.unexpected("a number, a variable or a bracket")),
        }
    }

    fn enclosed(&mut self, open: char, close: char) -> Result<Expression> {
        if !self.eat_symbol(open) {
            return Err(self.unexpected(&format!("`{open}`")));
        }
        let in_bars = std::mem::replace(&mut self.in_bars, false);
        let inner = self.sum()?;
        self.in_bars = in_bars;
        if self.eat_symbol(close) { Ok(inner) } else { Err(self.unexpected(&format!("`{close}`"))) }
    }

    fn bars(&mut self, close: impl Fn(&mut Self) -> bool) -> Result<Expression> {
        self.advance();
        let in_bars = std::mem::replace(&mut self.in_bars, true);
        let inner = self.sum()?;
        self.in_bars = in_bars;
        if close(self) {
            Ok(Expression::Absolute(Box::new(inner)))
        } else {
            Err(self.unexpected("the bar that closes an absolute value"))
        }
    }

    /// A letter with its subscript, or a function of that name.
    fn variable(&mut self, name: String) -> Result<Expression> {
        let mut name = name;
        if self.at_symbol('_') {
            self.advance();
            name.push('_');
            name.push_str(&self.subscript()?);
        }
        while self.eat_symbol('\'') {
            name.push('\'');
        }
        let applies = matches!(name.trim_end_matches('\''), "f" | "g" | "h" | "F" | "G" | "P");
        if applies && self.at_symbol('(') && !self.spaced() {
            return self.deeper(|parser| {
                parser.advance();
                let mut arguments = vec![parser.sum()?];
                while parser.eat_symbol(',') {
                    arguments.push(parser.sum()?);
                }
                if parser.eat_symbol(')') {
                    Ok(Expression::Function(name, arguments))
                } else {
                    Err(parser.unexpected("`)`"))
                }
            });
        }
        Ok(Expression::Symbol(name))
    }

    /// The text of a subscript: one token or a group of plain tokens.
    fn subscript(&mut self) -> Result<String> {
        let grouped = self.eat_symbol('{');
        let mut text = String::new();
        loop {
            if grouped && !text.is_empty() && self.eat_symbol('}') {
                return Ok(text);
            }
            match self.peek() {
                Some(Kind::Number { digits, .. }) => text.push_str(digits),
                Some(Kind::Letter(c) | Kind::Symbol(c @ ('+' | '-' | ','))) => text.push(*c),
                Some(Kind::Text(word) | Kind::Word(word)) => text.push_str(word),
                Some(Kind::Command(name)) => {
                    text.push('\\');
                    text.push_str(name);
                }
                _ => return Err(self.unexpected("a subscript")),
            }
            self.advance();
            if !grouped {
                return Ok(text);
            }
        }
    }

    /// `101_2`: the digits read in the base of the subscript.
    fn number_in_base(&mut self, digits: &str) -> Result<Expression> {
        self.advance();
        let base = self.subscript()?;
        let base = base.parse::<u32>().ok().filter(|base| (2..=36).contains(base));
        let base = base.ok_or_else(|| self.unexpected("a number base from 2 to 36"))?;
        let value = BigInt::parse_bytes(digits.as_bytes(), base);
        let value = value.ok_or_else(|| self.unexpected(&format!("digits of base {base}")))?;
        Ok(Expression::Number(BigRational::from_integer(value)))
    }

    fn command(&mut self, name: &str) -> Result<Expression> {
        if is_fraction(name) {
            self.advance();
            return self.deeper(|parser| {
                let top = parser.argument()?;
                let bottom = parser.argument()?;
                Ok(Expression::Quotient(Box::new(top), Box::new(bottom)))
            });
        }
        match name {
            "binom" | "dbinom" | "tbinom" => {
                self.advance();
                self.deeper(|parser| {
                    let n = parser.argument()?;
                    let k = parser.argument()?;
                    Ok(Expression::Binomial(Box::new(n), Box::new(k)))
                })
            }
            "sqrt" => {
                self.advance();
                self.deeper(|parser| {
                    let index = if parser.eat_symbol('[') {
                        let index = parser.sum()?.literal();
                        let index = index.filter(BigRational::is_integer).map(|v| v.to_integer());
                        let index = index.and_then(|v| u32::try_from(v).ok());
                        let index =
                            index.ok_or_else(|| parser.unexpected("a whole index of the root"))?;
                        if !parser.eat_symbol(']') {
                            return Err(parser.unexpected("`]`"));
                        }
                        index
                    } else {
                        2
                    };
                    Ok(Expression::Root(Box::new(parser.argument()?), index))
                })
            }
            "surd" | "cbrt" => {
                self.advance();
                let index = if name == "cbrt" { 3 } else { 2 };
                self.deeper(|parser| Ok(Expression::Root(Box::new(parser.primary()?), index)))
            }
            "lvert" => self.bars(|parser| parser.eat_command("rvert")),
            "|" => self.bars(|parser| parser.eat_command("|")),
            "lfloor" | "lceil" => {
                self.advance();
                let inner = self.sum()?;
                let (close, function) =
                    if name == "lfloor" { ("rfloor", "floor") } else { ("rceil", "ceil") };
                if self.eat_command(close) {
                    Ok(Expression::Function(function.to_owned(), vec![inner]))
                } else {
                    Err(self.unexpected(&format!("`\\{close}`")))
                }
            }
            "boxed" | "fbox" | "overline" | "bar" | "vec" | "hat" | "mathbb" | "mathcal" => {
                self.advance();
                let plain = matches!(name, "boxed" | "fbox");
                let inner = self.deeper(Self::primary)?;
                match inner {
                    inner if plain => Ok(inner),
                    Expression::Symbol(letter) => {
                        Ok(Expression::Symbol(format!("\\{name} {letter}")))
                    }
                    inner => Ok(Expression::Function(name.to_owned(), vec![inner])),
                }
            }
            "pi" | "infty" => {
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

    /// One TeX argument: a group, or the first digit of what follows.
    fn argument(&mut self) -> Result<Expression> {
        if let Some(Kind::Number { digits, value, grouped }) = self.peek()
            && digits.len() > 1
            && digits.bytes().all(|b| b.is_ascii_digit())
            && !grouped
            && value.is_integer()
        {
            let (first, rest) = digits.split_at(1);
            let (first, rest) = (first.to_owned(), rest.to_owned());
            let value =
                |text: &str| BigRational::from_integer(text.parse::<BigInt>().unwrap_or_default());
            let first = value(&first);
            let kind = Kind::Number { value: value(&rest), digits: rest, grouped: false };
            self.tokens[self.position].kind = kind;
            return Ok(Expression::Number(first));
        }
        self.primary()
    }

    /// A named function with its exponent, base and argument.
    fn application(&mut self, name: &'static str) -> Result<Expression> {
        self.advance();
        self.deeper(|parser| {
            let base = if name == "log" && parser.eat_symbol('_') {
                Some(Box::new(parser.argument()?))
            } else {
                None
            };
            let mut exponent =
                if parser.eat_symbol('^') { Some(parser.deeper(Self::exponent)?) } else { None };
            let mut name = name;
            let minus_one = BigRational::from_integer(BigInt::from(-1));
            if exponent.as_ref().and_then(Expression::literal) == Some(minus_one)
                && let Some(inverse) = inverse_name(name)
            {
                (name, exponent) = (inverse, None);
            }
            let arguments = parser.arguments()?;
            let value = match (name, <[Expression; 1]>::try_from(arguments)) {
                ("ln", Ok([argument])) => Expression::Logarithm(None, Box::new(argument)),
                ("log", Ok([argument])) => {
                    let ten = || Box::new(Expression::Number(BigRational::from_integer(10.into())));
                    Expression::Logarithm(Some(base.unwrap_or_else(ten)), Box::new(argument))
                }
                ("abs", Ok([argument])) => Expression::Absolute(Box::new(argument)),
                (name, Ok([argument])) => Expression::Function(name.to_owned(), vec![argument]),
                (name, Err(arguments)) => Expression::Function(name.to_owned(), arguments),
            };
            Ok(match exponent {
                Some(exponent) => Expression::Power(Box::new(value), Box::new(exponent)),
                None => value,
            })
        })
    }

    /// `(a, b)`, `{a}` or the factors up to the next sign or function.
    fn arguments(&mut self) -> Result<Vec<Expression>> {
        if self.at_symbol('(') {
            self.advance();
            let mut arguments = vec![self.sum()?];
            while self.eat_symbol(',') {
                arguments.push(self.sum()?);
            }
            if !self.eat_symbol(')') {
                return Err(self.unexpected("`)`"));
            }
            return Ok(arguments);
        }
        let mut factors = vec![self.factor()?];
        loop {
            let continues = match self.peek() {
                Some(Kind::Letter(_)) => true,
                Some(Kind::Command(name)) => starts_primary(name),
                _ => false,
            };
            if !continues {
                break;
            }
            factors.push(self.factor()?);
        }
        if factors.len() > 1 {
            return Ok(vec![Expression::Product(factors)]);
        }
        Ok(factors)
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Sign {
    Plus,
    Minus,
    Either(bool),
}

impl Sign {
    fn apply(self, term: Expression) -> Expression {
        match self {
            Self::Plus => term,
            Self::Minus => Expression::Negative(Box::new(term)),
            Self::Either(flipped) => Expression::PlusMinus(Box::new(term), flipped),
        }
    }
}

enum Class {
    Open,
    Close,
    Separator,
    Other,
}

fn class(kind: &Kind) -> Class {
    match kind {
        Kind::Symbol('(' | '[' | '{') => Class::Open,
        Kind::Symbol(')' | ']' | '}') => Class::Close,
        Kind::Symbol(',' | ';') => Class::Separator,
        Kind::Command(name) => match name.as_str() {
            "{" | "langle" | "lbrace" => Class::Open,
            "}" | "rangle" | "rbrace" => Class::Close,
            _ => Class::Other,
        },
        _ => Class::Other,
    }
}

fn is_fraction(name: &str) -> bool {
    matches!(name, "frac" | "dfrac" | "tfrac" | "cfrac")
}

/// Commands that begin a factor and are no function.
fn starts_primary(name: &str) -> bool {
    is_fraction(name)
        || is_letter_command(name)
        || matches!(
            name,
            "sqrt" | "surd" | "cbrt" | "pi" | "binom" | "dbinom" | "tbinom" | "lfloor" | "lceil"
        )
        || matches!(
            name,
            "lvert" | "boxed" | "fbox" | "infty" | "overline" | "vec" | "bar" | "hat" | "mathbb"
        )
}

fn is_letter_command(name: &str) -> bool {
    const GREEK: &[&str] = &[
        "alpha",
        "beta",
        "gamma",
        "delta",
        "epsilon",
        "varepsilon",
        "zeta",
        "eta",
        "theta",
        "vartheta",
        "iota",
        "kappa",
        "lambda",
        "mu",
        "nu",
        "xi",
        "rho",
        "sigma",
        "tau",
        "upsilon",
        "phi",
        "varphi",
        "chi",
        "psi",
        "omega",
        "Gamma",
        "Delta",
        "Theta",
        "Lambda",
        "Xi",
        "Pi",
        "Sigma",
        "Phi",
        "Psi",
        "Omega",
        "ell",
        "hbar",
        "emptyset",
        "varnothing",
    ];
    GREEK.contains(&name)
}

/// The canonical name of a known function.
fn function_name(name: &str) -> Option<&'static str> {
    Some(match name {
        "sin" => "sin",
        "cos" => "cos",
        "tan" | "tg" => "tan",
        "cot" | "ctg" | "cotg" => "cot",
        "sec" => "sec",
        "csc" | "cosec" => "csc",
        "arcsin" | "asin" => "arcsin",
        "arccos" | "acos" => "arccos",
        "arctan" | "atan" | "arctg" => "arctan",
        "sinh" => "sinh",
        "cosh" => "cosh",
        "tanh" => "tanh",
        "ln" => "ln",
        "log" | "lg" => "log",
        "exp" => "exp",
        "abs" => "abs",
        "gcd" => "gcd",
        "lcm" => "lcm",
        "max" => "max",
        "min" => "min",
        _ => return None,
    })
}

fn inverse_name(name: &str) -> Option<&'static str> {
    match name {
        "sin" => Some("arcsin"),
        "cos" => Some("arccos"),
        "tan" => Some("arctan"),
        _ => None,
    }
}
