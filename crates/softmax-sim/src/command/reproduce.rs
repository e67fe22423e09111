//! `softmax-sim reproduce`.

use super::streams;
use anyhow::Context;
use figures::picture::PictureMaker;
use figures::print_size::PrintSize;
use softmax_sim::reproduce::{
    FINDINGS, Finding, Progress, Scale, Setting, document, finding, page, run as runs,
};
use softmax_sim::result_file::write_whole;
use std::io::Write;
use std::path::PathBuf;

#[derive(clap::Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of the command line")]
pub(crate) struct Args {
    /// Findings to run; without one, all
    #[arg(value_name = "FINDING", value_parser = parse_finding)]
    findings: Vec<&'static Finding>,
    /// Run shorter experiments, under two minutes for all: numbers without verdicts
    #[arg(long)]
    quick: bool,
    /// First seed
    #[arg(long, default_value_t = Setting::DEFAULT_SEED, value_parser = clap::value_parser!(u64).range(..=1 << 53))]
    seed: u64,
    /// Number of seeds for each finding [default: 12; with --quick 3]
    #[arg(long, value_parser = clap::value_parser!(u64).range(3..=1000))]
    seeds: Option<u64>,
    /// Folder for results, figures and report.html
    #[arg(long, value_name = "DIR", default_value = "runs/reproduce")]
    out: PathBuf,
    /// Run findings again that have a result
    #[arg(long)]
    again: bool,
    /// Also draw the figures as PNG, in a font of this machine
    #[arg(long)]
    png: bool,
    /// Also write reproduce.md, reproduce.json and images/reproduce/ to this folder [default: none]
    #[arg(long, value_name = "DIR")]
    docs: Option<PathBuf>,
    /// Print the names and titles of the findings, and stop
    #[arg(long)]
    list: bool,
}

fn parse_finding(name: &str) -> Result<&'static Finding, String> {
    finding::find(name).ok_or_else(|| {
        let names: Vec<&str> = FINDINGS.iter().map(|finding| finding.name).collect();
        format!("no such finding, expected one of {}", names.join(", "))
    })
}

pub(crate) fn run(args: &Args, out: &mut impl Write) -> anyhow::Result<bool> {
    if args.list {
        for finding in FINDINGS.iter() {
            writeln!(out, "{:24}  {}", finding.name, finding.words.title)
                .context("cannot print")?;
        }
        return Ok(true);
    }
    // A missing font is told before the experiments, not after.
    let pictures = args.png.then(PictureMaker::with_system_fonts).transpose()?;
    let wanted = |finding: &&Finding| {
        args.findings.is_empty() || args.findings.iter().any(|named| named.name == finding.name)
    };
    let findings: Vec<&'static Finding> = FINDINGS.iter().filter(wanted).collect();
    let scale = if args.quick { Scale::Quick } else { Scale::Full };
    let seeds = args.seeds.map_or(Ok(Setting::default_seeds(scale)), usize::try_from);
    let seeds = seeds.context("too many seeds")?;
    let setting = Setting { scale, seed: args.seed, seeds };
    let finished = runs::run(&findings, &setting, &args.out, args.again, Progress::stderr)?;
    let all = runs::collect(&args.out, &finished)?;
    page::write(&args.out, &all)?;
    if let Some(pictures) = pictures {
        for figure in all.iter().flat_map(|one| &one.record.outcome.figures) {
            let path = args.out.join("figures").join(format!("{}.png", figure.chart.stem));
            write_whole(&path, &pictures.png(&figure.chart, PrintSize::PAGE)?)?;
        }
    }
    if let Some(docs) = &args.docs {
        document::write(docs, &finished)?;
    }
    let report = args.out.join("report.html");
    streams::print(out, &format!("{}\n{}\n", runs::table(&finished), report.display()))?;
    Ok(true)
}
