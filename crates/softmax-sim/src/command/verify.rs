//! `softmax-sim verify`.

use anyhow::Context;
use softmax_sim::Report;
use std::io::Write;
use std::path::{Path, PathBuf};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Seed of the random policies, advantages and decision processes
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Random policies for each number of actions (2, 8 and 64)
    #[arg(long, default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..))]
    policies: u32,
    /// Also write the rows to this file, as JSON; it is replaced as a whole
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

pub(crate) fn run(args: &Args, out: &mut impl Write) -> anyhow::Result<bool> {
    deliver(&softmax_sim::verify(args.seed, args.policies as usize), args.json.as_deref(), out)
}

/// Prints the table, writes the file if there is to be one, and tells whether every check passed.
fn deliver(report: &Report, json: Option<&Path>, out: &mut impl Write) -> anyhow::Result<bool> {
    out.write_all(report.table().as_bytes()).and_then(|()| out.flush()).context("cannot print")?;
    if let Some(path) = json {
        report.write_json(path)?;
    }
    Ok(report.passed())
}

#[cfg(test)]
mod tests {
    use super::*;
    use softmax_sim::Row;

    #[test]
    fn a_failed_check_is_printed_written_and_told() {
        let row = Row::of("Lemma 1", "remainder over its bound", 1.0, [2.0]);
        let report = Report { seed: 4, rows: vec![row] };
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rows.json");
        let mut out = Vec::new();
        assert!(!deliver(&report, Some(&path), &mut out).unwrap());
        assert!(String::from_utf8(out).unwrap().ends_with("FAIL\n"));
        let written = std::fs::read_to_string(path).unwrap();
        assert_eq!(serde_json::from_str::<Report>(&written).unwrap(), report);
    }
}
