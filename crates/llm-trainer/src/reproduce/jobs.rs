//! Commands of this program, several processes at a time.

use std::ffi::OsString;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::Context;
use rustix::process::{Pid, Signal, kill_process};

use crate::interruption::{Interruption, Signals};
use crate::progress::Progress;

const INTERVAL: Duration = Duration::from_millis(50);

/// Two commands, the second after the first.
#[derive(Debug)]
pub(super) struct Job {
    /// Name, also of its log.
    pub(super) name: String,
    pub(super) commands: [Vec<OsString>; 2],
}

/// Place and terms of all jobs.
#[derive(Debug)]
pub(super) struct Pool<'a> {
    pub(super) processes: usize,
    pub(super) logs: &'a Path,
    pub(super) signals: &'a Signals,
    pub(super) progress: &'a Progress,
}

struct Running<'a> {
    job: &'a Job,
    /// Commands to start after it.
    left: &'a [Vec<OsString>],
    child: Child,
}

impl Pool<'_> {
    /// Runs all jobs, `done` of the whole being done before. After a failure or a signal nothing begins, and what runs ends. After a
    /// signal the error is [`Interruption`].
    pub(super) fn run(&self, jobs: &[Job], mut done: u64) -> anyhow::Result<()> {
        let mut waiting = jobs.iter();
        let mut running: Vec<Running> = vec![];
        let mut failure = None;
        loop {
            while failure.is_none() && running.len() < self.processes.max(1) {
                let Some(job) = waiting.next() else { break };
                let [first, left @ ..] = &job.commands;
                match self.start(job, first) {
                    Ok(child) => running.push(Running { job, left, child }),
                    Err(error) => failure = Some(error),
                }
            }
            if running.is_empty() {
                return failure.map_or(Ok(()), Err);
            }
            if let Some(interruption) = self.signals.asked_to_end()
                && failure.is_none()
            {
                for one in &running {
                    pass_on(interruption, &one.child);
                }
                self.progress.say(&format!("{interruption}; the same command goes on"));
                self.progress.interrupt();
                failure = Some(interruption.into());
            }
            std::thread::sleep(INTERVAL);
            for index in (0..running.len()).rev() {
                match self.go_on(&mut running[index], failure.is_none()) {
                    Ok(true) => continue,
                    Ok(false) if failure.is_none() => {
                        done += 1;
                        self.progress.advance(done, &running[index].job.name);
                    }
                    Ok(false) => {}
                    Err(error) => {
                        failure.get_or_insert(error);
                    }
                }
                running.swap_remove(index);
            }
        }
    }

    /// Starts the next command of a job whose process has ended, if it `may_start`. Returns true if a process runs.
    fn go_on(&self, one: &mut Running<'_>, may_start: bool) -> anyhow::Result<bool> {
        let Some(status) = one.child.try_wait().context("cannot wait for a process")? else {
            return Ok(true);
        };
        if !status.success() {
            return Err(self.failed(one.job, &status.to_string()));
        }
        let Some((next, left)) = one.left.split_first().filter(|_| may_start) else {
            return Ok(false);
        };
        (one.child, one.left) = (self.start(one.job, next)?, left);
        Ok(true)
    }

    fn log(&self, job: &Job) -> PathBuf {
        self.logs.join(format!("{}.log", job.name))
    }

    fn start(&self, job: &Job, command: &[OsString]) -> anyhow::Result<Child> {
        let path = self.log(job);
        let log = File::options().create(true).append(true).open(&path);
        let log = log.with_context(|| path.display().to_string())?;
        let errors = log.try_clone().with_context(|| path.display().to_string())?;
        let program = std::env::current_exe().context("cannot find this program")?;
        Command::new(program)
            .args(command)
            .env("OMP_NUM_THREADS", "1")
            .stdin(Stdio::null())
            .stdout(log)
            .stderr(errors)
            .spawn()
            .context("cannot start a process")
    }

    fn failed(&self, job: &Job, status: &str) -> anyhow::Error {
        let log = self.log(job);
        let text = std::fs::read_to_string(&log).unwrap_or_default();
        let last = text.lines().last().unwrap_or("no word").trim_start_matches("error: ");
        anyhow::anyhow!("{}: {last} ({status}; {})", job.name, log.display())
    }
}

/// Asks a process to end as this one was. Ctrl-C reaches it too, and it takes both for one.
fn pass_on(interruption: Interruption, child: &Child) {
    let signal = match interruption {
        Interruption::Interrupt => Signal::INT,
        Interruption::Terminate | Interruption::Deadline => Signal::TERM,
    };
    let _ = kill_process(Pid::from_child(child), signal);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The commands are this test's own program, which runs no test of these names.
    #[test]
    fn a_job_that_cannot_start_waits_for_those_that_run() {
        let folder = tempfile::tempdir().unwrap();
        let job = |name: &str| Job {
            name: name.to_owned(),
            commands: ["first", "second"].map(|test| vec!["--exact".into(), test.into()]),
        };
        std::fs::create_dir(folder.path().join("blocked.log")).unwrap();
        let (signals, progress) = (Signals::default(), Progress::new("jobs", 3, 0));
        let pool =
            Pool { processes: 2, logs: folder.path(), signals: &signals, progress: &progress };
        let error = pool.run(&["one", "blocked", "never"].map(job), 0).unwrap_err();
        assert!(error.to_string().contains("blocked.log"), "{error:#}");
        let log = std::fs::read_to_string(folder.path().join("one.log")).unwrap();
        assert_eq!(log.matches("running 0 tests").count(), 1, "{log}");
        assert!(!folder.path().join("never.log").exists());
    }
}
