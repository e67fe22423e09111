//! `preflight`: whether a run can learn, from its own first responses.

use std::io::Write;

use super::run_source::RunSource;
use crate::progress::Progress;
use crate::training::preflight;

/// Arguments of `preflight`.
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(flatten)]
    run: RunSource,
    /// Questions asked, the first that the run would ask
    #[arg(long, default_value_t = 32, value_name = "N")]
    prompts: usize,
    /// Responses to each [default: the run's]
    #[arg(long, value_name = "N")]
    samples: Option<usize>,
    /// Responses that are shown, one to each of the first questions
    #[arg(long, default_value_t = 3, value_name = "N")]
    show: usize,
    /// One JSON object with every response in place of the text
    #[arg(long)]
    json: bool,
}

/// Runs the command.
///
/// # Errors
///
/// If the run could not be started, or could not learn; what was seen is printed all the same.
pub fn run(args: &Args, out: &mut impl Write) -> anyhow::Result<()> {
    let run = args.run.read()?;
    run.check_files()?;
    let group_size = args.samples.unwrap_or(run.config().rollout.group_size);
    crate::device::set_threads(run.config().model.threads)?;
    let model = &run.config().model;
    let (device, kind) = crate::device::place(model, (0, 1))?;
    crate::device::announce(model.device, device, kind, 1);
    let progress = Progress::new("preflight", 2, 0);
    progress.phase(0, "loading the model");
    let seen = preflight(&run, args.prompts, group_size, &|done, what| progress.phase(done, what))?;
    progress.finish();
    if args.json {
        serde_json::to_writer(&mut *out, &seen)?;
        writeln!(out)?;
    } else {
        let mut text = String::new();
        seen.write(args.show, &mut text)?;
        write!(out, "{text}")?;
    }
    out.flush()?;
    anyhow::ensure!(
        !seen.cannot_learn(),
        "{}: this run cannot learn, see above",
        run.config().name
    );
    Ok(())
}
