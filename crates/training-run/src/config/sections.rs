//! The configuration as written: one struct a section, one default a field.

use std::path::{Path, PathBuf};

use model_files::device::Device;
use model_files::dtype::Dtype;
use model_files::lora::LoraSection;
use question_data::dataset::{DataSource, QuestionFile};
use question_data::prompt::{OverLongPrompt, PromptFormat};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::algorithm::AlgorithmSection;
use super::evaluation::EvaluationSection;
use super::guard::GuardSection;
use super::optimizer::OptimizerSection;
use super::parallel::ParallelSection;
use super::reward::RewardSection;
use super::reward_model::RewardModelSection;
use super::rollout::RolloutSection;
use crate::dynamic_sampling::DynamicSampling;
use model_files::section;

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

impl RunConfig {
    /// Directory or hub name of every model, each with its field.
    pub(super) fn models(&mut self) -> Vec<(&'static str, &mut PathBuf)> {
        let mut models = vec![
            ("model.path", &mut self.model.path),
            ("model.reference", &mut self.model.reference),
        ];
        if let Some(reward_model) = &mut self.reward_model {
            models.push(("reward_model.path", &mut reward_model.path));
            models.push(("reward_model.reference", &mut reward_model.reference));
        }
        models
    }

    /// Every file of questions, each with the field of its path.
    pub(super) fn question_files(&mut self) -> Vec<(&'static str, &mut QuestionFile)> {
        let mut files = Vec::new();
        if let DataSource::File(file) = &mut self.data.train {
            files.push(("data.train.file.path", file));
        }
        if let Some(DataSource::File(file)) = &mut self.data.evaluation {
            files.push(("data.evaluation.file.path", file));
        }
        files
    }
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
    #[serde(default = "number::<1024>")]
    #[schemars(range(min = 1, max = 16_777_216))]
    pub max_prompt_tokens: usize,
    /// Treatment of a longer prompt: `"error"` refuses to start, `"drop"` leaves it out and counts
    /// it, `"truncate-left"` removes its first tokens.
    #[serde(default)]
    pub over_long_prompts: OverLongPrompt,
}

/// A default that stands at its field.
fn number<const DEFAULT: usize>() -> usize {
    DEFAULT
}

/// `[training]`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TrainingSection {
    /// Training steps; each is one rollout batch.
    #[schemars(range(min = 1, max = 1_000_000_000))]
    pub steps: u64,
    /// Tokens of one micro-batch; at least `data.max_prompt_tokens + rollout.max_response_tokens`.
    #[serde(default = "number::<16_384>")]
    #[schemars(range(max = 1_073_741_824))]
    pub micro_batch_tokens: usize,
    /// Memory for activations of the backward pass; what does not fit is computed again. Changes
    /// speed and memory, not a bit of the result.
    #[serde(default = "number::<{ TrainingSection::DEFAULT_ACTIVATION_BYTES }>")]
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

section! {
    /// `[checkpoint]`
    #[derive(Eq)]
    pub struct CheckpointSection {
        /// Save after every so many steps; the last step is always saved.
        pub every: u64 = 0,
        /// Latest checkpoints that are kept; 0 keeps all.
        pub keep: usize = 2,
        /// Keep also checkpoints whose step is a multiple of this; 0 keeps none.
        pub keep_every: u64 = 0,
        /// Keep also so many checkpoints of the best `best_metric`; 0 keeps none.
        pub keep_best: usize = 0,
        /// Metric that orders checkpoints, higher is better: one of `docs/metrics.md`, or `val-core/…`.
        pub best_metric: String = "critic/rewards/mean".to_owned(),
    }
}

section! {
    /// `[metrics]`
    pub struct MetricsSection {
        /// Response tokens of each step, drawn at random, at which entropy change is measured and predicted; 0 is off.
        pub probe_tokens: usize = 4096,
        /// Write metrics and response lengths for TensorBoard too, to `events/`
        /// (`docs/reading-results.md`).
        pub tensorboard: bool = true,
        /// Groups of each step recorded token by token for `llm-trainer inspect`, about 60 bytes a
        /// token; 0 is none. Groups whose rewards differ come first.
        pub token_groups: usize = 1,
        /// Program that is fed the metrics while the run goes on; none by default.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub sink: Option<MetricsSink> = None,
    }
}

/// A program that is fed the metrics as JSON lines (`docs/reading-results.md#weights--biases-and-mlflow`).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MetricsSink {
    /// Program with its arguments, such as `["python3", "scripts/metrics-to-mlflow.py"]`. Its first line names run, directory
    /// and configuration; then come all lines of `metrics.jsonl`, from the first on, as they are written.
    pub command: Vec<String>,
    /// Longest wait for its end once the run has ended.
    #[serde(default = "default_wait_seconds")]
    #[schemars(range(min = 0.0, max = 86_400.0))]
    pub wait_seconds: f64,
}

fn default_wait_seconds() -> f64 {
    60.0
}
