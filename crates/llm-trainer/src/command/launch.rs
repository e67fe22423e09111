//! `llm-trainer launch`: the ranks of this host.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use crate::launch::{Host, LaunchOptions, launch};

const EXAMPLES: &str = "\
Examples:
  # Train on four GPUs of this host
  llm-trainer launch -n 4 -- llm-trainer train run.toml
  # Train on two hosts; the second takes --node-rank 1
  llm-trainer launch -n 8 --nnodes 2 --node-rank 0 --master-addr node0 -- llm-trainer train run.toml";

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// Number of ranks on this host; each gets torchrun's variables: its rank, the number of ranks, the address of the store
    #[arg(short = 'n', long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    processes: u16,
    /// Number of hosts; start the same command on each, with its --node-rank
    #[arg(long, value_name = "HOSTS", default_value = "1", value_parser = clap::value_parser!(u16).range(1..))]
    nnodes: u16,
    /// Index of this host, from 0; host 0 serves the store
    #[arg(long, value_name = "INDEX", default_value = "0")]
    node_rank: u16,
    /// Name or address of host 0, reachable from all hosts [default: this host, if it is the only one]
    #[arg(long, value_name = "HOST")]
    master_addr: Option<String>,
    /// TCP port of the store on host 0
    #[arg(long, value_name = "PORT", default_value = "29500", value_parser = clap::value_parser!(u16).range(1..))]
    master_port: u16,
    /// Longest wait of the other hosts for the store, in seconds
    #[arg(long, value_name = "SECONDS", default_value = "60", value_parser = seconds)]
    connect_seconds: Duration,
    /// Longest time for the other ranks to end after one has failed, before they are killed, in seconds
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = seconds)]
    grace: Duration,
    /// Write the output of each rank to DIR/rank-N.log [default: none, the output is printed]
    #[arg(long, value_name = "DIR")]
    log_dir: Option<PathBuf>,
    /// Program and its arguments, after `--`
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

fn seconds(text: &str) -> Result<Duration, String> {
    let parsed = text.parse().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    parsed
        .filter(|grace| *grace <= Duration::from_hours(24))
        .ok_or_else(|| "expected seconds in 0..=86400".to_owned())
}

impl Args {
    fn host(&self) -> anyhow::Result<Host> {
        let (count, index) = (usize::from(self.nnodes), usize::from(self.node_rank));
        anyhow::ensure!(
            index < count,
            "--node-rank is {index}, expected 0..{count}, as --nnodes is {count}"
        );
        match &self.master_addr {
            None if count == 1 => Ok(Host::alone()),
            None => anyhow::bail!(
                "--master-addr is not given, expected the first host, as --nnodes is {count}"
            ),
            Some(first) => Ok(Host {
                index,
                count,
                first: first.clone(),
                port: self.master_port,
                connect_timeout: self.connect_seconds,
            }),
        }
    }
}

/// Starts the processes and waits for them; their output goes straight to this process's own.
pub(super) fn run(args: &Args) -> anyhow::Result<()> {
    launch(&LaunchOptions {
        processes: usize::from(args.processes),
        host: args.host()?,
        grace: args.grace,
        log_directory: args.log_dir.clone(),
        command: args.command.clone(),
    })
}
