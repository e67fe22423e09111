//! `softmax-sim fit-law`.

use super::streams;
use anyhow::{Context, ensure};
use softmax_sim::fit_law::{LawFit, Points, figure};
use softmax_sim::result_file::write_whole;
use std::io::{self, Write};
use std::path::PathBuf;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Points of one run; `-` or nothing reads standard input
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
    /// Name of the column with the entropy, in nats
    #[arg(long, value_name = "NAME", default_value = "entropy")]
    entropy: String,
    /// Name of the column with the reward
    #[arg(long, value_name = "NAME", default_value = "reward")]
    reward: String,
    /// Fraction of the points, from the first, to forecast from; above 0 and below 1; may be repeated [default: none]
    #[arg(long, value_name = "FRACTION")]
    prefix: Vec<f64>,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Draw points, law and forecasts to this file, as SVG [default: none]
    #[arg(long, value_name = "FILE")]
    figure: Option<PathBuf>,
}

pub(crate) fn run(args: &Args, out: &mut impl Write) -> anyhow::Result<bool> {
    if let Some(path) = &args.figure {
        let is_svg = path.extension().is_none_or(|extension| extension == "svg");
        ensure!(is_svg, "--figure {}, expected a name ending in .svg", path.display());
    }
    let (name, input) = streams::input(args.file.as_deref())?;
    let (points, problems) =
        Points::read(input, &args.entropy, &args.reward).with_context(|| name)?;
    for problem in &problems {
        let _ = writeln!(io::stderr(), "{problem}");
    }
    if !problems.is_empty() {
        let rows = points.entropy.len() + problems.len();
        let _ = writeln!(io::stderr(), "{} of {rows} rows were not used", problems.len());
    }
    let fit = LawFit::of(&points, &args.prefix).context("no fit")?;
    let text = if args.json { serde_json::to_string_pretty(&fit)? + "\n" } else { fit.table() };
    if let Some(path) = &args.figure {
        let svg = figures::chart_svg::standalone_svg(&figure(&points, &fit));
        write_whole(path, svg.as_bytes())?;
    }
    streams::print(out, &text)?;
    Ok(problems.is_empty())
}
