//! `llm-trainer reproduce`: the paper's findings in a small language model.

use std::io::Write;
use std::path::PathBuf;

use run_report::study::agreement::{Agreement, Recorded};
use run_report::study::finding::Verdict;
use run_report::study::findings;
use run_report::study::method::METHODS;
use run_report::study::page::{Setting, headline, write, write_book};

use crate::reproduce::{MODELS, Plan};

/// First seed of a study: the settings were chosen on seeds 1 to 25.
const FIRST_SEED: u64 = 41;

#[derive(Debug, clap::Args)]
#[command(after_help = include_str!("reproduce.txt").trim_ascii_end())]
pub(super) struct Args {
    /// Folder of runs, figures and report [default: runs/language-model, or runs/language-model-quick with --quick]
    #[arg(long, value_name = "DIR")]
    output: Option<PathBuf>,
    /// Number of seeds [default: 5, or 2 with --quick]
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..=100))]
    seeds: Option<u64>,
    /// First seed; the settings were chosen on seeds 1 to 25
    #[arg(long, default_value_t = FIRST_SEED, value_parser = clap::value_parser!(u64).range(..1_000_000))]
    first_seed: u64,
    /// The smallest model, half the steps and two seeds, without verdicts
    #[arg(long)]
    quick: bool,
    /// Steps of a run [default: 400, or 200 with --quick]
    #[arg(long, value_parser = clap::value_parser!(i64).range(1..))]
    steps: Option<i64>,
    /// Methods to run, without verdicts [default: all]
    #[arg(long, value_delimiter = ',', value_name = "NAME,...", value_parser = METHODS.map(|method| method.name))]
    methods: Vec<String>,
    /// Processes at a time, of one thread each [default: the processors]
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=512))]
    processes: Option<u16>,
    /// `reproduce.json` of the same study with other seeds: say which quantities and verdicts differ [default: none]
    #[arg(long, value_name = "FILE", conflicts_with = "quick")]
    compare: Option<PathBuf>,
    /// Also write the page of the book and its figures into this folder [default: none]
    #[arg(long, value_name = "DIR", conflicts_with_all = ["quick", "methods"])]
    docs: Option<PathBuf>,
}

/// Runs what is missing and writes `report.html`, `reproduce.json` and `figures`.
pub(super) fn run(args: &Args, out: &mut impl Write) -> anyhow::Result<()> {
    let seeds = args.seeds.unwrap_or(if args.quick { 2 } else { 5 });
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let folder = if args.quick { "runs/language-model-quick" } else { "runs/language-model" };
    let plan = Plan {
        output: args.output.clone().unwrap_or_else(|| folder.into()),
        seeds: (args.first_seed..args.first_seed + seeds).collect(),
        models: if args.quick { 1 } else { MODELS.len() },
        methods: args.methods.clone(),
        steps: args.steps.unwrap_or(if args.quick { 200 } else { 400 }),
        processes: args.processes.map_or(processors, usize::from),
    };
    let other = args.compare.as_deref().map(Recorded::read).transpose()?;
    let findings = findings(&plan.complete()?);
    let agreement = other.map(|other| Agreement::of(&findings, &other));
    let setting = Setting { agreement, ..setting(args, &plan) };
    let report = write(&findings, &setting, &plan.output)?;
    if let Some(docs) = &args.docs {
        write_book(&findings, &setting, docs)?;
    }
    for finding in findings.iter().filter(|_| setting.has_verdicts) {
        let verdict = finding.verdict().map_or("no target", Verdict::text);
        writeln!(out, "{:<16} {verdict:<15} {}", finding.name, finding.score())?;
    }
    if let Some(agreement) = &setting.agreement {
        write!(out, "{}", agreement.markdown())?;
    }
    writeln!(out, "{}\nreport: {}", headline(&findings, &setting), report.display())?;
    Ok(())
}

fn setting(args: &Args, plan: &Plan) -> Setting {
    let (first, last) = (plan.seeds[0], plan.seeds[plan.seeds.len() - 1]);
    let models: Vec<&str> = MODELS[..plan.models].iter().map(|model| model.name).collect();
    let options = [
        args.quick.then(|| " --quick".to_owned()),
        (args.first_seed != FIRST_SEED).then(|| format!(" --first-seed {}", args.first_seed)),
        args.seeds.map(|seeds| format!(" --seeds {seeds}")),
        args.steps.map(|steps| format!(" --steps {steps}")),
        (!args.methods.is_empty()).then(|| format!(" --methods {}", args.methods.join(","))),
    ];
    Setting {
        command: format!(
            "llm-trainer reproduce{}",
            options.into_iter().flatten().collect::<String>()
        ),
        summary: format!(
            "Models of {} parameters, seeds {first} to {last} (each of a warm-up and of the runs on it), {} steps of 256 responses.",
            models.join(", "),
            plan.steps
        ),
        has_verdicts: !args.quick && args.methods.is_empty(),
        agreement: None,
    }
}
