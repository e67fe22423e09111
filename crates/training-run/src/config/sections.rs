//! The configuration as written: one struct a section, one default a field.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use code_sandbox::CodeSection;
use model_files::sampling::Sampling;
use question_data::dataset::DataSource;
use question_data::ground_truth::{RewardKind, RewardKinds};
use question_data::prompt::{OverLongPrompt, PromptFormat};
use rl_losses::{
    AdaptiveEntropy, AdvantageEstimator, Aggregation, Annealing, PolicyLoss, PpoClip,
    RolloutCorrection,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::by_name;
use super::control::{GuardSection, ReferenceKl};
use super::engine::{EngineServers, RolloutEngine};
use super::environment::EnvironmentSection;
use super::evaluation::EvaluationSection;
use super::metrics_sink::MetricsSink;
use super::optimizer::OptimizerSection;
use super::parallel::ParallelSection;
use super::ratio::RatioTo;
use super::reward_model::RewardModelSection;
use super::reward_program::RewardProgram;
use super::sampling_meanings::with_sampling_meanings;
use super::thermostat::ThermostatSection;
use crate::dynamic_sampling::DynamicSampling;
use crate::overlong::Overlong;
use crate::retention::Retention;
use model_files::device::Device;
use model_files::dtype::Dtype;
use model_files::lora::LoraSection;

/// A run as the user wrote it, defaults filled in, nothing checked yet.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RunConfig {
    /// Name of the run: letters, digits, `.`, `_`, `-`.
    pub name: String,
    /// Seed of all randomness; the same seed, configuration and machine give the same run.
    #[serde(default)]
    pub seed: u64,
    /// Directory of the run, relative to the working directory; `{name}` is its name.
    #[serde(default = "default_output_directory")]
    pub output_directory: String,
    /// The model trained.
    pub model: ModelSection,
    /// The questions.
    pub data: DataSection,
    /// How responses are sampled.
    #[serde(default)]
    pub rollout: RolloutSection,
    /// Reward of a response.
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
    /// Checkpoints.
    #[serde(default)]
    pub checkpoint: CheckpointSection,
    /// Measurements beside the training.
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
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ModelSection {
    /// Hugging Face model directory, or the name of a model on the hub, `"Qwen/Qwen3-0.6B"`; a
    /// directory of that name wins. The cache (`HF_HUB_CACHE`) is read first, and alone with
    /// `HF_HUB_OFFLINE=1`; what it lacks is downloaded (`docs/data.md#names-of-the-hub`).
    pub path: PathBuf,
    /// Branch, tag or commit of a model on the hub; empty is the default branch. A run keeps the
    /// commit that it started with.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub revision: String,
    /// Directory or hub name of the policy that `[algorithm.reference_kl]` measures from, such as a
    /// teacher; empty takes `path`. It needs the same tokens. Its number format and device are the
    /// policy's.
    #[serde(default, skip_serializing_if = "is_empty_path")]
    pub reference: PathBuf,
    /// Number format of weights and activations: `"f32"`, `"bf16"` (the optimiser steps in f32) or
    /// `"f64"`. `"f64"`, optimiser included, is for comparisons to the last digits.
    #[serde(default)]
    pub dtype: Dtype,
    /// `"auto"` (a GPU if there is one), `"cpu"`, `"cuda"` (one device for each rank of a machine)
    /// or `"cuda:N"`. For one process `"cuda"` is the first device. `"auto"` is an error if a GPU
    /// or its driver is visible and cannot be used. `CUDA_VISIBLE_DEVICES=` hides all devices.
    #[serde(default)]
    pub device: Device,
    /// CPU threads; 0 takes `OMP_NUM_THREADS`, else one per core.
    #[serde(default)]
    #[schemars(range(max = 1024))]
    pub threads: usize,
}

fn is_empty_path(path: &Path) -> bool {
    path.as_os_str().is_empty()
}

impl ModelSection {
    /// Directory of the reference: its own, else the policy's.
    pub fn reference_path(&self) -> &Path {
        if is_empty_path(&self.reference) { &self.path } else { &self.reference }
    }
}

/// `[data]`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
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
    #[schemars(range(min = 1, max = 16_777_216))]
    pub max_prompt_tokens: usize,
    /// Treatment of a longer prompt: `"error"` refuses to start, `"drop"` leaves it out and counts
    /// it, `"truncate-left"` removes its first tokens.
    #[serde(default)]
    pub over_long_prompts: OverLongPrompt,
}

fn default_max_prompt_tokens() -> usize {
    1024
}

/// `[rollout]`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(transform = with_sampling_meanings)]
pub struct RolloutSection {
    /// Questions of one training step.
    #[schemars(range(min = 1, max = 1_048_576))]
    pub prompts_per_step: usize,
    /// Responses sampled to each question; at least 2 if the advantage compares them.
    #[schemars(range(min = 1, max = 1_048_576))]
    pub group_size: usize,
    /// Longest response, in tokens, end-of-sequence token included.
    #[schemars(range(min = 1, max = 16_777_216))]
    pub max_response_tokens: usize,
    /// Softmax temperature of sampling, log-probabilities and entropy.
    #[schemars(range(min = Sampling::LEAST_TEMPERATURE))]
    pub temperature: f64,
    /// [`Sampling::top_k`] (`docs/rollout.md#truncated-sampling`). If sampling leaves tokens out,
    /// all log-probabilities (current, old, reference) are taken over the tokens kept. The entropy
    /// stays that of the whole vocabulary.
    pub top_k: usize,
    /// [`Sampling::top_p`].
    pub top_p: f64,
    /// [`Sampling::min_p`].
    pub min_p: f64,
    /// Texts that end a response, besides end-of-sequence tokens. The verifier reads the response
    /// without them; their tokens stay and are trained on. They are found across token boundaries.
    pub stop: Vec<String>,
    /// Token ids that end a response, besides those of the model.
    pub stop_token_ids: Vec<u32>,
    /// Sequences that decode together; changes speed and memory, never the tokens drawn. When one
    /// ends, the next takes its place. Each needs memory for the longest prompt and
    /// `max_response_tokens`.
    #[schemars(range(min = 1, max = 65_536))]
    pub rows: usize,
    /// Decode on the CPU by matrix products made for few rows. A row gives the same bits whatever
    /// decodes beside it. With many rows it is faster or slower than libtorch, depending on the
    /// processor.
    pub cpu_kernels: bool,
    /// Mixtures of experts: the policy's passes use the experts that drew each token, weighted by
    /// the router as it is now (`docs/rollout.md#mixtures-of-experts`). Other engines and harnesses
    /// do not return them; then the updates of a step use those of the pass before the first one.
    pub routing_replay: bool,
    /// Sampler: `"own"`, the trainer itself, or the servers of `"vllm"`, `"sglang"`, `"llm-trainer"`
    /// or `"openai"` (`docs/rollout.md#other-engines`), which are sent the weights after each update.
    pub engine: RolloutEngine,
    /// The servers of an engine that is not the trainer.
    pub servers: EngineServers,
    /// Steps that sampling may be ahead of the policy: servers sample the responses of later steps
    /// while a step updates. Those responses then enter the loss with their log-probabilities as
    /// sampled. 0 with `"own"`.
    #[schemars(range(max = 16))]
    pub staleness: u64,
    /// Importance correction of tokens, `old_log_prob` against the log-probability as sampled; none
    /// with `"own"` unless given. `level` is `"token"`, `"sequence"` or `"geometric"`; `normalise`
    /// divides by the mean.
    ///
    /// `bound` is `{ truncate = { low, high } }`, `{ mask = { low, high } }`, `{ reject = { low,
    /// high } }` or `"off"`. A response with a token whose ratio is below `veto` weighs 0. `reject`
    /// leaves tokens or responses out besides: `"off"`, `{ ratio = { level, low, high } }` or
    /// `{ divergence = { estimator, over, high } }`, with the estimator `"k2"` or `"k3"` over
    /// `"token"`, `"sum"`, `"mean"` or `"max"`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub correction: Option<RolloutCorrection>,
    /// Harness that plays turns and tools with the policy, and rewards them; none by default
    /// ([turns and tools](rollout.md#turns-and-tools)).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub environment: Option<EnvironmentSection>,
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
            routing_replay: true,
            engine: RolloutEngine::Own,
            servers: EngineServers::default(),
            staleness: 0,
            correction: None,
            environment: None,
        }
    }
}

/// `[reward]`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct RewardSection {
    /// Comparison with the known answer: `"math"`, `"multiple-choice"` (A to J), `"exact-match"` or
    /// `"code"` (unit tests, `docs/reward-math.md`). `"code"` runs the row's tests on the program
    /// in the response; `reward.grading` finds the answer for all other kinds. A known answer that
    /// is not of its kind is a bad row.
    #[serde(deserialize_with = "by_name::reward_kind")]
    #[schemars(transform = by_name::or_kind_name)]
    pub kind: RewardKind,
    /// Kinds by source (`data_source` of a row) instead of `kind`: `{ triviaqa = { exact-match = {
    /// normalisation = "words" } } }`.
    #[serde(deserialize_with = "by_name::reward_kinds")]
    pub kind_by_source: BTreeMap<String, RewardKind>,
    /// Threads that judge during sampling; 0 takes one per core. Changes speed, never a reward.
    #[schemars(range(max = 1024))]
    pub threads: usize,
    /// Reward of each verdict.
    pub values: reward_math::Reward,
    /// Rewards instead of `values`, none by default, from a program (`{ command = ["./score"] }`), a service (`{ http =
    /// "http://127.0.0.1:9000/score" }`) or a Python function (`{ python = "module:function" }`);
    /// see [your own reward](reward-math.md#your-own-reward).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub custom: Option<RewardProgram>,
    /// Longest wait for the rewards of one batch of responses.
    #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 86_400))]
    pub custom_timeout_seconds: f64,
    /// How an answer is found and read.
    pub grading: reward_math::Options,
    /// Treatment of responses that reach `rollout.max_response_tokens`: `"none"`, `"mask"` (out of
    /// the update) or `soft-buffer`.
    pub overlong: Overlong,
    /// Sandbox that runs programs.
    pub code: CodeSection,
}

impl Default for RewardSection {
    fn default() -> Self {
        Self {
            kind: RewardKind::default(),
            kind_by_source: BTreeMap::new(),
            threads: 0,
            values: reward_math::Reward::default(),
            custom: None,
            custom_timeout_seconds: 600.0,
            grading: reward_math::Options::default(),
            overlong: Overlong::default(),
            code: CodeSection::default(),
        }
    }
}

impl RewardSection {
    /// The kind of each source.
    pub fn kinds(&self) -> RewardKinds {
        RewardKinds { otherwise: self.kind, by_source: self.kind_by_source.clone() }
    }
}

/// `[algorithm]`
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct AlgorithmSection {
    /// [Advantage estimator](#advantage-estimators): a name, or a table with settings.
    #[serde(deserialize_with = "by_name::advantage_estimator")]
    #[schemars(transform = by_name::or_estimator_name)]
    pub advantage: AdvantageEstimator,
    /// Aggregation of token terms: `"token-mean"`, `"seq-mean-token-mean"`, `"seq-mean-token-sum"`
    /// or `seq-mean-token-sum-norm`.
    pub aggregation: Aggregation,
    /// Policy loss: a name, or a table with settings; see [policy losses](#policy-losses).
    #[serde(deserialize_with = "by_name::policy_loss")]
    #[schemars(transform = by_name::or_loss_name)]
    pub policy_loss: PolicyLoss,
    /// Policy that ratios are taken to: `"old"`, as the trainer computes it before the first update, or
    /// `"rollout"`, as sampled. The latter counts an engine's difference in the ratio and its clip, in
    /// place of `rollout.correction` (verl's `bypass_mode`).
    pub ratio_to: RatioTo,
    /// Prompts of one optimiser step; divides `rollout.prompts_per_step`.
    pub mini_batch_prompts: usize,
    /// Passes over the responses of a step.
    #[schemars(range(min = 1, max = 65_536))]
    pub epochs: usize,
    /// Weight of the entropy bonus in the loss, reward per nat.
    pub entropy_coefficient: f64,
    /// Leave out groups of equal rewards: they carry no gradient.
    pub drop_uninformative_groups: bool,
    /// The pull to the policy before the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reference_kl: Option<ReferenceKl>,
    /// Controller that holds an entropy trajectory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thermostat: Option<ThermostatSection>,
    /// Number of the policy loss that moves on a straight line over `training.steps`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub annealing: Option<Annealing>,
    /// Controller of the entropy bonus, in place of `entropy_coefficient`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub adaptive_entropy: Option<AdaptiveEntropy>,
}

impl Default for AlgorithmSection {
    fn default() -> Self {
        Self {
            advantage: AdvantageEstimator::default(),
            aggregation: Aggregation::default(),
            policy_loss: PolicyLoss::PpoClip(PpoClip::default()),
            ratio_to: RatioTo::Old,
            mini_batch_prompts: 8,
            epochs: 1,
            entropy_coefficient: 0.0,
            drop_uninformative_groups: false,
            reference_kl: None,
            thermostat: None,
            annealing: None,
            adaptive_entropy: None,
        }
    }
}

/// `[training]`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TrainingSection {
    /// Training steps; each is one rollout batch.
    #[schemars(range(min = 1, max = 1_000_000_000))]
    pub steps: u64,
    /// Tokens of one micro-batch; at least `data.max_prompt_tokens + rollout.max_response_tokens`.
    #[serde(default = "default_micro_batch_tokens")]
    #[schemars(range(max = 1_073_741_824))]
    pub micro_batch_tokens: usize,
    /// Memory for activations of the backward pass; what does not fit is computed again. Changes
    /// speed and memory, not a bit of the result.
    #[serde(default = "default_activation_bytes")]
    pub activation_bytes: usize,
    /// On a GPU, gradients of attention and of the embedding are added in one order, so that a run
    /// repeats and resumes to the bit. Its cost is not measured, and it was not tried with experts.
    /// On a CPU runs repeat in any case.
    #[serde(default)]
    pub repeatable: bool,
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

/// `[checkpoint]`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CheckpointSection {
    /// Save after every so many steps; the last step is always saved.
    pub every: u64,
    /// Latest checkpoints that are kept; 0 keeps all.
    pub keep: usize,
    /// Keep also checkpoints whose step is a multiple of this; 0 keeps none.
    pub keep_every: u64,
    /// Keep also so many checkpoints of the best `best_metric`; 0 keeps none.
    pub keep_best: usize,
    /// Metric that orders checkpoints, higher is better: one of `docs/metrics.md`, or `val-core/…`.
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
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct MetricsSection {
    /// Response tokens of each step, drawn at random, at which entropy change is measured and predicted; 0 is off.
    pub probe_tokens: usize,
    /// Write metrics and response lengths for TensorBoard too, to `events/`
    /// (`docs/reading-results.md`).
    pub tensorboard: bool,
    /// Groups of each step recorded token by token for `llm-trainer inspect`, about 60 bytes a
    /// token; 0 is none. Groups whose rewards differ come first.
    pub token_groups: usize,
    /// Program that is fed the metrics while the run goes on; none by default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sink: Option<MetricsSink>,
}

impl Default for MetricsSection {
    fn default() -> Self {
        Self { probe_tokens: 4096, tensorboard: true, token_groups: 1, sink: None }
    }
}
