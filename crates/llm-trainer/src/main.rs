//! `llm-trainer`: data goes to standard output, one error line to standard error, and the exit code is 0 or 2, or 141
//! where nobody reads the data any more; that of `launch` is the failed rank's, and work that was asked to end has
//! [codes of its own](llm_trainer::interruption::Interruption).

use std::io::{self, BufWriter};

use command_pages::Watched;
use llm_trainer::command::Cli;
use llm_trainer::{openmp, out_of_memory};

fn main() {
    torch_ext::exit_at_once(exit_code())
}

fn exit_code() -> u8 {
    let cli: Cli = command_pages::parse();
    if cli.computes() {
        openmp::bound_spinning();
    }
    out_of_memory::quiet_panics();
    // Before libtorch makes anything large. Where memory is scarcer than time, it can be handed back.
    if std::env::var("LLM_TRAINER_KEEP_FREED_MEMORY").as_deref() != Ok("no") {
        let _kept = torch_ext::keep_freed_memory();
    }
    // Must come before the first question about CUDA; a machine without it is no error here.
    if cli.may_use_cuda() {
        let _cuda = torch_ext::load_cuda();
    }
    // Not locked for good: the ranks that `launch` starts write by threads of their own.
    let mut out = Watched::new(BufWriter::new(io::stdout()));
    cli.exit_code(&mut out, &mut io::stderr())
}
