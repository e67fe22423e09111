//! The program without a process of its own, which would first start libtorch: that takes longer than most commands.

use std::ffi::OsStr;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitStatus, Output};

use clap::Parser;
use command_pages::Watched;
use llm_trainer::command::Cli;

/// Runs a command as the program does, in this process; `stderr` holds its error alone, without progress and warnings.
///
/// # Panics
///
/// If the command needs a process: its own program, variables, working directory, or number of threads.
pub(crate) fn run(command: &mut Command) -> Output {
    assert_eq!(command.get_program(), env!("CARGO_BIN_EXE_llm-trainer"));
    assert!(command.get_envs().len() == 0 && command.get_current_dir().is_none(), "{command:?}");
    let sets_threads = |argument: &OsStr| argument.to_string_lossy().starts_with("model.threads=");
    assert!(!command.get_args().any(sets_threads), "{command:?}");
    let arguments = std::iter::once(command.get_program()).chain(command.get_args());
    let Ok(cli) = Cli::try_parse_from(arguments) else {
        // Help, or a usage error, which clap reports to a process's own streams.
        return command.output().expect("the binary of this crate runs");
    };
    let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
    let code = cli.exit_code(&mut Watched::new(&mut stdout), &mut stderr);
    Output { status: ExitStatus::from_raw(i32::from(code) << 8), stdout, stderr }
}
