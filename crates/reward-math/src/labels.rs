//! The value that the question asks for, of several: the one with a label, `\text{width} = 14, \text{area} = 322`, those of its
//! blanks in their order, or any.

use crate::answer::{Answer, Node};
use crate::decide::{decide, if_right};
use crate::options::Options;
use crate::table::{pattern, single, without};
use crate::verdict::Verdict;

/// Returns the value whose label alone the last sentence of the question holds.
pub(crate) fn asked(answer: &str, question: &str) -> Option<String> {
    let label = pattern!(concat!(
        r"\\text(?:bf)?\s*\{\s*([A-Za-z][A-Za-z ]{0,30}?)\s*(?::\s*\}|\}\s*[:=]|=\s*\})",
        r"|\\text\s*\{[^{}]*?\b(?:the|its) ([a-z ]{1,30}?) (?:is|are|equals)\s*\}",
    ));
    let letter = pattern!(r"(?:^|[,;&\s}\\])([b-zB-HJ-Z])\s*&?\s*=");
    let mut labelled = [label, letter].into_iter().map(|pattern| {
        let all = pattern.captures_iter(answer);
        let parts = all.filter_map(|all| all.get(0).zip(all.iter().skip(1).flatten().next()));
        parts.collect::<Vec<_>>()
    });
    let labels = labelled.find(|labels| labels.len() > 1)?;
    let sentence = question.trim_end().trim_end_matches(['.', '?', '!']);
    let start = sentence.rfind(['.', '?', '!', '\n']).map_or(0, |end| end + 1);
    let sentence = &sentence[start..];
    // "Solve $2x + y = 16$, $x - y = 2$ for $x$"
    let clause = sentence.rfind([';', ',']).into_iter().chain(sentence.rfind(" for ")).max();
    let only_named = |text: &str| {
        let asked = words(text);
        let is_named = |label: &str| {
            let label = words(label);
            asked.windows(label.len()).any(|part| part == label)
        };
        single(labels.iter().enumerate().filter(|(_, (_, label))| is_named(label.as_str())))
    };
    let named = clause.and_then(|at| only_named(&sentence[at..]));
    let (place, (all, _)) = named.or_else(|| only_named(sentence))?;
    let end = labels.get(place + 1).map_or(answer.len(), |(next, _)| next.start());
    let separators =
        pattern!(r"^[\s:=]+|(?:[\s,;.&]|\\[\\,;\x20]|\\q?quad|\\end\{[a-z]+\}|\\right\.?)+$");
    Some(separators.replace_all(&answer[all.end()..end], "").into_owned())
}

/// Compares the values for several blanks, "$a =$ ____, $b =$ ____", in order; `None` unless there are as many values.
pub(crate) fn in_blanks(
    text: &str,
    gold: &Answer,
    question: &str,
    options: &Options,
) -> Option<Verdict> {
    let values = |answer: &Answer| match answer.readings.as_ref().ok()?.first()? {
        Node::List { open: ' ', items, .. } => {
            let plain = items.iter().all(|item| matches!(item, Node::Value { .. }));
            plain.then_some(items.len())
        }
        _ => None,
    };
    let count = values(gold)?;
    let blank = pattern!(
        r"_{2,}|(?:\\_){2,}|[(（]\s*\$?\\q?quad\$?\s*[)）]|（\s*）|\\underline\s*\{(?:\s|\\q?quad|\\[hv]space\*?\{[^{}]*\})*\}"
    );
    let in_order = pattern!(
        r"(?i)\bin (?:increasing|decreasing|ascending|descending|that|this) order\b|\bfrom (?:least|smallest|lowest|greatest|largest|highest) to\b|\b(?:arrange|respectively)\b"
    );
    if blank.find_iter(question).count() != count && !in_order.is_match(question) {
        return None;
    }
    let answer = Answer::parse(text).ok().filter(|answer| values(answer) == Some(count))?;
    let tuple =
        |answer: &Answer| Answer::parse(&format!("({})", answer.spelling.replace(';', ","))).ok();
    Some(decide(&tuple(&answer)?, &tuple(gold)?, options))
}

/// Returns the verdict on one of the values of the ground truth, if the question asks for any of them:
/// 写出与两圆都相切的一条直线的方程.
pub(crate) fn one_of_several(
    text: &str,
    gold: &Answer,
    question: &str,
    options: &Options,
) -> Option<Verdict> {
    // "请写出一条…性质", "图中的一个等腰三角形是"; "有一个三角形" asks for no single one.
    let one = pattern!(
        "(?:写出|写|给出|举出|任取|任意|添加|补充|找出)[^。；？]{0,40}一[条个组种]|中的[^。；？]{0,8}一个"
    );
    if !gold.spelling.contains(',') || !one.is_match(question) {
        return None;
    }
    let answer = Answer::parse(text).ok()?;
    let right = |value: &str| if_right(&answer, &Answer::parse(value).ok()?, options);
    // Folded, 或 is a comma.
    gold.spelling.split(',').find_map(right)
}

/// Returns the words in small letters, without "'s".
fn words(text: &str) -> Vec<String> {
    let lower = without(&text.to_lowercase(), &["'s", "’s"]);
    let words = lower.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_owned).collect()
}
