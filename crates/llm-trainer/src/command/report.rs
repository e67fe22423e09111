//! `llm-trainer report`: runs side by side on one page.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Context;
use messages::plain_words;
use run_report::report::{Pictures, PrintSize, Report, ReportRun, Verification};
use training_run::run_directory::RunDirectory;

#[derive(Debug, clap::Args)]
#[command(after_help = include_str!("report.txt").trim_ascii_end())]
pub(super) struct Args {
    /// Folders of the runs, such as `runs/NAME`
    #[arg(required = true)]
    runs: Vec<PathBuf>,
    /// Output of `softmax-sim verify --json` to show on the page [default: none]
    #[arg(long, value_name = "FILE")]
    verification: Option<PathBuf>,
    /// File of the page [default: report.html in the folder of the first run]
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Command that reproduces the runs, for the foot of the page [default: none]
    #[arg(long, default_value = "", hide_default_value = true)]
    command: String,
    /// Title of the page
    #[arg(long, default_value = "Entropy and reward")]
    title: String,
    /// Also write the charts as PNG, with 300 dots an inch
    #[arg(long)]
    png: bool,
    /// Also write the charts as PDF
    #[arg(long)]
    pdf: bool,
    /// Width of the charts in PNG and PDF, in centimetres
    #[arg(long, value_name = "CENTIMETRES", default_value_t = PrintSize::PAGE.width_centimetres())]
    width: f64,
    /// Size of the letters in PNG and PDF, in points
    #[arg(long, value_name = "POINTS", default_value_t = PrintSize::PAGE.font_points())]
    font_size: f64,
}

/// Runs the command; the path of the page is printed.
pub(super) fn run(args: &Args, out: &mut impl Write) -> anyhow::Result<()> {
    let size = PrintSize::new(args.width, args.font_size)?;
    let read = |root: &PathBuf| {
        let run = ReportRun::read(root)?;
        Ok(ReportRun { description: describe(&run.config_toml), ..run })
    };
    let runs = args.runs.iter().map(read).collect::<anyhow::Result<Vec<_>>>()?;
    let verification = args.verification.as_deref().map(read_verification).transpose()?;
    let output = match &args.output {
        Some(path) => path.clone(),
        None => RunDirectory::view(&args.runs[0])?.report(),
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
    let pictures = Pictures { png: args.png, pdf: args.pdf, size };
    report.write_charts(&folder, pictures, &|stem| eprintln!("drawing the chart {stem}"))?;
    writeln!(out, "report: {}", output.display())?;
    Ok(())
}

/// The policy loss of a run, in a few words.
fn describe(config_toml: &str) -> String {
    let table: Option<toml::Table> = config_toml.parse().ok();
    match table.as_ref().and_then(|table| table.get("algorithm")?.get("policy_loss")) {
        None => String::new(),
        Some(toml::Value::Table(loss)) => {
            let loss = loss.iter().map(|(name, value)| format!("{name} {value}"));
            loss.collect::<Vec<_>>().join(", ")
        }
        Some(name) => name.to_string(),
    }
}

fn read_verification(path: &Path) -> anyhow::Result<Verification> {
    let text = whole_file::read_text_at_most(path, whole_file::LONGEST_TEXT_BYTES)
        .with_context(|| format!("{}: cannot read", path.display()))?;
    serde_json::from_str(&text).map_err(|error| {
        let problem = plain_words(&error.to_string());
        anyhow::anyhow!("{}: not a verification: {problem}", path.display())
    })
}
