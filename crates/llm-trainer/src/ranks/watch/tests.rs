use std::sync::mpsc::{Receiver, channel};

use super::*;

/// Threads of a machine that is busy with a build may not run for a second.
const TIMEOUT: Duration = Duration::from_secs(4);

struct Rank {
    watch: Watch,
    status: Arc<Mutex<Status>>,
    ended: Receiver<String>,
}

/// Ranks in one process: they share a store, and `end` is a message.
fn ranks(count: usize) -> Vec<Rank> {
    let server = Store::serve(0, LONG).unwrap();
    let port = server.port().unwrap();
    let connect = || Store::connect("127.0.0.1", port, LONG).unwrap();
    let mut first = Some(server);
    let rank = |rank| {
        let (sender, ended) = channel();
        let end = Box::new(move |reason: &str| drop(sender.send(reason.to_owned())));
        let status = Status { rank, phase: "sampling".to_owned(), ..Status::default() };
        let status = Arc::new(Mutex::new(status));
        let store = first.take().unwrap_or_else(connect);
        let watch = Watch::start(store, Arc::clone(&status), (rank, count), TIMEOUT, end).unwrap();
        Rank { watch, status, ended }
    };
    (0..count).map(rank).collect()
}

/// Longer than any decision takes.
const LONG: Duration = Duration::from_secs(20);

#[test]
fn ranks_that_beat_are_left_alone() {
    let ranks = ranks(3);
    thread::sleep(TIMEOUT * 3 / 2);
    for rank in &ranks {
        rank.ended.try_recv().unwrap_err();
    }
    for rank in &ranks {
        rank.watch.leave();
    }
    thread::sleep(TIMEOUT * 3 / 2);
    assert!(ranks.iter().all(|rank| rank.ended.try_recv().is_err()), "nobody is missed any more");
}

#[test]
fn a_rank_that_falls_silent_ends_all_by_name() {
    let ranks = ranks(3);
    thread::sleep(TIMEOUT);
    ranks[2].status.lock().unwrap().step = 7;
    thread::sleep(TIMEOUT);
    // As by SIGSTOP: neither beats nor looks.
    ranks[2].watch.leave();
    for rank in &ranks[..2] {
        let reason = rank.ended.recv_timeout(LONG).unwrap();
        let own = rank.status.lock().unwrap().rank;
        assert!(reason.starts_with(&format!("rank {own}, step 0, sampling")), "{reason}");
        assert!(reason.contains("rank 2 has not been heard of for"), "{reason}");
        assert!(reason.contains("last seen: rank 2, step 7, sampling"), "{reason}");
    }
}

#[test]
fn what_one_rank_tells_ends_the_others() {
    let ranks = ranks(3);
    ranks[1].watch.take_over();
    ranks[1].watch.tell("rank 1, step 3, saving: no space left");
    for rank in [&ranks[0], &ranks[2]] {
        let reason = rank.ended.recv_timeout(LONG).unwrap();
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
    ranks[2].watch.take_over();
    let culprit = ranks[2].watch.culprit(&[]).unwrap();
    assert!(
        culprit.starts_with("rank 1 has not come to it: rank 1, step 0, sampling"),
        "{culprit}"
    );
    // Before the others' patience is over.
    ranks[1].watch.leave();
    let culprit = ranks[2].watch.culprit(&[]).unwrap();
    assert!(culprit.starts_with("rank 1 has not been heard of for"), "{culprit}");
}
