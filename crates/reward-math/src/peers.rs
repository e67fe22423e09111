//! Graders of other projects beside this one, on the same rows: `reward-math bench --peers`.

use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Write};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use reward_math::{Options, Row, verify};
use serde::Deserialize;

/// Runs the graders that Python has; its comments say what it reads and writes.
const SCRIPT: &str = include_str!("peers.py");

/// Longest part of a text that is shown, in characters.
const SHOWN: usize = 60;

/// First line of the script.
#[derive(Deserialize)]
struct Installed {
    graders: Vec<String>,
    missing: BTreeMap<String, String>,
}

/// Verdicts of one grader, `None` where it gave none in time.
struct Grader {
    name: String,
    verdicts: Vec<Option<bool>>,
    total: Duration,
}

impl Grader {
    fn new(name: String) -> Self {
        Self { name, verdicts: Vec::new(), total: Duration::ZERO }
    }

    /// Returns one line: rows that agree with their label, false positives and negatives, rows without an answer.
    fn line(&self, rows: &[Row]) -> String {
        let labelled = || {
            let labels = rows.iter().map(|row| row.label);
            labels.zip(&self.verdicts).filter_map(|(label, verdict)| Some((label?, *verdict)))
        };
        let count = |label: bool, right: bool| {
            labelled().filter(|pair| *pair == (label, Some(right))).count()
        };
        let silent = self.verdicts.iter().filter(|verdict| verdict.is_none()).count();
        let right = self.verdicts.iter().filter(|verdict| **verdict == Some(true)).count();
        let unanswered = labelled().filter(|pair| *pair == (true, None)).count();
        let agree = count(true, true) + labelled().filter(|(l, v)| !l && *v != Some(true)).count();
        let (false_positives, misses) = (count(false, true), count(true, false) + unanswered);
        let mean = self.total.div_f64(self.verdicts.len().max(1) as f64);
        format!(
            "{:<14}{right:>8}{agree:>8}{false_positives:>8}{misses:>8}{silent:>8}  {mean:.1?}",
            self.name
        )
    }
}

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
    let mut graders = vec![ours(rows, options)];
    graders.extend(theirs(rows, python)?);
    let labelled = rows.iter().filter(|row| row.label.is_some()).count();
    writeln!(out, "{} rows, {labelled} of them labelled", rows.len())?;
    writeln!(out, "                 right   agree   false  misses  silent  mean")?;
    for grader in &graders {
        writeln!(out, "{}", grader.line(rows))?;
    }
    let word = |verdict: Option<bool>| match verdict {
        Some(true) => "right",
        Some(false) => "wrong",
        None => "-",
    };
    let padded = |words: Vec<&str>| {
        words.iter().map(|word| format!("{word:<13}")).collect::<Vec<_>>().concat()
    };
    let names = padded(graders.iter().map(|grader| grader.name.as_str()).collect());
    writeln!(out, "\nrow     label   {names}answer | ground truth")?;
    for (place, row) in rows.iter().enumerate() {
        let verdicts: Vec<Option<bool>> = graders.iter().map(|g| g.verdicts[place]).collect();
        if verdicts.iter().all(|verdict| *verdict == verdicts[0]) {
            continue;
        }
        let cells = padded(verdicts.into_iter().map(word).collect());
        let (answer, truth) = (end_of(&row.response), end_of(&row.ground_truth));
        writeln!(out, "{:<8}{:<8}{cells}{answer} | {truth}", place + 1, word(row.label))?;
    }
    Ok(())
}

/// Returns the end of a text on one line.
pub(crate) fn end_of(text: &str) -> String {
    let characters: Vec<char> = text.trim().chars().collect();
    let start = characters.len().saturating_sub(SHOWN);
    let end = characters[start..].iter().map(|c| if c.is_control() { ' ' } else { *c });
    (if start > 0 { "…" } else { "" }).chars().chain(end).collect()
}

fn ours(rows: &[Row], options: &Options) -> Grader {
    let mut grader = Grader::new("reward-math".to_owned());
    for row in rows {
        let start = Instant::now();
        let verdict = verify(&row.response, &row.ground_truth, options);
        grader.total += start.elapsed();
        grader.verdicts.push(Some(verdict.is_right()));
    }
    grader
}

fn theirs(rows: &[Row], python: &str) -> anyhow::Result<Vec<Grader>> {
    let mut child = Command::new(python)
        .args(["-c", SCRIPT])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .with_context(|| format!("cannot run {python}; --python names another"))?;
    let read = read(&mut child, rows, python);
    let _ = child.kill();
    child.wait()?;
    read
}

fn read(child: &mut Child, rows: &[Row], python: &str) -> anyhow::Result<Vec<Grader>> {
    let (input, output) = (child.stdin.take(), child.stdout.take());
    let (mut input, output) = input.zip(output).context("no pipes to python")?;
    // The script reads all rows before it writes.
    for row in rows {
        writeln!(input, "{}", serde_json::to_string(&(&row.response, &row.ground_truth))?)?;
    }
    drop(input);
    let mut lines = BufReader::new(output).lines();
    let first = lines.next().with_context(|| format!("{python} printed nothing"))??;
    let installed: Installed = serde_json::from_str(&first).context("the first line of python")?;
    for (name, how) in &installed.missing {
        writeln!(io::stderr(), "{name} is not installed for {python}: {how}")?;
    }
    if installed.graders.is_empty() {
        bail!("{python} has none of the graders");
    }
    let mut graders: Vec<Grader> = installed.graders.into_iter().map(Grader::new).collect();
    for line in lines {
        let verdicts: Vec<(Option<bool>, f64)> = serde_json::from_str(&line?)?;
        for (grader, (verdict, seconds)) in graders.iter_mut().zip(verdicts) {
            grader.verdicts.push(verdict);
            grader.total += Duration::try_from_secs_f64(seconds)?;
        }
    }
    let done = graders.iter().all(|grader| grader.verdicts.len() == rows.len());
    if done { Ok(graders) } else { bail!("{python} ended before the last row") }
}
