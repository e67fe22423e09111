//! Consecutive episodes, each from its own random first state.

use super::{FORCES, State};
use rand::Rng;
use rand_chacha::ChaCha8Rng;

/// Steps after which an episode is cut off.
pub const STEP_LIMIT: u32 = 500;
/// Every coordinate of a first state is uniform within this of 0.
const START_RANGE: f64 = 0.05;

/// Result of a step. Each step earns a reward of 1, the last one too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// The episode goes on.
    Running,
    /// The pole fell or the cart left the track: nothing more can be earned.
    Terminated,
    /// The time was up: more could have been earned from where it stopped.
    Truncated,
}

/// A cart and its pole, restarted from a random stream of its own.
#[derive(Debug, Clone)]
pub struct Episode {
    /// State of cart and pole.
    pub state: State,
    /// Steps taken since the start, which is also the return so far.
    pub steps: u32,
    starts: ChaCha8Rng,
}

impl Episode {
    /// Begins the first episode; `starts` draws the first state of every episode.
    pub fn new(starts: ChaCha8Rng) -> Self {
        let mut episode = Self::from_state(State::from([0.0; 4]), starts);
        episode.restart();
        episode
    }

    /// Begins an episode in `state`; `starts` draws the first states of later ones.
    pub fn from_state(state: State, starts: ChaCha8Rng) -> Self {
        Self { state, steps: 0, starts }
    }

    /// Takes one step by an action, 0 or 1. After an end the caller restarts.
    ///
    /// # Panics
    ///
    /// If the action is neither 0 nor 1.
    pub fn act(&mut self, action: usize) -> Progress {
        self.state = self.state.after(FORCES[action]);
        self.steps += 1;
        if self.state.has_failed() {
            Progress::Terminated
        } else if self.steps >= STEP_LIMIT {
            Progress::Truncated
        } else {
            Progress::Running
        }
    }

    /// Begins the next episode of the stream.
    pub fn restart(&mut self) {
        let coordinate = |_| self.starts.random_range(-START_RANGE..START_RANGE);
        self.state = State::from([0; 4].map(coordinate));
        self.steps = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Purpose, stream};
    use super::*;

    #[test]
    fn streams_differ_and_restarts_move_on() {
        let episode = |seed, index| Episode::new(stream(seed, Purpose::Starts, index));
        let mut first = episode(1, 0);
        let start = first.state;
        assert!(start.observation().iter().all(|x| x.abs() <= START_RANGE));
        assert_ne!(start, episode(1, 1).state);
        assert_ne!(start, episode(2, 0).state);
        assert_eq!(start, episode(1, 0).state);
        first.act(0);
        first.restart();
        assert_eq!(first.steps, 0);
        assert_ne!(start, first.state);
    }
}
