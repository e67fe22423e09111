//! Runs that were asked to end before their last step, and the exit codes that say so.

use signal_hook::consts::SIGINT;
use signal_hook::low_level::emulate_default_handler;
use thiserror::Error;

/// A request to end that was obeyed; what was done is saved. An error only in that the work is not complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum Interruption {
    /// SIGINT, as Ctrl-C sends it.
    #[error("ended by a signal")]
    Interrupt,
    /// SIGTERM.
    #[error("ended by a signal")]
    Terminate,
    /// `--deadline`.
    #[error("ended before its deadline")]
    Deadline,
}

impl Interruption {
    /// The code that a shell shows: 128 and the signal's number, or `EX_TEMPFAIL` of `sysexits.h`, "come again".
    pub fn exit_code(self) -> u8 {
        match self {
            Self::Interrupt => 130,
            Self::Terminate => 143,
            Self::Deadline => 75,
        }
    }

    /// The interruption that a process reports by this exit code.
    pub fn of_exit_code(code: u8) -> Option<Self> {
        [Self::Interrupt, Self::Terminate, Self::Deadline]
            .into_iter()
            .find(|interruption| interruption.exit_code() == code)
    }

    /// The exit code of this process. After SIGINT a process that is no rank of several ends by that signal and does not
    /// return: a shell goes on with a loop unless its command died of SIGINT itself.
    pub fn end(self) -> u8 {
        let is_rank = std::env::var("WORLD_SIZE").is_ok_and(|count| count.trim() != "1");
        // The kernel drops a signal that the first process of a container sends itself.
        let can_raise = std::process::id() != 1 && !is_rank;
        let restarts = std::env::var("TORCHELASTIC_MAX_RESTARTS").ok();
        let code = self.exit_code_under(restarts.as_deref());
        if self == Self::Interrupt && code != 0 && can_raise {
            let _ = emulate_default_handler(SIGINT);
        }
        code
    }

    /// The exit code where a launcher starts failed ranks `restarts` times. It would start a rank again that ended as it was
    /// told to, and the run would outlive its deadline: there, 0.
    fn exit_code_under(self, restarts: Option<&str>) -> u8 {
        let never = restarts.is_none_or(|restarts| restarts.trim() == "0");
        if never { self.exit_code() } else { 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_launcher_that_restarts_what_failed_is_told_that_all_is_well() {
        for (restarts, expected) in [(None, 75), (Some("0"), 75), (Some("3"), 0)] {
            assert_eq!(Interruption::Deadline.exit_code_under(restarts), expected, "{restarts:?}");
        }
        assert_eq!(Interruption::Interrupt.exit_code_under(None), 130);
    }
}
