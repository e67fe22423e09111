//! Rollouts of several environments, with log-probabilities, advantages and targets of the critic.

use super::learner::{Diverged, Learner, Step, column};
use super::stream::{Purpose, stream};
use super::{Episode, Progress, State};
use entropy_core::Categorical;
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use rl_losses::{Gae, generalised_advantages, whitened};
use std::iter::zip;

/// Environments that are stepped together, each with a random stream of its own for its actions.
#[derive(Debug, Clone)]
pub(super) struct Cohort {
    members: Vec<(Episode, ChaCha8Rng)>,
}

/// Number of consecutive steps of one episode, and the state in which they stopped unless the episode failed there.
type Stretch = (usize, Option<State>);

/// Steps of one environment in a rollout, without advantages and targets.
#[derive(Default)]
struct Track {
    steps: Vec<Step>,
    entropy: f64,
    stretches: Vec<Stretch>,
}

impl Cohort {
    /// Makes `environments` environments, each at the start of its first episode.
    pub(super) fn new(seed: u64, environments: usize) -> Self {
        let member = |index: u64| {
            let starts = stream(seed, Purpose::Starts, index);
            (Episode::new(starts), stream(seed, Purpose::Actions, index))
        };
        Self { members: (0..environments as u64).map(member).collect() }
    }

    /// Takes `steps` steps in each environment with actions drawn from the learner's policy;
    /// episodes that ended begin anew.
    ///
    /// Returns the steps, with whitened advantages, and the mean of the policy's exact entropy over them, in nats; one
    /// environment after the other, so that the steps of an episode are consecutive.
    pub(super) fn collect(
        &mut self,
        learner: &Learner,
        steps: usize,
        gae: Gae,
    ) -> Result<(Vec<Step>, f64), Diverged> {
        let mut tracks: Vec<Track> = self.members.iter().map(|_| Track::default()).collect();
        for _ in 0..steps {
            let states = self.members.iter().map(|(episode, _)| episode.state);
            let policies = learner.policies(states)?;
            for ((member, track), policy) in self.members.iter_mut().zip(&mut tracks).zip(policies)
            {
                track.take(member, &policy);
            }
        }
        for ((episode, _), track) in self.members.iter().zip(&mut tracks) {
            track.cut(Some(episode.state));
        }
        together(tracks, learner, gae)
    }
}

impl Track {
    fn take(&mut self, (episode, actions): &mut (Episode, ChaCha8Rng), policy: &Categorical) {
        let action = draw(policy, actions);
        let (observation, old_log_prob) = (episode.state.observation(), policy.log_probs()[action]);
        self.steps.push(Step { observation, action, old_log_prob, ..Step::default() });
        self.entropy += policy.entropy();
        let cut_off_at = match episode.act(action) {
            Progress::Running => return,
            Progress::Terminated => None,
            Progress::Truncated => Some(episode.state),
        };
        self.cut(cut_off_at);
        episode.restart();
    }

    /// Ends the stretch under way, if it has a step.
    fn cut(&mut self, cut_off_at: Option<State>) {
        let before: usize = self.stretches.iter().map(|(steps, _)| steps).sum();
        let steps = self.steps.len() - before;
        if steps > 0 {
            self.stretches.push((steps, cut_off_at));
        }
    }
}

/// The steps of all tracks with their advantages and targets, and the mean entropy over them.
fn together(tracks: Vec<Track>, learner: &Learner, gae: Gae) -> Result<(Vec<Step>, f64), Diverged> {
    let (mut steps, mut stretches, mut entropy) = (Vec::new(), Vec::new(), 0.0);
    for track in tracks {
        steps.extend(track.steps);
        stretches.extend(track.stretches);
        entropy += track.entropy;
    }
    let values = learner.values(&column(&steps, |step| step.observation));
    let end_values = end_values(learner, &stretches);
    let lengths: Vec<usize> = stretches.iter().map(|(steps, _)| *steps).collect();
    let rewards = vec![1.0; values.len()];
    let credit = generalised_advantages(&rewards, &values, Some(&end_values), &lengths, gae)?;
    let targets = zip(whitened(&credit.advantages), credit.returns);
    for (step, (advantage, target)) in zip(&mut steps, targets) {
        *step = Step { advantage, target, ..*step };
    }
    let mean_entropy = entropy / steps.len() as f64;
    Ok((steps, mean_entropy))
}

/// The critic's value of the state in which each stretch stopped; 0 if the episode failed there.
fn end_values(learner: &Learner, stretches: &[Stretch]) -> Vec<f64> {
    let states = stretches.iter().filter_map(|(_, cut_off_at)| *cut_off_at);
    let observations: Vec<_> = states.map(State::observation).collect();
    let mut values = learner.values(&observations).into_iter();
    let value = |(_, cut_off_at): &Stretch| {
        cut_off_at.map_or(0.0, |_| values.next().expect("one value per cut"))
    };
    stretches.iter().map(value).collect()
}

pub(super) fn draw(policy: &Categorical, rng: &mut impl Rng) -> usize {
    usize::from(rng.random::<f64>() >= policy.probs()[0])
}

#[cfg(test)]
mod tests {
    use super::*;

    const GAE: Gae = Gae { discount: 0.99, lambda: 0.95, whiten: true };

    /// A push moves the cart faster than any start.
    fn is_start(step: &Step) -> bool {
        step.observation.iter().all(|coordinate| coordinate.abs() <= 0.05)
    }

    #[test]
    fn a_rollout_goes_on_where_the_last_one_stopped() {
        let learner = Learner::new(4);
        let mut halves = Cohort::new(9, 3);
        let (first, _) = halves.collect(&learner, 20, GAE).unwrap();
        let (second, _) = halves.collect(&learner, 20, GAE).unwrap();
        let (together, _) = Cohort::new(9, 3).collect(&learner, 40, GAE).unwrap();
        for environment in 0..3 {
            let observations = |batch: &[Step], steps: usize| {
                column(&batch[environment * steps..][..steps], |step| step.observation)
            };
            assert_eq!(
                [observations(&first, 20), observations(&second, 20)].concat(),
                observations(&together, 40)
            );
        }
        let restarted = together[1..40].iter().any(is_start);
        assert!(restarted, "a policy at random falls within 40 steps");
    }

    #[test]
    fn a_time_limit_is_worth_the_value_of_its_state_and_a_failure_nothing() {
        let learner = Learner::new(4);
        let state = State::from([0.1, 0.2, 0.0, -0.1]);
        let stretches = [None, Some(state), None].map(|cut_off_at| (2, cut_off_at));
        let value = learner.values(&[state.observation()])[0];
        assert!(value != 0.0);
        assert_eq!(end_values(&learner, &stretches), [0.0, value, 0.0]);
    }

    #[test]
    fn targets_of_a_failure_are_discounted_rewards_where_the_critic_is_not_asked() {
        let gae = Gae { lambda: 1.0, ..GAE };
        let (steps, _) = Cohort::new(1, 1).collect(&Learner::new(1), 60, gae).unwrap();
        let after = steps[1..].iter().position(is_start);
        let length = 1 + after.expect("a policy at random falls within 60 steps");
        for (left, step) in (1..).zip(steps[..length].iter().rev()) {
            let expected = (1.0 - 0.99f64.powi(left)) / 0.01;
            assert!((step.target - expected).abs() < 1e-12);
        }
    }
}
