//! A program that reads lines and answers each with a reward.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use serde_json::Value;

use crate::child_group::{end_within, kill_all};

/// Longest line that is read, in bytes.
const LONGEST_LINE: u64 = 1 << 20;

/// Time that a program has to end when its input has.
const FAREWELL: Duration = Duration::from_secs(2);

/// A running program. Its errors go to those of this process.
#[derive(Debug)]
pub(super) struct LineProcess {
    child: Child,
    /// `None` once it is closed.
    input: Option<ChildStdin>,
    answers: Receiver<std::io::Result<String>>,
}

impl LineProcess {
    pub(super) fn start(words: &[String]) -> anyhow::Result<Self> {
        let (program, arguments) = words.split_first().context("no program")?;
        let mut child = Command::new(program)
            .args(arguments)
            // Ctrl-C asks the trainer to end after its step, for which it needs the rewards.
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("cannot start {program}"))?;
        let output = child.stdout.take().expect("its output is piped");
        let input = child.stdin.take();
        let (sender, answers) = channel();
        std::thread::spawn(move || {
            let mut reader = BufReader::new(output);
            loop {
                let mut line = String::new();
                let read = match reader.by_ref().take(LONGEST_LINE).read_line(&mut line) {
                    Ok(0) => return,
                    read => read.map(|_| line),
                };
                let failed = read.is_err();
                if sender.send(read).is_err() || failed {
                    return;
                }
            }
        });
        Ok(Self { child, input, answers })
    }

    /// Writes lines and reads as many. Fails if the program ends, or does not write them in this time.
    pub(super) fn answers(
        &mut self,
        lines: &[String],
        wait: Duration,
    ) -> anyhow::Result<Vec<String>> {
        let (deadline, count) = (Instant::now() + wait, lines.len());
        let Self { child, input, answers } = self;
        let input = input.as_mut().context("the program was stopped")?;
        if let Ok(line) = answers.try_recv() {
            bail!("{:?} answers no response: one line for each", line?.trim_end());
        }
        // It may write before it has read all: neither may wait for the other.
        std::thread::scope(|scope| {
            let written = scope.spawn(move || {
                lines.iter().try_for_each(|line| input.write_all(line.as_bytes()))?;
                input.flush()
            });
            let mut heard = Vec::with_capacity(count);
            while heard.len() < count {
                let left = deadline.saturating_duration_since(Instant::now());
                match answers.recv_timeout(left) {
                    Ok(line) => heard.push(line?),
                    Err(RecvTimeoutError::Timeout) => {
                        // Ends the thread that writes, too.
                        kill_all(child);
                        bail!("{} of {count} rewards in {} s", heard.len(), wait.as_secs_f64());
                    }
                    Err(RecvTimeoutError::Disconnected) => {
                        kill_all(child);
                        let status = child.wait().context("cannot wait for the program")?;
                        bail!(
                            "the program ended after {} of {count} rewards: {status}",
                            heard.len()
                        );
                    }
                }
            }
            // Every answer is here: whether it has read all of the questions is its own affair.
            drop(written.join());
            Ok(heard)
        })
    }
}

impl Drop for LineProcess {
    fn drop(&mut self) {
        self.input = None;
        end_within(&mut self.child, FAREWELL);
    }
}

/// Reads a reward: a number, or an object with the field `reward`.
pub(super) fn reward(answer: &str) -> Option<f64> {
    let value: Value = serde_json::from_str(answer).ok()?;
    value.as_f64().or_else(|| value.get("reward")?.as_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reward_is_a_number_or_an_object_with_one() {
        for (answer, expected) in [
            ("1", Some(1.0)),
            (" -0.5\n", Some(-0.5)),
            ("{\"reward\": 2e-1, \"why\": \"short\"}", Some(0.2)),
            ("{\"score\": 1}", None),
            ("NaN", None),
            ("\"1\"", None),
            ("1 2", None),
            ("", None),
        ] {
            assert_eq!(reward(answer), expected, "{answer}");
        }
    }
}
