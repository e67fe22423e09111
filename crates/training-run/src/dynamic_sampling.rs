//! Which groups a step trains on: those whose rewards differ, asked for until there are enough.
//!
//! A pure state machine. The trainer asks what to do next, samples, and hands the groups in:
//!
//! ```text
//! begin_step → next = Ask(n) → add(n groups) → next = Ask(m) → add(m groups) → next = Done → finish_step
//! ```
//!
//! ```
//! use training_run::dynamic_sampling::{Demand, DynamicSampling, GroupSampler, NextBatch, SampledGroup};
//!
//! let settings = DynamicSampling { enabled: true, ..DynamicSampling::default() };
//! let demand = Demand { settings, groups: 2, group_size: 2 };
//! // How many of the two responses to each prompt are right.
//! let mut policy = [0, 1, 2, 1].into_iter();
//! let mut sampler = GroupSampler::default();
//! sampler.begin_step(1, &demand);
//! while let NextBatch::Ask(prompts) = sampler.next(&demand) {
//!     let group = |right| {
//!         let rewards = (0..2).map(|response| f64::from(u8::from(response < right))).collect();
//!         SampledGroup { rewards, right, sampled_at: 1, responses: () }
//!     };
//!     sampler.add(policy.by_ref().take(prompts).map(group).collect(), &demand)?;
//! }
//! let step = sampler.finish_step(&demand)?;
//! assert_eq!((step.groups.len(), step.statistics.asked, step.statistics.batches), (2, 4, 3));
//! # Ok::<(), training_run::dynamic_sampling::SamplingError>(())
//! ```
//!
//! A group whose rewards are all equal has no gradient and is left out. Groups beyond what a step needs are carried
//! over to the next instead of being thrown away, for as many steps as [`DynamicSampling::carry_steps`] allows; they
//! are older than the policy, so their log-probabilities as sampled must be used. The number of rollout batches of a
//! step is bounded; what happens then is a named choice, and always reported.
//!
//! Source: DAPO, [arXiv:2503.14476](https://arxiv.org/abs/2503.14476), Sec. 3.2; all runs of arXiv:2505.22617.

mod statistics;

use std::collections::VecDeque;

use messages::Problem;
use rl_losses::informative_groups;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use thiserror::Error;

pub use statistics::SamplingStatistics;

/// `[dynamic_sampling]`: how groups are kept and asked for again.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct DynamicSampling {
    /// Train only on groups whose rewards differ, and ask for other groups to replace the rest.
    pub enabled: bool,
    /// Smallest share of correct responses in a group that is kept.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub accuracy_low: f64,
    /// Largest share of correct responses in a group that is kept, not below `accuracy_low`.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub accuracy_high: f64,
    /// Prompts asked for each missing group: more need fewer rounds.
    #[schemars(range(min = 1.0))]
    pub oversampling: f64,
    /// Most rollout batches of one step.
    #[schemars(range(min = 1))]
    pub max_batches: usize,
    /// Steps that a surplus group may wait for another step; 0 discards it.
    pub carry_steps: u64,
    /// Reaction to too few groups after `max_batches`: `"train"` on those there are, or `"stop"`
    /// the run.
    pub when_short: WhenShort,
}

/// What a step does that has too few groups after its last rollout batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WhenShort {
    /// It trains on those there are, and says so.
    #[default]
    Train,
    /// The run stops with the reason.
    Stop,
}

impl Default for DynamicSampling {
    fn default() -> Self {
        Self {
            enabled: false,
            accuracy_low: 0.0,
            accuracy_high: 1.0,
            oversampling: 1.0,
            max_batches: 10,
            carry_steps: 1,
            when_short: WhenShort::default(),
        }
    }
}

impl DynamicSampling {
    /// Most prompts asked in a step that wants `groups` groups.
    pub fn most_prompts_asked(&self, groups: usize) -> usize {
        if !self.enabled {
            return groups;
        }
        scaled_up(groups, self.oversampling).saturating_mul(self.max_batches)
    }

    /// The upper bound, if it lies below the lower one.
    pub(crate) fn problem(&self) -> Option<Problem> {
        let Self { accuracy_low: low, accuracy_high: high, .. } = *self;
        ((0.0..=1.0).contains(&low) && high < low).then(|| Problem {
            field: "dynamic_sampling.accuracy_high".to_owned(),
            value: format!("{high:?}"),
            expected: format!("at least dynamic_sampling.accuracy_low = {low:?}"),
        })
    }
}

/// The responses to one prompt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SampledGroup<T> {
    /// What each response earned for its answer, before any shaping by length.
    pub rewards: Vec<f64>,
    /// How many of them are right.
    pub right: usize,
    /// Step whose policy sampled it.
    pub sampled_at: u64,
    /// The responses themselves, or whatever the trainer keeps of them.
    pub responses: T,
}

/// What to do next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NextBatch {
    /// Sample a group for each of so many new prompts and hand them in.
    Ask(usize),
    /// The step has what it can get: finish it.
    Done,
}

/// A step cannot go on.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum SamplingError {
    /// Too few groups teach something, and [`WhenShort::Stop`] is set.
    #[error(
        "step {step}: {kept} of {wanted} groups have rewards that differ after {batches} rollout batches of \
         dynamic_sampling.max_batches = {batches} ({asked} prompts asked, {too_low} groups too hard, {too_high} too \
         easy), expected easier or harder questions, more batches, or when_short = \"train\""
    )]
    Short {
        /// The step.
        step: u64,
        /// Groups that could be trained on.
        kept: usize,
        /// Groups wanted.
        wanted: usize,
        /// Rollout batches made.
        batches: usize,
        /// Prompts asked.
        asked: usize,
        /// Groups left out with at most half of their responses right.
        too_low: usize,
        /// The other groups left out.
        too_high: usize,
    },
    /// A group cannot be judged.
    #[error("step {step}: a group of {found} rewards ({why}), expected {expected} finite ones")]
    Group {
        /// The step.
        step: u64,
        /// Rewards handed in.
        found: usize,
        /// Rewards of a group.
        expected: usize,
        /// What is wrong.
        why: String,
    },
}

/// Groups of one step, and how they came about.
#[derive(Debug, Clone, PartialEq)]
pub struct StepGroups<T> {
    /// The groups to train on: carried ones first, then in the order handed in. Fewer than wanted where short.
    pub groups: Vec<SampledGroup<T>>,
    /// How they came about.
    pub statistics: SamplingStatistics,
}

/// The state between and within steps. Between steps it is what a checkpoint must keep.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GroupSampler<T> {
    /// Good groups, those of earlier steps first.
    waiting: VecDeque<SampledGroup<T>>,
    step: u64,
    statistics: SamplingStatistics,
}

impl<T> Default for GroupSampler<T> {
    fn default() -> Self {
        Self { waiting: VecDeque::new(), step: 0, statistics: SamplingStatistics::default() }
    }
}

/// What a step wants: settings, groups, and responses to each.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Demand {
    /// How groups are kept and asked for.
    pub settings: DynamicSampling,
    /// Groups of a step, at least 1.
    pub groups: usize,
    /// Responses of a group, at least 1.
    pub group_size: usize,
}

impl<T> GroupSampler<T> {
    /// Begins a step; groups that have waited too long are thrown away.
    pub fn begin_step(&mut self, step: u64, demand: &Demand) {
        let before = self.waiting.len();
        let oldest = step.saturating_sub(demand.settings.carry_steps);
        self.waiting.retain(|group| group.sampled_at >= oldest);
        self.step = step;
        self.statistics = SamplingStatistics {
            discarded: before - self.waiting.len(),
            carried_in: self.waiting.len().min(demand.groups),
            pass_histogram: vec![0; demand.group_size + 1],
            ..SamplingStatistics::default()
        };
    }

    /// What to do next in this step.
    pub fn next(&self, demand: &Demand) -> NextBatch {
        let missing = demand.groups.saturating_sub(self.waiting.len());
        let batches = self.statistics.batches;
        let most = if demand.settings.enabled { demand.settings.max_batches } else { 1 };
        if missing == 0 || batches >= most {
            return NextBatch::Done;
        }
        NextBatch::Ask(scaled_up(missing, demand.settings.oversampling))
    }

    /// Hands in the groups of one rollout batch, in the order of their prompts.
    ///
    /// # Errors
    ///
    /// [`SamplingError::Group`] where a group has another size or a reward that is not finite; nothing is taken then.
    pub fn add(
        &mut self,
        batch: Vec<SampledGroup<T>>,
        demand: &Demand,
    ) -> Result<(), SamplingError> {
        let mut kept = Vec::with_capacity(batch.len());
        for group in &batch {
            kept.push(self.is_kept(group, demand)?);
        }
        self.statistics.batches += 1;
        self.statistics.asked += batch.len();
        for (group, kept) in batch.into_iter().zip(kept) {
            self.statistics.pass_histogram[group.right] += 1;
            if kept {
                self.waiting.push_back(group);
            } else if 2 * group.right <= group.rewards.len() {
                self.statistics.too_low += 1;
            } else {
                self.statistics.too_high += 1;
            }
        }
        Ok(())
    }

    /// Ends the step: its groups, the rest carried over.
    ///
    /// # Errors
    ///
    /// [`SamplingError::Short`] under [`WhenShort::Stop`].
    pub fn finish_step(&mut self, demand: &Demand) -> Result<StepGroups<T>, SamplingError> {
        let taken = self.waiting.len().min(demand.groups);
        let mut statistics = std::mem::take(&mut self.statistics);
        statistics.missing = demand.groups - taken;
        let settings = &demand.settings;
        if settings.enabled && statistics.missing > 0 && settings.when_short == WhenShort::Stop {
            let SamplingStatistics { batches, asked, too_low, too_high, .. } = statistics;
            let (step, wanted) = (self.step, demand.groups);
            return Err(SamplingError::Short {
                step,
                kept: taken,
                wanted,
                batches,
                asked,
                too_low,
                too_high,
            });
        }
        let groups = self.waiting.drain(..taken).collect();
        if settings.carry_steps == 0 {
            statistics.discarded += self.waiting.len();
            self.waiting.clear();
        }
        statistics.carried_out = self.waiting.len();
        Ok(StepGroups { groups, statistics })
    }

    /// Groups that wait for a later step.
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Those groups, oldest first.
    pub fn waiting_groups(&self) -> impl Iterator<Item = &SampledGroup<T>> {
        self.waiting.iter()
    }

    fn is_kept(&self, group: &SampledGroup<T>, demand: &Demand) -> Result<bool, SamplingError> {
        let (rewards, right) = (&group.rewards, group.right);
        let refused = |why: String| SamplingError::Group {
            step: self.step,
            found: rewards.len(),
            expected: demand.group_size,
            why,
        };
        if rewards.len() != demand.group_size {
            return Err(refused("another number".to_owned()));
        }
        if right > rewards.len() {
            return Err(refused(format!("{right} are right")));
        }
        if let Some(reward) = rewards.iter().find(|reward| !reward.is_finite()) {
            return Err(refused(format!("one is {reward}")));
        }
        let DynamicSampling { enabled, accuracy_low, accuracy_high, .. } = demand.settings;
        let accuracy = right as f64 / rewards.len() as f64;
        Ok(!enabled
            || (informative_groups(rewards, &[rewards.len()])[0]
                && (accuracy_low..=accuracy_high).contains(&accuracy)))
    }
}

/// `ceil(count · factor)`; a factor that rounding made a hair too large asks for none more.
fn scaled_up(count: usize, factor: f64) -> usize {
    const HAIR: f64 = 1e-9;
    let scaled = (count as f64 * factor - HAIR).ceil().max(count as f64);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "at least `count`, and a float too large for an integer becomes its largest"
    )]
    let scaled = scaled as usize;
    scaled
}
