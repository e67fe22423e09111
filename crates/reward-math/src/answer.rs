//! What an answer is, once read.

use num_rational::BigRational;

use crate::verdict::ParseError;

/// What an answer is, once read.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Answer {
    pub(crate) folded: String,
    pub(crate) number: Option<BigRational>,
}

impl Answer {
    pub(crate) fn parse(text: &str) -> Result<Self, ParseError> {
        let folded: String = text
            .replace("dfrac", "frac")
            .trim()
            .trim_end_matches('.')
            .chars()
            .filter(|c| !matches!(c, '$' | ',' | ' '))
            .collect();
        if folded.is_empty() {
            return Err(ParseError::Empty);
        }
        let number = rational(&folded);
        Ok(Self { folded, number })
    }
}

fn rational(text: &str) -> Option<BigRational> {
    if text.len() > 4096 {
        return None;
    }
    if let Some((whole, fraction)) = text.split_once('.') {
        let digits = format!("{whole}{fraction}");
        let scale = num_bigint::BigInt::from(10).pow(u32::try_from(fraction.len()).ok()?);
        return Some(BigRational::new(digits.parse().ok()?, scale));
    }
    let text = text.strip_prefix("\\frac{").map_or_else(
        || text.to_owned(),
        |rest| rest.replace("}{", "/").trim_end_matches('}').to_owned(),
    );
    let (top, bottom) = text.split_once('/').unwrap_or((&text, "1"));
    let bottom: num_bigint::BigInt = bottom.parse().ok()?;
    (bottom != num_bigint::BigInt::from(0))
        .then(|| top.parse().ok().map(|top| BigRational::new(top, bottom)))?
}
