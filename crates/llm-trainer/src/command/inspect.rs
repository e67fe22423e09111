//! `llm-trainer inspect`: a run on the terminal, down to its tokens.

use std::io::{IsTerminal, Write};
use std::path::PathBuf;

use run_report::inspect::{Inspector, Palette, summary};
use run_report::run_view::RunView;

#[derive(Debug, clap::Args)]
#[command(after_help = include_str!("inspect.txt").trim_ascii_end())]
pub(super) struct Args {
    /// Folder of the run, such as `runs/NAME`; the run may be in progress
    run: PathBuf,
    /// Print a summary as plain text and stop, as without a terminal on standard input and output
    #[arg(long, visible_alias = "print")]
    once: bool,
}

pub(super) fn run(args: &Args, out: &mut impl Write) -> anyhow::Result<()> {
    let view = RunView::open(&args.run)?;
    if args.once || !std::io::stdout().is_terminal() || !std::io::stdin().is_terminal() {
        out.write_all(summary(&view)?.as_bytes())?;
        return Ok(());
    }
    let palette = Palette::from_variables(|name| std::env::var(name).ok());
    Ok(run_report::inspect::run(Inspector::new(view, palette))?)
}
