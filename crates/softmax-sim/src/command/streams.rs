//! Input and output that subcommands share.

use anyhow::Context;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;

/// Reads the file of an argument, or standard input without one or for `-`; with the name that messages have of it.
pub(super) fn input(path: Option<&Path>) -> anyhow::Result<(String, Box<dyn Read>)> {
    match path.filter(|path| path.as_os_str() != "-") {
        Some(path) => Ok((path.display().to_string(), Box::new(open(path)?))),
        None => Ok(("standard input".to_owned(), Box::new(io::stdin()))),
    }
}

pub(super) fn open(path: &Path) -> anyhow::Result<File> {
    File::open(path).with_context(|| format!("{}: cannot open", path.display()))
}

pub(super) fn read(path: &Path) -> anyhow::Result<String> {
    std::fs::read_to_string(path).with_context(|| format!("{}: cannot read", path.display()))
}

pub(super) fn print(out: &mut impl Write, text: &str) -> anyhow::Result<()> {
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).context("cannot print")
}
