//! `eval compare`: two evaluations, problem by problem.

use std::io::Write;
use std::path::PathBuf;

use anyhow::{bail, ensure};
use run_report::evaluation::bootstrap::{Bootstrap, Estimate, Resampled};
use run_report::evaluation::comparison::{SetComparison, SetResponses, compare};
use run_report::evaluation::folder::ResultsFolder;
use run_report::evaluation::measures::SetResult;
use run_report::evaluation::response::Response;
use run_report::evaluation::table::{comparison_table, main_table};
use serde::Serialize;

#[derive(Debug, clap::Args)]
#[command(after_help = include_str!("compare.txt").trim_ascii_end())]
pub(super) struct Args {
    /// Folder of the first evaluation
    first: PathBuf,
    /// Folder of the second evaluation; differences are second minus first
    second: PathBuf,
    /// Measure of docs/evaluation.md, such as pass@8 [default: avg@n, with the n of each evaluation]
    #[arg(long)]
    measure: Option<String>,
    /// Number of bootstrap resamples of the problems for an interval
    #[arg(long, default_value_t = Bootstrap::default().resamples)]
    resamples: usize,
    /// Confidence level of an interval, a fraction
    #[arg(long, default_value_t = Bootstrap::default().level)]
    level: f64,
    /// Seed of the intervals
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Print JSON instead of tables
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Serialize)]
struct Comparison {
    first: PathBuf,
    second: PathBuf,
    bootstrap: Bootstrap,
    sets: Vec<SetComparison>,
    /// Plain mean of the differences, each set with the same weight.
    plain_mean: Estimate,
    /// Sets that only one of the two has.
    left_out: Vec<String>,
}

pub(super) fn run(args: &Args, out: &mut impl Write) -> anyhow::Result<()> {
    let bootstrap = Bootstrap { resamples: args.resamples, level: args.level, seed: args.seed };
    if let Some(fault) = bootstrap.fault() {
        bail!("{}", fault.replace("bootstrap.", "--"));
    }
    let (first_folder, first) = ResultsFolder::open(&args.first)?;
    let (second_folder, second) = ResultsFolder::open(&args.second)?;
    let (mut sets, mut differences, mut left_out) = (vec![], Vec::<Resampled>::new(), vec![]);
    for (stream, set) in (0..).zip(&first.sets) {
        let Some(other) = second.set(&set.name) else {
            left_out.push(set.name.clone());
            continue;
        };
        let (left, right) = (responses(&first_folder, set)?, responses(&second_folder, other)?);
        let sides = [(&left, set), (&right, other)]
            .map(|(responses, set)| SetResponses { responses, samples: set.samples });
        let (comparison, resampled) =
            compare(&set.name, sides, args.measure.as_deref(), &bootstrap, stream)?;
        sets.push(comparison);
        differences.push(resampled);
    }
    left_out.extend(
        second.sets.iter().map(|set| set.name.clone()).filter(|name| first.set(name).is_none()),
    );
    if sets.is_empty() {
        bail!("the two evaluations share no set, expected one of the same name");
    }
    let plain_mean =
        bootstrap.estimate(&Resampled::plain_mean(&differences.iter().collect::<Vec<_>>()));
    if args.json {
        let (first, second) = (args.first.clone(), args.second.clone());
        let comparison = Comparison { first, second, bootstrap, sets, plain_mean, left_out };
        return Ok(writeln!(out, "{}", serde_json::to_string_pretty(&comparison)?)?);
    }
    let names = [&args.first, &args.second].map(|path| path.display().to_string());
    let rows = [(names[0].as_str(), &first), (names[1].as_str(), &second)];
    writeln!(out, "{}", main_table(&rows))?;
    write!(out, "{}", comparison_table(&sets, (sets.len() > 1).then_some(plain_mean)))?;
    if !left_out.is_empty() {
        writeln!(out, "\nOnly one of the two has: {}", left_out.join(", "))?;
    }
    Ok(())
}

/// All responses to a set.
fn responses(folder: &ResultsFolder, set: &SetResult) -> anyhow::Result<Vec<Response>> {
    let SetResult { name, samples, problems, .. } = set;
    let responses = folder.responses(name, *samples, 1, *problems)?;
    let (root, count, expected) = (folder.root().display(), responses.len(), problems * samples);
    ensure!(count == expected, "{root}: set `{name}` has {count} responses, expected {expected}");
    Ok(responses)
}
