//! `llm-trainer warmup`: a small model from nothing to where reinforcement learning can begin.

use std::io::Write;
use std::path::PathBuf;

use training_run::config::Device;

use crate::progress::Progress;
use crate::warmup::{Measurement, WarmupConfig, cached, warm_up};

const EXAMPLES: &str = "\
Examples:
  # Train the model of the demo, unless it exists
  llm-trainer warmup configs/demo-warmup.toml
  # Train it again
  llm-trainer warmup configs/demo-warmup.toml --again";

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(super) struct Args {
    /// TOML file of the warm-up, such as configs/demo-warmup.toml
    config: PathBuf,
    /// Train even if the output of the same configuration exists
    #[arg(long)]
    again: bool,
}

pub(super) fn run(args: &Args, out: &mut impl Write) -> anyhow::Result<()> {
    let config = WarmupConfig::load(&args.config)?;
    let output = config.output.display();
    if let Some(record) = cached(&config).filter(|_| !args.again) {
        writeln!(
            out,
            "warm-up: {output} is there already: accuracy {:.3}, entropy {:.3} nat per token",
            record.accuracy, record.entropy
        )?;
        return Ok(());
    }
    ranks::device::set_threads(config.threads)?;
    ranks::device::announce(Device::Cpu, tch::Device::Cpu, tch::Kind::Float, 1);
    let progress = Progress::new("warm-up", config.training.max_steps, 0);
    let record = warm_up(&config, |now| {
        let measured =
            now.measured.map_or_else(String::new, |Measurement { accuracy, entropy }| {
                format!("  accuracy {accuracy:.3}  entropy {entropy:.3} nat")
            });
        let message = format!("loss {:.3}{measured}", now.loss);
        progress.advance(now.step, &message);
    })?;
    progress.finish();
    writeln!(
        out,
        "warm-up: {} steps, accuracy {:.3}, entropy {:.3} nat per token; model in {output}",
        record.steps, record.accuracy, record.entropy
    )?;
    Ok(())
}
