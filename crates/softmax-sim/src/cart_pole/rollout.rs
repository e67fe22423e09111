//! Rollouts of several environments, with log-probabilities, advantages and targets of the critic.

use super::learner::{Diverged, Learner, MiniBatch};
use super::stream::{Purpose, stream};
use super::{Episode, Progress, State};
use entropy_core::Categorical;
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use rl_losses::{Gae, generalised_advantages, whitened};

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
    steps: MiniBatch,
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
    /// Returns the steps, with whitened advantages, and the mean of the policy's exact entropy over them, in nats. The columns hold
    /// one environment after the other, so that the steps of an episode are consecutive.
    pub(super) fn collect(
        &mut self,
        learner: &Learner,
        steps: usize,
        gae: Gae,
    ) -> Result<(MiniBatch, f64), Diverged> {
        let mut tracks: Vec<Track> = self.members.iter().map(|_| Track::default()).collect();
        for _ in 0..steps {
            let states = self.members.iter().map(|(episode, _)| episode.state());
            let policies = learner.policies(states)?;
            for ((member, track), policy) in self.members.iter_mut().zip(&mut tracks).zip(policies)
            {
                track.take(member, &policy);
            }
        }
        for ((episode, _), track) in self.members.iter().zip(&mut tracks) {
            track.cut(Some(episode.state()));
        }
        together(tracks, learner, gae)
    }
}

impl Track {
    fn take(&mut self, (episode, actions): &mut (Episode, ChaCha8Rng), policy: &Categorical) {
        let action = draw(policy, actions);
        self.steps.observations.push(episode.state().observation());
        self.steps.actions.push(action);
        self.steps.old_log_prob.push(policy.log_probs()[action]);
        self.entropy += policy.entropy();
        let cut_off_at = match episode.act(action) {
            Progress::Running => return,
            Progress::Terminated => None,
            Progress::Truncated => Some(episode.state()),
        };
        self.cut(cut_off_at);
        episode.restart();
    }

    /// Ends the stretch under way, if it has a step.
    fn cut(&mut self, cut_off_at: Option<State>) {
        let before: usize = self.stretches.iter().map(|(steps, _)| steps).sum();
        let steps = self.steps.actions.len() - before;
        if steps > 0 {
            self.stretches.push((steps, cut_off_at));
        }
    }
}

/// The steps of all tracks with their advantages and targets, and the mean entropy over them.
fn together(tracks: Vec<Track>, learner: &Learner, gae: Gae) -> Result<(MiniBatch, f64), Diverged> {
    let (mut steps, mut stretches) = (MiniBatch::default(), Vec::new());
    let mut entropy = 0.0;
    for track in tracks {
        steps.observations.extend(track.steps.observations);
        steps.actions.extend(track.steps.actions);
        steps.old_log_prob.extend(track.steps.old_log_prob);
        stretches.extend(track.stretches);
        entropy += track.entropy;
    }
    let values = learner.values(&steps.observations);
    let end_values = end_values(learner, &stretches);
    let lengths: Vec<usize> = stretches.iter().map(|(steps, _)| *steps).collect();
    let rewards = vec![1.0; values.len()];
    let credit = generalised_advantages(&rewards, &values, Some(&end_values), &lengths, gae)?;
    steps.advantage = whitened(&credit.advantages);
    steps.returns = credit.returns;
    let mean_entropy = entropy / steps.actions.len() as f64;
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
    fn is_start(observation: &[f64; 4]) -> bool {
        observation.iter().all(|coordinate| coordinate.abs() <= 0.05)
    }

    #[test]
    fn a_rollout_goes_on_where_the_last_one_stopped() {
        let learner = Learner::new(4);
        let mut halves = Cohort::new(9, 3);
        let (first, _) = halves.collect(&learner, 20, GAE).unwrap();
        let (second, _) = halves.collect(&learner, 20, GAE).unwrap();
        let (together, _) = Cohort::new(9, 3).collect(&learner, 40, GAE).unwrap();
        for environment in 0..3 {
            let observations = |batch: &MiniBatch, steps: usize| {
                batch.observations[environment * steps..][..steps].to_vec()
            };
            assert_eq!(
                [observations(&first, 20), observations(&second, 20)].concat(),
                observations(&together, 40)
            );
        }
        let restarted = together.observations[1..40].iter().any(is_start);
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
        let after = steps.observations[1..].iter().position(is_start);
        let length = 1 + after.expect("a policy at random falls within 60 steps");
        for step in 0..length {
            let left = i32::try_from(length - step).expect("below 60");
            let expected = (1.0 - 0.99f64.powi(left)) / 0.01;
            assert!((steps.returns[step] - expected).abs() < 1e-12);
        }
    }
}
