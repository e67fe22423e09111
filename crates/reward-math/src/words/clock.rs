//! Times of day.

use super::number::number as in_words;
use crate::table::{pattern, without};

/// Returns `8:40 am` of "twenty minutes to nine in the morning", and `6:30` of "half past six".
pub(crate) fn spoken_time(text: &str) -> Option<String> {
    let spoken = pattern!(
        r"(?i)^(?:\\text\s*\{)?\s*(?:an? )?([a-z]+(?:[- ][a-z]+)??|[0-9]+)( minutes?)? (past|after|to|before) ([a-z]+|[0-9]+)(?: o[’']clock)?(?:,? (in the morning|in the afternoon|in the evening|at night|[ap]\.?m))?\.?\s*\}?\.?$"
    );
    let parts = spoken.captures(text)?;
    let number = |text: &str| {
        let digits = in_words(text).map_or_else(|| text.to_owned(), |number| number.to_string());
        digits.parse::<u32>().ok().filter(|value| (1..=59).contains(value))
    };
    let minutes = match &*parts[1].to_lowercase() {
        "half" => 30,
        "quarter" => 15,
        // "five to three" is a ratio.
        words if parts.get(2).or(parts.get(5)).is_some() => number(words)?,
        _ => return None,
    };
    let hour = number(&parts[4].to_lowercase()).filter(|hour| *hour <= 12)?;
    let before = matches!(&*parts[3].to_lowercase(), "to" | "before");
    let (hour, minutes) =
        if before { ((hour + 10) % 12 + 1, 60 - minutes) } else { (hour, minutes) };
    let half = match parts.get(5).map_or("", |half| half.as_str()) {
        "" => "",
        morning if morning.ends_with("morning") || morning.starts_with(['a', 'A']) => " am",
        _ => " pm",
    };
    Some(format!("{hour}:{minutes:02}{half}"))
}

/// Reads a time of day with its half: `1:03 p.m.` becomes "clock 13:03".
pub(crate) fn clock(folded: &str) -> Option<String> {
    const LONGEST: usize = 64;
    const DECORATION: [&str; 12] =
        ["(", ")", "\\text", "\\!", "\\mathrm", "\\,", "\\;", "\\ ", " ", ".", "{", "}"];
    // The end of "am", "pm", "noon", "midnight" or "Uhr".
    let ends = ['m', 'M', 'n', 'N', 't', 'T', 'r', 'R'];
    if folded.len() > LONGEST
        || !folded.trim_end_matches(|c: char| !c.is_alphanumeric()).ends_with(ends)
    {
        return None;
    }
    let plain = without(&folded.to_lowercase(), &DECORATION);
    let plain = match plain.as_str() {
        "noon" => "12pm",
        "midnight" | "12midnight" => "12am",
        other => other,
    };
    // 14:20 Uhr
    let day = pattern!("^([01]?[0-9]|2[0-3]):([0-5][0-9])uhr$").captures(plain);
    if let Some(time) = day {
        return Some(format!("clock {}:{}", time[1].parse::<u32>().ok()?, &time[2]));
    }
    let time = pattern!("^(1[0-2]|0?[1-9])(?::([0-5][0-9]))?(am|pm|noon)$").captures(plain)?;
    let hours = time[1].parse::<u32>().ok()? % 12 + if &time[3] == "am" { 0 } else { 12 };
    Some(format!("clock {hours}:{}", time.get(2).map_or("00", |minutes| minutes.as_str())))
}
