use std::sync::mpsc::{Receiver, channel};

use super::*;

/// Threads of a machine that is busy with a build may not run for seconds.
const TIMEOUT: Duration = Duration::from_secs(12);

struct Rank {
    monitor: HeartbeatMonitor,
    status: Arc<Mutex<Status>>,
    ended: Receiver<Culprit>,
}

/// Ranks in one process: they share a store, and `end` sends a message.
fn ranks(count: usize) -> Vec<Rank> {
    let server = Store::serve(0, LONG).unwrap();
    let port = server.port().unwrap();
    let connect = || Store::connect("127.0.0.1", port, LONG, LONG).unwrap();
    let mut first = Some(server);
    let rank = |rank| {
        let (sender, ended) = channel();
        let end = Box::new(move |reason: &Culprit| drop(sender.send(reason.clone())));
        let status = Status { rank, phase: "sampling".to_owned(), ..Status::default() };
        let status = Arc::new(Mutex::new(status));
        let store = first.take().unwrap_or_else(connect);
        let monitor =
            HeartbeatMonitor::start(store, Arc::clone(&status), rank, count, TIMEOUT, end).unwrap();
        Rank { monitor, status, ended }
    };
    (0..count).map(rank).collect()
}

/// Longer than any decision takes.
const LONG: Duration = Duration::from_mins(5);

/// Waits until a condition holds for what a rank has seen.
fn wait_until(rank: &Rank, is_so: impl Fn(&Observations) -> bool) {
    let shared = &rank.monitor.shared;
    workspace_tests::processes::wait_until("a rank has seen it", || is_so(&shared.observations()));
}

#[test]
fn silence_is_counted_from_the_last_beat_to_the_last_answer() {
    let ranks = ranks(3);
    for rank in &ranks {
        rank.monitor.stop();
    }
    let now = Instant::now();
    let ago = |seconds: u64| now.checked_sub(Duration::from_secs(seconds)).unwrap();
    let patience = Duration::from_secs(4);
    let shared = &ranks[1].monitor.shared;
    let mut observations = shared.observations();
    let mut silent = |answered: u64, heard: [u64; 3]| {
        observations.answered = ago(answered);
        for (peer, heard) in observations.peers.iter_mut().zip(heard) {
            (peer.heard, peer.beats) = (ago(heard), 1);
        }
        shared.silent(&observations, patience, now).map(|culprit| (culprit.rank, culprit.message))
    };
    assert_eq!(silent(0, [4, 4, 4]), None);
    let (rank, message) = silent(0, [4, 4, 5]).unwrap();
    assert!(
        rank == 2 && message.starts_with("rank 2 has not been heard of for 5.0 s"),
        "{message}"
    );
    // The store answered last as long ago.
    assert_eq!(silent(3, [5, 5, 7]), None);
    let (rank, message) = silent(5, [5, 5, 10]).unwrap();
    assert!(rank == 0 && message.starts_with("rank 0 has not answered for 5.0 s"), "{message}");
}

#[test]
fn stragglers_are_behind_or_silent() {
    let ranks = ranks(3);
    for rank in &ranks {
        rank.monitor.stop();
    }
    let shared = &ranks[0].monitor.shared;
    let now = Instant::now();
    let mut observations = shared.observations();
    observations.answered = now;
    let first = Status { operations: 5, ..Status::default() };
    let mut stragglers = |beats_missed: [u32; 3], operations: [u64; 3]| -> Vec<usize> {
        for ((peer, missed), operations) in
            observations.peers.iter_mut().zip(beats_missed).zip(operations)
        {
            (peer.heard, peer.beats) = (now.checked_sub(shared.beat * missed).unwrap(), 1);
            peer.status.operations = operations;
        }
        shared.stragglers(&observations, &first).iter().map(|peer| peer.status.rank).collect()
    };
    assert_eq!(stragglers([0, 1, 1], [5, 5, 5]), [0; 0]);
    assert_eq!(stragglers([0, 1, 1], [5, 5, 4]), [2]);
    // Stopped after it began the operation that the others are in.
    assert_eq!(stragglers([0, MISSED + 1, 1], [5, 5, 5]), [1]);
}

#[test]
fn a_rank_that_falls_silent_ends_all_by_name() {
    let ranks = ranks(3);
    ranks[2].status.lock().unwrap().step = 7;
    wait_until(&ranks[0], |observations| observations.peers[2].status.step == 7);
    // Like SIGSTOP: neither sends heartbeats nor looks.
    ranks[2].monitor.stop();
    for rank in &ranks[..2] {
        let reason = rank.ended.recv_timeout(LONG).unwrap();
        let own_rank = rank.status.lock().unwrap().rank;
        assert_eq!(reason.rank, 2);
        let reason = reason.message;
        assert!(reason.starts_with(&format!("rank {own_rank}, step 0, sampling")), "{reason}");
        assert!(reason.contains("rank 2 has not been heard of for"), "{reason}");
        assert!(reason.contains("last seen: rank 2, step 7, sampling"), "{reason}");
    }
}

#[test]
fn what_one_rank_tells_ends_the_others() {
    let ranks = ranks(3);
    ranks[1].monitor.take_over();
    let message = "rank 1, step 3, saving: no space left".to_owned();
    ranks[1].monitor.tell(&Culprit { rank: 1, message });
    for rank in [&ranks[0], &ranks[2]] {
        let Culprit { rank, message: reason } = rank.ended.recv_timeout(LONG).unwrap();
        assert_eq!(rank, 1);
        assert!(reason.ends_with("rank 1, step 3, saving: no space left"), "{reason}");
    }
    ranks[1].ended.try_recv().unwrap_err();
}

#[test]
fn the_culprit_is_the_silent_one_or_the_one_behind() {
    let ranks = ranks(3);
    ranks[0].status.lock().unwrap().operations = 5;
    ranks[1].status.lock().unwrap().operations = 4;
    ranks[2].status.lock().unwrap().operations = 5;
    ranks[2].monitor.take_over();
    let Culprit { rank, message } = ranks[2].monitor.culprit(&[]).unwrap();
    assert_eq!(rank, 1);
    assert!(
        message.starts_with("rank 1 has not come to it: rank 1, step 0, sampling"),
        "{message}"
    );
    // Before the others' patience is over.
    ranks[1].monitor.stop();
    let Culprit { rank, message } = ranks[2].monitor.culprit(&[]).unwrap();
    assert_eq!(rank, 1);
    assert!(message.starts_with("rank 1 has not been heard of for"), "{message}");
}
