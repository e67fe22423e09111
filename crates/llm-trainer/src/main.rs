//! `llm-trainer`: data goes to standard output, one error line to standard error, and the exit code is 0 or 2; that of
//! `launch` is the failed rank's.

use std::io::{self, BufWriter, Write};
use std::process::ExitCode;

use clap::Parser;
use llm_trainer::cli::Cli;
use llm_trainer::command::Command;
use llm_trainer::launch::RankFailed;
use llm_trainer::out_of_memory;

fn main() -> ExitCode {
    let cli = Cli::parse();
    out_of_memory::quiet_panics();
    // Before libtorch makes anything large. Where memory is scarcer than time, it can be handed back.
    if std::env::var("LLM_TRAINER_KEEP_FREED_MEMORY").as_deref() != Ok("no") {
        let _kept = torch_ext::keep_freed_memory();
    }
    // Must come before the first question about CUDA; a machine without it is no error here. The launcher asks none, and
    // what becomes another program must have one thread.
    if !matches!(cli.command, Command::Launch(_) | Command::Confined(_)) {
        let _cuda = torch_ext::load_cuda();
    }
    // Not locked for good: the ranks that `launch` starts write by threads of their own.
    let mut out = BufWriter::new(io::stdout());
    match out_of_memory::caught(|| cli.command.run(&mut out)).and_then(|()| Ok(out.flush()?)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {}", one_line(&error));
            ExitCode::from(error.downcast_ref().map_or(2, RankFailed::exit_code))
        }
    }
}

/// The error and its causes; a cause that the line ends with already is not said twice.
fn one_line(error: &anyhow::Error) -> String {
    error.chain().map(ToString::to_string).fold(String::new(), |line, cause| {
        if line.is_empty() {
            cause
        } else if line.ends_with(&cause) {
            line
        } else {
            format!("{line}: {cause}")
        }
    })
}

/// Whoever reads the output has seen enough.
fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}
