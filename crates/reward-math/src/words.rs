//! Plain language: words, choices and units.

/// Words without case, articles, LaTeX and punctuation; `None` where there is no word.
pub(crate) fn normalise(folded: &str) -> Option<String> {
    let mut plain = String::with_capacity(folded.len());
    let mut rest = folded;
    while let Some(c) = rest.chars().next() {
        if c == '\\' {
            let name = rest[1..].find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(rest.len() - 1);
            let command = &rest[1..=name];
            let decoration = command.starts_with("text")
                || matches!(
                    command,
                    "mathrm" | "mathbf" | "mbox" | "left" | "right" | "operatorname"
                );
            if !decoration && !command.is_empty() {
                plain.push_str(command);
            }
            plain.push(' ');
            let skip = 1 + name.max(
                rest[1..].chars().next().map_or(0, |c| if name == 0 { c.len_utf8() } else { 0 }),
            );
            rest = &rest[skip..];
            continue;
        }
        match c {
            '{' | '}' | '$' | '.' | '!' | '?' | '"' | '(' | ')' => plain.push(' '),
            c => plain.extend(c.to_lowercase()),
        }
        rest = &rest[c.len_utf8()..];
    }
    let words: Vec<&str> = plain
        .split_whitespace()
        .filter(|word| !matches!(*word, "the" | "a" | "an" | "there" | "is" | "are" | "it"))
        .map(|word| word.trim_end_matches([',', ':', ';']))
        .filter(|word| !word.is_empty())
        .collect();
    let joined = words.join(" ");
    if !joined.chars().any(char::is_alphabetic) {
        return None;
    }
    Some(match joined.as_str() {
        "dne" | "does not exist" | "doesn't exist" => "does not exist".to_owned(),
        "no solutions" | "no solution exists" | "no solutions exist" => "no solution".to_owned(),
        "all reals" | "all real number" | "all real numbers" | "mathbb r" | "reals" => {
            "all reals".to_owned()
        }
        _ => joined,
    })
}

/// The letters of a multiple choice, sorted: `B`, `(B)`, `B.`, `\textbf{(B)} 12`, `option B`, `B: 5`; `A, D`.
pub(crate) fn choices(folded: &str) -> Vec<char> {
    let text = undecorated(folded);
    if let Some(letter) = choice(text) {
        return vec![letter];
    }
    // A bracket that never closes is no list.
    if text.matches('(').count() != text.matches(')').count() {
        return Vec::new();
    }
    let mut letters = Vec::new();
    for part in text.trim_end_matches('}').split([',', ';', ' ', '&']) {
        let part = part.trim_matches(['(', ')', '.', ' ', '$', '{', '}']);
        let mut characters = part.chars();
        match (characters.next(), characters.next()) {
            (Some(letter), None) if is_choice(letter) => letters.push(letter),
            (None, _) => {}
            _ if part == "and" || part == "\\text" => {}
            _ => return Vec::new(),
        }
    }
    letters.sort_unstable();
    letters.dedup();
    letters
}

fn is_choice(letter: char) -> bool {
    ('A'..='J').contains(&letter)
}

fn undecorated(folded: &str) -> &str {
    let mut text = folded.trim();
    for name in ["\\textbf", "\\text", "\\mathrm", "\\mathbf", "\\mbox"] {
        text =
            text.strip_prefix(name).map_or(text, |rest| rest.trim_start().trim_start_matches('{'));
    }
    for prefix in ["option", "Option", "choice", "Choice", "选"] {
        text = text.strip_prefix(prefix).map_or(text, str::trim_start);
    }
    text
}

fn choice(text: &str) -> Option<char> {
    let bracketed = text.strip_prefix('(');
    let text = bracketed.unwrap_or(text);
    let mut characters = text.chars();
    let letter = characters.next().filter(|c| is_choice(*c))?;
    let rest = characters.as_str().trim_start_matches([' ', '}']);
    let closed = rest.starts_with(')');
    // "A) and D)" are two.
    if bracketed.is_some() || closed {
        let after = rest.strip_prefix(')').unwrap_or(rest).trim_start();
        let another = after.starts_with([',', '&']) || after.starts_with("and ");
        return (closed && !another).then_some(letter);
    }
    (rest.is_empty() || rest.starts_with(['.', ':'])).then_some(letter)
}

/// A time of day with its half: `1:03 p.m.` is "clock 13:03".
pub(crate) fn clock(folded: &str) -> Option<String> {
    let lower = folded.to_lowercase().replace("\\text", "");
    let plain: String = lower.chars().filter(|c| !matches!(c, ' ' | '.' | '{' | '}')).collect();
    let (digits, afternoon) = if let Some(digits) = plain.strip_suffix("pm") {
        (digits, true)
    } else {
        (plain.strip_suffix("am")?, false)
    };
    let (hours, minutes) = digits.split_once(':').unwrap_or((digits, "00"));
    let two_digits = |text: &str| text.len() <= 2 && text.bytes().all(|b| b.is_ascii_digit());
    if !two_digits(hours) || !two_digits(minutes) || minutes.len() != 2 {
        return None;
    }
    let (hours, minutes): (u32, u32) = (hours.parse().ok()?, minutes.parse().ok()?);
    if !(1..=12).contains(&hours) || minutes >= 60 {
        return None;
    }
    let hours = hours % 12 + if afternoon { 12 } else { 0 };
    Some(format!("clock {hours}:{minutes:02}"))
}

/// The canonical name of a unit phrase; `None` where nothing was said.
pub(crate) fn unit(phrase: &str) -> Option<String> {
    let lower = phrase.trim().to_lowercase();
    let cleaned: String = lower
        .chars()
        .map(|c| if matches!(c, '{' | '}' | '.' | '(' | ')' | '\\') { ' ' } else { c })
        .collect();
    let words: Vec<&str> = cleaned.split_whitespace().map(singular).collect();
    let name = words.join(" ").replace(" ^", "^").replace("^ ", "^");
    if name.is_empty() {
        return None;
    }
    Some(
        match name.as_str() {
            "dollar" | "usd" | "us dollar" => "dollar",
            "centimeter" | "centimetre" => "cm",
            "meter" | "metre" => "m",
            "kilometer" | "kilometre" => "km",
            "millimeter" | "millimetre" => "mm",
            "inche" | "in" => "inch",
            "feet" | "ft" => "foot",
            "hr" | "h" => "hour",
            "min" => "minute",
            "sec" | "s" => "second",
            "degree" | "deg" => "degree",
            "mile per hour" | "mi/hr" | "mile/hour" => "mph",
            "pound" | "lb" => "pound",
            "gram" => "g",
            "kilogram" => "kg",
            other => other,
        }
        .to_owned(),
    )
}

fn singular(word: &str) -> &str {
    if word.len() > 3 && !word.ends_with("ss") {
        word.strip_suffix('s').unwrap_or(word)
    } else {
        word
    }
}

/// Whether two unit phrases contradict each other: they name different measures, or one a measure and the other a
/// thing that is counted. Two names of counted things ("ways", "units") do not.
pub(crate) fn contradict(left: &str, right: &str) -> bool {
    // Square and cubic measures are written with a power.
    let power = |phrase: &str| phrase.split_once('^').map(|(_, power)| power.to_owned());
    if let (Some(a), Some(b)) = (power(left), power(right))
        && a != b
    {
        return true;
    }
    let measure = |phrase: &str| {
        phrase.split([' ', '/', '^']).find(|word| is_measure(word)).map(str::to_owned)
    };
    match (measure(left), measure(right)) {
        (Some(a), Some(b)) => a != b,
        (None, None) => false,
        (Some(_), None) => !is_vague(right),
        (None, Some(_)) => !is_vague(left),
    }
}

/// "units" stand for whatever the question measures in.
fn is_vague(unit: &str) -> bool {
    unit.split_whitespace().any(|word| matches!(word, "unit" | "sq" | "square" | "cubic"))
}

fn is_measure(unit: &str) -> bool {
    const MEASURES: &[&str] = &[
        "dollar",
        "euro",
        "pound sterling",
        "yen",
        "cent",
        "cm",
        "m",
        "km",
        "mm",
        "inch",
        "foot",
        "yard",
        "mile",
        "second",
        "minute",
        "hour",
        "day",
        "week",
        "month",
        "year",
        "g",
        "kg",
        "mg",
        "pound",
        "ounce",
        "liter",
        "litre",
        "ml",
        "gallon",
        "mph",
        "degree",
        "radian",
    ];
    MEASURES.contains(&unit)
}

#[cfg(test)]
mod tests {
    use super::{choices, clock, normalise, unit};

    #[test]
    fn case_articles_and_decoration_do_not_count() {
        for text in ["\\text{The ellipse}", "ellipse.", "an Ellipse"] {
            assert_eq!(normalise(text).as_deref(), Some("ellipse"), "{text}");
        }
        assert_eq!(normalise("(("), None);
    }

    #[test]
    fn choices_are_letters_with_or_without_their_value() {
        for text in
            ["E", "(E)", "E.", "E)", "\\textbf{(E)}\\ 12", "\\text{(E)}", "option E", "E: 5"]
        {
            assert_eq!(choices(text), ['E'], "{text}");
        }
        for text in ["A, D", "D and A", "\\text{A,D}", "(A), (D)", "A D"] {
            assert_eq!(choices(text), ['A', 'D'], "{text}");
        }
        for text in ["E+1", "Evelyn", "EF", "x", "(E", "E, 5"] {
            assert_eq!(choices(text), [] as [char; 0], "{text}");
        }
    }

    #[test]
    fn times_of_day_are_read_in_both_halves() {
        assert_eq!(clock("1:03 p.m."), clock("\\text{1:03 PM}"));
        assert_eq!(clock("9 a.m.").as_deref(), Some("clock 9:00"));
        assert_eq!(clock("12 am").as_deref(), Some("clock 0:00"));
        for text in ["13:00 pm", "3 ham", "1:3 pm", "pm", "5"] {
            assert_eq!(clock(text), None, "{text}");
        }
    }

    #[test]
    fn units_have_one_name() {
        assert_eq!(unit(" centimeters"), unit("cm"));
        assert_eq!(unit(" miles per hour"), unit("mph"));
        assert_eq!(unit("  "), None);
    }
}
