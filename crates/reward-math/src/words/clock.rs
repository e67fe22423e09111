//! Times of day.

use crate::table::{pattern, without};

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
