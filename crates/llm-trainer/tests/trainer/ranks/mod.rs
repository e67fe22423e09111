//! Runs of several processes of the real binary.

pub(crate) mod same_run;
mod tensor_parallel;
pub(crate) mod torchrun;
mod traffic;

use std::path::Path;
use std::process::{Command, Output};

pub(crate) use workspace_tests::processes::{Port, Process, finish, succeed};

use crate::training_run::train_command;

/// The processes of one run, as a launcher starts them, yet to be started. The first serves the store.
pub(crate) fn commands(count: usize, root: &Path, overrides: &[&str]) -> Vec<Command> {
    let port = Port::reserve();
    let number = port.number().to_string();
    // The ranks may listen there as long as this process lives.
    std::mem::forget(port);
    let command = |rank: usize| {
        let mut command = train_command(root, overrides);
        for (name, value) in [("RANK", rank), ("LOCAL_RANK", rank)] {
            command.env(name, value.to_string());
        }
        for name in ["WORLD_SIZE", "LOCAL_WORLD_SIZE"] {
            command.env(name, count.to_string());
        }
        command.env("MASTER_ADDR", "127.0.0.1").env("MASTER_PORT", &number);
        command.env("OMP_NUM_THREADS", "1");
        command
    };
    (0..count).map(command).collect()
}

/// Starts the processes of one run.
pub(crate) fn start(mut commands: Vec<Command>) -> Vec<Process> {
    commands.iter_mut().map(Process::start).collect()
}

/// Trains with so many processes; all must succeed.
fn train_on(count: usize, root: &Path, overrides: &[&str]) -> Vec<Output> {
    succeed(start(commands(count, root, overrides)))
}
