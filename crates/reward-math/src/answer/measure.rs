//! Parser of words, currencies and units beside a value.

use std::sync::LazyLock;

use dashu::Rational;
use dashu::base::Inverse;

use super::Node;
use crate::expression::Expression;
use crate::parser::{Parser, Result, function_name, is_greek};
use crate::table::{Table, lists, paired, pattern, phrases};
use crate::token::Kind;
use crate::words::{self, is_conjunction};

static CURRENCIES: LazyLock<Table> =
    LazyLock::new(|| Table::new(include_str!("currencies.txt"), ' '));

impl Parser {
    /// Parses words up to the end of the item, if it starts with a word.
    pub(super) fn words(&mut self) -> Option<String> {
        self.peek_word().filter(|word| !self.is_name(word))?;
        let mut text = Vec::new();
        let goes_on = |word: &&str| !is_conjunction(word) && !is_copula(word);
        while let Some(word) = self.peek_word().filter(goes_on) {
            text.push(word.to_owned());
            self.advance();
        }
        words::normalise(&text.join(" "))
    }

    pub(super) fn is_name(&self, word: &str) -> bool {
        let constant =
            matches!(word, "pi" | "inf" | "infinity" | "oo" | "Infinity" | "sqrt" | "cbrt");
        // "alpha particle" is no letter with a unit.
        let greek = is_greek(word) && self.peek_at(1).is_none_or(|next| next.word().is_none());
        // "the rank is 2", "rank 2"
        let noun = word == "rank" && !self.symbol_at(1, '(');
        greek || (constant || function_name(word).is_some()) && !noun && !self.symbol_at(1, '=')
    }

    /// Parses a currency sign or code before the number, or after its sign.
    pub(super) fn currency(&mut self) -> Option<String> {
        if let Some(word) = self.peek_word()
            && let Some(name) = CURRENCIES.name(&word.to_lowercase())
        {
            let point = usize::from(self.symbol_at(1, '.'));
            if matches!(self.peek_at(1 + point), Some(Kind::Number { .. })) {
                self.position += 1 + point;
                return Some(name.to_owned());
            }
        }
        let behind_minus = self.at_symbol('-');
        let name = self.peek_at(usize::from(behind_minus)).and_then(currency_name)?;
        if behind_minus {
            self.swap_with_next();
        }
        self.advance();
        Some(name.to_owned())
    }

    /// Skips `%`, "percent" and its short forms.
    pub(super) fn eat_percent(&mut self) -> bool {
        let word = |ahead: usize| self.peek_at(ahead).and_then(Kind::word).unwrap_or_default();
        let sign = self.peek().is_some_and(|kind| kind.is_any("%", "%"));
        let length = match (word(0), word(1)) {
            ("per", "cent") => 2,
            (word, _) => usize::from(sign || phrases("percent").contains(&word)),
        };
        self.position += length;
        length > 0
    }

    /// Parses "million", "tenths" and the like after a number, as a factor.
    pub(super) fn magnitude(&mut self) -> Option<Rational> {
        let text = self.peek_word()?;
        let text = text.trim();
        // 3.6万元
        let (first, rest) = match text.chars().next() {
            Some(sign @ ('万' | '亿')) => text.split_at(sign.len_utf8()),
            _ => text.split_once(' ').unwrap_or((text, "")),
        };
        let factor = match words::magnitude(first) {
            Some(factor) => Rational::from(factor),
            None => Rational::from_parts(1.into(), words::part(first)?.into()),
        };
        let rest = rest.trim().to_owned();
        if rest.is_empty() {
            self.advance();
        } else {
            self.replace(Kind::Text(rest));
        }
        Some(factor)
    }

    /// Parses `C` or `F` after a degree sign.
    pub(super) fn temperature_scale(&mut self) -> Option<&'static str> {
        let name = match self.peek()? {
            Kind::Letter(letter) => letter.to_string(),
            kind => kind.word()?.to_uppercase(),
        };
        let scale = paired("temperature", &name)?;
        self.advance();
        Some(scale)
    }

    /// Parses the words of measurement after a value.
    pub(super) fn unit(&mut self, start: usize) -> Result<Option<String>> {
        let mut unit = String::new();
        loop {
            let spaced = self.spaced(0);
            match self.peek() {
                Some(Kind::Word(word) | Kind::Text(word))
                    if !word.split_whitespace().next().is_some_and(is_conjunction)
                        && self.relation().is_none() =>
                {
                    if self.position == start || opens_clause(word) {
                        return Err(self.unexpected("a value before its unit"));
                    }
                    unit.push(' ');
                    unit.push_str(word);
                }
                // `m/s`, `kcal m^{-2}`
                Some(Kind::Letter(letter)) if unit.ends_with(['/', '*']) => {
                    unit.extend([' ', *letter]);
                }
                Some(sign) if currency_name(sign).is_some() => {
                    unit.push_str(currency_name(sign).unwrap_or_default());
                }
                // `12''` and `5'`, not `(x^2)'`
                Some(Kind::Symbol('\''))
                    if unit.is_empty() && matches!(self.before(), Some(Kind::Number { .. })) =>
                {
                    let inches = self.symbol_at(1, '\'');
                    self.position += usize::from(inches);
                    unit.push_str(if inches { "inch" } else { "foot" });
                }
                Some(Kind::Command(_)) if self.at_unit_fraction() => {
                    unit.push_str(&self.unit_fraction()?);
                    continue;
                }
                Some(Kind::Command(name))
                    if !unit.is_empty()
                        && matches!(name.as_str(), "cdot" | "times")
                        && self.peek_at(1).is_some_and(|kind| kind.word().is_some()) =>
                {
                    unit.push('*');
                }
                // An abbreviation with its full stop: `5 sq. ft.`
                Some(Kind::Symbol('.')) if !unit.is_empty() => {}
                Some(Kind::Symbol('/')) if !unit.is_empty() => unit.push('/'),
                Some(Kind::Symbol('^')) if !unit.is_empty() => {
                    self.advance();
                    unit.push_str(&self.unit_power()?);
                    continue;
                }
                // `cm2`, but 3元5角
                Some(Kind::Number { digits, .. })
                    if unit.ends_with(|c: char| c.is_ascii()) && !spaced =>
                {
                    unit.push_str(digits);
                }
                _ => break,
            }
            self.advance();
        }
        // 29是素数: a sentence.
        if goes_on(&unit) {
            return Err(self.unexpected("a unit"));
        }
        // `\frac18 \text{ of the original sample}`: a share.
        let share = pattern!(r"(?i)^\s*of the (?:‹whole of a share›)\b").is_match(&unit);
        Ok(words::unit(&unit).filter(|_| !share))
    }

    /// Parses the power of a unit: `2`, `{2}` or `{-1}`.
    fn unit_power(&mut self) -> Result<String> {
        let grouped = self.eat_symbol('{');
        let negative = self.eat_symbol('-');
        let Some(Kind::Number { digits, .. }) = self.peek() else {
            return Err(self.unexpected("the power of a unit"));
        };
        let power = format!("^{}{digits}", if negative { "-" } else { "" });
        self.advance();
        if grouped {
            self.expect('}')?;
        }
        Ok(power)
    }

    /// Parses `\frac{\text{m}}{\text{s}^2}` as `m/s^2`.
    fn unit_fraction(&mut self) -> Result<String> {
        self.advance();
        let mut sides = Vec::new();
        for _ in 0..2 {
            self.expect('{')?;
            let word = self.peek_word().map(str::to_owned);
            let mut side = word.ok_or_else(|| self.unexpected("a unit"))?;
            self.advance();
            if self.eat_symbol('^') {
                side.push_str(&self.unit_power()?);
            }
            self.expect('}')?;
            sides.push(side);
        }
        Ok(format!(" {}", sides.join("/")))
    }

    /// Parses `2 hours 30 minutes`, all in the smaller unit.
    pub(super) fn with_smaller_unit(&mut self, value: Expression, unit: String) -> Result<Node> {
        let smaller = self.attempt(|parser| {
            parser.eat_separator();
            if !matches!(parser.peek(), Some(Kind::Number { .. })) {
                return Ok(None);
            }
            let start = parser.position;
            let count = parser.sum()?;
            let smaller = parser.unit(start)?;
            let factor = smaller.as_deref().and_then(|smaller| words::parts(&unit, smaller));
            Ok(smaller.zip(factor).map(|(smaller, factor)| (count, smaller, factor)))
        })?;
        let Some((count, smaller, factor)) = smaller else {
            return Ok(Node::Value { expression: value, unit: Some(unit) });
        };
        // An amount of money is one of dollars, with cents or without.
        if smaller == "cent" {
            let expression = value + count * Expression::Number(factor.inv());
            return Ok(Node::Value { expression, unit: Some(unit) });
        }
        self.with_smaller_unit(value * Expression::Number(factor) + count, smaller)
    }
}

/// Returns true if the words behind a value are no unit: "mL (0.050 L)", 29是素数.
fn goes_on(unit: &str) -> bool {
    pattern!(r"\(\s*[-=≈~]?\s*[0-9]").is_match(unit)
        || words::qualifies(unit)
        || unit.replace("不同", "").contains(['是', '不'])
}

/// Returns true for words of another clause, which name no unit: ", and the sum of these", "fails the check".
fn opens_clause(words: &str) -> bool {
    let first = words.split_whitespace().next().unwrap_or_default();
    words.contains([':', ';'])
        || words.trim_start().starts_with(',') && words.split(' ').count() > 2
        || lists("fails reversed vanishes", first)
        || first == "makes" && words.contains("vanish")
}

/// Returns true if the word joins a label to its value.
pub(super) fn is_copula(word: &str) -> bool {
    phrases("copula").contains(&word)
}

/// Returns the currency of a sign, or of a code before a number.
fn currency_name(kind: &Kind) -> Option<&'static str> {
    let Kind::Symbol(sign) = kind else { return None };
    CURRENCIES.name(sign.encode_utf8(&mut [0; 4]))
}

/// Returns the number of degrees of `70^\circ` and `180^\circ - 110^\circ`.
pub(super) fn in_degrees(expression: &Expression) -> Option<Expression> {
    match expression {
        Expression::Function(name, inner) if name == "degrees" => Some(inner[0].clone()),
        Expression::Negative(inner) => Some(-in_degrees(inner)?),
        Expression::Product(factors) => {
            let place = factors.iter().position(|factor| in_degrees(factor).is_some())?;
            let mut factors = factors.clone();
            factors[place] = in_degrees(&factors[place])?;
            let once = !factors.iter().any(|factor| in_degrees(factor).is_some());
            once.then_some(Expression::Product(factors))
        }
        Expression::Quotient(top, bottom) if in_degrees(bottom).is_none() => {
            Some(in_degrees(top)? / (**bottom).clone())
        }
        Expression::Sum(terms) => {
            terms.iter().map(in_degrees).collect::<Option<_>>().map(Expression::Sum)
        }
        _ => None,
    }
}
