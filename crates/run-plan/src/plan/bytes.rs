//! Amounts of memory as people write and read them.

use std::fmt::{self, Display, Formatter};

use thiserror::Error;

/// A text is no amount of memory.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error(
    "{text:?} is no amount of memory, expected at most 10000TB, with B, KB, MB, GB, TB, KiB, MiB, GiB or TiB, as 141GB"
)]
pub struct ByteCountError {
    text: String,
}

const UNITS: [(&str, f64); 9] = [
    ("KiB", 1024.0),
    ("MiB", 1_048_576.0),
    ("GiB", 1_073_741_824.0),
    ("TiB", 1_099_511_627_776.0),
    ("KB", 1e3),
    ("MB", 1e6),
    ("GB", 1e9),
    ("TB", 1e12),
    ("B", 1.0),
];

/// Reads `141GiB`, `80GB`, `512 MiB` or a plain number of bytes.
///
/// # Errors
///
/// [`ByteCountError`] with what was expected.
pub fn parse_bytes(text: &str) -> Result<u64, ByteCountError> {
    let fault = || ByteCountError { text: text.to_owned() };
    let trimmed = text.trim();
    let unit = UNITS.iter().find(|(unit, _)| {
        let tail = trimmed.len().checked_sub(unit.len()).and_then(|at| trimmed.get(at..));
        tail.is_some_and(|tail| tail.eq_ignore_ascii_case(unit))
    });
    let (number, factor) = match unit {
        Some((unit, factor)) => (&trimmed[..trimmed.len() - unit.len()], *factor),
        None => (trimmed, 1.0),
    };
    let number: f64 = number.trim().parse().map_err(|_| fault())?;
    let bytes = number * factor;
    // A plan tries row counts up to what fits: of 4 EB it listed 10^9 of them.
    if !(0.0..=1e16).contains(&bytes) {
        return Err(fault());
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "checked to be in range just above"
    )]
    Ok(bytes.round() as u64)
}

/// A number of bytes, shown with three digits: `61.2 GiB`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ByteCount(pub u64);

impl Display for ByteCount {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let Self(bytes) = *self;
        let (mut value, mut unit) = (bytes as f64, "B");
        for next in ["KiB", "MiB", "GiB", "TiB", "PiB"] {
            // What would be printed as 1000 is printed in the next unit.
            if value < 999.5 {
                break;
            }
            (value, unit) = (value / 1024.0, next);
        }
        let text = match value {
            _ if unit == "B" => format!("{bytes} B"),
            value if value < 9.995 => format!("{value:.2} {unit}"),
            value if value < 99.95 => format!("{value:.1} {unit}"),
            value => format!("{value:.0} {unit}"),
        };
        out.pad(&text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_read_in_either_system() {
        let read = |text| parse_bytes(text).unwrap();
        assert_eq!(read("141GiB"), 141 << 30);
        assert_eq!(read("80 gb"), 80_000_000_000);
        assert_eq!(read("1.5MiB"), 3 << 19);
        assert_eq!(read("4096"), 4096);
        assert_eq!(read("7B"), 7);
        assert_eq!(read("10000TB"), 10_u64.pow(16));
        for wrong in ["", "GiB", "many GB", "-1GB", "nan", "1e40GB", "10001TB", "1XB"] {
            assert!(parse_bytes(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn amounts_are_shown_with_three_digits() {
        let shown = |bytes| ByteCount(bytes).to_string();
        assert_eq!(
            [0, 999, 1023, 1024, 1 << 20, 15_231_233_024, 1 << 40].map(shown),
            ["0 B", "999 B", "1.00 KiB", "1.00 KiB", "1.00 MiB", "14.2 GiB", "1.00 TiB"]
        );
    }
}
