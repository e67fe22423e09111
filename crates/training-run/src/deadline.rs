//! Deadline by which a run must have saved and stopped, such as the end of its job.

use std::time::{Duration, SystemTime};

use thiserror::Error;

/// A text is no deadline.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error(
    "deadline {text:?}: {problem}, expected a time from now such as \"3h 30m\", a moment such as \
     \"2026-01-31T18:00:00Z\", or seconds since 1970 such as \"@1769882400\""
)]
pub struct DeadlineError {
    text: String,
    problem: String,
}

/// The moment by which a run must have saved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deadline {
    at: SystemTime,
}

impl Deadline {
    /// Reads `3h 30m` (from `now` on), `2026-01-31T18:00:00Z` (UTC) or `@1769882400` (seconds since 1970, as in
    /// Slurm's `SLURM_JOB_END_TIME`).
    ///
    /// # Errors
    ///
    /// A text that is none of these, or a moment that has passed.
    pub fn parse(text: &str, now: SystemTime) -> Result<Self, DeadlineError> {
        let refused = |problem: String| DeadlineError { text: text.to_owned(), problem };
        let trimmed = text.trim();
        let moment = if let Some(seconds) = trimmed.strip_prefix('@') {
            let seconds = seconds.parse().map_err(|error| refused(format!("{error}")))?;
            SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(seconds))
        } else if trimmed.contains('T') {
            Some(humantime::parse_rfc3339(trimmed).map_err(|error| refused(error.to_string()))?)
        } else {
            let left =
                humantime::parse_duration(trimmed).map_err(|error| refused(error.to_string()))?;
            now.checked_add(left)
        };
        let moment = moment.ok_or_else(|| refused("it is too far away".to_owned()))?;
        if moment <= now {
            return Err(refused("it has passed".to_owned()));
        }
        Ok(Self { at: moment })
    }

    /// Seconds left, negative once it has passed.
    pub fn seconds_left(self, now: SystemTime) -> f64 {
        match self.at.duration_since(now) {
            Ok(left) => left.as_secs_f64(),
            Err(past) => -past.duration().as_secs_f64(),
        }
    }

    /// True if no further step may begin, because `longest_step_seconds` plus `longest_save_seconds`, times 1.5 for safety, would
    /// not end in time.
    pub fn must_stop(
        self,
        now: SystemTime,
        longest_step_seconds: f64,
        longest_save_seconds: f64,
    ) -> bool {
        const SAFETY: f64 = 1.5;
        self.seconds_left(now) < SAFETY * (longest_step_seconds + longest_save_seconds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The moment 2026-01-31T18:00:00Z.
    fn now() -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_hours(491_634)
    }

    #[test]
    fn durations_moments_and_seconds_since_1970_are_read() {
        let left = |text: &str| Deadline::parse(text, now()).unwrap().seconds_left(now());
        let cases = [
            ("3h 30m", 12_600.0),
            ("3h30m", 12_600.0),
            ("90s", 90.0),
            ("2days", 172_800.0),
            ("2026-01-31T18:00:01Z", 1.0),
            (" @1769882460 ", 60.0),
        ];
        for (text, seconds) in cases {
            assert!((left(text) - seconds).abs() < 1e-9, "{text}: {}", left(text));
        }
    }

    #[test]
    fn what_is_no_deadline_is_refused_with_what_was_expected() {
        for (text, problem) in [
            ("", "empty"),
            ("soon", "number"),
            ("12", "unit"),
            ("@x", "invalid digit"),
            ("2026-01-31T18:00:00Z", "it has passed"),
            ("@99999999999999999999", "too large"),
            ("2026-13-31T18:00:00Z", "out of range"),
        ] {
            let message = Deadline::parse(text, now()).unwrap_err().to_string();
            assert!(message.starts_with(&format!("deadline {text:?}: ")), "{message}");
            assert!(message.contains(problem), "{message}");
            assert!(message.contains("expected a time from now such as \"3h 30m\""), "{message}");
        }
    }

    #[test]
    fn a_step_that_may_not_end_in_time_does_not_begin() {
        let deadline = Deadline::parse("100s", now()).unwrap();
        assert!(!deadline.must_stop(now(), 50.0, 16.0));
        assert!(deadline.must_stop(now(), 50.0, 17.0));
        assert!(deadline.must_stop(now() + Duration::from_mins(4), 0.0, 0.0));
    }
}
