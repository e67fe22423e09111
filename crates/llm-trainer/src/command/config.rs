//! `config`: the fields of a configuration, and its JSON schema.

use std::io::Write;

use anyhow::bail;
use messages::nearest;
use training_run::config::{fields, schema};

#[derive(Debug, clap::Args)]
#[command(after_help = include_str!("config.txt").trim_ascii_end())]
pub(super) struct Args {
    /// Show only fields whose path contains this text [default: all]
    key: Option<String>,
    /// Print the JSON schema of a configuration, with which editors complete and check a TOML file
    #[arg(long, conflicts_with = "key")]
    schema: bool,
}

pub(super) fn run(args: &Args, out: &mut impl Write) -> anyhow::Result<()> {
    if args.schema {
        return Ok(writeln!(out, "{:#}", schema())?);
    }
    let key = args.key.as_deref().unwrap_or_default();
    let shown = || fields().iter().filter(|field| field.path.contains(key));
    if shown().next().is_none() {
        let close = nearest(key, fields().iter().map(|field| field.path.as_str()), 3);
        let advice =
            if close.is_empty() { String::new() } else { format!("; near: {}", close.join(", ")) };
        bail!("no field of a configuration has {key:?} in its path{advice}");
    }
    for field in shown() {
        let default =
            field.default.as_deref().map_or(" (required)".to_owned(), |text| format!(" = {text}"));
        let range = field.range.as_deref().map_or(String::new(), |range| format!(" ({range})"));
        writeln!(out, "{}{default}{range}\n    {}", field.path, field.meaning)?;
    }
    Ok(())
}
