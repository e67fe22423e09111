//! `preflight`: whether a run can learn, from its own first responses.

use std::io::Write;
use std::path::PathBuf;

use trainer_core::config::Run;

use crate::training::preflight;

/// Arguments of `preflight`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// TOML file of the run
    #[arg(required_unless_present = "preset", conflicts_with = "preset")]
    config: Option<PathBuf>,
    /// A published run in place of a file, as qwen2.5-7b-kl-cov; needs --set model.path=DIR --set data.train=FILE
    #[arg(long, value_name = "NAME")]
    preset: Option<String>,
    /// Set one field, as `--set rollout.temperature=0.8`; may be repeated
    #[arg(long = "set", value_name = "KEY=VALUE")]
    overrides: Vec<String>,
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
    let run = match (&args.preset, &args.config) {
        (Some(name), _) => Run::from_preset(name, &args.overrides)?,
        (None, Some(path)) => Run::load(path, &args.overrides)?,
        (None, None) => anyhow::bail!("no run, expected a TOML file or --preset NAME"),
    };
    run.check_files()?;
    let group_size = args.samples.unwrap_or(run.config().rollout.group_size);
    let seen = preflight(&run, args.prompts, group_size, &|_| {})?;
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
