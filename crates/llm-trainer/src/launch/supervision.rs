//! Decides what to do when a rank ends or the run is asked to end. Decisions only, no processes.

use std::collections::BTreeMap;
use std::ops::Range;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use super::ended::{Ended, Fault, RankFailed};
use crate::interruption::insists;

/// State of this host's ranks, by their numbers in the run, and the decisions that follow from it.
#[derive(Debug, Default)]
pub(super) struct Supervision {
    /// Ranks of this host.
    ranks: Range<usize>,
    ended: BTreeMap<usize, End>,
    /// Number of ranks of the run.
    world: usize,
    grace: Duration,
    /// Ranks that failed before they were told to end, in that order.
    failed: Vec<usize>,
    /// True once ranks were told to end because one had failed.
    told_to_end: bool,
    /// True once a rank of another host has failed.
    failed_elsewhere: bool,
    /// Time of the first request to end the run.
    asked_to_end: Option<Instant>,
    /// Time at which the ranks that still run are killed.
    deadline: Option<Instant>,
    killed: bool,
}

#[derive(Debug, Clone, Copy)]
struct End {
    how: Ended,
    /// The rank that this rank blames.
    culprit: Option<usize>,
    /// True if the rank had been told to end before.
    was_told: bool,
}

impl Supervision {
    pub(super) fn new(ranks: Range<usize>, world: usize, grace: Duration) -> Self {
        Self { ranks, world, grace, ..Self::default() }
    }

    pub(super) fn running(&self) -> impl Iterator<Item = usize> + '_ {
        self.ranks.clone().filter(|rank| !self.ended.contains_key(rank))
    }

    pub(super) fn is_over(&self) -> bool {
        self.running().next().is_none()
    }

    pub(super) fn has_failed(&self) -> bool {
        !self.failed.is_empty() || self.failed_elsewhere
    }

    /// Handles the end of a rank, which may name the rank to blame. Returns the signal for the others, if they are to get one. The first
    /// failure ends them, unless the run was already asked to end.
    pub(super) fn on_end(
        &mut self,
        rank: usize,
        how: Ended,
        culprit: Option<usize>,
        now: Instant,
    ) -> Option<Signal> {
        let was_told = self.told_to_end;
        self.ended.insert(rank, End { how, culprit, was_told });
        // Ranks that end because they were told to are not failures, whatever their exit code.
        if how.is_success() || was_told {
            return None;
        }
        self.failed.push(rank);
        if self.failed.len() > 1 {
            return None;
        }
        if how.interruption().is_some() {
            self.deadline.get_or_insert(now + self.grace);
            return None;
        }
        self.terminate(now)
    }

    pub(super) fn on_failure_elsewhere(&mut self, now: Instant) -> Option<Signal> {
        let is_news = !self.has_failed();
        self.failed_elsewhere = true;
        if is_news { self.terminate(now) } else { None }
    }

    fn terminate(&mut self, now: Instant) -> Option<Signal> {
        self.deadline.get_or_insert(now + self.grace);
        let is_needed = self.asked_to_end.is_none() && !self.is_over();
        is_needed.then_some(Signal::TERM)
    }

    /// Records that the ranks have been told to end: their exit codes no longer say who failed.
    pub(super) fn on_told_to_end(&mut self) {
        self.told_to_end = true;
    }

    /// Handles a request to end, which the ranks have received. After a later one that [insists], they have the grace left.
    pub(super) fn on_asked_to_end(&mut self, now: Instant) {
        if insists(&mut self.asked_to_end, now) {
            self.deadline.get_or_insert(now + self.grace);
        }
    }

    /// Returns the signal that kills, once the deadline has passed.
    pub(super) fn on_time(&mut self, now: Instant) -> Option<Signal> {
        let is_due = self.deadline.is_some_and(|deadline| now >= deadline);
        if !is_due || self.killed || self.is_over() {
            return None;
        }
        self.killed = true;
        Some(Signal::KILL)
    }

    /// The failure, if there was one, with the rank to blame.
    pub(super) fn outcome(&self) -> Result<(), RankFailed> {
        let Some(&first) = self.failed.first() else { return Ok(()) };
        let culprit = self.culprit(first);
        let (rank, fault) = match self.fault(culprit) {
            Some(fault) => (culprit, fault),
            None => (first, Fault::Ended(self.ended[&first].how)),
        };
        let others = self.failed.iter().filter(|&&failed| failed != rank);
        let followers = others.map(|failed| (*failed, self.ended[failed].how)).collect();
        Err(RankFailed { rank, ranks: self.world, fault, followers })
    }

    /// Follows the chain of blame from a rank as far as it is known. A cycle ends it.
    fn culprit(&self, first: usize) -> usize {
        let mut named = vec![first];
        loop {
            let last = named[named.len() - 1];
            match self.ended.get(&last).and_then(|end| end.culprit) {
                Some(next) if next < self.world && !named.contains(&next) => named.push(next),
                _ => return last,
            }
        }
    }

    /// The fault of a rank of the run; `None` if it ended well and is not to blame.
    fn fault(&self, rank: usize) -> Option<Fault> {
        match self.ended.get(&rank) {
            None if self.ranks.contains(&rank) => Some(Fault::Silent),
            None => Some(Fault::Elsewhere),
            Some(end) if end.how.is_success() => None,
            Some(&End { how, was_told, .. }) => {
                let obeyed = matches!(how, Ended::Signal(_)) || how.interruption().is_some();
                Some(if was_told && obeyed { Fault::Silent } else { Fault::Ended(how) })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GRACE: Duration = Duration::from_secs(10);

    fn three() -> (Supervision, Instant) {
        (Supervision::new(0..3, 3, GRACE), Instant::now())
    }

    #[test]
    fn ranks_that_do_not_end_are_killed_once() {
        let (mut ranks, now) = three();
        assert_eq!(ranks.on_end(1, Ended::Signal(11), None, now), Some(Signal::TERM));
        ranks.on_told_to_end();
        for (waited, step) in [(GRACE / 2, None), (GRACE, Some(Signal::KILL)), (2 * GRACE, None)] {
            assert_eq!(ranks.on_time(now + waited), step);
        }
    }

    /// A rank's end, and the rank that it blames.
    type Report = (usize, Ended, Option<usize>);

    fn code(rank: usize, code: i32, culprit: Option<usize>) -> Report {
        (rank, Ended::Code(code), culprit)
    }

    fn blames(rank: usize, culprit: usize) -> Report {
        code(rank, 2, Some(culprit))
    }

    /// The failure after these ends, and its exit code; the ends of `after` come once all were told to end.
    fn failure(mut ranks: Supervision, before: &[Report], after: &[Report]) -> String {
        for &(rank, how, culprit) in before {
            ranks.on_end(rank, how, culprit, Instant::now());
        }
        if !after.is_empty() {
            ranks.on_told_to_end();
        }
        for &(rank, how, culprit) in after {
            assert_eq!(ranks.on_end(rank, how, culprit, Instant::now()), None);
        }
        let failed = ranks.outcome().unwrap_err();
        let obeyed = if failed.interruption().is_some() { ", as it was asked to" } else { "" };
        format!("{failed}: {}{obeyed}", failed.how().exit_code())
    }

    #[test]
    fn ranks_that_failed_before_they_were_told_to_end_are_named_in_order() {
        let killed = (1, Ended::Signal(9), None);
        assert_eq!(
            failure(three().0, &[killed, code(0, 2, None)], &[(2, Ended::Signal(6), None)]),
            "rank 1 of 3 ended with signal 9 (SIGKILL), then rank 0 with exit code 2: 137"
        );
        assert_eq!(
            failure(three().0, &[code(1, 75, None), code(0, 75, None)], &[]),
            "rank 1 of 3 ended with exit code 75, then rank 0 with exit code 75: 75, as it was asked to"
        );
        assert_eq!(
            failure(three().0, &[code(2, 130, None)], &[]),
            "rank 2 of 3 ended with exit code 130: 130, as it was asked to"
        );
    }

    /// A stopped rank (SIGSTOP) ends only when it is killed.
    #[test]
    fn a_rank_that_others_name_is_to_blame() {
        let stopped = "rank 1 of 3 stopped answering, then rank 0 ended with exit code 2";
        let killed = (1, Ended::Signal(9), None);
        assert_eq!(
            failure(three().0, &[blames(0, 1), blames(2, 1)], &[killed]),
            format!("{stopped}, rank 2 with exit code 2: 2")
        );
        // A rank that obeys when told to end makes no request to end the run.
        let obeys = [code(1, 143, None)];
        assert_eq!(failure(three().0, &[blames(0, 1)], &obeys), format!("{stopped}: 2"));
        // A rank with a full disk tells the others, who may end before it.
        assert_eq!(
            failure(three().0, &[blames(2, 0)], &[blames(1, 0), code(0, 7, None)]),
            "rank 0 of 3 ended with exit code 7, then rank 2 with exit code 2: 7"
        );
    }

    #[test]
    fn whoever_is_named_by_the_one_that_is_named_is_to_blame() {
        assert_eq!(
            failure(three().0, &[blames(0, 2), blames(2, 1)], &[]),
            "rank 1 of 3 stopped answering, then rank 0 ended with exit code 2, rank 2 with exit code 2: 2"
        );
        assert_eq!(
            failure(three().0, &[blames(0, 1), code(1, 3, Some(0))], &[]),
            "rank 1 of 3 ended with exit code 3, then rank 0 with exit code 2: 3"
        );
        // A rank that ended well is not to blame, nor one that does not exist.
        for blamed in [1, 3] {
            let text = failure(three().0, &[code(1, 0, None), blames(0, blamed)], &[]);
            assert_eq!(text, "rank 0 of 3 ended with exit code 2: 2");
        }
    }

    #[test]
    fn ranks_are_named_as_the_run_counts_them_and_one_of_another_host_may_be_to_blame() {
        let third_host = || Supervision::new(4..6, 6, GRACE);
        assert_eq!(
            failure(third_host(), &[code(5, 3, None), code(4, 2, None)], &[]),
            "rank 5 of 6 ended with exit code 3, then rank 4 with exit code 2: 3"
        );
        assert_eq!(
            failure(third_host(), &[blames(5, 0)], &[]),
            "rank 0 of 6 failed, then rank 5 ended with exit code 2: 2"
        );
    }

    #[test]
    fn a_failure_of_the_last_rank_leaves_nobody_to_end() {
        let (mut ranks, now) = three();
        let steps = [0, 0, 7].into_iter().enumerate();
        let steps = steps.map(|(rank, code)| ranks.on_end(rank, Ended::Code(code), None, now));
        assert_eq!(steps.collect::<Vec<_>>(), [None; 3]);
    }

    #[test]
    fn a_failure_on_another_host_ends_these_ranks_who_are_not_to_blame() {
        let (mut ranks, now) = three();
        assert_eq!(ranks.on_failure_elsewhere(now), Some(Signal::TERM));
        ranks.on_told_to_end();
        assert_eq!(ranks.on_end(0, Ended::Code(2), None, now), None);
        assert_eq!(ranks.on_time(now + GRACE), Some(Signal::KILL));
        assert_eq!(ranks.outcome(), Ok(()));
        // The failure does not interrupt ranks that are already ending.
        let (mut ranks, now) = three();
        ranks.on_asked_to_end(now);
        assert_eq!(ranks.on_failure_elsewhere(now), None);
    }

    #[test]
    fn ranks_that_end_as_they_were_asked_to_have_time() {
        // A second request begins the grace unless it comes with the first, as does the first rank that ends, by its deadline or
        // with a failure.
        let (mut ranks, now) = three();
        ranks.on_asked_to_end(now);
        ranks.on_asked_to_end(now + Duration::from_millis(20));
        assert_eq!(ranks.on_time(now + 100 * GRACE), None);
        ranks.on_asked_to_end(now + GRACE);
        assert_eq!(ranks.on_time(now + 2 * GRACE), Some(Signal::KILL));
        for (is_asked, how) in [(false, Ended::Code(75)), (true, Ended::Signal(15))] {
            let (mut ranks, now) = three();
            if is_asked {
                ranks.on_asked_to_end(now);
            }
            assert_eq!(ranks.on_end(1, how, None, now), None);
            assert_eq!(ranks.on_time(now + GRACE / 2), None);
            assert_eq!(ranks.on_time(now + GRACE), Some(Signal::KILL));
        }
    }
}
