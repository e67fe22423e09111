//! Sampled training of a softmax policy, with the losses that train the model.
//!
//! A [`Trainer`] repeats what a trainer of language models does: sample a group of responses to
//! each prompt, make advantages of their rewards, and update over mini-batches and epochs with a
//! [`PolicyLoss`](rl_losses::PolicyLoss), whose gradient is chained through the softmax. What is
//! measured is exact: [`evaluate`] sums over states and samples nothing.
//!
//! [`train`] makes a [`Curve`] of an [`Environment`](crate::environment::Environment), a [`Method`] and a [`Schedule`].
//! A [`Method`] is all that may change between rollouts: loss, advantages, aggregation and the
//! coefficients of the entropy bonus and of the reference KL. So a controller is a loop:
//!
//! ```
//! # use softmax_sim::environment::TabularSetting;
//! # use softmax_sim::training::{Method, Schedule, Trainer};
//! # let environment = TabularSetting { prompts: 32, positions: 2, ..TabularSetting::CONTROL }.draw(0);
//! # let schedule = Schedule { rollouts: 5, ..Schedule::tabular(0.3) };
//! let mut trainer = Trainer::new(&environment, Method::default(), schedule, 0);
//! while let Some(report) = trainer.step() {
//!     let gap = 0.5 - report.entropy; // nats below the target
//!     let bonus = &mut trainer.method.entropy_bonus;
//!     *bonus = (*bonus + 1e-3 * gap).max(0.0);
//! }
//! # assert!(trainer.method.entropy_bonus >= 0.0);
//! ```
//!
//! [`Trainer::with_loss`] and [`Trainer::with_advantage`] take a custom loss and custom advantages, as
//! `examples/custom_simulation.rs` shows for a custom environment.
//!
//! A run depends on its seed alone, never on the number of threads: every uniform number is a
//! function of (seed, rollout, prompt, sample, position), and sums are taken in a fixed order.
//! Run seeds and methods in parallel with rayon; the parallel loops inside a run nest in it.

mod controls;
mod critic;
mod curve;
mod custom_advantage;
mod difficulty;
mod entropy_split;
mod evaluation;
mod expected;
mod method;
mod prompt_information;
mod reward_model;
mod rollout;
mod rows;
mod schedule;
mod tokens;
mod trainer;
mod trust_region;
mod update;

pub use curve::{Curve, CurvePoint};
pub use custom_advantage::CustomAdvantage;
pub use difficulty::ThermostatControl;
pub use entropy_split::entropy_split;
pub use evaluation::{COOL_TEMPERATURE, evaluate};
pub use expected::{ExpectedPoint, ExpectedRule, ExpectedTrainer};
pub use method::Method;
pub use prompt_information::prompt_information;
pub use rollout::Rollout;
pub use rows::Rows;
pub use schedule::{RatioTo, Schedule, StepSize};
pub use trainer::{RolloutReport, Trainer, train};
pub use trust_region::TrustRegion;
