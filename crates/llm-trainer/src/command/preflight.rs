//! `preflight`: whether a run can learn, from its own first responses.

use std::io::Write;

use hub_files::ModelParts;
use training_run::config::Commits;

use super::model_options::count_up_to;
use super::run_source::RunSource;
use crate::progress::Progress;
use crate::training::preflight;

#[derive(Debug, clap::Args)]
#[command(after_help = include_str!("preflight.txt").trim_ascii_end())]
pub(super) struct Args {
    #[command(flatten)]
    run: RunSource,
    /// Number of questions to ask, from the first of the run
    #[arg(long, default_value_t = 32, value_name = "N", value_parser = count_up_to::<1_048_576>)]
    prompts: usize,
    /// Number of responses to each question [default: the run's]
    #[arg(long, value_name = "N", value_parser = count_up_to::<65_536>)]
    samples: Option<usize>,
    /// Number of responses to show, one to each of the first questions
    #[arg(long, default_value_t = 3, value_name = "N")]
    show: usize,
    /// Print one JSON object with every response instead of the text
    #[arg(long)]
    json: bool,
}

/// Runs the command; of a run that cannot learn, what was seen is printed all the same.
pub(super) fn run(args: &Args, out: &mut impl Write) -> anyhow::Result<()> {
    let run = args.run.read(ModelParts::All, |_| Ok(Commits::new()))?;
    run.check_files()?;
    let group_size = args.samples.unwrap_or(run.config().rollout.group_size);
    ranks::device::set_threads(run.config().model.threads)?;
    let model = &run.config().model;
    let device = ranks::device::resolve(model.device)?;
    ranks::device::announce(model.device, device, ranks::device::kind_of(model.dtype), 1);
    let progress = Progress::new("preflight", 2, 0);
    progress.phase(0, "loading the model");
    let seen = preflight(&run, args.prompts, group_size, &|done, what| progress.phase(done, what))?;
    progress.finish();
    if args.json {
        writeln!(out, "{}", serde_json::to_string(&seen)?)?;
    } else {
        let mut text = String::new();
        seen.write(args.show, &mut text)?;
        write!(out, "{text}")?;
    }
    out.flush()?;
    let name = &run.config().name;
    anyhow::ensure!(!seen.cannot_learn(), "{name}: this run cannot learn, see above");
    Ok(())
}
