//! What to do when a rank ends, or somebody asks all to end: decisions only, no processes.

use std::ops::Range;
use std::time::{Duration, Instant};

use super::ended::{Ended, RankFailed};

/// What is known of the ranks of this host, which are counted from 0 here, and what follows from it.
#[derive(Debug)]
pub(super) struct Supervision {
    ended: Vec<Option<Ended>>,
    /// Of the run: the first that is counted here, and how many there are.
    first: usize,
    world: usize,
    grace: Duration,
    /// The first rank that failed.
    culprit: Option<(usize, Ended)>,
    followers: Vec<(usize, Ended)>,
    /// Whether the ranks were told to end because one had failed.
    told_to_end: bool,
    /// Whether one of another host had.
    failed_elsewhere: bool,
    /// How often somebody asked for the end.
    asked_to_end: usize,
    /// When those that are left are killed.
    deadline: Option<Instant>,
    killed: bool,
}

/// What to do with all ranks that have not ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    /// Ask them to end.
    Terminate,
    /// End them.
    Kill,
}

impl Supervision {
    /// Of the run's `ranks`, out of `world`.
    pub(super) fn new(ranks: Range<usize>, world: usize, grace: Duration) -> Self {
        Self {
            ended: vec![None; ranks.len()],
            first: ranks.start,
            world,
            grace,
            culprit: None,
            followers: Vec::new(),
            told_to_end: false,
            failed_elsewhere: false,
            asked_to_end: 0,
            deadline: None,
            killed: false,
        }
    }

    pub(super) fn running(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.ended.len()).filter(|&rank| self.ended[rank].is_none())
    }

    pub(super) fn is_over(&self) -> bool {
        self.running().next().is_none()
    }

    pub(super) fn has_failed(&self) -> bool {
        self.culprit.is_some() || self.failed_elsewhere
    }

    /// A rank has ended. The first failure ends the others; not where somebody had asked for the end: they are at it.
    pub(super) fn on_end(&mut self, rank: usize, how: Ended, now: Instant) -> Option<Step> {
        self.ended[rank] = Some(how);
        if how.is_success() {
            return None;
        }
        if self.culprit.is_some() || self.told_to_end {
            // Ranks that end because they were told to are no news, whatever code they end with.
            if !self.told_to_end {
                self.followers.push((rank, how));
            }
            return None;
        }
        self.culprit = Some((rank, how));
        if how.interruption().is_some() {
            self.deadline.get_or_insert(now + self.grace);
            return None;
        }
        self.terminate(now)
    }

    /// A rank of another host has failed.
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

    /// The ranks have been told to end: what they answer says nothing about who failed.
    pub(super) fn on_told_to_end(&mut self) {
        self.told_to_end = true;
    }

    /// Somebody asks for the end, which the ranks were told: the second time, they have until the grace is over.
    pub(super) fn on_asked_to_end(&mut self, now: Instant) {
        self.asked_to_end += 1;
        if self.asked_to_end > 1 {
            self.deadline.get_or_insert(now + self.grace);
        }
    }

    /// Time has passed.
    pub(super) fn on_time(&mut self, now: Instant) -> Option<Step> {
        let is_due = self.deadline.is_some_and(|deadline| now >= deadline);
        if !is_due || self.killed || self.is_over() {
            return None;
        }
        self.killed = true;
        Some(Step::Kill)
    }

    /// The first failure, if any.
    pub(super) fn outcome(&self) -> Result<(), RankFailed> {
        match self.culprit {
            None => Ok(()),
            Some((rank, how)) => {
                let of_run = |&(rank, how): &(usize, Ended)| (self.first + rank, how);
                let followers = self.followers.iter().map(of_run).collect();
                Err(RankFailed { rank: self.first + rank, ranks: self.world, how, followers })
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
    fn ranks_that_all_succeed_need_nothing() {
        let (mut ranks, now) = three();
        for rank in [2, 0, 1] {
            assert!(!ranks.is_over());
            assert_eq!(ranks.on_end(rank, Ended::Code(0), now), None);
            assert_eq!(ranks.on_time(now + 10 * GRACE), None);
        }
        assert!(ranks.is_over());
        assert_eq!(ranks.outcome(), Ok(()));
    }

    #[test]
    fn the_first_failure_ends_the_others_and_is_the_outcome() {
        let (mut ranks, now) = three();
        assert_eq!(ranks.on_end(1, Ended::Signal(11), now), Some(Step::Terminate));
        // Failed before it was told: it is mentioned.
        assert_eq!(ranks.on_end(0, Ended::Code(2), now), None);
        ranks.on_told_to_end();
        assert_eq!(ranks.on_time(now + GRACE / 2), None);
        assert_eq!(ranks.on_time(now + GRACE), Some(Step::Kill));
        assert_eq!(ranks.on_time(now + 2 * GRACE), None, "once is enough");
        assert_eq!(ranks.on_end(2, Ended::Signal(9), now), None);
        assert!(ranks.is_over());
        let failed = ranks.outcome().unwrap_err();
        assert_eq!((failed.rank, failed.ranks, failed.how), (1, 3, Ended::Signal(11)));
        assert_eq!(failed.followers, [(0, Ended::Code(2))]);
    }

    #[test]
    fn a_failure_of_the_last_rank_leaves_nobody_to_end() {
        let (mut ranks, now) = three();
        ranks.on_end(0, Ended::Code(0), now);
        ranks.on_end(1, Ended::Code(0), now);
        assert_eq!(ranks.on_end(2, Ended::Code(7), now), None);
        assert_eq!(ranks.outcome().unwrap_err().exit_code(), 7);
    }

    /// The third of three hosts with two ranks each.
    #[test]
    fn ranks_are_named_as_the_run_counts_them() {
        let (mut ranks, now) = (Supervision::new(4..6, 6, GRACE), Instant::now());
        ranks.on_end(1, Ended::Code(3), now);
        ranks.on_end(0, Ended::Code(2), now);
        let failed = ranks.outcome().unwrap_err();
        assert_eq!((failed.rank, failed.ranks), (5, 6));
        assert_eq!(failed.followers, [(4, Ended::Code(2))]);
    }

    #[test]
    fn a_failure_on_another_host_ends_these_ranks_who_are_not_to_blame() {
        let (mut ranks, now) = three();
        assert_eq!(ranks.on_end(1, Ended::Code(0), now), None);
        assert_eq!(ranks.on_failure_elsewhere(now), Some(Step::Terminate));
        ranks.on_told_to_end();
        assert_eq!(ranks.on_end(0, Ended::Code(2), now), None);
        assert_eq!(ranks.on_time(now + GRACE), Some(Step::Kill));
        assert_eq!(ranks.on_end(2, Ended::Signal(9), now), None);
        assert!(ranks.is_over() && ranks.has_failed());
        assert_eq!(ranks.outcome(), Ok(()));
        // Nor does it interrupt those that end already.
        let (mut ranks, now) = three();
        ranks.on_asked_to_end(now);
        assert_eq!(ranks.on_failure_elsewhere(now), None);
    }

    #[test]
    fn ranks_that_were_asked_to_end_are_given_the_time_they_need() {
        let (mut ranks, now) = three();
        ranks.on_asked_to_end(now);
        assert_eq!(ranks.on_time(now + 100 * GRACE), None);
        assert_eq!(ranks.on_end(0, Ended::Code(0), now), None);
        ranks.on_asked_to_end(now);
        assert_eq!(ranks.on_time(now + GRACE), Some(Step::Kill));
    }

    #[test]
    fn ranks_that_end_because_their_time_is_up_end_by_themselves() {
        let (mut ranks, now) = three();
        assert_eq!(ranks.on_end(1, Ended::Code(75), now), None);
        assert_eq!(ranks.on_end(0, Ended::Code(75), now), None);
        assert_eq!(ranks.on_time(now + GRACE / 2), None);
        assert_eq!(ranks.on_time(now + GRACE), Some(Step::Kill), "one that does not is killed");
        assert_eq!(ranks.outcome().unwrap_err().exit_code(), 75);
    }

    #[test]
    fn one_that_fails_after_all_were_asked_to_end_interrupts_nobody_s_last_step() {
        let (mut ranks, now) = three();
        ranks.on_asked_to_end(now);
        assert_eq!(ranks.on_end(0, Ended::Signal(15), now), None);
        assert_eq!(ranks.on_time(now + GRACE / 2), None);
        assert_eq!(ranks.on_time(now + GRACE), Some(Step::Kill));
        assert_eq!(ranks.outcome().unwrap_err().exit_code(), 143);
    }
}
