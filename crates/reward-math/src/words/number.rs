//! Numbers in words: `twenty-one`, `one hundred and five`, `two thirds`.

use std::collections::HashMap;
use std::sync::LazyLock;

use dashu::{Integer, Rational};

use crate::table::{lists, paired, pattern, phrases, single};

/// Numbers by their names in German, Spanish, French, Italian and Russian; the first of equal names counts.
static FOREIGN: LazyLock<HashMap<&str, usize>> = LazyLock::new(|| {
    let mut numbers = HashMap::new();
    for language in ["de", "es", "fr", "it", "ru"] {
        for (number, names) in phrases(&format!("number in {language}")).iter().enumerate() {
            names.split(' ').for_each(|name| {
                numbers.entry(name).or_insert(number);
            });
        }
    }
    numbers
});

fn denominator(part: &str) -> Option<u64> {
    paired("part", part)?.parse().ok()
}

/// The only number in a sentence without digits: "there are exactly fifteen such integers", "two thirds of the wall".
pub(crate) fn only_number(words: &str) -> Option<Rational> {
    // 一共有二十四种: 一 alone may be no number.
    let signs = pattern!("[零一二三四五六七八九十百千两]+(?:分之[零一二三四五六七八九十百千]+)?");
    // 三角形 and 二次函数 count nothing.
    let figures = pattern!("[一二三四五六七八九十]+(?:角|边形|棱|次|元|项式|面体|象限)");
    let plain = figures.replace_all(words, "");
    let signs = signs.find_iter(&plain).map(|sign| sign.as_str()).filter(|sign| *sign != "一");
    if let Some(only) = single(signs) {
        return english_or_chinese(only).filter(|_| !words.contains(|c: char| c.is_ascii_digit()));
    }
    let spaced = words.replace('-', " ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    // "due to symmetry" holds no Italian number.
    let named = |word: &&str| *word != "and" && english_or_chinese(word).is_some();
    let Some(start) = words.iter().position(named) else {
        // "deux solutions réelles", not "due to symmetry"
        let first = FOREIGN.get(words.first()?).filter(|count| **count > 1);
        let short = (2..=4).contains(&words.len()) && words[1] != "to";
        return first.filter(|_| short).map(|count| Rational::from(*count));
    };
    // "exactly twelve ways to seat the four guests"
    let exact = start > 0 && words[start - 1] == "exactly";
    let joins = |word: &str| lists("and point", word);
    let length = words[start..].iter().take_while(|word| named(word) || joins(word)).count();
    let behind = &words[start + length..];
    let plain = words.iter().all(|word| !word.contains(|c: char| c.is_ascii_digit()));
    let value = english_or_chinese(&words[start..start + length].join(" "))?;
    // "one" may be a pronoun, "third" an ordinal.
    let counts = value > Rational::ONE || exact || value < Rational::ONE && length > 1;
    (plain && counts && (exact || !behind.iter().any(named))).then_some(value)
}

/// The number that the words say, all of them.
pub(crate) fn number(words: &str) -> Option<Rational> {
    // "eine Billion" is no billion.
    if let Some(zeros) = paired("foreign power of ten", words) {
        return Some(Rational::from(10).pow(zeros.parse().ok()?));
    }
    // "vingt-quatre", "minus sieben"
    let joined = words.replace(' ', "-");
    let minus = phrases("minus").iter().find_map(|sign| joined.strip_prefix(*sign));
    let foreign = FOREIGN.get(minus.unwrap_or(&joined)).map(|number| Rational::from(*number));
    let signed = foreign.map(|number| if minus.is_some() { -number } else { number });
    signed.or_else(|| english_or_chinese(words)).or_else(|| roman(words).map(Rational::from))
}

/// Returns 1994 of "mcmxciv"; `None` for numerals of I and V alone, which count statements, and for "mix".
fn roman(word: &str) -> Option<u32> {
    let numeral = pattern!("^m{0,3}(?:cm|cd|d?c{0,3})(?:xc|xl|l?x{0,3})(?:ix|iv|v?i{0,3})$");
    if word.len() < 3 || lists("mix dix", word) || !word.contains(['m', 'd', 'c', 'l', 'x']) {
        return None;
    }
    let digit = |sign: char| match sign {
        'i' => 1,
        'v' => 5,
        'x' => 10,
        'l' => 50,
        'c' => 100,
        'd' => 500,
        _ => 1000,
    };
    let digits: Vec<u32> = word.chars().map(digit).collect();
    let before = |place: usize| digits.get(place + 1).is_some_and(|next| digits[place] < *next);
    let (less, more): (Vec<usize>, Vec<usize>) =
        (0..digits.len()).partition(|place| before(*place));
    let sum = |places: &[usize]| places.iter().map(|place| digits[*place]).sum::<u32>();
    numeral.is_match(word).then(|| sum(&more) - sum(&less))
}

fn english_or_chinese(words: &str) -> Option<Rational> {
    let minus = ["负", "minus ", "negative "];
    if let Some(positive) = minus.into_iter().find_map(|sign| words.strip_prefix(sign)) {
        let digits = positive.parse::<Integer>().ok().map(Rational::from);
        return digits.or_else(|| english_or_chinese(positive)).map(|value| -value);
    }
    // 三分之二 is two of three parts.
    let (parts, count) = words.split_once("分之").unwrap_or(("一", words));
    if let (Some(parts), Some(count)) = (chinese(parts), chinese(count))
        && parts > 0
    {
        return Some(Rational::from_parts(count.into(), parts.into()));
    }
    let percent = words.strip_suffix(" percent").or_else(|| words.strip_suffix(" per cent"));
    if let Some(count) = percent {
        return english_or_chinese(count).map(|count| count / Rational::from(100));
    }
    // "fifty-two point six two", "four point eighty-seven"
    if let Some((count, decimals)) = words.split_once(" point ") {
        let count: Vec<&str> = count.split([' ', '-']).filter(|word| *word != "and").collect();
        let decimals: Vec<&str> = decimals.split([' ', '-']).collect();
        let digit = |word: &&str| whole(&[*word]).filter(|digit| *digit < 10);
        let digits: Option<String> =
            decimals.iter().map(|word| digit(word).map(|digit| digit.to_string())).collect();
        let digits = digits.or_else(|| Some(whole(&decimals)?.to_string()))?;
        let below = Rational::from(10).pow(isize::try_from(digits.len()).ok()?);
        let part = Rational::from(digits.parse::<Integer>().ok()?) / below;
        return Some(Rational::from(whole(&count)?) + part);
    }
    // "two and three quarters"
    if let Some((count, part)) = words.rsplit_once(" and ")
        && let part = part.strip_prefix("a ").unwrap_or(part)
        && let Some(part) = english_or_chinese(part).filter(|part| *part < Rational::ONE)
    {
        let count: Vec<&str> = count.split_whitespace().collect();
        return whole(&count).map(|count| Rational::from(count) + part);
    }
    let spaced = words.replace('-', " ");
    let words: Vec<&str> = spaced.split_whitespace().filter(|word| *word != "and").collect();
    let (last, before) = words.split_last()?;
    if *last == "dozen" {
        return match before {
            ["half", ..] => Some(6.into()),
            [] => Some(12.into()),
            count => Some(Rational::from(whole(count)?) * Rational::from(12)),
        };
    }
    let singular = last.strip_suffix('s').unwrap_or(last);
    if let Some(bottom) = denominator(singular) {
        let top = if before.is_empty() { 1 } else { whole(before)? };
        return Some(Rational::from_parts(top.into(), bottom.into()));
    }
    whole(&words).map(Rational::from)
}

/// The denominator of "fifths", "tenths" and the like behind a number. "2 half" is no number, and quarters are counted.
pub(crate) fn part(word: &str) -> Option<u64> {
    let singular = match word.strip_suffix('s').unwrap_or(word) {
        "halve" => "half",
        "half" | "quarter" => return None,
        other => other,
    };
    denominator(singular)
}

/// The power of ten of "million" and the like, as a factor.
pub(crate) fn magnitude(word: &str) -> Option<u64> {
    10_u64.checked_pow(paired("power of ten", &word.to_lowercase())?.parse().ok()?)
}

/// Reads 二十三 and 一百零五; `None` for other signs.
fn chinese(word: &str) -> Option<u64> {
    const DIGITS: &str = "零一二三四五六七八九";
    let (mut total, mut digit) = (0_u64, None);
    for c in word.chars() {
        let unit = match c {
            '十' => 10,
            '百' => 100,
            '千' => 1000,
            c => {
                let two = (c == '两').then_some(2);
                digit = Some(two.or_else(|| DIGITS.chars().position(|known| known == c))? as u64);
                continue;
            }
        };
        total = total.checked_add(digit.take().unwrap_or(1) * unit)?;
    }
    (!word.is_empty()).then(|| total.checked_add(digit.unwrap_or(0)))?
}

fn whole(words: &[&str]) -> Option<u64> {
    let (mut total, mut group) = (0_u64, 0_u64);
    for word in words {
        let named = |list: &str| phrases(list).iter().position(|name| name == word);
        let tens = |count: usize| 10 * (count as u64 + 2);
        if let Some(count) = named("number").map(|count| count as u64).or(named("ten").map(tens)) {
            // "two three" is no number.
            let free = if count < 10 { 10 } else { 100 };
            group = Some(group).filter(|group| group % free == 0)?.checked_add(count)?;
        } else if *word == "hundred" {
            group = group.max(1).checked_mul(100)?;
        } else {
            total = total.checked_add(group.max(1).checked_mul(magnitude(word)?)?)?;
            group = 0;
        }
    }
    (!words.is_empty()).then(|| total.checked_add(group))?
}
