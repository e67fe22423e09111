//! Dates and times in UTC.

/// Formats a time in UTC, for the `strftime` fields that chat templates use (`%d %e %m %b %B %a %A %Y %y %H %M %S %%`).
pub(super) fn format_utc(format: &str, unix_seconds: u64) -> String {
    const MONTHS: [&str; 12] = [
        "January",
        "February",
        "March",
        "April",
        "May",
        "June",
        "July",
        "August",
        "September",
        "October",
        "November",
        "December",
    ];
    const DAYS: [&str; 7] =
        ["Thursday", "Friday", "Saturday", "Sunday", "Monday", "Tuesday", "Wednesday"];
    let days = unix_seconds / 86_400;
    let seconds = unix_seconds % 86_400;
    let (year, month, day) = civil_date(days);
    let month_name = MONTHS[usize::try_from(month - 1).expect("a month is 1..=12")];
    let day_name = DAYS[usize::try_from(days % 7).expect("a week has 7 days")];
    let mut text = String::new();
    let mut characters = format.chars();
    while let Some(character) = characters.next() {
        if character != '%' {
            text.push(character);
            continue;
        }
        let field = match characters.next() {
            Some('d') => format!("{day:02}"),
            Some('e') => format!("{day:2}"),
            Some('m') => format!("{month:02}"),
            Some('b') => month_name[..3].to_owned(),
            Some('B') => month_name.to_owned(),
            Some('a') => day_name[..3].to_owned(),
            Some('A') => day_name.to_owned(),
            Some('Y') => year.to_string(),
            Some('y') => format!("{:02}", year % 100),
            Some('H') => format!("{:02}", seconds / 3600),
            Some('M') => format!("{:02}", seconds / 60 % 60),
            Some('S') => format!("{:02}", seconds % 60),
            Some('%') | None => "%".to_owned(),
            Some(other) => format!("%{other}"),
        };
        text.push_str(&field);
    }
    text
}

/// Returns year, month and day of a day counted from 1970-01-01 (Gregorian).
///
/// Source: Hinnant, *chrono-compatible low-level date algorithms*, `civil_from_days`, for days ≥ 0.
fn civil_date(days: u64) -> (u64, u64, u64) {
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    (400 * era + year_of_era + u64::from(month <= 2), month, day)
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
        ];
        for (seconds, expected) in recorded {
            assert_eq!(format_utc("%d %b %Y, %A %H:%M:%S", seconds), expected);
        }
    }
}
