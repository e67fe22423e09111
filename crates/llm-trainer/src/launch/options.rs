//! Options of `llm-trainer launch`: the command to start, and the hosts to start it on.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::builder::RangedI64ValueParser;

#[derive(Debug, clap::Args)]
#[command(after_help = include_str!("launch.txt").trim_ascii_end())]
pub(crate) struct LaunchOptions {
    /// Number of ranks on this host; each gets torchrun's variables: its rank, the number of ranks, the address of the store
    #[arg(short = 'n', long, value_name = "N", value_parser = count_from(1))]
    pub(super) processes: usize,
    /// Number of hosts; start the same command on each, with its --node-rank
    #[arg(long, value_name = "HOSTS", default_value = "1", value_parser = count_from(1))]
    pub(super) nnodes: usize,
    /// Index of this host, from 0; host 0 serves the store
    #[arg(long, value_name = "INDEX", default_value = "0", value_parser = count_from(0))]
    pub(super) node_rank: usize,
    /// Name or address of host 0, reachable from all hosts [default: this host, if it is the only one]
    #[arg(long, value_name = "HOST")]
    master_addr: Option<String>,
    /// TCP port of the store on host 0
    #[arg(long, value_name = "PORT", default_value = "29500", value_parser = clap::value_parser!(u16).range(1..))]
    master_port: u16,
    /// Longest wait of the other hosts for the store, in seconds
    #[arg(long, value_name = "SECONDS", default_value = "60", value_parser = seconds)]
    pub(super) connect_seconds: Duration,
    /// Longest time for the other ranks to end after one has failed, before they are killed, in seconds
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = seconds)]
    pub(super) grace: Duration,
    /// Write the output of each rank to DIR/rank-N.log [default: none, the output is printed]
    #[arg(long, value_name = "DIR")]
    pub(super) log_dir: Option<PathBuf>,
    /// Program and its arguments, after `--`
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub(super) command: Vec<OsString>,
}

fn count_from(least: i64) -> RangedI64ValueParser<usize> {
    RangedI64ValueParser::new().range(least..=u16::MAX.into())
}

fn seconds(text: &str) -> Result<Duration, String> {
    let parsed = text.parse().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    parsed
        .filter(|grace| *grace <= Duration::from_hours(24))
        .ok_or_else(|| "expected seconds in 0..=86400".to_owned())
}

impl LaunchOptions {
    /// Checks that this host is one of those there are, and that the first one is known.
    pub(super) fn check(&self) -> anyhow::Result<()> {
        let (count, index) = (self.nnodes, self.node_rank);
        anyhow::ensure!(
            index < count,
            "--node-rank is {index}, expected 0..{count}, as --nnodes is {count}"
        );
        anyhow::ensure!(
            count == 1 || self.master_addr.is_some(),
            "--master-addr is not given, expected the first host, as --nnodes is {count}"
        );
        Ok(())
    }

    /// Name or address of host 0, under which all hosts reach it.
    pub(super) fn first_host(&self) -> &str {
        self.master_addr.as_deref().unwrap_or("127.0.0.1")
    }

    /// TCP port of the store on host 0; 0 takes a free port, where there is no other host.
    pub(super) fn port(&self) -> u16 {
        if self.master_addr.is_some() { self.master_port } else { 0 }
    }

    pub(super) fn first_rank(&self) -> usize {
        self.node_rank * self.processes
    }

    /// Number of ranks of the run.
    pub(super) fn ranks(&self) -> usize {
        self.nnodes * self.processes
    }

    /// The environment variables of process `index` of this host, as torchrun names them; all ranks meet at `port` of the first host.
    pub(super) fn variables(&self, index: usize, port: u16) -> [(&'static str, String); 13] {
        let number = |value: usize| value.to_string();
        let (rank, ranks) = (self.first_rank() + index, self.ranks());
        [
            ("RANK", number(rank)),
            ("WORLD_SIZE", number(ranks)),
            ("LOCAL_RANK", number(index)),
            ("LOCAL_WORLD_SIZE", number(self.processes)),
            ("GROUP_RANK", number(self.node_rank)),
            ("GROUP_WORLD_SIZE", number(self.nnodes)),
            ("ROLE_RANK", number(rank)),
            ("ROLE_WORLD_SIZE", number(ranks)),
            ("MASTER_ADDR", self.first_host().to_owned()),
            ("MASTER_PORT", port.to_string()),
            // Rank 0 connects to the store as a client too.
            ("TORCHELASTIC_USE_AGENT_STORE", "True".to_owned()),
            ("TORCHELASTIC_RESTART_COUNT", number(0)),
            ("TORCHELASTIC_MAX_RESTARTS", number(0)),
        ]
    }
}
