//! `llm-trainer warmup`: a small model from nothing to where reinforcement learning can begin.

use std::io::Write;
use std::path::PathBuf;

use training_run::config::Device;

use crate::progress::Progress;
use crate::warmup::{Measurement, WarmupConfig, cached, warm_up};

#[derive(Debug, clap::Args)]
#[command(after_help = include_str!("warmup.txt").trim_ascii_end())]
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
        let Measurement { accuracy, entropy } = record.reached;
        writeln!(
            out,
            "warm-up: {output} is there already: accuracy {accuracy:.3}, entropy {entropy:.3} nat per token"
        )?;
        return Ok(());
    }
    ranks::device::set_threads(config.threads)?;
    ranks::device::announce(Device::Cpu, tch::Device::Cpu, tch::Kind::Float, 1);
    let progress = Progress::new("warm-up", config.training.max_steps, 0);
    let record = warm_up(&config, |step, loss, measured| {
        let measured = measured.map_or_else(String::new, |Measurement { accuracy, entropy }| {
            format!("  accuracy {accuracy:.3}  entropy {entropy:.3} nat")
        });
        progress.advance(step, &format!("loss {loss:.3}{measured}"));
    })?;
    progress.finish();
    let (steps, Measurement { accuracy, entropy }) = (record.steps, record.reached);
    writeln!(
        out,
        "warm-up: {steps} steps, accuracy {accuracy:.3}, entropy {entropy:.3} nat per token; model in {output}"
    )?;
    Ok(())
}
