//! Values as c10d takes them, and its errors as text.

use std::time::Duration;

use crate::TorchError;

/// The libtorch error on one line, without the source location that Gloo puts first.
pub(super) fn one_line(error: &TorchError) -> String {
    let lines = error.message.lines().map(str::trim).filter(|line| !line.is_empty());
    let line = lines.collect::<Vec<_>>().join("; ");
    match line.strip_prefix('[').and_then(|rest| rest.split_once("] ")) {
        Some((place, message)) if place.contains(".cc:") => message.to_owned(),
        _ => line,
    }
}

/// Converts a time-out for c10d, which counts whole milliseconds and takes 0 for "no limit".
pub(super) fn milliseconds(timeout: Duration) -> i64 {
    // A week is no limit for any back-end, and far from overflowing a clock.
    let most = Duration::from_hours(168);
    i64::try_from(timeout.min(most).as_millis()).expect("a week fits").max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_out_is_never_none_and_never_overflows() {
        assert_eq!(milliseconds(Duration::ZERO), 1);
        assert_eq!(milliseconds(Duration::from_micros(1500)), 1);
        assert_eq!(milliseconds(Duration::from_secs(2)), 2000);
        assert_eq!(milliseconds(Duration::MAX), 604_800_000);
    }

    #[test]
    fn a_message_is_one_line_without_places_in_sources() {
        assert_eq!(one_line(&TorchError::new("a\n  b\n\n")), "a; b");
        assert_eq!(one_line(&TorchError::new("[/a/pair.cc:7] closed [::1]:9")), "closed [::1]:9");
        assert_eq!(one_line(&TorchError::new("[::1]:9 is gone] so")), "[::1]:9 is gone] so");
    }
}
