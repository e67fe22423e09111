//! `softmax-sim verify`.

use super::streams;
use softmax_sim::reproduce::Progress;
use softmax_sim::result_file::write_whole;
use softmax_sim::{Report, Settings, verify_watched};
use std::io::Write;
use std::path::{Path, PathBuf};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Seed of the random policies, advantages and decision processes
    #[arg(long, default_value_t = Settings::DEFAULT.seed)]
    seed: u64,
    /// Number of random policies for 2, 8 and 64 actions each; 1000 and 10000 actions get a twentieth
    #[arg(
        long,
        value_name = "NUMBER",
        default_value_t = Settings::DEFAULT.policies as u64,
        value_parser = clap::value_parser!(u64).range(Settings::LEAST_POLICIES as u64..)
    )]
    policies: u64,
    /// Number of random and adversarial cases for the remainder bound
    #[arg(
        long,
        value_name = "NUMBER",
        default_value_t = Settings::DEFAULT.cases,
        value_parser = clap::value_parser!(u64).range(1..)
    )]
    cases: u64,
    /// Test a million cases of the remainder bound
    #[arg(long, conflicts_with = "cases")]
    full: bool,
    /// Print under each check how it was done
    #[arg(long)]
    methods: bool,
    /// Also write the rows to this file as JSON, in place of its content [default: none]
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

const FULL_CASES: u64 = 1_000_000;

pub(crate) fn run(args: &Args, out: &mut impl Write) -> anyhow::Result<bool> {
    let settings = Settings {
        seed: args.seed,
        policies: usize::try_from(args.policies)?,
        cases: if args.full { FULL_CASES } else { args.cases },
    };
    let progress = Progress::stderr("verify");
    let report = verify_watched(&settings, |statement, done, total| {
        if done == 0 {
            progress.plan(total);
        } else {
            progress.advance(1);
        }
        progress.say(statement);
    });
    progress.clear();
    deliver(&report, args.methods, args.json.as_deref(), out)
}

fn deliver(
    report: &Report,
    methods: bool,
    json: Option<&Path>,
    out: &mut impl Write,
) -> anyhow::Result<bool> {
    let table = report.table(methods);
    // A reader that went away costs the table, not the file.
    let printed = streams::print(out, &table);
    if let Some(path) = json {
        let rows = serde_json::to_string_pretty(report)? + "\n";
        write_whole(path, rows.as_bytes())?;
    }
    printed?;
    Ok(report.passed())
}

#[cfg(test)]
mod tests {
    use super::*;
    use softmax_sim::Row;

    #[test]
    fn a_failed_check_is_printed_written_and_told() {
        let row = Row::of("remainder over its bound", 1.0, [2.0]).about("Lemma 1");
        let report = Report { seed: 4, rows: vec![row] };
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rows.json");
        let mut out = Vec::new();
        assert!(!deliver(&report, false, Some(&path), &mut out).unwrap());
        assert!(String::from_utf8(out).unwrap().contains("FAIL\n0 of 1 checks passed"));
        let written = std::fs::read_to_string(path).unwrap();
        assert_eq!(serde_json::from_str::<Report>(&written).unwrap(), report);
    }
}
