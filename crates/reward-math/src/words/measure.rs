//! Units of measurement: one canonical name for each, and words after a number that are no units.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::LazyLock;

use dashu::Rational;
use regex::Captures;

use crate::table::{paired, pattern, phrases};

/// A unit with its spellings, in the singular and lower case, the first of them its canonical name.
struct Unit {
    spellings: Vec<String>,
    /// Exact size in base units, with their names and powers.
    size: Option<(Rational, Vec<(&'static str, i32)>)>,
}

/// Prefixes of the SI with their symbols, in lower case, and powers of ten.
const PREFIXES: [(&str, isize); 8] = [
    ("pico p", -12),
    ("nano n", -9),
    ("micro μ µ", -6),
    ("milli m", -3),
    ("kilo k", 3),
    ("mega", 6),
    ("giga g", 9),
    ("tera t", 12),
];

/// Units of the table: `km | kilometer = 1000 m`; those of `SI newton | n = …` with all prefixes, too, behind the others.
static UNITS: LazyLock<Vec<Unit>> = LazyLock::new(|| {
    let unit = |line: &'static str| {
        let (spellings, size) = line.split_once(" = ").unwrap_or((line, ""));
        let size = size.split_once(' ').and_then(|(size, base)| {
            let power = |base: &'static str| {
                let (base, power) = base.split_once('^').unwrap_or((base, "1"));
                Some((base, power.parse().ok()?))
            };
            Some((size.parse().ok()?, base.split(' ').map(power).collect::<Option<_>>()?))
        });
        let spellings = spellings.trim_start_matches("SI ").split(" | ").map(str::to_owned);
        Unit { spellings: spellings.collect(), size }
    };
    let prefixed = |line| {
        let Unit { spellings, size } = unit(line);
        PREFIXES.map(|(prefixes, power)| {
            let names = prefixes
                .split(' ')
                .flat_map(|prefix| spellings.iter().map(move |name| format!("{prefix}{name}")));
            let names = names.collect();
            let ten = Rational::from(10).pow(power);
            let size = size.clone().map(|(size, bases)| (size * ten, bases));
            Unit { spellings: names, size }
        })
    };
    let lines = || include_str!("units.txt").lines();
    let with_prefixes = lines().filter(|line| line.starts_with("SI ")).flat_map(prefixed);
    lines().map(unit).chain(with_prefixes).collect()
});

/// Returns the canonical name of a unit phrase, `hour^-1 mile` for `mph`, or the words of a counted thing.
#[expect(clippy::too_many_lines, reason = "one table")]
pub(crate) fn unit(phrase: &str) -> Option<String> {
    // No article.
    if phrase.trim() == "A" {
        return Some("ampere".to_owned());
    }
    // MW and mW
    let mega = pattern!(r"\bM(W|V|J|N|Pa|Hz|Ω|A)\b").replace_all(phrase.trim(), "mega$1");
    let capital = with_capitals(&mega);
    let lower = capital.to_lowercase();
    let mut factors: Vec<(&str, i32)> = Vec::new();
    let mut words: Vec<String> = Vec::new();
    let (mut power, mut inverse, mut known) = (1, false, true);
    // `J/(kg·K)`
    let mut bracketed = false;
    for piece in pieces(&lower) {
        match piece {
            "/" | "per" => inverse = true,
            "(" => bracketed = inverse,
            ")" => (bracketed, inverse) = (false, false),
            "*" | "a" | "an" | "of" => {}
            "square" | "sq" => power = 2,
            "cubic" | "cu" => power = 3,
            "squared" | "cubed" => {
                if let Some(last) = factors.last_mut() {
                    last.1 = last.1.saturating_mul(if piece == "squared" { 2 } else { 3 });
                }
            }
            number if number.starts_with(|c: char| c.is_ascii_digit() || c == '-') => {
                if let (Some(last), Ok(exponent)) = (factors.last_mut(), number.parse::<i32>()) {
                    last.1 = last.1.saturating_mul(exponent.clamp(-9, 9));
                }
            }
            word => {
                let word = singular(word);
                // "10 hours long", "degrees Celsius": words after a measure describe it.
                let described = !known || words.len() > factors.len();
                words.push(word.to_owned());
                if described {
                    continue;
                }
                let sign = if inverse { -1 } else { 1 };
                inverse &= bracketed;
                match paired("compound", word).and_then(measures) {
                    Some(parts) => {
                        factors.extend(parts.into_iter().map(|(name, power)| (name, power * sign)));
                    }
                    None => match name(word) {
                        Some(name) => factors.push((name, std::mem::replace(&mut power, 1) * sign)),
                        None if factors.is_empty() => known = false,
                        None => {}
                    },
                }
            }
        }
    }
    let joined = words.join(" ");
    if words.len() > 1
        && let Some(name) = name(&joined)
    {
        return Some(name.to_owned());
    }
    if !known || factors.is_empty() {
        return (!joined.is_empty()).then_some(joined);
    }
    let mut total: BTreeMap<&str, i32> = BTreeMap::new();
    for (name, power) in factors {
        let sum = total.entry(name).or_default();
        *sum = sum.saturating_add(power);
    }
    let spelled = total
        .into_iter()
        .filter(|(_, power)| *power != 0)
        .map(|(name, power)| if power == 1 { name.to_owned() } else { format!("{name}^{power}") });
    Some(spelled.collect::<Vec<_>>().join(" "))
}

/// Returns true if the words after a number make another answer of it: "5 or more", "5 at most", "5 is wrong", "5 squared".
pub(crate) fn qualifies(phrase: &str) -> bool {
    let lower = phrase.to_lowercase();
    let words: Vec<&str> =
        lower.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    // 至少为 7, 3 以上
    let bound = pattern!(
        r"(?:至少|至多|不少于|不超过)[为是有]?\s*$|^\s*[个人]?(?:以上|以下|以内|이상|이하|미만|초과)"
    );
    let pair = |pair: &[&str]| match pair {
        ["at", "most" | "least" | "minimum" | "maximum"] | ["below", "zero" | "0"] => true,
        ["or" | "and", second] => phrases("direction").contains(second),
        _ => false,
    };
    words.first().is_some_and(|first| phrases("continues a number").contains(first))
        || words.iter().any(|word| phrases("denies a number").contains(word))
        || words.windows(2).any(pair)
        || bound.is_match(&lower)
}

/// Returns true if the phrase holds only names of measures and their connecting words.
pub(crate) fn is_measure(phrase: &str) -> bool {
    let lower = with_capitals(phrase).to_lowercase();
    let pieces = pieces(&lower);
    pieces.iter().any(|piece| piece.starts_with(char::is_alphabetic))
        && pieces.iter().filter(|piece| piece.starts_with(char::is_alphabetic)).all(|piece| {
            matches!(*piece, "per" | "square" | "cubic" | "sq" | "cu")
                || name(singular(piece)).is_some()
        })
}

/// Spells out the units of `5 mT` and `0.1 M`: a small letter is none, or metres.
fn with_capitals(phrase: &str) -> Cow<'_, str> {
    pattern!(r"\b([mμµn]?)([TM])\b").replace_all(phrase, |parts: &Captures<'_>| {
        format!("{}{}", &parts[1], if &parts[2] == "T" { "tesla" } else { "molar" })
    })
}

/// Splits a phrase into words, signs and powers.
fn pieces(lower: &str) -> Vec<&str> {
    let piece = pattern!(r"[\p{Alphabetic}¢€£₹℃]+|-?[0-9]+|[/()-]");
    piece.find_iter(lower).map(|piece| piece.as_str()).collect()
}

fn name(word: &str) -> Option<&'static str> {
    known(word).map(|unit| unit.spellings[0].as_str())
}

fn known(word: &str) -> Option<&'static Unit> {
    UNITS.iter().find(|unit| unit.spellings.iter().any(|spelling| spelling == word))
}

pub(super) fn singular(word: &str) -> &str {
    let short = matches!(word, "hrs" | "lbs" | "mins" | "secs" | "yrs" | "rs");
    let plural = word.len() > 3 && !word.ends_with("ss") && !word.ends_with("us");
    let singular = word.strip_suffix('s').filter(|_| short || plural && word != "celsius");
    singular.unwrap_or(word)
}

/// Returns the measures of a canonical name with their powers; `None` for a counted thing.
fn measures(canonical: &str) -> Option<Vec<(&str, i32)>> {
    if name(canonical).is_some() {
        return Some(vec![(canonical, 1)]);
    }
    canonical
        .split(' ')
        .map(|part| {
            let (base, power) = part.split_once('^').unwrap_or((part, "1"));
            Some((name(base).filter(|name| *name == base)?, power.parse().ok()?))
        })
        .collect()
}

/// Largest power of a unit that is converted.
const LARGEST_POWER: u32 = 16;

/// Returns how many of the second measure make one of the first, exactly: 5/18 for "hour^-1 km" and "m second^-1".
///
/// `None` if they measure different things, or if a name has several sizes ("ton").
pub(crate) fn conversion(from: &str, to: &str) -> Option<Rational> {
    let ((from, from_base), (to, to_base)) = (size(from)?, size(to)?);
    (from_base == to_base).then(|| from / to)
}

/// Returns the size of a measure in base units, and the exponent of each of these.
fn size(canonical: &str) -> Option<(Rational, BTreeMap<&'static str, i32>)> {
    let mut product = (Rational::ONE, BTreeMap::new());
    for (name, power) in measures(canonical)? {
        let (size, bases) = known(name)?.size.as_ref()?;
        if power.unsigned_abs() > LARGEST_POWER {
            return None;
        }
        product.0 *= size.pow(isize::try_from(power).ok()?);
        for (base, base_power) in bases {
            *product.1.entry(*base).or_insert(0) += base_power * power;
        }
    }
    product.1.retain(|_, power| *power != 0);
    Some(product)
}

/// Returns true if two canonical names are of different measures, or of a measure and a counted thing; not of two such things.
pub(crate) fn contradict(left: &str, right: &str) -> bool {
    let listed = |list| pairs(list, left, right) || pairs(list, right, left);
    if left == right || listed("one measure") {
        return false;
    }
    match (measures(left), measures(right)) {
        _ if listed("opposite") => true,
        (Some(a), Some(b)) => {
            let vague = |side: &[(&str, i32)]| side.iter().all(|(name, _)| *name == "unit");
            let power = |side: &[(&str, i32)]| {
                side.iter().fold(0, |sum: i32, (_, power)| sum.saturating_add(*power))
            };
            // "units" stands for any measure of the question; square and cubic ones differ.
            if vague(&a) || vague(&b) {
                return power(&a) > 1 && power(&b) > 1 && power(&a) != power(&b);
            }
            true
        }
        // "6 pairs of socks" are no 6 socks.
        (None, None) => {
            let pair = |many: &str, one| many.strip_prefix("pair ") == Some(one);
            pair(left, right) || pair(right, left)
        }
        (Some(measure), None) | (None, Some(measure)) => {
            measure.iter().any(|(name, _)| *name != "unit")
        }
    }
}

/// Returns how many of the second unit make one of the first, for usual pairs such as "2 hours 30 minutes".
pub(crate) fn parts(larger: &str, smaller: &str) -> Option<Rational> {
    // A minute of arc.
    if (larger, smaller) == ("degree", "minute") {
        return Some(Rational::from(60));
    }
    pairs("written together", larger, smaller).then(|| conversion(larger, smaller))?
}

/// Returns true if a list holds the two with a hyphen between.
fn pairs(list: &str, first: &str, second: &str) -> bool {
    phrases(list).contains(&format!("{first}-{second}").as_str())
}
