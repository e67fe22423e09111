//! Ranks that do not come, die, stop, or call something else: an error on every other rank, in time.

use std::process::{Child, Command};
use std::time::{Duration, Instant};

use tch::{Device, Kind, Tensor};
use torch_ext::{GroupError, ProcessGroup, ReduceOp, Store};

use crate::processes::{LOST, Run, TIMEOUT, VERIFY, command, error, free_port, text};

const F32: (Kind, Device) = (Kind::Float, Device::Cpu);

/// For the starting process to read.
pub(crate) fn say(error: &GroupError) {
    eprintln!("error: {error}");
}

/// Every rank says that it is there; rank 1, or another that the starting process names, then waits for what that does to
/// it, the others reduce.
pub(crate) fn lost_peer(group: &ProcessGroup) {
    let ready = Tensor::ones([1], F32);
    group.all_reduce(&ready, ReduceOp::Sum).unwrap();
    group.store().set(&format!("ready/{}", group.rank()), b"").unwrap();
    let lost = std::env::var(LOST).map_or(1, |rank| rank.parse().expect("set by a test"));
    if group.rank() == lost {
        std::thread::sleep(Duration::from_mins(1));
    }
    let tensor = Tensor::ones([1024], F32);
    let error = group.all_reduce(&tensor, ReduceOp::Sum).expect_err("a rank is lost");
    assert!(matches!(error, GroupError::Failed { .. }), "{error:?}");
    // The group is gone for good: what follows fails too, at once.
    let began = Instant::now();
    group.all_reduce(&tensor, ReduceOp::Sum).expect_err("it stays lost");
    assert!(began.elapsed() < Duration::from_secs(1), "{:?}", began.elapsed());
    say(&error);
}

/// Rank 0 waits for a message that rank 1 never sends.
pub(crate) fn lost_sender(group: &ProcessGroup) {
    group.barrier().unwrap();
    group.store().set(&format!("ready/{}", group.rank()), b"").unwrap();
    if group.rank() == 1 {
        std::thread::sleep(Duration::from_mins(1));
    }
    let error = group.recv(&Tensor::ones([7], F32), 1).expect_err("rank 1 sends nothing");
    say(&error);
}

/// The ranks call with different sizes, roots, kinds and operations.
pub(crate) fn disagreement(group: &ProcessGroup) {
    let rank = group.rank() as i64;
    let sizes = Tensor::ones([4 + 4 * rank], F32);
    let narrow = Tensor::ones([4], (Kind::BFloat16, Device::Cpu));
    let errors = [
        group.all_reduce(&sizes, ReduceOp::Sum),
        group.all_reduce(if rank == 0 { &sizes } else { &narrow }, ReduceOp::Sum),
        if rank == 0 { group.barrier() } else { group.all_reduce(&narrow, ReduceOp::Max) },
        group.broadcast(&narrow, group.rank()),
    ];
    for error in errors {
        let error = error.expect_err("the ranks do not agree");
        assert!(matches!(error, GroupError::Disagreement { .. }), "{error:?}");
        say(&error);
    }
    // Nothing was sent, so the group is as good as before.
    group.all_reduce(&narrow, ReduceOp::Sum).unwrap();
}

fn kill(process: &Child, signal: &str) {
    let process = process.id().to_string();
    let sent = Command::new("kill").args([signal, &process]).status();
    assert!(sent.expect("kill is there").success(), "{signal} could not be sent");
}

#[test]
fn a_lone_rank_of_two_names_the_missing_one_after_the_time_out() {
    let began = Instant::now();
    let port = free_port();
    let output = command("join", 0, 2, port, &[(TIMEOUT, "1.5")]).output().unwrap();
    assert_eq!(error(&output), "rank 0 of 2 waited 1.5 s for all to join, without ranks [1]");
    assert!((1.5..15.0).contains(&began.elapsed().as_secs_f64()), "{:?}", began.elapsed());
}

#[test]
fn a_rank_without_a_store_names_where_it_looked() {
    let port = free_port();
    let output = command("join", 1, 2, port, &[(TIMEOUT, "1.5")]).output().unwrap();
    let message = error(&output);
    let expected = format!("rank 1 of 2 could not reach the store at 127.0.0.1:{port}: ");
    assert!(message.starts_with(&expected), "{message}");
}

#[test]
fn two_processes_of_one_rank_are_found_out() {
    let mut run = Run::start("join", 1, &[("WORLD_SIZE", "2"), (TIMEOUT, "5")]);
    let port = run.store.port().unwrap();
    let extra = [("TORCHELASTIC_USE_AGENT_STORE", "True"), (TIMEOUT, "5")];
    run.ranks.push(command("join", 0, 2, port, &extra).spawn().unwrap());
    let errors: Vec<String> = run.outputs().iter().map(error).collect();
    let twice = "rank 0 of 2 has joined already, expected one process a rank";
    assert!(errors.iter().any(|message| message == twice), "{errors:?}");
}

#[test]
fn a_killed_rank_ends_the_operation_of_every_other_at_once() {
    let mut run = Run::start("lost_peer", 4, &[(TIMEOUT, "60")]);
    run.wait_for_all("ready");
    let began = Instant::now();
    run.ranks[1].kill().unwrap();
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
    // Far below the time-out, however busy the machine: the connections are closed.
    assert!(began.elapsed() < Duration::from_secs(30), "{:?}", began.elapsed());
}

#[test]
fn a_stopped_rank_ends_the_operation_of_every_other_after_the_time_out() {
    let mut run = Run::start("lost_peer", 2, &[(TIMEOUT, "3")]);
    run.wait_for_all("ready");
    kill(&run.ranks[1], "-STOP");
    let lost = run.ranks.pop().unwrap();
    let began = Instant::now();
    let message = error(&run.outputs()[0]);
    assert!(message.starts_with("rank 0 of 2: all-reduce of 1024 Float: "), "{message}");
    assert!(message.ends_with("; no word from rank 1"), "{message}");
    assert!(began.elapsed() < Duration::from_secs(15), "{:?}", began.elapsed());
    end(lost);
}

/// Ranks whose store rank 0 serves, with all of them at the point where `lost` is about to be lost.
fn without_a_launcher(world_size: usize, lost: &str) -> Vec<Child> {
    let port = free_port();
    let extra = [(TIMEOUT, "4"), (LOST, lost)];
    let start = |rank| command("lost_peer", rank, world_size, port, &extra).spawn();
    let ranks = (0..world_size).map(|rank| start(rank).expect("this binary runs")).collect();
    let store = Store::connect("127.0.0.1", port, Duration::from_secs(20)).expect("rank 0 serves");
    for rank in 0..world_size {
        let key = format!("attempt-0/join-0/world/ready/{rank}");
        store.wait_for(&key, Duration::from_secs(20)).expect("every rank gets there");
    }
    ranks
}

/// The store does not answer either.
#[test]
fn a_stopped_rank_0_that_serves_the_store_is_named_too() {
    let mut ranks = without_a_launcher(2, "0");
    kill(&ranks[0], "-STOP");
    let began = Instant::now();
    let message = error(&ranks.pop().unwrap().wait_with_output().unwrap());
    assert!(message.starts_with("rank 1 of 2: all-reduce of 1024 Float: "), "{message}");
    assert!(message.ends_with("; no word from rank 0"), "{message}");
    assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
    end(ranks.pop().unwrap());
}

/// Rank 0 is the first to know, and must not take the store away before the others do.
#[test]
fn a_killed_rank_is_named_by_all_where_rank_0_serves_the_store() {
    let mut ranks = without_a_launcher(3, "1");
    end(ranks.remove(1));
    for (rank, child) in [0, 2].into_iter().zip(ranks) {
        let message = error(&child.wait_with_output().unwrap());
        let began = format!("rank {rank} of 3: all-reduce of 1024 Float: ");
        assert!(
            message.starts_with(&began) && message.ends_with("; no word from rank 1"),
            "{message}"
        );
    }
}

#[test]
fn a_message_that_does_not_come_names_its_sender() {
    let mut run = Run::start("lost_sender", 2, &[(TIMEOUT, "2")]);
    run.wait_for_all("ready");
    let lost = run.ranks.pop().unwrap();
    let message = error(&run.outputs()[0]);
    assert!(message.starts_with("rank 0 of 2: receive of 7 Float from rank 1: "), "{message}");
    assert!(message.ends_with("; no word from rank 1"), "{message}");
    end(lost);
}

fn end(mut child: Child) {
    child.kill().expect("it is still there");
    child.wait().expect("it ends when killed");
}

#[test]
fn ranks_that_call_different_things_hear_so_on_both_sides() {
    let run = Run::start("disagreement", 2, &[(VERIFY, "1")]);
    let outputs = run.outputs();
    let said = |rank: usize| -> Vec<String> {
        assert!(outputs[rank].status.success(), "{}", text(&outputs[rank]));
        let all = text(&outputs[rank]);
        let lines = all.lines().filter_map(|line| line.split_once("error: "));
        lines.map(|(_, message)| message.to_owned()).collect()
    };
    assert_eq!(
        said(0),
        [
            "rank 0 of 2: all-reduce of 4 Float, but rank 1 calls all-reduce of 8 Float by sum",
            "rank 0 of 2: all-reduce of 4 Float, but rank 1 calls all-reduce of 4 BFloat16 by sum",
            "rank 0 of 2: barrier, but rank 1 calls all-reduce of 4 BFloat16 by max",
            "rank 0 of 2: broadcast of 4 BFloat16 from rank 0, but rank 1 calls broadcast of 4 \
             BFloat16 from 1 of the group",
        ]
    );
    assert_eq!(
        said(1)[0],
        "rank 1 of 2: all-reduce of 8 Float, but rank 0 calls all-reduce of 4 Float by sum"
    );
}
