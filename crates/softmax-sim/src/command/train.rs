//! `softmax-sim train`.

use anyhow::Context;
use softmax_sim::experiment::Experiment;
use softmax_sim::reproduce::Progress;
use softmax_sim::result_file::write_whole;
use softmax_sim::training::{Curve, Trainer};
use std::fmt::Write as _;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Help below the options: the configuration, the columns, examples.
pub(crate) const HELP: &str = "\
CONFIG is TOML with the tables environment, method and schedule: those of [settings.training] of a sweep. What \
is left out has its default; an unknown key or a number out of range is an error. Entropies, in nats, and rewards \
are exact: cool_reward is at temperature 0.6.

Examples:
  # Train by GRPO in the token world
  softmax-sim train
  # Train as a file says and write the curve
  softmax-sim train run.toml --out curve.csv
  # Fit the law to it
  softmax-sim fit-law curve.csv";

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Settings of the run [default: none]
    #[arg(value_name = "CONFIG")]
    config: Option<PathBuf>,
    /// Seed of the environment and of the responses
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Also write the curve to this file as CSV, in place of its content [default: none]
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

pub(crate) fn run(args: &Args, out: &mut impl Write) -> anyhow::Result<bool> {
    let experiment = args.config.as_deref().map_or_else(|| Ok(Experiment::default()), read)?;
    experiment.check()?;
    let Experiment { environment, method, schedule } = experiment;
    let progress = Progress::stderr("train");
    progress.plan(schedule.rollouts as u64);
    let environment = environment.draw(args.seed);
    let mut trainer = Trainer::new(&environment, method, schedule, args.seed);
    let curve = trainer.run(|_, _| progress.advance(1));
    progress.clear();
    // A reader that went away costs the table, not the file.
    let printed = out.write_all(table(&curve).as_bytes()).and_then(|()| out.flush());
    if let Some(path) = &args.out {
        write_whole(path, csv(&curve)?.as_slice())?;
    }
    printed.context("cannot print")?;
    Ok(true)
}

fn read(path: &Path) -> anyhow::Result<Experiment> {
    let text = std::fs::read_to_string(path);
    let text = text.with_context(|| format!("cannot read {}", path.display()))?;
    toml::from_str(&text).with_context(|| path.display().to_string())
}

/// The curve in aligned columns, the law last where there is one.
fn table(curve: &Curve) -> String {
    let mut table = "rollouts  entropy  reward  cool reward  greedy reward\n".to_owned();
    for point in &curve.points {
        let _ = writeln!(
            table,
            "{:>8}  {:>7.4}  {:>6.4}  {:>11.4}  {:>13.4}",
            point.rollouts, point.entropy, point.reward, point.cool_reward, point.greedy_reward
        );
    }
    if let Ok(law) = curve.law() {
        let r_squared = law.r_squared.map(|share| format!(", R² {share:.4}"));
        let _ = writeln!(
            table,
            "R = -a exp(H) + b: a {:.4}, b {:.4}, ceiling {:.4}{}",
            law.a,
            law.b,
            law.ceiling(),
            r_squared.unwrap_or_default()
        );
    }
    table
}

fn csv(curve: &Curve) -> anyhow::Result<Vec<u8>> {
    let mut rows = csv::Writer::from_writer(Vec::new());
    for point in &curve.points {
        rows.serialize(point)?;
    }
    Ok(rows.into_inner()?)
}
