//! `llm-trainer report`: runs side by side on one page.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Context;
use serde::Deserialize;
use trainer_core::metrics::{StepMetrics, read_metrics};
use trainer_core::report::{Report, ReportRun, SampleRecord, StepRecord, Verification};
use trainer_core::run_directory::RunDirectory;

/// Responses shown of the first and of the last step.
const SAMPLES_SHOWN: usize = 4;

/// Arguments of `report`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Folders of the runs, as `runs/NAME`
    #[arg(required = true)]
    runs: Vec<PathBuf>,
    /// What `softmax-sim verify --json` wrote, to stand on the same page
    #[arg(long, value_name = "FILE")]
    verification: Option<PathBuf>,
    /// Where to write the page [default: report.html in the folder of the first run]
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Command that makes the runs again, for the foot of the page
    #[arg(long, default_value = "")]
    command: String,
    /// Title of the page
    #[arg(long, default_value = "Entropy and reward")]
    title: String,
}

/// Runs the command; the path of the page is printed.
///
/// # Errors
///
/// If a run cannot be read or the page cannot be written.
pub fn run(args: &Args, out: &mut impl Write) -> anyhow::Result<()> {
    let runs = args.runs.iter().map(|root| read_run(root)).collect::<anyhow::Result<Vec<_>>>()?;
    let verification = args.verification.as_deref().map(read_verification).transpose()?;
    let output = match &args.output {
        Some(path) => path.clone(),
        None => RunDirectory::open(&args.runs[0])?.report(),
    };
    let folder = output.parent().unwrap_or(Path::new(".")).join("charts");
    std::fs::create_dir_all(&folder)
        .with_context(|| format!("{}: cannot create", folder.display()))?;
    let report = Report {
        title: args.title.clone(),
        introduction: Vec::new(),
        runs,
        verification,
        command: args.command.clone(),
    };
    report.write(&output)?;
    report.write_charts(&folder)?;
    writeln!(out, "report: {}", output.display())?;
    Ok(())
}

fn read_run(root: &Path) -> anyhow::Result<ReportRun> {
    let directory = RunDirectory::open(root)?;
    let measured = read_metrics(&directory.metrics())?;
    let record = |step: &StepMetrics| -> StepRecord {
        let values = step.iter().map(|(name, value)| (name.to_owned(), value));
        values.chain([("step".to_owned(), step.step() as f64)]).collect()
    };
    let steps = measured.iter().map(record).collect();
    let trained: Vec<u64> =
        measured.iter().map(StepMetrics::step).filter(|&step| step > 0).collect();
    let mut samples = Vec::new();
    for step in [trained.first(), trained.last()].into_iter().flatten() {
        samples.extend(read_samples(&directory.step_samples(*step), *step)?);
    }
    let config_path = directory.config();
    let config_toml = std::fs::read_to_string(&config_path)
        .with_context(|| format!("{}: cannot read", config_path.display()))?;
    let name = root.file_name().map(|name| name.to_string_lossy().into_owned());
    Ok(ReportRun {
        name: name.unwrap_or_else(|| root.display().to_string()),
        description: describe(&config_toml),
        steps,
        samples,
        config_toml,
    })
}

/// The policy loss of a run, in a few words.
fn describe(config_toml: &str) -> String {
    let table: Option<toml::Table> = config_toml.parse().ok();
    let loss = table.as_ref().and_then(|table| table.get("algorithm")?.get("policy_loss")).cloned();
    loss.map_or_else(String::new, |loss| match loss {
        toml::Value::Table(table) => table
            .iter()
            .map(|(name, value)| format!("{name} {value}"))
            .collect::<Vec<_>>()
            .join(", "),
        other => other.to_string(),
    })
}

fn read_samples(path: &Path, step: u64) -> anyhow::Result<Vec<SampleRecord>> {
    #[derive(Deserialize)]
    struct Line {
        problem: String,
        response: String,
        answer: String,
        reward: f64,
    }
    if !path.exists() {
        return Ok(Vec::new());
    }
    let text = std::fs::read_to_string(path)
        .with_context(|| format!("{}: cannot read", path.display()))?;
    let mut samples = Vec::new();
    for (index, line) in text.lines().enumerate().take(SAMPLES_SHOWN) {
        let Line { problem, response, answer, reward } = serde_json::from_str(line)
            .with_context(|| format!("{}:{}: not a sample", path.display(), index + 1))?;
        samples.push(SampleRecord { step, problem, response, answer, reward });
    }
    Ok(samples)
}

fn read_verification(path: &Path) -> anyhow::Result<Verification> {
    let text = std::fs::read_to_string(path)
        .with_context(|| format!("{}: cannot read", path.display()))?;
    serde_json::from_str(&text).with_context(|| format!("{}: not a verification", path.display()))
}
