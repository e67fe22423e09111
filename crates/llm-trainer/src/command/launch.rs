//! `llm-trainer launch`: several ranks on this host.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use crate::launch::{LaunchOptions, launch};

/// Arguments of `launch`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Processes to start; each gets torchrun's variables: its rank, their number, where to meet
    #[arg(short = 'n', long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    processes: u16,
    /// Seconds that the other processes have to end after one has failed, before they are killed
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = seconds)]
    grace: Duration,
    /// Write the output of each rank to DIR/rank-N.log instead of here
    #[arg(long, value_name = "DIR")]
    log_dir: Option<PathBuf>,
    /// The program and its arguments, after `--`
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

fn seconds(text: &str) -> Result<Duration, String> {
    let parsed = text.parse().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    parsed
        .filter(|grace| *grace <= Duration::from_hours(24))
        .ok_or_else(|| "expected seconds in 0..=86400".to_owned())
}

/// Starts the processes and waits for them; their output goes straight to this process's own.
///
/// # Errors
///
/// [`crate::launch::RankFailed`] if one of them failed; else why nothing could be started.
pub fn run(args: &Args) -> anyhow::Result<()> {
    launch(&LaunchOptions {
        processes: usize::from(args.processes),
        grace: args.grace,
        log_directory: args.log_dir.clone(),
        command: args.command.clone(),
    })
}
