//! The configuration as written: one struct a section, one default a field.

use std::collections::BTreeMap;
use std::path::PathBuf;

use code_sandbox::CodeSection;
use model_files::sampling::Sampling;
use question_data::dataset::DataSource;
use question_data::ground_truth::{RewardKind, RewardKinds};
use question_data::prompt::{OverLongPrompt, PromptFormat};
use rl_losses::{AdaptiveEntropy, AdvantageEstimator, Aggregation, PolicyLoss, PpoClip};
use serde::{Deserialize, Serialize};

use super::by_name;
use super::control::{GuardSection, ReferenceKl};
use super::device::Device;
use super::dtype::Dtype;
use super::engine::RolloutEngine;
use super::lora::LoraSection;
use super::optimizer::OptimizerSection;
use super::parallel::ParallelSection;
use super::reward_model::RewardModelSection;
use super::thermostat::ThermostatSection;
use crate::dynamic_sampling::DynamicSampling;
use crate::overlong::Overlong;
use crate::retention::Retention;

/// A run as the user wrote it, defaults filled in, nothing checked yet.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunConfig {
    /// Name of the run: letters, digits, `.`, `_`, `-`.
    pub name: String,
    /// Seed of everything random in the run.
    #[serde(default)]
    pub seed: u64,
    /// Folder of the run; `{name}` stands for the name. Relative to the working directory.
    #[serde(default = "default_output_directory")]
    pub output_directory: String,
    /// The model trained.
    pub model: ModelSection,
    /// The questions.
    pub data: DataSection,
    /// How responses are sampled.
    #[serde(default)]
    pub rollout: RolloutSection,
    /// What a response earns.
    #[serde(default)]
    pub reward: RewardSection,
    /// Which groups a step trains on.
    #[serde(default)]
    pub dynamic_sampling: DynamicSampling,
    /// The loss and its batches.
    #[serde(default)]
    pub algorithm: AlgorithmSection,
    /// The implicit process reward model of `algorithm.advantage = "prime"`, which fills it in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reward_model: Option<RewardModelSection>,
    /// `AdamW` and its learning rate.
    #[serde(default)]
    pub optimizer: OptimizerSection,
    /// Low-rank corrections in place of the model's own weights.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lora: Option<LoraSection>,
    /// How long, and how much at a time.
    pub training: TrainingSection,
    /// Several processes on one run.
    #[serde(default)]
    pub parallel: ParallelSection,
    /// Accuracy on questions that are not trained on.
    #[serde(default)]
    pub evaluation: EvaluationSection,
    /// What is kept.
    #[serde(default)]
    pub checkpoint: CheckpointSection,
    /// What is measured.
    #[serde(default)]
    pub metrics: MetricsSection,
    /// When the run should not simply go on.
    #[serde(default)]
    pub guard: GuardSection,
}

fn default_output_directory() -> String {
    "runs/{name}".to_owned()
}

/// `[model]`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModelSection {
    /// Hugging Face directory; relative to the folder of the configuration.
    pub path: PathBuf,
    /// Number format of weights and activations.
    #[serde(default)]
    pub dtype: Dtype,
    /// Where it runs.
    #[serde(default)]
    pub device: Device,
    /// CPU threads; 0 takes one per core.
    #[serde(default)]
    pub threads: usize,
}

/// `[data]`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DataSection {
    /// Questions to train on.
    pub train: DataSource,
    /// Questions to evaluate on; without them there is no evaluation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evaluation: Option<DataSource>,
    /// How a question becomes text.
    #[serde(default)]
    pub prompt: PromptFormat,
    /// Longest prompt, in tokens.
    #[serde(default = "default_max_prompt_tokens")]
    pub max_prompt_tokens: usize,
    /// What happens to a longer one.
    #[serde(default)]
    pub over_long_prompts: OverLongPrompt,
}

fn default_max_prompt_tokens() -> usize {
    1024
}

/// `[rollout]`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RolloutSection {
    /// Questions asked in one training step.
    pub prompts_per_step: usize,
    /// Responses sampled to each: the group.
    pub group_size: usize,
    /// Longest response, in tokens, its end-of-sequence token included.
    pub max_response_tokens: usize,
    /// Softmax temperature of sampling; log-probabilities and entropy are taken at the same one.
    pub temperature: f64,
    /// Only this many of the likeliest tokens are drawn; 0 is all.
    pub top_k: usize,
    /// Only the likeliest tokens whose probabilities first add up to this are drawn; 1 is all.
    pub top_p: f64,
    /// Only tokens at least this times as likely as the likeliest are drawn; 0 is all.
    pub min_p: f64,
    /// Texts that end a response, beside the model's own end-of-sequence tokens.
    pub stop: Vec<String>,
    /// Token ids that end a response, beside the model's own.
    pub stop_token_ids: Vec<u32>,
    /// Sequences that decode together.
    pub rows: usize,
    /// On the CPU, decode by products made for few rows in place of libtorch's.
    pub cpu_kernels: bool,
    /// What samples.
    #[serde(deserialize_with = "by_name::rollout_engine")]
    pub engine: RolloutEngine,
}

impl RolloutSection {
    /// The distribution that tokens are drawn from.
    pub fn sampling(&self) -> Sampling {
        let &Self { temperature, top_k, top_p, min_p, .. } = self;
        Sampling { temperature, top_k, top_p, min_p }
    }
}

impl Default for RolloutSection {
    fn default() -> Self {
        let Sampling { temperature, top_k, top_p, min_p } = Sampling::DEFAULT;
        Self {
            prompts_per_step: 32,
            group_size: 8,
            max_response_tokens: 1024,
            temperature,
            top_k,
            top_p,
            min_p,
            stop: Vec::new(),
            stop_token_ids: Vec::new(),
            rows: 64,
            cpu_kernels: false,
            engine: RolloutEngine::Own,
        }
    }
}

/// `[reward]`
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RewardSection {
    /// How a response is compared with the known answer.
    #[serde(deserialize_with = "by_name::reward_kind")]
    pub kind: RewardKind,
    /// The same for the questions of a source, in place of `kind`.
    #[serde(deserialize_with = "by_name::reward_kinds")]
    pub kind_by_source: BTreeMap<String, RewardKind>,
    /// Threads that judge while others are still sampled; 0 takes one per core.
    pub threads: usize,
    /// What each verdict earns.
    pub values: reward_math::Reward,
    /// How an answer is found and read.
    pub grading: reward_math::Options,
    /// What becomes of responses that reach the length limit.
    pub overlong: Overlong,
    /// Whether and how programs are run.
    pub code: CodeSection,
}

impl RewardSection {
    /// The kind of each source.
    pub fn kinds(&self) -> RewardKinds {
        RewardKinds { otherwise: self.kind, by_source: self.kind_by_source.clone() }
    }
}

/// `[algorithm]`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AlgorithmSection {
    /// How the rewards of a step become advantages.
    #[serde(deserialize_with = "by_name::advantage_estimator")]
    pub advantage: AdvantageEstimator,
    /// How the terms of tokens become one number.
    pub aggregation: Aggregation,
    /// The loss.
    #[serde(deserialize_with = "by_name::policy_loss")]
    pub policy_loss: PolicyLoss,
    /// Prompts of one optimiser step; divides `rollout.prompts_per_step`.
    pub mini_batch_prompts: usize,
    /// Passes over the responses of a step.
    pub epochs: usize,
    /// Weight of the entropy bonus in the loss, reward per nat.
    pub entropy_coefficient: f64,
    /// Leave out groups whose rewards are all equal: they carry no gradient.
    pub drop_uninformative_groups: bool,
    /// The pull to the policy before the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reference_kl: Option<ReferenceKl>,
    /// What holds an entropy trajectory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thermostat: Option<ThermostatSection>,
    /// What moves the weight of the entropy bonus, in place of `entropy_coefficient`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub adaptive_entropy: Option<AdaptiveEntropy>,
}

impl Default for AlgorithmSection {
    fn default() -> Self {
        Self {
            advantage: AdvantageEstimator::default(),
            aggregation: Aggregation::default(),
            policy_loss: PolicyLoss::PpoClip(PpoClip::default()),
            mini_batch_prompts: 8,
            epochs: 1,
            entropy_coefficient: 0.0,
            drop_uninformative_groups: false,
            reference_kl: None,
            thermostat: None,
            adaptive_entropy: None,
        }
    }
}

/// `[training]`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrainingSection {
    /// Training steps; each is one rollout batch.
    pub steps: u64,
    /// Tokens that run through a block at once.
    #[serde(default = "default_micro_batch_tokens")]
    pub micro_batch_tokens: usize,
    /// Memory, in bytes, for what blocks computed and the backward pass needs.
    #[serde(default = "default_activation_bytes")]
    pub activation_bytes: usize,
}

impl TrainingSection {
    /// Enough for small models to compute nothing twice.
    pub const DEFAULT_ACTIVATION_BYTES: usize = 2 << 30;
}

fn default_activation_bytes() -> usize {
    TrainingSection::DEFAULT_ACTIVATION_BYTES
}

fn default_micro_batch_tokens() -> usize {
    16_384
}

/// `[evaluation]`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct EvaluationSection {
    /// Evaluate before training and after every so many steps; 0 is never.
    pub every: u64,
    /// Questions asked, the first ones; 0 is all.
    pub questions: usize,
    /// Responses to each.
    pub samples: usize,
    /// Softmax temperature; 0 takes the likeliest token.
    pub temperature: f64,
}

impl Default for EvaluationSection {
    fn default() -> Self {
        Self { every: 0, questions: 0, samples: 1, temperature: Sampling::GREEDY.temperature }
    }
}

/// `[checkpoint]`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct CheckpointSection {
    /// Save after every so many steps; 0 saves after the last step only.
    pub every: u64,
    /// Checkpoints kept, the last ones; 0 keeps all.
    pub keep: usize,
    /// Checkpoints kept beside them: those of every so many steps; 0 keeps none for it.
    pub keep_every: u64,
    /// Checkpoints kept beside them: the so many best by `best_metric`; 0 keeps none for it.
    pub keep_best: usize,
    /// Metric by which a checkpoint is better, the higher it is.
    pub best_metric: String,
}

impl CheckpointSection {
    /// Which checkpoints stay.
    pub fn retention(&self) -> Retention {
        let Self { keep, keep_every, keep_best, .. } = *self;
        Retention { keep_last: keep, keep_every, keep_best }
    }
}

impl Default for CheckpointSection {
    fn default() -> Self {
        Self {
            every: 0,
            keep: 2,
            keep_every: 0,
            keep_best: 0,
            best_metric: "critic/rewards/mean".to_owned(),
        }
    }
}

/// `[metrics]`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct MetricsSection {
    /// Memory for the logits that are kept to measure and predict the change of entropy; 0 switches it off.
    pub probe_bytes: usize,
    /// Whether event files for TensorBoard are written.
    pub tensorboard: bool,
    /// Groups of each step whose tokens are recorded one by one.
    pub token_groups: usize,
}

impl Default for MetricsSection {
    fn default() -> Self {
        Self { probe_bytes: 64 * 1024 * 1024, tensorboard: true, token_groups: 1 }
    }
}
