//! A run of on-policy GRPO, measured at every step against what the theory predicts of it.

use crate::environment::{Environment, TabularSetting};
use crate::reproduce::{Progress, Setting};
use crate::training::{ExpectedRule, ExpectedTrainer, Method, Schedule, Trainer};
use entropy_core::{Categorical, UpdateRule, token_covariances};
use rayon::prelude::*;
use rl_losses::group_covariances;

/// Groups of these many right answers of eight are hard, medium and easy.
pub(super) const RIGHT: [usize; 3] = [1, 4, 7];

const GROUP_SIZE: usize = 8;

/// One environment of the two, and how it is trained.
#[derive(Debug, Clone, Copy)]
pub(super) struct Course {
    pub(super) name: &'static str,
    positions: usize,
    strictness: f64,
    learning_rate: f64,
    steps: usize,
}

/// One token with learning rate 0.3, and four tokens with learning rate 1; both run through the
/// collapse of entropy.
pub(super) fn courses(setting: &Setting) -> [Course; 2] {
    let one = Course {
        name: "one token",
        positions: 1,
        strictness: 1.5,
        learning_rate: 0.3,
        steps: setting.pick(600, 1500),
    };
    let four = Course {
        name: "four tokens",
        positions: 4,
        strictness: 0.5,
        learning_rate: 1.0,
        steps: setting.pick(400, 1500),
    };
    [one, four]
}

/// Measured and predicted changes of each step; every column is `[steps]`.
pub(super) struct Trace {
    /// Change of the mean entropy, in nats.
    pub(super) measured: Vec<f64>,
    /// Lemma 1 for the step that was taken.
    pub(super) of_step: Vec<f64>,
    /// Theorem 1 for the expected step, with GRPO's clock.
    pub(super) of_expectation: Vec<f64>,
    /// Covariance of advantage and log-probability over the tokens of the batch (Equation 10).
    pub(super) over_batch: Vec<f64>,
    /// Mean over the groups of the covariance within them (Equation 8).
    pub(super) within_groups: Vec<f64>,
    /// Mean covariance within the groups of [`RIGHT`] right answers; NaN where there is no such group.
    pub(super) by_difficulty: [Vec<f64>; 3],
    /// Mean entropy before the step, in nats.
    pub(super) entropy: Vec<f64>,
}

/// Traces of both courses, `[courses][seeds]`.
pub(super) fn traces(setting: &Setting, progress: &Progress) -> [Vec<Trace>; 2] {
    let courses = courses(setting);
    let steps: usize = courses.iter().map(|course| course.steps).sum();
    progress.plan((setting.seeds * steps) as u64);
    let prompts = setting.pick(256, 512);
    courses.map(|course| {
        setting.over_seeds(|seed| {
            let environment = TabularSetting {
                prompts,
                positions: course.positions,
                strictness: course.strictness,
                ..TabularSetting::LAW
            };
            Trace::of(&environment.draw(seed), course, seed, progress)
        })
    })
}

impl Trace {
    fn of(environment: &Environment, course: Course, seed: u64, progress: &Progress) -> Self {
        let rate = course.learning_rate;
        let schedule = Schedule { rollouts: course.steps, ..Schedule::on_policy(rate) };
        let mut trainer = Trainer::new(environment, Method::default(), schedule, seed);
        let mut trace = Self {
            measured: vec![],
            of_step: vec![],
            of_expectation: vec![],
            over_batch: vec![],
            within_groups: vec![],
            by_difficulty: [vec![], vec![], vec![]],
            entropy: vec![],
        };
        loop {
            let before = trainer.parameters().to_vec();
            let Some(report) = trainer.step() else { return trace };
            let rule = ExpectedRule::Grpo { group_size: GROUP_SIZE };
            let expected = ExpectedTrainer::new(&environment.training, &before);
            trace.of_expectation.push(expected.expected_step(rule, rate).1);
            let (measured, of_step) = changes(&before, trainer.parameters());
            trace.measured.push(measured);
            trace.of_step.push(of_step);
            trace.entropy.push(report.entropy);
            trace.sampled(&trainer, course.positions);
            progress.advance(1);
        }
    }

    /// The covariances of the rollout.
    fn sampled(&mut self, trainer: &Trainer<'_>, positions: usize) {
        let rollout = trainer.rollout();
        let covariances = token_covariances(&rollout.advantage, &rollout.old_log_prob);
        self.over_batch.push(mean(covariances.iter().copied()));
        let samples = rollout.rewards.len();
        let advantage: Vec<f64> = rollout.advantage.iter().step_by(positions).copied().collect();
        let groups = group_covariances(
            &rollout.old_log_prob,
            &vec![positions; samples],
            &advantage,
            &vec![GROUP_SIZE; samples / GROUP_SIZE],
            UpdateRule::PolicyGradient,
        )
        .expect("columns of one rollout");
        self.within_groups.push(mean(groups.iter().copied()));
        for (column, right) in self.by_difficulty.iter_mut().zip(RIGHT) {
            let of_difficulty = std::iter::zip(&groups, rollout.rewards.chunks(GROUP_SIZE))
                .filter(|(_, rewards)| {
                    rewards.iter().filter(|reward| **reward > 0.5).count() == right
                })
                .map(|(covariance, _)| *covariance);
            column.push(mean(of_difficulty));
        }
    }
}

/// Measured change of the mean entropy between two tables of logits, and Lemma 1's prediction.
fn changes(before: &[f64], after: &[f64]) -> (f64, f64) {
    const ACTIONS: usize = 8;
    let of_state = |(before, after): (&[f64], &[f64])| {
        let policy = Categorical::from_logits(before).expect("training keeps logits finite");
        let step: Vec<f64> = std::iter::zip(before, after).map(|(b, a)| a - b).collect();
        (policy.entropy_change(&step), policy.entropy_change_first_order(&step))
    };
    let states = before.par_chunks_exact(ACTIONS).zip(after.par_chunks_exact(ACTIONS));
    let each: Vec<(f64, f64)> = states.with_min_len(128).map(of_state).collect();
    (mean(each.iter().map(|pair| pair.0)), mean(each.iter().map(|pair| pair.1)))
}

/// Mean of the values; NaN if there are none.
pub(super) fn mean(values: impl IntoIterator<Item = f64>) -> f64 {
    let (sum, count) =
        values.into_iter().fold((0.0, 0.0), |(sum, count), x| (sum + x, count + 1.0));
    sum / count
}
