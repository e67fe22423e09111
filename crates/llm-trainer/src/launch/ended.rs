//! How a process ended, and how that is told.

use std::fmt;

use signal_hook::consts::SIGINT;
use signal_hook::low_level::signal_name;
use thiserror::Error;

use crate::interruption::Interruption;

/// How a process ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// By itself, with this code.
    Code(i32),
    /// By this signal.
    Signal(i32),
}

impl Ended {
    /// Whether all went well.
    pub fn is_success(self) -> bool {
        self == Self::Code(0)
    }

    /// The request to end that the process says it has obeyed; then all ranks end so, each by itself.
    pub fn interruption(self) -> Option<Interruption> {
        match self {
            Self::Code(code) => Interruption::of_exit_code(u8::try_from(code).ok()?),
            Self::Signal(_) => None,
        }
    }

    /// What a shell would answer: the code, or 128 and the number of the signal.
    pub fn exit_code(self) -> u8 {
        let code = match self {
            Self::Code(code) => code,
            Self::Signal(signal) => 128 + signal,
        };
        u8::try_from(code).unwrap_or(1)
    }
}

impl fmt::Display for Ended {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Code(code) => write!(formatter, "exit code {code}"),
            Self::Signal(signal) => match signal_name(signal) {
                Some(name) => write!(formatter, "signal {signal} ({name})"),
                None => write!(formatter, "signal {signal}"),
            },
        }
    }
}

/// The rank that failed first, which is why the others were ended.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("rank {rank} of {ranks} ended with {how}{}", also(.followers))]
pub struct RankFailed {
    /// The first that failed.
    pub rank: usize,
    /// Processes that were started.
    pub ranks: usize,
    /// How it ended.
    pub how: Ended,
    /// Those that failed by themselves after it, before they were told to end.
    pub followers: Vec<(usize, Ended)>,
}

impl RankFailed {
    /// The request to end that the ranks have obeyed, or that ended them, as Ctrl-C does.
    pub fn interruption(&self) -> Option<Interruption> {
        let ended_by = (self.how == Ended::Signal(SIGINT)).then_some(Interruption::Interrupt);
        self.how.interruption().or(ended_by)
    }

    /// The launcher's own exit code.
    pub fn exit_code(&self) -> u8 {
        self.how.exit_code()
    }
}

/// A rank of another host failed first, or the first host is gone; those of this host were ended.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{message}")]
pub struct FailedElsewhere {
    /// Which and how, in words.
    pub message: String,
}

fn also(followers: &[(usize, Ended)]) -> String {
    if followers.is_empty() {
        return String::new();
    }
    let one = |(rank, how): &(usize, Ended)| format!("rank {rank} with {how}");
    format!(", then {}", followers.iter().map(one).collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_names_the_first_rank_and_those_it_took_along() {
        let mut failed =
            RankFailed { rank: 1, ranks: 4, how: Ended::Signal(9), followers: Vec::new() };
        assert_eq!(failed.to_string(), "rank 1 of 4 ended with signal 9 (SIGKILL)");
        failed.followers = vec![(0, Ended::Code(2)), (3, Ended::Signal(6))];
        assert_eq!(
            failed.to_string(),
            "rank 1 of 4 ended with signal 9 (SIGKILL), then rank 0 with exit code 2, rank 3 with \
             signal 6 (SIGABRT)"
        );
        assert_eq!(failed.exit_code(), 137);
    }

    #[test]
    fn exit_codes_are_those_of_a_shell() {
        for (how, code) in [
            (Ended::Code(0), 0),
            (Ended::Code(3), 3),
            (Ended::Signal(15), 143),
            (Ended::Code(255), 255),
        ] {
            assert_eq!(how.exit_code(), code);
        }
    }
}
