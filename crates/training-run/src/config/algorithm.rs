//! `[algorithm]`: the loss and its batches, and the pull to a reference.

use rl_losses::{
    AdaptiveEntropy, AdvantageEstimator, Aggregation, Annealing, KlCoefficient, KlEstimator,
    PolicyLoss, PpoClip,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::by_name;
use super::thermostat::ThermostatSection;
use model_files::section;

section! {
    /// `[algorithm]`
    pub struct AlgorithmSection {
        /// [Advantage estimator](#advantage-estimators): a name, or a table with settings.
        #[serde(deserialize_with = "by_name::advantage_estimator")]
        #[schemars(transform = by_name::or_estimator_name)]
        pub advantage: AdvantageEstimator = AdvantageEstimator::default(),
        /// Aggregation of token terms: `"token-mean"`, `"seq-mean-token-mean"`, `"seq-mean-token-sum"`
        /// or `seq-mean-token-sum-norm`.
        pub aggregation: Aggregation = Aggregation::default(),
        /// Policy loss: a name, or a table with settings; see [policy losses](#policy-losses).
        #[serde(deserialize_with = "by_name::policy_loss")]
        #[schemars(transform = by_name::or_loss_name)]
        pub policy_loss: PolicyLoss = PolicyLoss::PpoClip(PpoClip::default()),
        /// Policy that ratios are taken to: `"old"`, as the trainer computes it before the first update, or
        /// `"rollout"`, as sampled. The latter counts an engine's difference in the ratio and its clip, in
        /// place of `rollout.correction` (verl's `bypass_mode`).
        pub ratio_to: RatioTo = RatioTo::Old,
        /// Prompts of one optimiser step; divides `rollout.prompts_per_step`.
        pub mini_batch_prompts: usize = 8,
        /// Passes over the responses of a step.
        #[schemars(range(min = 1, max = 65_536))]
        pub epochs: usize = 1,
        /// Weight of the entropy bonus in the loss, reward per nat.
        pub entropy_coefficient: f64 = 0.0,
        /// Leave out groups of equal rewards: they carry no gradient.
        pub drop_uninformative_groups: bool = false,
        /// The pull to the policy before the run.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub reference_kl: Option<ReferenceKl> = None,
        /// Controller that holds an entropy trajectory.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub thermostat: Option<ThermostatSection> = None,
        /// Number of the policy loss that moves on a straight line over `training.steps`.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub annealing: Option<Annealing> = None,
        /// Controller of the entropy bonus, in place of `entropy_coefficient`.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub adaptive_entropy: Option<AdaptiveEntropy> = None,
    }
}

/// Policy whose log-probabilities the ratios of an update are taken to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RatioTo {
    /// The policy before the first update, as the trainer computes it. How far the sampling engine is from it, a weight corrects.
    #[default]
    Old,
    /// The policy as sampled: the ratio, and its clip, count the engine's difference too. verl's `bypass_mode`.
    Rollout,
}

/// Place of the divergence from the reference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum KlPlacement {
    /// A term of the loss, differentiated.
    #[default]
    Loss,
    /// Taken off the rewards, token by token.
    Reward,
}

section! {
    /// `[algorithm.reference_kl]`: the policy before the run, or `model.reference`, as a frozen reference.
    #[derive(Copy)]
    pub struct ReferenceKl {
        /// Place of the divergence from the policy before the run, or `model.reference`: `"loss"`, or
        /// `"reward"`, taken off each token's. With `[algorithm.reference_kl]` that policy is kept as a
        /// frozen reference, which costs its memory once more.
        pub placement: KlPlacement = KlPlacement::default(),
        /// Estimator of a token's divergence: `"k1"`, `"k2"`, `"k3"`, `"abs"`; with a `+` its value has
        /// the gradient of k2.
        pub estimator: KlEstimator = KlEstimator::K3,
        /// Coefficient of the divergence, reward per nat.
        pub coefficient: KlCoefficient = KlCoefficient::Fixed(0.001),
    }
}
