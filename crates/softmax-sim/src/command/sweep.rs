//! `softmax-sim sweep`.

use super::streams;
use anyhow::{Context, bail};
use softmax_sim::reproduce::Progress;
use softmax_sim::sweep::{Cell, Folder, Merged, Plan, Shard, Tally, merge, run_shard};
use std::io::Write;
use std::path::{Path, PathBuf};

#[derive(clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    action: Option<Action>,
    /// TOML file of the sweep
    #[arg(required = true)]
    config: Option<PathBuf>,
    /// Shard to compute, counted from 1, such as 2/8 [default: the task of a Slurm job array, or all]
    #[arg(long, value_name = "I/N")]
    shard: Option<Shard>,
    /// Folder of the results [default: runs/ and the name of the configuration]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

#[derive(clap::Subcommand)]
enum Action {
    /// Write the results of all shards to results.jsonl and results.csv
    #[command(after_help = include_str!("sweep_merge.txt").trim_ascii_end())]
    Merge {
        /// Folder of the results
        dir: PathBuf,
    },
}

/// Cells that a message names.
const NAMED: usize = 5;

pub(crate) fn run(args: &Args, out: &mut impl Write) -> anyhow::Result<bool> {
    match (&args.action, &args.config) {
        (Some(Action::Merge { dir }), _) => run_merge(dir, out),
        (None, Some(config)) => run_cells(args, config, out),
        (None, None) => bail!("no configuration given"),
    }
}

fn run_cells(args: &Args, config: &Path, out: &mut impl Write) -> anyhow::Result<bool> {
    let text = streams::read(config)?;
    let plan = Plan::read(&text).with_context(|| config.display().to_string())?;
    let shard = match args.shard {
        Some(shard) => shard,
        None => Shard::of_job_array(|name| std::env::var(name).ok())?.unwrap_or(Shard::WHOLE),
    };
    let folder = match &args.out {
        Some(folder) => folder.clone(),
        None => Path::new("runs").join(config.file_stem().context("expected a file name")?),
    };
    let folder = Folder::open(&folder, &text, &plan)?;
    tell_damaged(&folder.contents()?.damaged);
    let (progress, mut done) = (Progress::stderr("sweep"), 0);
    let tally = run_shard(&plan, &folder, shard, Cell::compute, |tally| {
        if tally.computed == 0 {
            progress.plan(tally.cells as u64);
        }
        let before = std::mem::replace(&mut done, tally.found + tally.computed);
        progress.advance((done - before) as u64);
    })?;
    progress.clear();
    let Tally { cells, found, computed, failed } = tally;
    writeln!(
        out,
        "shard {shard} of {}: {cells} cells, {found} found, {computed} computed, {failed} of them failed",
        folder.path.display(),
    )?;
    Ok(failed == 0)
}

fn run_merge(dir: &Path, out: &mut impl Write) -> anyhow::Result<bool> {
    let folder = Folder { path: dir.to_owned() };
    let plan = folder.plan()?;
    let merged = merge(&plan, &folder)?;
    let Merged { cells, missing, failed, repeated, foreign, damaged, written } = &merged;
    tell_damaged(damaged);
    writeln!(
        out,
        "{cells} cells: {} missing, {} failed, {repeated} found twice and equal, {foreign} of no cell",
        missing.len(),
        failed.len(),
    )?;
    for (what, named) in [("missing", missing), ("failed", failed)] {
        for cell in named.iter().take(NAMED) {
            writeln!(out, "{what}: {cell}")?;
        }
        if named.len() > NAMED {
            writeln!(out, "{what}: and {} more", named.len() - NAMED)?;
        }
    }
    for path in written {
        writeln!(out, "{}", path.display())?;
    }
    Ok(missing.is_empty() && failed.is_empty())
}

/// On standard error, lines that are no results: their cells count as not computed.
fn tell_damaged(lines: &[String]) {
    for line in lines {
        let _ = writeln!(std::io::stderr(), "{line}");
    }
}
