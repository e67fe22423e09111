//! Returns of a policy in evaluation episodes, which are never trained on.

use super::learner::{Diverged, Learner};
use super::rollout::draw;
use super::stream::{Purpose, stream};
use super::{Episode, Progress};

/// How an action is taken from the policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choice {
    /// Drawn from it.
    Sampled,
    /// The most probable one.
    Greedy,
}

/// Mean return of `episodes` episodes, `1..=500`; with no episodes NaN.
///
/// Equal seeds give equal first states and, for equal policies, equal actions.
///
/// # Errors
///
/// [`Diverged`] if the policy puts out what is not a number.
pub fn mean_return(
    learner: &Learner,
    choice: Choice,
    seed: u64,
    episodes: usize,
) -> Result<f64, Diverged> {
    let mut total = 0;
    let begin = |index: u64| {
        let starts = stream(seed, Purpose::EvaluationStarts, index);
        (Episode::new(starts), stream(seed, Purpose::EvaluationActions, index))
    };
    let mut running: Vec<_> = (0..episodes as u64).map(begin).collect();
    while !running.is_empty() {
        let policies = learner.policies(running.iter().map(|(episode, _)| episode.state))?;
        let mut going_on = Vec::with_capacity(running.len());
        for ((mut episode, mut actions), policy) in std::iter::zip(running, policies) {
            let action = match choice {
                Choice::Sampled => draw(&policy, &mut actions),
                Choice::Greedy => policy.mode(),
            };
            if episode.act(action) == Progress::Running {
                going_on.push((episode, actions));
            } else {
                total += episode.steps;
            }
        }
        running = going_on;
    }
    Ok(f64::from(total) / episodes as f64)
}
