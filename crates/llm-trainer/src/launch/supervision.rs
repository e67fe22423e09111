//! Decides what to do when a rank ends or the run is asked to end. Decisions only, no processes.

use std::ops::Range;
use std::time::{Duration, Instant};

use super::ended::{Ended, Fault, RankFailed};

/// State of this host's ranks, indexed from 0, and the decisions that follow from it.
#[derive(Debug, Default)]
pub(super) struct Supervision {
    ended: Vec<Option<End>>,
    /// Rank of this host's first process; `world` is the number of ranks of the run.
    first: usize,
    world: usize,
    grace: Duration,
    /// Ranks that failed before they were told to end, in that order.
    failed: Vec<usize>,
    /// True once ranks were told to end because one had failed.
    told_to_end: bool,
    /// True once a rank of another host has failed.
    failed_elsewhere: bool,
    /// Number of requests to end the run.
    asked_to_end: usize,
    /// Time at which the ranks that still run are killed.
    deadline: Option<Instant>,
    killed: bool,
}

/// The end of a rank.
#[derive(Debug, Clone, Copy)]
struct End {
    how: Ended,
    /// The rank of the run that this rank blames.
    culprit: Option<usize>,
    /// True if the rank had been told to end before.
    was_told: bool,
}

/// Action on all ranks that have not ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// Ask the ranks to end.
    Terminate,
    /// Kill the ranks.
    Kill,
}

impl Supervision {
    /// Supervises the ranks `ranks` of a run of `world` ranks.
    pub(super) fn new(ranks: Range<usize>, world: usize, grace: Duration) -> Self {
        let (ended, first) = (vec![None; ranks.len()], ranks.start);
        Self { ended, first, world, grace, ..Self::default() }
    }

    pub(super) fn running(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.ended.len()).filter(|&rank| self.ended[rank].is_none())
    }

    pub(super) fn is_over(&self) -> bool {
        self.running().next().is_none()
    }

    pub(super) fn has_failed(&self) -> bool {
        !self.failed.is_empty() || self.failed_elsewhere
    }

    /// Handles the end of a rank, which may name the rank of the run to blame. The first failure ends the others, unless the
    /// run was already asked to end.
    pub(super) fn on_end(
        &mut self,
        rank: usize,
        how: Ended,
        culprit: Option<usize>,
        now: Instant,
    ) -> Option<Step> {
        let was_told = self.told_to_end;
        self.ended[rank] = Some(End { how, culprit, was_told });
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

    /// Handles the failure of a rank of another host.
    pub(super) fn on_failure_elsewhere(&mut self, now: Instant) -> Option<Step> {
        let is_news = !self.has_failed();
        self.failed_elsewhere = true;
        if is_news { self.terminate(now) } else { None }
    }

    fn terminate(&mut self, now: Instant) -> Option<Step> {
        self.deadline.get_or_insert(now + self.grace);
        if self.asked_to_end > 0 || self.is_over() {
            return None;
        }
        Some(Step::Terminate)
    }

    /// Records that the ranks have been told to end: their exit codes no longer say who failed.
    pub(super) fn on_told_to_end(&mut self) {
        self.told_to_end = true;
    }

    /// Handles a request to end, which the ranks have received. From the second request on, they have the grace left.
    pub(super) fn on_asked_to_end(&mut self, now: Instant) {
        self.asked_to_end += 1;
        if self.asked_to_end > 1 {
            self.deadline.get_or_insert(now + self.grace);
        }
    }

    /// Returns the kill step once the deadline has passed.
    pub(super) fn on_time(&mut self, now: Instant) -> Option<Step> {
        let is_due = self.deadline.is_some_and(|deadline| now >= deadline);
        if !is_due || self.killed || self.is_over() {
            return None;
        }
        self.killed = true;
        Some(Step::Kill)
    }

    /// The failure, if there was one, with the rank to blame.
    pub(super) fn outcome(&self) -> Result<(), RankFailed> {
        let Some(&first) = self.failed.first() else { return Ok(()) };
        let culprit = self.culprit(self.first + first);
        let (rank, fault) = self.fault(culprit).map_or_else(
            || (self.first + first, Fault::Ended(self.how(first))),
            |fault| (culprit, fault),
        );
        let others = self.failed.iter().filter(|&&failed| self.first + failed != rank);
        let followers = others.map(|&failed| (self.first + failed, self.how(failed))).collect();
        Err(RankFailed { rank, ranks: self.world, fault, followers })
    }

    /// Follows the chain of blame from a rank of the run as far as it is known. A cycle ends it.
    fn culprit(&self, of: usize) -> usize {
        let mut named = vec![of];
        loop {
            let last = named[named.len() - 1];
            let blamed = self.end_of(last).flatten().and_then(|end| end.culprit);
            match blamed {
                Some(next) if next < self.world && !named.contains(&next) => named.push(next),
                _ => return last,
            }
        }
    }

    /// The end of a rank of the run. The outer `None` means another host, the inner one that it still runs.
    #[expect(clippy::option_option, reason = "two questions")]
    fn end_of(&self, rank: usize) -> Option<Option<End>> {
        self.ended.get(rank.checked_sub(self.first)?).copied()
    }

    /// The fault of a rank of the run; `None` if it ended well and is not to blame.
    fn fault(&self, rank: usize) -> Option<Fault> {
        match self.end_of(rank) {
            None => Some(Fault::Elsewhere),
            Some(None) => Some(Fault::Silent),
            Some(Some(end)) if end.how.is_success() => None,
            Some(Some(End { how, was_told, .. })) => {
                let obeyed = matches!(how, Ended::Signal(_)) || how.interruption().is_some();
                Some(if was_told && obeyed { Fault::Silent } else { Fault::Ended(how) })
            }
        }
    }

    fn how(&self, failed: usize) -> Ended {
        self.ended[failed].map_or(Ended::Code(1), |end| end.how)
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
    fn ranks_that_all_succeed_need_nothing() {
        let (mut ranks, now) = three();
        for rank in [2, 0, 1] {
            assert!(!ranks.is_over());
            assert_eq!(ranks.on_end(rank, Ended::Code(0), None, now), None);
            assert_eq!(ranks.on_time(now + 10 * GRACE), None);
        }
        assert!(ranks.is_over());
        assert_eq!(ranks.outcome(), Ok(()));
    }

    #[test]
    fn the_first_failure_ends_the_others_and_is_the_outcome() {
        let (mut ranks, now) = three();
        assert_eq!(ranks.on_end(1, Ended::Signal(11), None, now), Some(Step::Terminate));
        // This rank failed before it was told to end, so it is named.
        assert_eq!(ranks.on_end(0, Ended::Code(2), None, now), None);
        ranks.on_told_to_end();
        assert_eq!(ranks.on_time(now + GRACE / 2), None);
        assert_eq!(ranks.on_time(now + GRACE), Some(Step::Kill));
        assert_eq!(ranks.on_time(now + 2 * GRACE), None, "once is enough");
        assert_eq!(ranks.on_end(2, Ended::Signal(9), None, now), None);
        assert!(ranks.is_over());
        let failed = ranks.outcome().unwrap_err();
        assert_eq!((failed.rank, failed.ranks), (1, 3));
        assert_eq!(failed.fault, Fault::Ended(Ended::Signal(11)));
        assert_eq!(failed.followers, [(0, Ended::Code(2))]);
    }

    /// The failure after these ends, each with the rank that it blames; those of `after` come once all were told to end.
    fn failure(
        mut ranks: Supervision,
        before: &[(usize, Ended, Option<usize>)],
        after: &[(usize, Ended, Option<usize>)],
    ) -> RankFailed {
        for &(rank, how, culprit) in before {
            ranks.on_end(rank, how, culprit, Instant::now());
        }
        if !after.is_empty() {
            ranks.on_told_to_end();
        }
        for &(rank, how, culprit) in after {
            assert_eq!(ranks.on_end(rank, how, culprit, Instant::now()), None);
        }
        ranks.outcome().unwrap_err()
    }

    /// A stopped rank (SIGSTOP) ends only when it is killed.
    #[test]
    fn a_rank_that_others_name_is_to_blame() {
        let blames = |rank| (rank, Ended::Code(2), Some(1));
        assert_eq!(
            failure(three().0, &[blames(0)], &[]).to_string(),
            "rank 1 of 3 stopped answering, then rank 0 ended with exit code 2"
        );
        let killed = (1, Ended::Signal(9), None);
        let failed = failure(three().0, &[blames(0), blames(2)], &[killed]);
        assert_eq!(
            failed.to_string(),
            "rank 1 of 3 stopped answering, then rank 0 ended with exit code 2, rank 2 with exit code 2"
        );
        assert_eq!((failed.exit_code(), failed.interruption()), (2, None));
        // A rank that obeys when told to end makes no request to end the run.
        let failed = failure(three().0, &[blames(0)], &[(1, Ended::Code(143), None)]);
        assert_eq!((failed.fault, failed.exit_code()), (Fault::Silent, 2));
        assert_eq!(failed.interruption(), None);
    }

    /// A rank with a full disk tells the others, who may end before it.
    #[test]
    fn a_rank_that_ends_after_those_who_name_it_is_named_with_its_end() {
        let blames = |rank| (rank, Ended::Code(2), Some(0));
        let failed = failure(three().0, &[blames(2)], &[blames(1), (0, Ended::Code(7), None)]);
        assert_eq!(
            failed.to_string(),
            "rank 0 of 3 ended with exit code 7, then rank 2 with exit code 2"
        );
        assert_eq!(failed.exit_code(), 7);
    }

    #[test]
    fn whoever_is_named_by_the_one_that_is_named_is_to_blame() {
        let ends = [(0, Ended::Code(2), Some(2)), (2, Ended::Code(2), Some(1))];
        assert_eq!(failure(three().0, &ends, &[]).rank, 1);
        let cycle = [(0, Ended::Code(2), Some(1)), (1, Ended::Code(3), Some(0))];
        assert_eq!(
            failure(three().0, &cycle, &[]).to_string(),
            "rank 1 of 3 ended with exit code 3, then rank 0 with exit code 2"
        );
        // A rank that ended well is not to blame, nor one that does not exist.
        for blamed in [1, 3] {
            let ends = [(1, Ended::Code(0), None), (0, Ended::Code(2), Some(blamed))];
            let text = failure(three().0, &ends, &[]).to_string();
            assert_eq!(text, "rank 0 of 3 ended with exit code 2");
        }
    }

    #[test]
    fn a_rank_of_another_host_may_be_to_blame() {
        let ranks = Supervision::new(2..4, 4, GRACE);
        assert_eq!(
            failure(ranks, &[(1, Ended::Code(2), Some(0))], &[]).to_string(),
            "rank 0 of 4 failed, then rank 3 ended with exit code 2"
        );
    }

    #[test]
    fn a_failure_of_the_last_rank_leaves_nobody_to_end() {
        let (mut ranks, now) = three();
        ranks.on_end(0, Ended::Code(0), None, now);
        ranks.on_end(1, Ended::Code(0), None, now);
        assert_eq!(ranks.on_end(2, Ended::Code(7), None, now), None);
        assert_eq!(ranks.outcome().unwrap_err().exit_code(), 7);
    }

    /// The third of three hosts with two ranks each.
    #[test]
    fn ranks_are_named_as_the_run_counts_them() {
        let ends = [(1, Ended::Code(3), None), (0, Ended::Code(2), None)];
        let failed = failure(Supervision::new(4..6, 6, GRACE), &ends, &[]);
        assert_eq!((failed.rank, failed.ranks), (5, 6));
        assert_eq!(failed.followers, [(4, Ended::Code(2))]);
    }

    #[test]
    fn a_failure_on_another_host_ends_these_ranks_who_are_not_to_blame() {
        let (mut ranks, now) = three();
        assert_eq!(ranks.on_end(1, Ended::Code(0), None, now), None);
        assert_eq!(ranks.on_failure_elsewhere(now), Some(Step::Terminate));
        ranks.on_told_to_end();
        assert_eq!(ranks.on_end(0, Ended::Code(2), None, now), None);
        assert_eq!(ranks.on_time(now + GRACE), Some(Step::Kill));
        assert_eq!(ranks.on_end(2, Ended::Signal(9), None, now), None);
        assert!(ranks.is_over() && ranks.has_failed());
        assert_eq!(ranks.outcome(), Ok(()));
        // The failure does not interrupt ranks that are already ending.
        let (mut ranks, now) = three();
        ranks.on_asked_to_end(now);
        assert_eq!(ranks.on_failure_elsewhere(now), None);
    }

    #[test]
    fn ranks_that_were_asked_to_end_are_given_the_time_they_need() {
        let (mut ranks, now) = three();
        ranks.on_asked_to_end(now);
        assert_eq!(ranks.on_time(now + 100 * GRACE), None);
        assert_eq!(ranks.on_end(0, Ended::Code(0), None, now), None);
        ranks.on_asked_to_end(now);
        assert_eq!(ranks.on_time(now + GRACE), Some(Step::Kill));
    }

    #[test]
    fn ranks_that_end_because_their_time_is_up_end_by_themselves() {
        let (mut ranks, now) = three();
        assert_eq!(ranks.on_end(1, Ended::Code(75), None, now), None);
        assert_eq!(ranks.on_end(0, Ended::Code(75), None, now), None);
        assert_eq!(ranks.on_time(now + GRACE / 2), None);
        assert_eq!(ranks.on_time(now + GRACE), Some(Step::Kill), "one that does not is killed");
        assert_eq!(ranks.outcome().unwrap_err().exit_code(), 75);
    }

    #[test]
    fn one_that_fails_after_all_were_asked_to_end_interrupts_nobody_s_last_step() {
        let (mut ranks, now) = three();
        ranks.on_asked_to_end(now);
        assert_eq!(ranks.on_end(0, Ended::Signal(15), None, now), None);
        assert_eq!(ranks.on_time(now + GRACE / 2), None);
        assert_eq!(ranks.on_time(now + GRACE), Some(Step::Kill));
        assert_eq!(ranks.outcome().unwrap_err().exit_code(), 143);
    }
}
