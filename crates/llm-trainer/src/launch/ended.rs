//! How a process ended, as an exit status and as a message.

use std::fmt::{self, Write};

use signal_hook::consts::SIGINT;
use signal_hook::low_level::signal_name;
use thiserror::Error;

use crate::interruption::Interruption;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ended {
    Code(i32),
    Signal(i32),
}

impl Ended {
    pub(crate) fn is_success(self) -> bool {
        self == Self::Code(0)
    }

    /// The request to end that the exit code reports as obeyed. Every rank then ends this way, each by itself.
    pub(crate) fn interruption(self) -> Option<Interruption> {
        match self {
            Self::Code(code) => Interruption::of_exit_code(u8::try_from(code).ok()?),
            Self::Signal(_) => None,
        }
    }

    /// The exit code as a shell reports it: the code itself, or 128 plus the signal's number.
    pub(crate) fn exit_code(self) -> u8 {
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

/// A program that this process started for its own work has failed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{program} ended with {how}")]
pub(crate) struct ProgramFailed {
    pub(crate) program: String,
    /// How it ended; its exit code is this process's.
    pub(crate) how: Ended,
}

/// The behaviour of a rank that made a run fail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The rank ended by itself.
    Ended(Ended),
    /// The rank did not end until it was told to or killed; others named it when they failed.
    Silent,
    /// The rank is on another host; ranks of this host named it when they failed.
    Elsewhere,
}

impl Fault {
    /// Describes the fault and how the ranks that followed it ended.
    fn before(self, followers: &[(usize, Ended)]) -> String {
        let (mut text, verb) = match self {
            Self::Ended(how) => (format!("ended with {how}"), ""),
            Self::Silent => ("stopped answering".to_owned(), " ended"),
            Self::Elsewhere => ("failed".to_owned(), " ended"),
        };
        for (index, (rank, how)) in followers.iter().enumerate() {
            let [then, verb] = if index == 0 { [" then", verb] } else { ["", ""] };
            let _ = write!(text, ",{then} rank {rank}{verb} with {how}");
        }
        text
    }
}

/// The rank that made the others fail, which is why all were ended.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("rank {rank} of {ranks} {}", .fault.before(.followers))]
pub(crate) struct RankFailed {
    /// The rank that failed first, or the one that the first failed ranks named.
    pub(crate) rank: usize,
    pub(crate) ranks: usize,
    pub(crate) fault: Fault,
    /// Other ranks that failed before they were told to end, in that order. At least one where the rank itself did not fail.
    pub(crate) followers: Vec<(usize, Ended)>,
}

impl RankFailed {
    /// How this rank ended, or else how the first rank that named it ended.
    pub(crate) fn how(&self) -> Ended {
        match self.fault {
            Fault::Ended(how) => how,
            Fault::Silent | Fault::Elsewhere => {
                self.followers.first().map_or(Ended::Code(1), |follower| follower.1)
            }
        }
    }

    /// The request to end that the ranks have obeyed, or that ended them, as Ctrl-C does.
    pub(crate) fn interruption(&self) -> Option<Interruption> {
        let Fault::Ended(how) = self.fault else { return None };
        let ended_by = (how == Ended::Signal(SIGINT)).then_some(Interruption::Interrupt);
        how.interruption().or(ended_by)
    }
}

#[derive(Debug)]
pub(super) enum LaunchEvent {
    /// A rank of this host has ended; the last field is the rank that it blames.
    Ended(usize, Ended, Option<usize>),
    /// A rank of another host has failed; the text says how.
    OtherHost(String),
}
