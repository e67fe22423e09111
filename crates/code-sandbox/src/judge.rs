//! Verdict on a response by the unit tests of its question.

use std::time::Instant;

use messages::shortened;
use reward_math::{How, ParseError, Rung, Side, Verdict};
use serde_json::{Value, json};

use super::compare::{same_output, same_result};
use super::run::{Ended, ProcessOutcome};
use super::sandbox::token;
use super::{Call, Sandbox, SandboxError, Stream, UnitTests, program_of};

const HARNESS: &str = include_str!("harness.py");
const SCRIPT: &str = include_str!("script.py");

/// Longest excerpt of a program's output in a verdict, in characters.
const MOST: usize = 300;

/// The first test that was not passed.
struct Failure {
    /// Number of tests passed before it.
    passed: usize,
    what: String,
    expected: Option<String>,
}

impl Sandbox {
    /// Runs the tests against the program in a response; the verdict is right only if all pass.
    ///
    /// Otherwise [`How::response`] and [`How::ground_truth`] of the verdict name the first test that failed, and why.
    ///
    /// # Errors
    ///
    /// [`SandboxError`] if the host fails; whatever a program does is a verdict.
    pub fn judge(&self, tests: &UnitTests, response: &str) -> Result<Verdict, SandboxError> {
        let Some(program) = program_of(response) else {
            return Ok(Verdict::Unparsed { which: Side::Response, why: ParseError::NoAnswer });
        };
        let failure = match tests {
            UnitTests::Streams(streams) => self.streams(program, streams)?,
            UnitTests::Statements(statements) => self.statements(program, statements)?,
            UnitTests::Calls { function, calls } => self.calls(program, function, calls)?,
        };
        let count = tests.count();
        let how = |response: String, ground_truth| How {
            rung: Rung::Tests,
            response: Some(response),
            ground_truth,
        };
        Ok(match failure {
            None => Verdict::Right { how: how(format!("passed {count} of {count} tests"), None) },
            Some(Failure { passed, what, expected }) => {
                let what = shortened(&what, MOST);
                let number = (passed + 1).min(count);
                Verdict::Wrong { how: how(format!("test {number} of {count}: {what}"), expected) }
            }
        })
    }

    /// Runs the streams in order, up to the first that fails.
    fn streams(&self, program: &str, streams: &[Stream]) -> Result<Option<Failure>, SandboxError> {
        let until = self.deadline();
        for (passed, Stream { stdin, stdout }) in streams.iter().enumerate() {
            let (what, expected) = if Instant::now() >= until {
                (self.words(Ended::WallTime, ""), None)
            } else {
                let input = stdin.clone().into_bytes();
                let outcome = self.run((program, SCRIPT), input, until)?;
                match outcome.ended {
                    Ended::Exit(0) if same_output(&outcome.stdout, stdout) => continue,
                    Ended::Exit(0) => {
                        let what =
                            format!("printed {:?}", shortened(outcome.stdout.trim_end(), MOST));
                        (what, Some(shortened(stdout.trim_end(), MOST)))
                    }
                    ended => (self.words(ended, &outcome.stderr), None),
                }
            };
            return Ok(Some(Failure { passed, what, expected }));
        }
        Ok(None)
    }

    fn statements(&self, program: &str, tests: &[String]) -> Result<Option<Failure>, SandboxError> {
        let job = json!({"kind": "statements", "tests": tests});
        let (messages, outcome) = self.harness(program, job)?;
        let passed = messages.iter().filter(|line| line.get("passed").is_some()).count();
        Ok((passed != tests.len()).then(|| self.failure(passed, &messages, &outcome)))
    }

    fn calls(
        &self,
        program: &str,
        function: &str,
        calls: &[Call],
    ) -> Result<Option<Failure>, SandboxError> {
        let arguments: Vec<&[Value]> = calls.iter().map(|call| call.arguments.as_slice()).collect();
        let job = json!({"kind": "calls", "function": function, "calls": arguments});
        let (messages, outcome) = self.harness(program, job)?;
        for (passed, call) in calls.iter().enumerate() {
            let Some(result) = messages.get(passed).and_then(|line| line.get("result")) else {
                return Ok(Some(self.failure(passed, &messages, &outcome)));
            };
            if !same_result(result, &call.result) {
                let what = format!("returned {}", shortened(&result.to_string(), MOST));
                let expected = Some(shortened(&call.result.to_string(), MOST));
                return Ok(Some(Failure { passed, what, expected }));
            }
        }
        Ok(None)
    }

    /// Returns the messages of the harness, and how its process ended.
    ///
    /// Only output lines that begin with the token are messages.
    fn harness(
        &self,
        program: &str,
        mut job: Value,
    ) -> Result<(Vec<Value>, ProcessOutcome), SandboxError> {
        let token = token()?;
        job["token"] = json!(token);
        let input = job.to_string().into_bytes();
        let outcome = self.run((program, HARNESS), input, self.deadline())?;
        let lines = outcome.stdout.lines().filter_map(|line| line.strip_prefix(&token));
        // A number without a JSON form, such as NaN, becomes null.
        let messages =
            lines.map(|line| serde_json::from_str(line).unwrap_or(Value::Null)).collect();
        Ok((messages, outcome))
    }

    fn failure(&self, passed: usize, messages: &[Value], outcome: &ProcessOutcome) -> Failure {
        let last = messages.last();
        let text = |name: &str| last.and_then(|line| line.get(name)).and_then(Value::as_str);
        let what = match (outcome.ended, text("broken"), text("failed")) {
            (Ended::Exit(_), Some(why), _) => format!("the program does not run: {why}"),
            (Ended::Exit(_), _, Some(why)) => why.to_owned(),
            _ => self.words(outcome.ended, &outcome.stderr),
        };
        Failure { passed, what, expected: None }
    }

    /// Describes how a process ended, in words.
    fn words(&self, ended: Ended, stderr: &str) -> String {
        const CPU: [i32; 2] = [9, 24];
        let settings = &self.settings();
        match ended {
            // The last line of a traceback names the error.
            Ended::Exit(code) => match stderr.trim_end().lines().last().map(str::trim) {
                Some(line) if !line.is_empty() => format!("exit code {code}: {line}"),
                _ => format!("exit code {code} before the end of the test"),
            },
            Ended::Signal(signal) if CPU.contains(&signal) => {
                format!("killed after {} s of processor time", settings.cpu_seconds)
            }
            Ended::Signal(25) => format!("killed: a file of over {} bytes", settings.file_bytes),
            Ended::Signal(signal) => format!("killed by signal {signal}"),
            Ended::WallTime => format!("killed after {} s of wall time", settings.wall_seconds),
            Ended::Output => format!("killed: over {} bytes of output", settings.output_bytes),
            Ended::Files => {
                format!("killed: files of over {} bytes or too many", settings.file_bytes)
            }
        }
    }
}
