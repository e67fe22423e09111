//! Writes a report of made-up but realistic runs: `cargo run --example sample_report -- DIRECTORY`.

mod runs;

use std::fs;
use std::path::PathBuf;

use run_report::report::{Pictures, PrintSize};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let directory = std::env::args_os().nth(1).map_or_else(|| PathBuf::from("."), PathBuf::from);
    fs::create_dir_all(directory.join("charts"))?;
    let report = runs::sample();
    report.write(&directory.join("report.html"))?;
    let pictures = Pictures { png: true, pdf: true, size: PrintSize::PAGE };
    report.write_charts(&directory.join("charts"), pictures, &|_| ())?;
    Ok(())
}
