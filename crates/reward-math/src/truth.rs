//! Ground truths as data sets write them: several spellings, remarks, lists of a program, lost braces.

use std::borrow::Cow;

use crate::answer::{Answer, Node};
use crate::table::{captured, paired, pattern};
use crate::verdict::ParseError;
use crate::words;

/// Most spellings of a ground truth.
const MOST_SPELLINGS: usize = 16;

/// Parses a ground truth, and the same with its comma as a decimal point, if it may be one.
pub(crate) fn parse(text: &str) -> Result<(Answer, Option<Answer>), ParseError> {
    let text = &*quoted(text);
    // 答案不唯一: other values would do, too.
    let remark = pattern!(
        r"(?s)^(.*\S)\s*(?:\\left)?[（(][^（(]*(?:[（(][^（()）]*[)）][^（(]*)*(?:均可|即可|亦可|答案不唯一|均满足)"
    );
    let text = captured(remark, text).map_or(text, |value| value.as_str());
    let pointed = words::with_decimal_point(text).and_then(|text| Answer::parse(&text).ok());
    let spellings = spellings(text);
    let text = spellings[0];
    let mut answer = Answer::parse(text)?;
    let is_unread = answer.unread.is_some() || answer.readings.is_err();
    if let Some(text) = closed(text).filter(|_| is_unread) {
        answer = Answer { spelling: answer.spelling, ..Answer::parse(&text)? };
    }
    for spelling in &spellings[1..] {
        if let (Ok(readings), Ok(others)) =
            (&mut answer.readings, Answer::parse(spelling)?.readings)
        {
            readings.extend(others);
        }
    }
    if text.contains("log") {
        answer = answer.with_natural_logarithms();
    }
    // A program prints `true` for "Yes".
    let verdict = answer.words.as_deref().and_then(|words| paired("same verdict", words));
    if let (Some(verdict), Ok(readings)) = (verdict, &mut answer.readings) {
        readings.push(Node::Words(verdict.to_owned()));
    }
    Ok((answer, pointed))
}

/// Returns the spellings of one value, the text itself if it is the only one.
fn spellings(text: &str) -> Vec<&str> {
    // `$x > 4: (4, \infty)$`, "No solution : $\oslash$"
    let both = pattern!(
        r"(?s)^(.*(?:[<>]|\\[lg]e).*?|No solution) ?: ?(\$?(?:\\left)?[\[(].*,.*[\])]\$?|\$?\\(?:oslash|emptyset|varnothing)\$?)$"
    );
    if let Some(parts) = both.captures(text) {
        let parts = parts.iter().skip(1).flatten().map(|part| part.as_str());
        let closed = |part: &&str| part.matches('$').count().is_multiple_of(2);
        return parts
            .map(|part| Some(part).filter(closed).unwrap_or(part.trim_matches('$')))
            .collect();
    }
    // `\frac{2015 \cdot 2013}{4} \text{ OR } \frac{4056195}{4}`
    let alternative = pattern!(r"\$? OR \$?|\\text\s*\{ OR \}");
    let spellings: Vec<&str> = alternative.splitn(text, MOST_SPELLINGS).collect();
    // "P OR Q" is a statement of logic.
    let values = spellings.iter().all(|text| text.contains(|c: char| c.is_ascii_digit()));
    if values { spellings } else { vec![text] }
}

/// Returns `3, -2` for a list as a program prints it, `['3', '-2']`.
fn quoted(text: &str) -> Cow<'_, str> {
    let inner = text.trim().strip_prefix('[').and_then(|text| text.strip_suffix(']'));
    let item = pattern!(r#"^(?:\s*(?:'[^']*'|"[^"]*")\s*,?)+$"#);
    let Some(inner) = inner.filter(|inner| item.is_match(inner)) else {
        return Cow::Borrowed(text);
    };
    let items = pattern!(r#"'[^']*'|"[^"]*""#).find_iter(inner).map(|item| item.as_str());
    let text = |item: &str| item[1..item.len() - 1].replace("\\\\", "\\");
    Cow::Owned(items.map(text).collect::<Vec<_>>().join(", "))
}

/// Adds the braces that a data set lost at the end: `\frac{11}{2^{20}`.
fn closed(text: &str) -> Option<String> {
    let missing = text.matches('{').count().saturating_sub(text.matches('}').count());
    (1..=2).contains(&missing).then(|| format!("{text}{}", "}".repeat(missing)))
}
