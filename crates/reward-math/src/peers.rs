//! Graders of other projects beside this one, on the same rows: `reward-math bench --peers`.

use std::io::{self, Write};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, bail};
use reward_math::{Options, Row, verify};

/// Runs the graders that Python has, and prints the comparison; its comments say what it reads.
const SCRIPT: &str = include_str!("peers.py");

/// Prints how often each grader is right, then each row on which they differ.
///
/// # Errors
///
/// An error if Python does not run, or has none of the graders.
pub(crate) fn compare(
    rows: &[Row],
    options: &Options,
    python: &str,
    out: &mut impl Write,
) -> anyhow::Result<()> {
    let mut child = Command::new(python)
        .args(["-c", SCRIPT])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .with_context(|| format!("cannot run {python}; --python names another"))?;
    let (input, output) = (child.stdin.take(), child.stdout.take());
    let (mut input, mut output) = input.zip(output).context("no pipes to python")?;
    for row in rows {
        let start = Instant::now();
        let right = verify(&row.response, &row.ground_truth, options).is_right();
        let seconds = start.elapsed().as_secs_f64();
        let line = (&row.response, &row.ground_truth, row.label, right, seconds);
        // The script reads all rows before it writes.
        writeln!(input, "{}", serde_json::to_string(&line)?).context("python reads no rows")?;
    }
    drop(input);
    io::copy(&mut output, out)?;
    if child.wait()?.success() { Ok(()) } else { bail!("{python} gave no comparison") }
}
