//! Two hosts: network namespaces that a pair of virtual Ethernet devices joins, with a launcher in each.

use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

use crate::interruption::{signal, wait_for_steps};
use crate::ranks::same_run::{WIDE, assert_is_the_run_of_one};
use crate::ranks::torchrun::children_of;
use crate::ranks::{Process, finish, start, succeed};
use crate::training_run::{assert_success, train, train_command};

/// Timeout of the runs here that fail, in seconds.
const TIMEOUT: u64 = 15;
const ADDRESSES: [&str; 2] = ["10.77.0.1", "10.77.0.2"];
/// Port in the two network namespaces, which nothing else uses.
const PORT: &str = "29511";

/// Two hosts with one cable. Each lasts as long as the process that was started in its network.
struct Hosts([Child; 2]);

impl Hosts {
    /// `None`, and why on standard error, where this user or system may not make networks.
    fn joined() -> Option<Self> {
        let tried = [&["ip", "-V"][..], &["nsenter", "-V"], &["unshare", "-n", "true"]];
        for command in tried {
            if let Err(problem) = run(command) {
                eprintln!("no two hosts are tried: {} {problem}", command.join(" "));
                return None;
            }
        }
        let host_network = std::fs::read_link("/proc/self/ns/net").expect("Linux");
        let host = || {
            let mut command = Command::new("unshare");
            let host = command.args(["-n", "sleep", "infinity"]).spawn().expect("it was tried");
            let network = format!("/proc/{}/ns/net", host.id());
            while std::fs::read_link(&network).is_ok_and(|network| network == host_network) {
                std::thread::sleep(Duration::from_millis(5));
            }
            host
        };
        let hosts = Self([host(), host()]);
        let [first, second] = hosts.0.each_ref().map(|host| host.id().to_string());
        let cable = ["ip", "link", "add", "cable", "netns", &first, "type", "veth"];
        let cable = [&cable[..], &["peer", "name", "cable", "netns", &second]].concat();
        if let Err(problem) = run(&cable) {
            eprintln!("no two hosts are tried: {} {problem}", cable.join(" "));
            return None;
        }
        for (host, address) in ADDRESSES.iter().enumerate() {
            let address = format!("{address}/24");
            hosts.ip(host, &["link", "set", "lo", "up"]);
            hosts.ip(host, &["address", "add", &address, "dev", "cable"]);
            hosts.ip(host, &["link", "set", "cable", "up"]);
        }
        Some(hosts)
    }

    fn on(&self, host: usize) -> Command {
        let mut command = Command::new("nsenter");
        command.args(["-n", "-t", &self.0[host].id().to_string()]);
        command.stdin(Stdio::null());
        command.env("OMP_NUM_THREADS", "1");
        command
    }

    fn ip(&self, host: usize, arguments: &[&str]) {
        let output = self.on(host).arg("ip").args(arguments).output().expect("it was tried");
        assert!(output.status.success(), "{arguments:?}: {output:?}");
    }

    /// A launcher on each host, with so many ranks each, yet to be started.
    fn launchers(&self, processes: &str, command: &Command) -> [Command; 2] {
        [0, 1].map(|host| {
            let mut launcher = self.on(host);
            launcher.args([env!("CARGO_BIN_EXE_llm-trainer"), "launch", "-n", processes]);
            launcher.args(["--nnodes", "2", "--node-rank", &host.to_string()]);
            launcher.args(["--master-addr", ADDRESSES[0], "--master-port", PORT]);
            launcher.args(["--grace", "15", "--"]).arg(command.get_program());
            launcher.args(command.get_args());
            launcher
        })
    }

    /// Launchers of a run that has done two steps.
    fn under_way(&self, root: &Path) -> Vec<Process> {
        let timeout = format!("parallel.timeout_seconds={TIMEOUT}");
        let endless = ["training.steps=100000", "checkpoint.every=0", "evaluation.every=0"];
        let command = train_command(root, &[&endless[..], &[&timeout]].concat());
        let launchers = start(self.launchers("1", &command).into());
        wait_for_steps(root, 2);
        launchers
    }
}

impl Drop for Hosts {
    fn drop(&mut self) {
        for host in &mut self.0 {
            let _ = host.kill();
            let _ = host.wait();
        }
    }
}

fn run(command: &[&str]) -> Result<(), String> {
    let output = Command::new(command[0]).args(&command[1..]).output();
    let output = output.map_err(|error| error.to_string())?;
    let error = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    if output.status.success() { Ok(()) } else { Err(error) }
}

fn text(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Four ranks, two on each host; nobody has said which interface leads to the other.
#[test]
fn two_hosts_train_as_one() {
    let Some(hosts) = Hosts::joined() else { return };
    let [one, many] = [(); 2].map(|()| tempfile::tempdir().unwrap());
    assert_success(&train(one.path(), &[WIDE]));
    let settings = [WIDE, "parallel.zero=3", "training.micro_batch_tokens=20"];
    let launchers = hosts.launchers("2", &train_command(many.path(), &settings));
    let outputs = succeed(start(launchers.into()));
    assert_is_the_run_of_one(one.path(), many.path());
    let logs = many.path().join("run/logs");
    assert!((1..4).all(|rank| logs.join(format!("rank-{rank}.log")).is_file()));
    let first = String::from_utf8_lossy(&outputs[0].stdout);
    assert!(first.contains("[0] ") && first.contains("4 steps done"), "{first}");
    assert!(outputs[1].stdout.is_empty(), "{:?}", outputs[1]);
}

/// A distribution may map the first host's name to its loopback: then its ranks listen on the interface that leads to another host.
#[test]
fn a_name_that_means_loopback_at_home_is_no_address() {
    let Some(hosts) = Hosts::joined() else { return };
    let folder = tempfile::tempdir().unwrap();
    let ranks = [0, 1].map(|host| {
        let command = train_command(folder.path(), &["training.steps=1", "evaluation.every=0"]);
        let mut rank = hosts.on(host);
        rank.arg(command.get_program()).args(command.get_args());
        rank.env("RANK", host.to_string()).env("WORLD_SIZE", "2");
        rank.env("LOCAL_RANK", "0").env("LOCAL_WORLD_SIZE", "1").env("MASTER_PORT", PORT);
        rank.env("MASTER_ADDR", ["127.0.0.1", ADDRESSES[0]][host]);
        rank
    });
    succeed(start(ranks.into()));
}

/// Both sides end, each naming the other.
#[test]
fn a_link_that_goes_down_ends_both_hosts() {
    let Some(hosts) = Hosts::joined() else { return };
    let folder = tempfile::tempdir().unwrap();
    let launchers = hosts.under_way(folder.path());
    hosts.ip(1, &["link", "set", "cable", "down"]);
    let outputs = finish(launchers);
    for (rank, output) in outputs.iter().enumerate() {
        let error = text(output);
        assert_eq!(output.status.code(), Some(2), "{error}");
        let other = 1 - rank;
        assert!(error.contains(&format!("[{rank}] error: rank {rank}, step ")), "{error}");
        assert!(error.contains(&format!("rank {other} has not ")), "{error}");
        assert!(error.contains(&format!("last seen: rank {other}, step ")), "{error}");
        let last =
            format!("error: rank {other} of 2 failed, then rank {rank} ended with exit code 2");
        assert_eq!(error.lines().last(), Some(last.as_str()), "{error}");
    }
}

/// Its launcher tells the other's, which ends its ranks.
#[test]
fn a_rank_that_is_killed_ends_those_of_the_other_host() {
    let Some(hosts) = Hosts::joined() else { return };
    let folder = tempfile::tempdir().unwrap();
    let launchers = hosts.under_way(folder.path());
    let killed = children_of(launchers[1].id(), 1);
    assert_eq!(killed.len(), 1, "{killed:?}");
    assert_eq!(run(&["kill", "-KILL", &killed[0].to_string()]), Ok(()));
    let outputs = finish(launchers);
    let errors: Vec<String> = outputs.iter().map(text).collect();
    assert!(
        errors[1].ends_with("error: rank 1 of 2 ended with signal 9 (SIGKILL)\n"),
        "{errors:?}"
    );
    assert_eq!(outputs[1].status.code(), Some(137));
    let named = "rank 1 of 2 ended with signal 9 (SIGKILL), on host 1";
    assert!(errors[0].lines().last().is_some_and(|last| last.contains(named)), "{errors:?}");
    assert_ne!(outputs[0].status.code(), Some(0));
}

/// A host whose launcher and ranks are gone at once cannot tell: its silence does.
#[test]
fn a_host_that_is_lost_ends_the_other() {
    let Some(hosts) = Hosts::joined() else { return };
    for lost in [1, 0] {
        let folder = tempfile::tempdir().unwrap();
        let mut launchers = hosts.under_way(folder.path());
        let rank = children_of(launchers[lost].id(), 1)[0].to_string();
        signal(&launchers[lost], "-KILL");
        assert_eq!(run(&["kill", "-KILL", &rank]), Ok(()));
        let left = finish(vec![launchers.remove(1 - lost)]);
        let error = text(&left[0]);
        assert_ne!(left[0].status.code(), Some(0), "{error}");
        assert!(error.contains(&format!("rank {lost} ")) || error.contains("host 0"), "{error}");
    }
}
