//! `llm-trainer export`: the metrics of a run for other programs.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use anyhow::Context;
use run_report::export::write_csv;
use run_report::tensorboard::EventWriter;
use training_run::metrics::read_metrics;
use training_run::run_directory::RunDirectory;

#[derive(Debug, clap::Args)]
#[command(after_help = include_str!("export.txt").trim_ascii_end())]
#[command(group = clap::ArgGroup::new("format").required(true).multiple(true))]
pub(super) struct Args {
    /// Folder of the run, such as `runs/NAME`
    run: PathBuf,
    /// Write one row per step and one column per metric to this file; - writes to standard output
    #[arg(long, value_name = "FILE", group = "format")]
    csv: Option<PathBuf>,
    /// Write event files for TensorBoard to DIR/NAME, with the name of the run's folder
    #[arg(long, value_name = "DIR", group = "format")]
    tensorboard: Option<PathBuf>,
}

/// Runs the command; what was written is printed, unless it goes to standard output itself.
pub(super) fn run(args: &Args, out: &mut impl Write) -> anyhow::Result<()> {
    let directory = RunDirectory::open(&args.run)?;
    let steps = read_metrics(&directory.metrics())?;
    if let Some(folder) = &args.tensorboard {
        let root = std::fs::canonicalize(&args.run).context("the folder of the run")?;
        let folder = folder.join(root.file_name().unwrap_or_default());
        let written = std::fs::metadata(directory.metrics())?.modified()?;
        let end = written.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64();
        EventWriter::begin(&folder, &[directory.events()], &steps, end)?;
        if args.csv.as_deref() != Some(Path::new("-")) {
            writeln!(out, "tensorboard: {}", folder.display())?;
        }
    }
    match &args.csv {
        Some(path) if path.as_os_str() == "-" => write_csv(&steps, out)?,
        Some(path) => {
            let failed = || format!("{}: cannot write", path.display());
            write_csv(&steps, File::create(path).with_context(failed)?).with_context(failed)?;
            writeln!(out, "csv: {}", path.display())?;
        }
        None => {}
    }
    Ok(())
}
