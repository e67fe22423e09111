//! Runs of several processes of the real binary.

mod failure;
mod same_run;
mod tensor_parallel;
mod torchrun;
mod traffic;
mod two_hosts;

use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use crate::training_run::train_command;

/// The processes of one run, as a launcher starts them, yet to be started. Rank `r` gets the command that `wrap` makes of its
/// own.
pub(crate) fn commands(count: usize, root: &Path, overrides: &[&str]) -> Vec<Command> {
    // Free now, and not given out again soon.
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = listener.local_addr().expect("bound").port().to_string();
    let command = |rank: usize| {
        let mut command = train_command(root, overrides);
        for (name, value) in [("RANK", rank), ("LOCAL_RANK", rank)] {
            command.env(name, value.to_string());
        }
        for name in ["WORLD_SIZE", "LOCAL_WORLD_SIZE"] {
            command.env(name, count.to_string());
        }
        command.env("MASTER_ADDR", "127.0.0.1").env("MASTER_PORT", &port);
        command.env("OMP_NUM_THREADS", "1");
        command
    };
    (0..count).map(command).collect()
}

/// Starts the processes of one run.
pub(crate) fn start(commands: Vec<Command>) -> Vec<Child> {
    let spawn = |mut command: Command| {
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().expect("the binary of this crate runs")
    };
    commands.into_iter().map(spawn).collect()
}

/// Runs all processes to their end.
pub(crate) fn finish(children: Vec<Child>) -> Vec<Output> {
    children
        .into_iter()
        .map(|child| child.wait_with_output().expect("a process that was started"))
        .collect()
}

/// Trains with so many processes; all must succeed.
fn train_on(count: usize, root: &Path, overrides: &[&str]) -> Vec<Output> {
    let outputs = finish(start(commands(count, root, overrides)));
    outputs.iter().for_each(crate::training_run::assert_success);
    outputs
}
