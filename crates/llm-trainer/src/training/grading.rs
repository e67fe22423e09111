//! Judges responses on other threads while the rest are still sampled.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

use question_data::ground_truth::GroundTruth;
use rayon::Scope;
use reward_math::Verdict;

use super::judge::Judge;
use decoder::generation::{Finish, Generated, Listener, Tally};

/// Interval between progress messages.
const TELL_EVERY: Duration = Duration::from_millis(500);

/// A response with its verdict.
#[derive(Debug)]
pub(super) struct Graded {
    pub(super) response: Generated,
    pub(super) text: String,
    pub(super) verdict: Verdict,
}

impl Graded {
    /// Returns true if the response was truncated at the length limit.
    pub(super) fn truncated(&self) -> bool {
        self.response.finish == Finish::Length
    }
}

/// One slot per response, filled by whichever thread judges it: order and content do not depend on the threads.
pub(super) type Places = Vec<OnceLock<anyhow::Result<Graded>>>;

/// Passes every finished response to the threads of a scope.
pub(super) struct Grader<'a, 'scope> {
    pub(super) scope: &'a Scope<'scope>,
    pub(super) judge: Judge<'scope>,
    /// One ground truth per prompt.
    pub(super) truths: &'scope [GroundTruth],
    /// One slot per response, prompt after prompt.
    pub(super) places: &'scope Places,
    /// Takes progress messages, at intervals.
    pub(super) tell: &'a dyn Fn(&str),
    pub(super) started: Instant,
    /// Time of the last message.
    pub(super) told: Instant,
}

impl Listener for Grader<'_, '_> {
    fn finished(&mut self, index: usize, response: Generated) {
        let (judge, places) = (self.judge, self.places);
        let truth = &self.truths[index / (places.len() / self.truths.len())];
        self.scope.spawn(move |_| {
            let grade = || {
                let text = judge.text(&response.token_ids)?;
                let verdict = truth.judge(&text, judge.sandbox)?;
                Ok(Graded { response, text, verdict })
            };
            // Every response finishes once.
            let _filled = places[index].set(grade());
        });
    }

    fn progress(&mut self, tally: &Tally) {
        if self.told.elapsed() < TELL_EVERY {
            return;
        }
        self.told = Instant::now();
        let Tally { total, finished, truncated, tokens } = tally;
        let rate = *tokens as f64 / self.started.elapsed().as_secs_f64();
        (self.tell)(&format!(
            "sampling: {finished} of {total} responses, {truncated} truncated, {rate:.0} tokens/s"
        ));
    }
}
