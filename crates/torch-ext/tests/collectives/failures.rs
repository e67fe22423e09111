//! Ranks that do not join, die, stop, or call something else: every other rank gets an error, in time.

use std::net::TcpListener;
use std::process::{Child, Command, Output};
use std::time::Duration;

use tch::{Device, Kind, Tensor};
use torch_ext::{GroupError, ProcessGroup, ReduceOp, Store};
use workspace_tests::processes::{Port, Process, finish, text};

use crate::processes::{CONNECT, LONG, LOST, Run, TIMEOUT, command, error, wait_for_all};

const F32: (Kind, Device) = (Kind::Float, Device::Cpu);

/// Seconds that ranks wait for each other in tests of time-outs; all of them join within this time.
const PATIENCE: &str = "10";

/// Prints an error for the starting process to read.
pub(crate) fn say(error: &GroupError) {
    eprintln!("error: {error}");
}

/// Sleeps until the starting process ends this one.
fn hang() {
    std::thread::sleep(Duration::from_hours(24));
}

/// Every rank reports that it is ready. Rank 1, or another that the starting process names, then waits to be killed or stopped;
/// the others reduce.
pub(crate) fn lost_peer(group: &ProcessGroup) {
    let ready = Tensor::ones([1], F32);
    group.all_reduce(&ready, ReduceOp::Sum).unwrap();
    group.store().set(&format!("ready/{}", group.rank()), b"").unwrap();
    let lost = std::env::var(LOST).map_or(1, |rank| rank.parse().expect("set by a test"));
    if group.rank() == lost {
        hang();
    }
    let tensor = Tensor::ones([1024], F32);
    let error = group.all_reduce(&tensor, ReduceOp::Sum).expect_err("a rank is lost");
    assert!(matches!(error, GroupError::Failed { .. }), "{error:?}");
    // The group is closed for good: later calls fail too, without waiting for a time-out.
    group.all_reduce(&tensor, ReduceOp::Sum).expect_err("it stays lost");
    say(&error);
}

fn kill(process: &Child, signal: &str) {
    let process = process.id().to_string();
    let sent = Command::new("kill").args([signal, &process]).status();
    assert!(sent.expect("kill is there").success(), "{signal} could not be sent");
}

/// Output of a single rank, once it has ended.
fn one(command: &mut Command) -> Output {
    finish(vec![Process::start(command)]).remove(0)
}

#[test]
fn a_lone_rank_of_two_names_the_missing_one_after_the_time_out() {
    let port = Port::reserve();
    let message = error(&one(&mut command("join", 0, 2, port.number(), &[(TIMEOUT, "1.5")])));
    assert_eq!(message, "rank 0 of 2 waited 1.5 s for all to join, without ranks [1]");
}

/// Covers a port with no listener, and one whose listener is no store.
#[test]
fn a_rank_without_a_store_names_where_it_looked_and_how_long() {
    let (port, listener) = (Port::reserve(), TcpListener::bind("127.0.0.1:0").unwrap());
    let mute = listener.local_addr().unwrap().port();
    for (port, problem) in [
        (port.number(), "Connection refused (os error 111), for 1.5 s"),
        (mute, "no answer within 1.5 s"),
    ] {
        let message = error(&one(&mut command("join", 1, 2, port, &[(CONNECT, "1.5")])));
        let expected =
            format!("rank 1 of 2 could not reach the store at 127.0.0.1:{port}: {problem}");
        assert_eq!(message, expected);
    }
}

#[test]
fn a_port_that_is_taken_is_named_with_what_to_do() {
    let listener = TcpListener::bind("0.0.0.0:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let message = error(&one(&mut command("join", 0, 2, port, &[])));
    assert_eq!(
        message,
        format!(
            "rank 0 of 2 could not serve the store at 127.0.0.1:{port}: port {port} of this host is \
             taken; set MASTER_PORT to a free one, the same for every rank"
        )
    );
}

#[test]
fn two_processes_of_one_rank_are_found_out() {
    let mut run = Run::start("join", 1, &[("WORLD_SIZE", "2"), (TIMEOUT, "5")]);
    let port = run.store.port().unwrap();
    let extra = [("TORCHELASTIC_USE_AGENT_STORE", "True"), (TIMEOUT, "5")];
    run.ranks.push(Process::start(&mut command("join", 0, 2, port, &extra)));
    let errors: Vec<String> = run.outputs().iter().map(error).collect();
    let twice = "rank 0 of 2 has joined already, expected one process a rank";
    assert!(errors.iter().any(|message| message == twice), "{errors:?}");
}

#[test]
fn a_killed_rank_ends_the_operation_of_every_other_at_once() {
    // Longer than the test runs: the operation ends because the connections are closed.
    let run = Run::start("lost_peer", 4, &[(TIMEOUT, "100000")]);
    run.wait_for_all("ready");
    kill(&run.ranks[1], "-KILL");
    let outputs = run.outputs();
    for rank in [0, 2, 3] {
        let message = error(&outputs[rank]);
        assert!(
            message.starts_with(&format!("rank {rank} of 4: all-reduce of 1024 Float: "))
                && message.ends_with("; no word from rank 1"),
            "{message}"
        );
        assert!(!message.contains("frame #"), "no C++ stack trace: {message}");
        assert!(outputs[rank].status.success(), "{}", text(&outputs[rank]));
    }
}

#[test]
fn a_stopped_rank_ends_the_operation_of_every_other_after_the_time_out() {
    let mut run = Run::start("lost_peer", 2, &[(TIMEOUT, PATIENCE)]);
    run.wait_for_all("ready");
    kill(&run.ranks[1], "-STOP");
    let _lost = run.ranks.pop().unwrap();
    let message = error(&run.outputs()[0]);
    assert!(message.starts_with("rank 0 of 2: all-reduce of 1024 Float: "), "{message}");
    assert!(message.ends_with("; no word from rank 1"), "{message}");
}

/// Starts ranks whose store rank 0 serves, and waits until rank `lost` is about to be lost.
fn without_a_launcher(world_size: usize, lost: &str) -> Vec<Process> {
    let port = Port::reserve();
    let extra = [(TIMEOUT, PATIENCE), (LOST, lost)];
    let start =
        |rank| Process::start(&mut command("lost_peer", rank, world_size, port.number(), &extra));
    let ranks = (0..world_size).map(start).collect();
    let store = Store::connect("127.0.0.1", port.number(), LONG, LONG).expect("rank 0 serves");
    wait_for_all(&store, "ready", world_size);
    ranks
}

/// The store does not answer either.
#[test]
fn a_stopped_rank_0_that_serves_the_store_is_named_too() {
    let mut ranks = without_a_launcher(2, "0");
    kill(&ranks[0], "-STOP");
    let message = error(&finish(vec![ranks.pop().unwrap()])[0]);
    assert!(message.starts_with("rank 1 of 2: all-reduce of 1024 Float: "), "{message}");
    assert!(message.ends_with("; no word from rank 0"), "{message}");
}

/// Rank 0 knows first, and must not end its store before the others know.
#[test]
fn a_killed_rank_is_named_by_all_where_rank_0_serves_the_store() {
    let mut ranks = without_a_launcher(3, "1");
    drop(ranks.remove(1));
    for (rank, output) in [0, 2].into_iter().zip(finish(ranks)) {
        let message = error(&output);
        let began = format!("rank {rank} of 3: all-reduce of 1024 Float: ");
        assert!(
            message.starts_with(&began) && message.ends_with("; no word from rank 1"),
            "{message}"
        );
    }
}
