//! Dynamic sampling: a step trains on groups whose rewards differ, and samples until it has enough.
//!
//! A pure state machine. The trainer asks for the next action, samples, and adds the groups:
//!
//! ```text
//! begin_step → next = n → add(n groups) → next = m → add(m groups) → next = None → finish_step
//! ```
//!
//! ```
//! use training_run::dynamic_sampling::{Demand, DynamicSampling, GroupSampler, SampledGroup};
//!
//! let settings = DynamicSampling { enabled: true, ..DynamicSampling::default() };
//! let demand = Demand { settings, groups: 2, group_size: 2, staleness: 0 };
//! // How many of the two responses to each prompt are right.
//! let mut policy = [0, 1, 2, 1].into_iter();
//! let mut sampler = GroupSampler::default();
//! sampler.begin_step(1, &demand);
//! while let Some(prompts) = sampler.next(&demand) {
//!     let group = |right| {
//!         let rewards = (0..2).map(|response| f64::from(u8::from(response < right))).collect();
//!         SampledGroup { rewards, right, sampled_at: 1, responses: () }
//!     };
//!     sampler.add(policy.by_ref().take(prompts).map(group).collect(), &demand)?;
//! }
//! let step = sampler.finish_step(&demand)?;
//! assert_eq!((step.groups.len(), step.statistics.asked, step.statistics.batches), (2, 4, 2));
//! # Ok::<(), training_run::dynamic_sampling::SamplingError>(())
//! ```
//!
//! A group whose rewards are all equal has no gradient and is left out. Groups beyond what a step needs are carried over to
//! the next, for as many steps as [`DynamicSampling::carry_steps`] allows. They are older than the policy, so their
//! log-probabilities as sampled must be used. The number of rollout batches of a step is bounded. A setting chooses what
//! happens then, and it is always reported.
//!
//! Source: DAPO, [arXiv:2503.14476](https://arxiv.org/abs/2503.14476), Sec. 3.2; all runs of arXiv:2505.22617.

mod keep_rate;
mod statistics;

use std::collections::VecDeque;

use rl_losses::informative_groups;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use keep_rate::{KeepRate, at_least};
pub use statistics::SamplingStatistics;

use crate::config::Problems;
use model_files::section;

section! {
    /// `[dynamic_sampling]`: filter of groups, and sampling of further ones.
    #[derive(Copy)]
    pub struct DynamicSampling {
        /// Train only on groups whose rewards differ, and sample other groups to replace the rest.
        pub enabled: bool = false,
        /// Smallest share of correct responses in a kept group.
        #[schemars(range(min = 0.0, max = 1.0))]
        pub accuracy_low: f64 = 0.0,
        /// Largest share of correct responses in a kept group, not below `accuracy_low`.
        #[schemars(range(min = 0.0, max = 1.0))]
        pub accuracy_high: f64 = 1.0,
        /// Fewest prompts asked for each missing group. As many more are asked as the share of groups
        /// kept so far needs, up to `max_batches` times those that a step without losses asks.
        #[schemars(range(min = 1.0, max = 1000.0))]
        pub oversampling: f64 = 1.0,
        /// Most rollout batches of one step.
        #[schemars(range(min = 1, max = 10_000))]
        pub max_batches: usize = 10,
        /// Steps that a surplus group may wait for another step; 0 discards it.
        pub carry_steps: u64 = 1,
        /// Reaction to too few groups after `max_batches`: `"train"` on those, or `"stop"`.
        pub when_short: WhenShort = WhenShort::default(),
    }
}

/// Action of a step that has too few groups after its last rollout batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WhenShort {
    /// Train on the groups there are, and report the shortage.
    #[default]
    Train,
    /// Stop the run with the reason.
    Stop,
}

impl DynamicSampling {
    /// Most prompts sampled in a step of `groups` groups.
    pub fn most_prompts_asked(&self, groups: usize) -> usize {
        if !self.enabled {
            return groups;
        }
        at_least(groups, groups as f64 * self.oversampling).saturating_mul(self.max_batches)
    }

    /// Adds the upper bound, if it lies below the lower one.
    pub(crate) fn check(&self, problems: &mut Problems) {
        let Self { accuracy_low: low, accuracy_high: high, .. } = *self;
        let is_below = (0.0..=1.0).contains(&low) && high < low;
        let expected = format!("at least dynamic_sampling.accuracy_low = {low:?}");
        problems.require(!is_below, "dynamic_sampling.accuracy_high", high, &expected);
    }
}

/// The responses to one prompt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SampledGroup<T> {
    /// Rewards of the responses for their answers, before any shaping by length.
    pub rewards: Vec<f64>,
    /// Number of right responses.
    pub right: usize,
    /// Step whose policy sampled it.
    pub sampled_at: u64,
    /// The responses, or what the trainer keeps of them.
    pub responses: T,
}

/// Error that stops a step: too few groups teach something under [`WhenShort::Stop`], or a group is malformed.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("step {step}: {problem}")]
pub struct SamplingError {
    step: u64,
    problem: String,
}

/// Groups of one step, with their statistics.
#[derive(Debug, Clone, PartialEq)]
pub struct StepGroups<T> {
    /// Groups to train on: carried ones first, then in the order added. There are too few if the step ran short.
    pub groups: Vec<SampledGroup<T>>,
    /// Statistics of how they were sampled.
    pub statistics: SamplingStatistics,
}

/// State between and within steps. Between steps a checkpoint must save it.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GroupSampler<T> {
    /// Groups that can be trained on, those of earlier steps first.
    waiting: VecDeque<SampledGroup<T>>,
    step: u64,
    statistics: SamplingStatistics,
    /// Share of the sampled groups that are kept.
    #[serde(default)]
    rate: KeepRate,
    /// Groups sampled for later steps, step by step; which of them are kept is decided then.
    #[serde(default = "VecDeque::new", skip_serializing_if = "VecDeque::is_empty")]
    ahead: VecDeque<Vec<SampledGroup<T>>>,
}

/// Settings of a step, its number of groups, and the responses to each.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Demand {
    /// Settings of dynamic sampling.
    pub settings: DynamicSampling,
    /// Groups of a step, at least 1.
    pub groups: usize,
    /// Responses of a group, at least 1.
    pub group_size: usize,
    /// Steps that sampling may be ahead of the policy.
    pub staleness: u64,
}

impl<T> GroupSampler<T> {
    /// Begins a step; discards groups that have waited too long.
    pub fn begin_step(&mut self, step: u64, demand: &Demand) {
        let before = self.waiting.len();
        let oldest = step.saturating_sub(demand.settings.carry_steps + demand.staleness);
        self.waiting.retain(|group| group.sampled_at >= oldest);
        self.step = step;
        self.rate.age();
        self.statistics = SamplingStatistics {
            discarded: before - self.waiting.len(),
            carried_in: self.waiting.len().min(demand.groups),
            pass_histogram: vec![0; demand.group_size + 1],
            ..SamplingStatistics::default()
        };
    }

    /// Number of new prompts to sample a group for next, and to add; `None` if the step has all groups that it can get.
    pub fn next(&self, demand: &Demand) -> Option<usize> {
        let Demand { settings, groups, .. } = demand;
        let missing = groups.saturating_sub(self.waiting.len());
        let most_batches = if settings.enabled { settings.max_batches } else { 1 };
        if missing == 0 || self.statistics.batches >= most_batches {
            return None;
        }
        let left = settings.most_prompts_asked(*groups).saturating_sub(self.statistics.asked);
        Some(self.prompts_for(missing, settings).min(left)).filter(|&count| count > 0)
    }

    /// Number of prompts to ask ahead of a step, by what waits for it; `distance` is 1 for the next step.
    pub fn prompts_ahead(&self, distance: u64, demand: &Demand) -> usize {
        let Demand { settings, groups, .. } = demand;
        let waiting = if distance == 1 { self.waiting.len() } else { 0 };
        let missing = groups.saturating_sub(waiting);
        self.prompts_for(missing, settings).min(settings.most_prompts_asked(*groups))
    }

    /// Number of prompts to sample for so many groups.
    fn prompts_for(&self, missing: usize, settings: &DynamicSampling) -> usize {
        if !settings.enabled {
            return missing;
        }
        let least = at_least(missing, missing as f64 * settings.oversampling);
        least.max(self.rate.prompts_for(missing))
    }

    /// Keeps the groups of one rollout batch for a later step, after those that were kept before.
    pub fn push_ahead(&mut self, batch: Vec<SampledGroup<T>>) {
        self.ahead.push_back(batch);
    }

    /// Number of later steps for which groups are kept.
    pub fn batches_ahead(&self) -> usize {
        self.ahead.len()
    }

    /// Adds the groups that were sampled ahead for this step; returns their number.
    ///
    /// # Errors
    ///
    /// The errors of [`add`](Self::add).
    pub fn add_ahead(&mut self, demand: &Demand) -> Result<usize, SamplingError> {
        let Some(batch) = self.ahead.pop_front().filter(|batch| !batch.is_empty()) else {
            return Ok(0);
        };
        let count = batch.len();
        self.add(batch, demand)?;
        Ok(count)
    }

    /// Adds the groups of one rollout batch, in the order of their prompts.
    ///
    /// # Errors
    ///
    /// [`SamplingError`] if a group has another size or a reward that is not finite; then nothing is added.
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
        self.rate.add(kept.iter().filter(|&&kept| kept).count(), batch.len());
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

    /// Ends the step: returns its groups, and carries the rest over.
    ///
    /// # Errors
    ///
    /// [`SamplingError`] if there are too few, under [`WhenShort::Stop`].
    pub fn finish_step(&mut self, demand: &Demand) -> Result<StepGroups<T>, SamplingError> {
        let taken = self.waiting.len().min(demand.groups);
        let mut statistics = std::mem::take(&mut self.statistics);
        statistics.missing = demand.groups - taken;
        let settings = &demand.settings;
        if settings.enabled && statistics.missing > 0 && settings.when_short == WhenShort::Stop {
            let SamplingStatistics { batches, asked, too_low, too_high, .. } = statistics;
            let problem = format!(
                "{taken} of {} groups have rewards that differ after {batches} rollout batches ({asked} prompts asked, {too_low} \
                 groups too hard, {too_high} too easy), all that dynamic_sampling.max_batches allows; expected easier or harder \
                 questions, more batches, or when_short = \"train\"",
                demand.groups
            );
            return Err(SamplingError { step: self.step, problem });
        }
        let groups = self.waiting.drain(..taken).collect();
        if settings.carry_steps == 0 {
            statistics.discarded += self.waiting.len();
            self.waiting.clear();
        }
        statistics.carried_out = self.waiting.len();
        Ok(StepGroups { groups, statistics })
    }

    /// Groups that wait for a later step: those that are kept, oldest first, then those sampled for later steps.
    pub fn waiting_groups(&self) -> impl Iterator<Item = &SampledGroup<T>> {
        self.waiting.iter().chain(self.ahead.iter().flatten())
    }

    fn is_kept(&self, group: &SampledGroup<T>, demand: &Demand) -> Result<bool, SamplingError> {
        let (rewards, right) = (&group.rewards, group.right);
        let refused = |why: &str| {
            let (count, expected) = (rewards.len(), demand.group_size);
            let problem =
                format!("a group of {count} rewards ({why}), expected {expected} finite ones");
            SamplingError { step: self.step, problem }
        };
        if rewards.len() != demand.group_size {
            return Err(refused("another number"));
        }
        if right > rewards.len() {
            return Err(refused(&format!("{right} are right")));
        }
        if let Some(reward) = rewards.iter().find(|reward| !reward.is_finite()) {
            return Err(refused(&format!("one is {reward}")));
        }
        let DynamicSampling { enabled, accuracy_low, accuracy_high, .. } = demand.settings;
        let accuracy = right as f64 / rewards.len() as f64;
        Ok(!enabled
            || (informative_groups(rewards, &[rewards.len()])[0]
                && (accuracy_low..=accuracy_high).contains(&accuracy)))
    }
}
