//! The processes of a launch: start, watch, signal, reap.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::Context;
use ranks::record::{self, Record};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGUSR1};
use signal_hook::iterator::Signals;
use tempfile::TempDir;

use super::ended::{Ended, LaunchEvent, RankFailed};
use super::hosts::Hosts;
use super::options::LaunchOptions;
use super::supervision::Supervision;
use crate::child_group::kill_all;

/// Interval at which the launcher checks for signals.
const LOOK: Duration = Duration::from_millis(20);
/// Longest time to wait for the last lines of ranks that have ended.
const LAST_LINES: Duration = Duration::from_secs(2);

/// Starts the ranks of this host and waits until all have ended.
///
/// Every rank leads its own process group. SIGTERM, SIGINT, SIGHUP and SIGUSR1 are passed on to all groups, SIGHUP as SIGTERM.
/// When one rank fails, the others get SIGTERM, and SIGKILL after the grace. Launchers of other hosts hear of it through the
/// store and do the same. If a rank of this host failed, the error is [`RankFailed`].
pub(crate) fn launch(options: &LaunchOptions) -> anyhow::Result<()> {
    options.check()?;
    let (sender, events) = channel();
    // A signal still ends the launcher while it waits for other hosts.
    let hosts = Hosts::join(options, sender.clone())?;
    let requests = Signals::new([SIGUSR1, SIGINT, SIGTERM, SIGHUP]);
    let mut requests = requests.context("cannot listen for signals")?;
    if let Some(directory) = &options.log_dir {
        fs::create_dir_all(directory)
            .with_context(|| format!("cannot make {}", directory.display()))?;
    }
    // Without this directory the first failure is named, even if another rank caused it.
    let records = tempfile::tempdir().ok();
    let mut ranks = Ranks { options, leaders: Vec::new(), copies: Vec::new(), records };
    for index in 0..options.processes {
        if let Err(error) = ranks.start(index, hosts.port, &sender) {
            hosts.tell(format!("{error:#}"));
            drop(ranks);
            hosts.wait_for_others(Some(options.grace), || false);
            return Err(error);
        }
    }
    let (outcome, elsewhere) = ranks.supervise(&hosts, &mut requests, &events);
    ranks.end();
    let is_well = outcome.is_ok() && elsewhere.is_none();
    let patience = (!is_well).then_some(options.grace);
    hosts.wait_for_others(patience, || !taken(&mut requests).is_empty());
    let told_since = || {
        events.try_iter().find_map(|event| match event {
            LaunchEvent::OtherHost(failure) => Some(failure),
            LaunchEvent::Ended(..) => None,
        })
    };
    match (outcome.map_err(anyhow::Error::from), elsewhere.or_else(told_since)) {
        (outcome, None) => outcome,
        (Ok(()), Some(elsewhere)) => Err(anyhow::Error::msg(elsewhere)),
        (Err(failed), Some(elsewhere)) => Err(failed.context(elsewhere)),
    }
}

/// The signals since the last call, each once, as the ranks get them. A request for a checkpoint comes before one to end.
fn taken(requests: &mut Signals) -> Vec<Signal> {
    let passed_on = |signal| match signal {
        SIGUSR1 => Signal::USR1,
        SIGINT => Signal::INT,
        _ => Signal::TERM,
    };
    let mut signals: Vec<Signal> = requests.pending().map(passed_on).collect();
    signals.sort_by_key(|signal| *signal != Signal::USR1);
    signals
}

/// All processes that were started. Dropping it kills every one.
struct Ranks<'a> {
    options: &'a LaunchOptions,
    leaders: Vec<Child>,
    copies: Vec<JoinHandle<()>>,
    /// Directory in which failed ranks leave their error records.
    records: Option<TempDir>,
}

impl Ranks<'_> {
    fn start(
        &mut self,
        index: usize,
        port: u16,
        ended: &Sender<LaunchEvent>,
    ) -> anyhow::Result<()> {
        let options = self.options;
        let rank = options.first_rank() + index;
        let mut command = Command::new(&options.command[0]);
        command.args(&options.command[1..]);
        command.envs(options.variables(index, port));
        let record = self.records.as_ref().map(|folder| folder.path().join(rank.to_string()));
        // An empty name asks for no record.
        command.env(record::VARIABLE, record.as_deref().unwrap_or(Path::new("")));
        // Set before the ranks start, so that they need not start again.
        command.envs(crate::openmp::variable());
        if std::env::var_os("OMP_NUM_THREADS").is_none() {
            let processors = std::thread::available_parallelism().map_or(1, usize::from);
            command.env("OMP_NUM_THREADS", (processors / options.processes).max(1).to_string());
        }
        command.process_group(0).stdin(Stdio::null());
        match &options.log_dir {
            None => command.stdout(Stdio::piped()).stderr(Stdio::piped()),
            Some(directory) => {
                let path = directory.join(format!("rank-{rank}.log"));
                let file = File::options().create(true).append(true).open(&path);
                let file = file.with_context(|| format!("cannot write {}", path.display()))?;
                command.stdout(file.try_clone().context("cannot share a log file")?).stderr(file)
            }
        };
        let program = || format!("cannot start {}", options.command[0].display());
        let mut leader = command.spawn().with_context(program)?;
        if let Some(from) = leader.stdout.take() {
            self.copies.push(std::thread::spawn(move || copy_lines(rank, from, io::stdout())));
        }
        if let Some(from) = leader.stderr.take() {
            self.copies.push(std::thread::spawn(move || copy_lines(rank, from, io::stderr())));
        }
        let (process, ended) = (Pid::from_child(&leader), ended.clone());
        self.leaders.push(leader);
        std::thread::spawn(move || {
            let how = wait_for_end(process);
            let culprit = record.and_then(|path| Record::read(&path)?.culprit);
            // The channel is closed once the launcher is done.
            let _ = ended.send(LaunchEvent::Ended(rank, how, culprit));
        });
        Ok(())
    }

    /// Waits until all ranks have ended. Returns the first failure on this host, and that of another host if one was reported.
    fn supervise(
        &self,
        hosts: &Hosts,
        requests: &mut Signals,
        events: &Receiver<LaunchEvent>,
    ) -> (Result<(), RankFailed>, Option<String>) {
        let first = self.options.first_rank();
        let ranks = first..first + self.leaders.len();
        let mut supervision = Supervision::new(ranks, self.options.ranks(), self.options.grace);
        let (mut elsewhere, mut has_told) = (None, false);
        while !supervision.is_over() {
            let event = match events.recv_timeout(LOOK) {
                Ok(event) => Some(event),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => break,
            };
            let now = Instant::now();
            for signal in taken(requests) {
                self.signal(&supervision, signal);
                if signal != Signal::USR1 {
                    supervision.on_asked_to_end(now);
                }
            }
            let mut told = None;
            // Ranks that ended at the same time are handled before any rank is told to end.
            for event in event.into_iter().chain(events.try_iter()) {
                told = told.or(match event {
                    LaunchEvent::Ended(rank, how, culprit) => {
                        supervision.on_end(rank, how, culprit, now)
                    }
                    LaunchEvent::OtherHost(failure) => {
                        eprintln!("{failure}: ending the ranks of this host");
                        elsewhere = Some(failure);
                        supervision.on_failure_elsewhere(now)
                    }
                });
            }
            if let Err(failed) = supervision.outcome()
                && !has_told
                && failed.how().interruption().is_none()
            {
                hosts.tell(failed.to_string());
                has_told = true;
            }
            if let Some(signal) = told.or_else(|| supervision.on_time(now)) {
                self.end_by(signal, &mut supervision);
            }
        }
        if supervision.has_failed() {
            self.kill();
        }
        (supervision.outcome(), elsewhere)
    }

    /// Tells the ranks that still run to end, or kills them.
    fn end_by(&self, signal: Signal, supervision: &mut Supervision) {
        if signal == Signal::KILL {
            let seconds = self.options.grace.as_secs_f64();
            for rank in supervision.running() {
                eprintln!("rank {rank} did not end within {seconds} s and is killed");
            }
        } else if let Err(failed) = supervision.outcome() {
            eprintln!("{failed}: ending the others");
        }
        self.signal(supervision, signal);
        supervision.on_told_to_end();
    }

    /// Sends a signal to the process groups of all ranks that still run.
    fn signal(&self, supervision: &Supervision, signal: Signal) {
        for rank in supervision.running() {
            // The leader may end at this moment. It is not reaped yet, so no other process has its number.
            let leader = &self.leaders[rank - self.options.first_rank()];
            let _ = kill_process_group(Pid::from_child(leader), signal);
        }
    }

    /// Kills every process group, with whatever processes the ranks left behind.
    fn kill(&self) {
        self.leaders.iter().for_each(kill_all);
    }

    /// Reaps all ranks and waits briefly for their last lines.
    fn end(&mut self) {
        for leader in &mut self.leaders {
            let _ = leader.wait();
        }
        self.leaders.clear();
        let began = Instant::now();
        for copy in self.copies.drain(..) {
            // A process that a rank has left running may keep its output open for ever.
            while !copy.is_finished() && began.elapsed() < LAST_LINES {
                std::thread::sleep(Duration::from_millis(1));
            }
        }
    }
}

impl Drop for Ranks<'_> {
    fn drop(&mut self) {
        self.kill();
        for leader in &mut self.leaders {
            let _ = leader.wait();
        }
    }
}

/// Waits for the end of a process without reaping it, so that its number is not reused.
fn wait_for_end(process: Pid) -> Ended {
    loop {
        match waitid(WaitId::Pid(process), WaitIdOptions::EXITED | WaitIdOptions::NOWAIT) {
            Err(error) if error == rustix::io::Errno::INTR => {}
            Ok(Some(status)) => {
                let signal = status.terminating_signal().map(Ended::Signal);
                return signal.unwrap_or(Ended::Code(status.exit_status().unwrap_or(1)));
            }
            // Another process reaped it: how it ended is lost.
            Ok(None) | Err(_) => return Ended::Code(1),
        }
    }
}

/// Copies `from` line by line to `into`, each line after `[rank] `; a last line without a line end gets one.
///
/// Every line is one write, so lines of several ranks do not mix. If `into` is closed, `from` is still read to its end: a rank
/// must not block on a reader that is gone.
pub(super) fn copy_lines(rank: usize, from: impl Read, mut into: impl Write) {
    let mut reader = BufReader::new(from);
    let mut line = Vec::new();
    let mut is_read = true;
    loop {
        line.clear();
        line.extend(format!("[{rank}] ").bytes());
        let Ok(1..) = reader.read_until(b'\n', &mut line) else { return };
        if line.last() != Some(&b'\n') {
            line.push(b'\n');
        }
        is_read = is_read && into.write_all(&line).and_then(|()| into.flush()).is_ok();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use signal_hook::low_level::raise;
    use std::io;

    #[test]
    fn a_checkpoint_is_asked_for_before_the_end() {
        let mut requests = Signals::new([SIGHUP, SIGUSR1]).unwrap();
        for signal in [SIGHUP, SIGUSR1] {
            raise(signal).unwrap();
        }
        assert_eq!(taken(&mut requests), [Signal::USR1, Signal::TERM]);
    }

    /// Records every write separately.
    #[derive(Default)]
    struct Writes(Vec<Vec<u8>>);

    impl Write for &mut Writes {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.push(bytes.to_vec());
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn every_line_is_one_write_with_its_rank() {
        let mut writes = Writes::default();
        copy_lines(3, &b"one\n\n\xff\nlast"[..], &mut writes);
        let expected: [&[u8]; 4] = [b"[3] one\n", b"[3] \n", b"[3] \xff\n", b"[3] last\n"];
        assert_eq!(writes.0, expected);
    }

    #[test]
    fn a_reader_that_is_gone_stops_nobody() {
        let (reader, writer) = io::pipe().unwrap();
        drop(reader);
        let mut left = &b"one\ntwo\n"[..];
        copy_lines(0, &mut left, writer);
        assert!(left.is_empty());
    }
}
