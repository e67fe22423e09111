//! What to do when a rank ends, or somebody asks all to end: decisions only, no processes.

use std::time::{Duration, Instant};

use super::ended::{Ended, RankFailed};

/// What is known of the ranks, and what follows from it.
#[derive(Debug)]
pub(super) struct Supervision {
    ended: Vec<Option<Ended>>,
    grace: Duration,
    /// The first rank that failed.
    culprit: Option<(usize, Ended)>,
    followers: Vec<(usize, Ended)>,
    /// When the ranks were told to end because one had failed.
    told_to_end: bool,
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
    pub(super) fn new(ranks: usize, grace: Duration) -> Self {
        Self {
            ended: vec![None; ranks],
            grace,
            culprit: None,
            followers: Vec::new(),
            told_to_end: false,
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
        self.culprit.is_some()
    }

    /// A rank has ended. The first failure ends the others; not where somebody had asked for the end: they are at it.
    pub(super) fn on_end(&mut self, rank: usize, how: Ended, now: Instant) -> Option<Step> {
        self.ended[rank] = Some(how);
        if how.is_success() {
            return None;
        }
        if self.culprit.is_some() {
            // Ranks that end because they were told to are no news, whatever code they end with.
            if !self.told_to_end {
                self.followers.push((rank, how));
            }
            return None;
        }
        self.culprit = Some((rank, how));
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
            Some((rank, how)) => Err(RankFailed {
                rank,
                ranks: self.ended.len(),
                how,
                followers: self.followers.clone(),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GRACE: Duration = Duration::from_secs(10);

    fn three() -> (Supervision, Instant) {
        (Supervision::new(3, GRACE), Instant::now())
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
    fn one_that_fails_after_all_were_asked_to_end_interrupts_nobody_s_last_step() {
        let (mut ranks, now) = three();
        ranks.on_asked_to_end(now);
        assert_eq!(ranks.on_end(0, Ended::Signal(15), now), None);
        assert_eq!(ranks.on_time(now + GRACE / 2), None);
        assert_eq!(ranks.on_time(now + GRACE), Some(Step::Kill));
        assert_eq!(ranks.outcome().unwrap_err().exit_code(), 143);
    }
}
