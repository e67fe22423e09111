//! Time of all training steps of a run.

use std::fmt::{self, Display, Formatter};

use messages::counted;
use serde::Serialize;

use super::setup::Setup;
use super::time::StepTime;

/// Time of a run, by the time of its training step; evaluations and checkpoints are not counted.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct RunTime {
    /// Number of training steps.
    pub steps: u64,
    /// Time from the first step to the last, in seconds.
    pub seconds: f64,
    /// Time multiplied by the number of devices, in hours.
    pub device_hours: f64,
    /// True if the devices are GPUs.
    pub on_gpus: bool,
}

impl RunTime {
    pub(super) fn new(setup: &Setup, time: &StepTime) -> Self {
        let seconds = setup.run.training.steps as f64 * time.step_seconds;
        let device_hours = setup.ranks() as f64 * seconds / 3600.0;
        Self { steps: setup.run.training.steps, seconds, device_hours, on_gpus: !setup.on_cpu }
    }
}

impl Display for RunTime {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let Self { steps, seconds, device_hours, on_gpus } = *self;
        write!(out, "{}: {}", counted(steps, "step"), Duration(seconds))?;
        if on_gpus {
            write!(out, ", {} GPU hours", Digits(device_hours))?;
        }
        Ok(())
    }
}

/// Seconds in the unit that suits them: seconds, minutes, hours, days.
struct Duration(f64);

impl Display for Duration {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let (divisor, unit) = match self.0 {
            seconds if seconds < 100.0 => (1.0, "s"),
            seconds if seconds < 6000.0 => (60.0, "minutes"),
            seconds if seconds < 86_400.0 => (3600.0, "hours"),
            _ => (86_400.0, "days"),
        };
        write!(out, "{} {unit}", Digits(self.0 / divisor))
    }
}

/// A number with three significant digits.
pub(super) struct Digits(pub(super) f64);

impl Display for Digits {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let value = self.0;
        if !value.is_normal() {
            return out.pad(&value.to_string());
        }
        // As it is written in three digits, so that 9.996 counts as 10.0.
        let rounded: f64 = format!("{value:.2e}").parse().unwrap_or(value);
        let (mut shifted, mut digits) = (rounded.abs(), 0);
        while shifted < 99.5 && digits < 12 {
            (shifted, digits) = (10.0 * shifted, digits + 1);
        }
        out.pad(&format!("{rounded:.digits$}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_digits_whatever_the_size() {
        let shown = |value: f64| Digits(value).to_string();
        let values = [0.0, 0.012_345, 0.999_6, 1.0, 9.996, 21.68, 749.4, 4162.0, 123_456.0];
        assert_eq!(
            values.map(shown),
            ["0", "0.0123", "1.00", "1.00", "10.0", "21.7", "749", "4160", "123000"]
        );
        assert_eq!(format!("{:>9}", Digits(1.5e-4)), " 0.000150");
    }

    #[test]
    fn a_run_takes_its_steps_on_all_devices() {
        let run = |steps, seconds: f64, on_gpus| {
            RunTime { steps, seconds, device_hours: 8.0 * seconds / 3600.0, on_gpus }.to_string()
        };
        assert_eq!(run(2500, 2500.0 * 749.0, true), "2500 steps: 21.7 days, 4160 GPU hours");
        assert_eq!(run(1, 42.04, true), "1 step: 42.0 s, 0.0934 GPU hours");
        assert_eq!(run(80, 420.0, false), "80 steps: 7.00 minutes");
        assert_eq!(run(80, 40_000.0, false), "80 steps: 11.1 hours");
    }
}
