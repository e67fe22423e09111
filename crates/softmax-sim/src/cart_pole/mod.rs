//! The classic-control check: a pole balanced on a cart, learned by PPO under entropy control.
//!
//! The environment is that of the benchmark known as `CartPole-v1`: the constants, the Euler step and
//! the limits are in [`dynamics`], and recorded transitions of the benchmark are among the tests.
//! There are two actions and no language, so what is seen here is a sanity check of the methods
//! outside the paper's domain, not evidence about it.

pub mod dynamics;
mod episode;
mod evaluation;
mod learner;
mod ppo;
mod rollout;
mod stream;

pub use dynamics::{FORCES, State};
pub use episode::{Episode, Progress, STEP_LIMIT};
pub use evaluation::{Choice, mean_return};
pub use learner::{Diverged, Learner};
pub use ppo::{Point, Ppo, PpoError, SOLVED_RETURN, solved_after, train};
pub use stream::{Purpose, stream};
