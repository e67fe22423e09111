//! Dates and times in UTC.

use std::time::{Duration, UNIX_EPOCH};

/// Formats a time in UTC, for the `strftime` fields that chat templates use (`%d %e %m %b %B %a %A %Y %y %H %M %S %%`). A time after
/// the year 9999 is its last second.
pub(super) fn format_utc(format: &str, unix_seconds: u64) -> String {
    const MONTHS: &str =
        "January February March April May June July August September October November December";
    const DAYS: [&str; 7] =
        ["Thursday", "Friday", "Saturday", "Sunday", "Monday", "Tuesday", "Wednesday"];
    /// The end of 9999: `humantime` writes no later year.
    const LAST: u64 = 253_402_300_799;
    let unix_seconds = unix_seconds.min(LAST);
    let time = UNIX_EPOCH + Duration::from_secs(unix_seconds);
    // As in 2000-01-31T23:59:59Z.
    let time = humantime::format_rfc3339_seconds(time).to_string();
    let [year, month, day] = [&time[..4], &time[5..7], &time[8..10]];
    let [hours, minutes, seconds] = [&time[11..13], &time[14..16], &time[17..19]];
    let month_index = month.parse::<usize>().map_or(0, |month| month - 1);
    let month_name = MONTHS.split(' ').nth(month_index).unwrap_or_default();
    let day_name = DAYS[usize::try_from(unix_seconds / 86_400 % 7).expect("a week has 7 days")];
    let padded_day = format!("{:>2}", day.trim_start_matches('0'));
    let mut text = String::new();
    let mut characters = format.chars();
    while let Some(character) = characters.next() {
        if character != '%' {
            text.push(character);
            continue;
        }
        let field = match characters.next() {
            Some('d') => day,
            Some('e') => &padded_day,
            Some('m') => month,
            Some('b') => &month_name[..3],
            Some('B') => month_name,
            Some('a') => &day_name[..3],
            Some('A') => day_name,
            Some('Y') => year,
            Some('y') => &year[2..],
            Some('H') => hours,
            Some('M') => minutes,
            Some('S') => seconds,
            Some('%') | None => "%",
            Some(other) => {
                text.extend(['%', other]);
                continue;
            }
        };
        text.push_str(field);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The expected dates come from `date -u`.
    #[test]
    fn dates_are_those_of_the_calendar() {
        let recorded = [
            (0, "01 Jan 1970, Thursday 00:00:00"),
            (951_827_696, "29 Feb 2000, Tuesday 12:34:56"),
            (1_735_689_599, "31 Dec 2024, Tuesday 23:59:59"),
            (u64::MAX, "31 Dec 9999, Friday 23:59:59"),
        ];
        for (seconds, expected) in recorded {
            assert_eq!(format_utc("%d %b %Y, %A %H:%M:%S", seconds), expected);
        }
        assert_eq!(format_utc("%e %m %y %a %B %% %q", 0), " 1 01 70 Thu January % %q");
    }
}
