//! Supervised warm-up of a small model over bytes: a start with entropy to lose, made reproducibly and cached.

mod teacher;

use std::path::{Path, PathBuf};

use anyhow::Context;
use counter_rng::{Purpose, purpose_seed, step_rng};
use decoder::generation::{GenerationOptions, SamplingKey};
use decoder::model::Decoder;
use messages::{in_file, plain_words};
use model_files::model_config::{Architecture, ModelConfig, ModelShape};
use model_files::text_tokenizer::TextTokenizer;
use question_data::arithmetic::{ArithmeticTask, Split};
use question_data::dataset::Question;
use question_data::prompt::Prompt;
use rand::Rng;
use rand::seq::IndexedRandom;
use ranks::{DeviceMesh, Ranks};
use serde::{Deserialize, Serialize};
use tch::{Device, Kind};
use training_run::config::{OptimizerSection, TrainingSection};
use training_run::schedule::{Decay, Schedule};
use whole_file::DirectoryInProgress;

use self::teacher::Teacher;
use crate::host_memory::Memory;
use crate::training::adamw::AdamW;
use crate::training::judge::Judge;
use crate::training::policy_pass::{Cotangent, PolicyPass, Sequence};
use crate::training::rollout::{Engine, SamplingPass};

/// File in the model directory that records its configuration.
const RECORD: &str = "warmup.json";

/// A tokenizer whose tokens are the 256 bytes, each with the byte as its id, and one end-of-text token.
const TOKENIZER: [(&str, &str); 3] = [
    ("tokenizer.json", include_str!("tokenizer/tokenizer.json")),
    ("tokenizer_config.json", include_str!("tokenizer/tokenizer_config.json")),
    ("generation_config.json", include_str!("tokenizer/generation_config.json")),
];
const END_OF_TEXT_ID: u32 = 256;
const VOCABULARY: usize = 257;

/// Outcome of a warm-up, stored beside the model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct WarmupRecord {
    /// The configuration, its output path apart.
    pub(crate) config: WarmupConfig,
    pub(crate) steps: u64,
    #[serde(flatten)]
    pub(crate) reached: Measurement,
}

/// Results on held-out questions at temperature 1.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) struct Measurement {
    pub(crate) accuracy: f64,
    /// Mean entropy of the sampled tokens, in nats.
    pub(crate) entropy: f64,
}

/// Returns the record of an earlier warm-up at `config.output`, if it has the same configuration.
pub(crate) fn cached(config: &WarmupConfig) -> Option<WarmupRecord> {
    let text =
        whole_file::read_text_at_most(&config.output.join(RECORD), whole_file::LONGEST_TEXT_BYTES)
            .ok()?;
    let record: WarmupRecord = serde_json::from_str(&text).ok()?;
    let same = WarmupConfig { output: config.output.clone(), ..record.config.clone() } == *config;
    (same && config.output.join("model.safetensors").exists()).then_some(record)
}

/// Trains until the accuracy is within the target, and writes the model; fails without writing if the accuracy exceeds the target or never
/// reaches it.
///
/// `progress` gets the steps taken, the loss of the last batch (mean negative log-likelihood of its answers, in nats per token), and the
/// latest measurement.
pub(crate) fn warm_up(
    config: &WarmupConfig,
    mut progress: impl FnMut(u64, f64, Option<Measurement>),
) -> anyhow::Result<WarmupRecord> {
    let staging = tempfile::tempdir().context("no temporary folder")?;
    write_tokenizer(staging.path())?;
    let tokenizer = TextTokenizer::load(staging.path())?;
    let training = &config.training;
    ranks::device::set_threads(config.threads)?;

    let model_seed = purpose_seed(config.seed, Purpose::Initialisation);
    let model =
        Decoder::initialise(model_config(&config.model)?, model_seed, Device::Cpu, Kind::Float);
    model.set_trainable(true);
    let mut optimizer = AdamW::new(&model, &OptimizerSection::default(), config.seed);
    let schedule = Schedule {
        decay: Decay::Constant,
        warmup_steps: training.warmup_steps,
        total_steps: training.max_steps,
    };

    let questions = config.questions.questions(Split::Train)?;
    let held_out = config.questions.questions(Split::HeldOut)?.into_iter();
    let held_out = held_out.take(training.evaluation_questions);
    let prompt = |question: Question| -> anyhow::Result<Prompt> {
        Ok(Prompt { tokens: tokenizer.encode(&question.problem)?, question })
    };
    let held_out = held_out.map(prompt).collect::<anyhow::Result<Vec<_>>>()?;

    let by_last_number = reward_math::Options { last_number: true, ..Default::default() };
    let judge = Judge::plain(tokenizer.clone(), by_last_number)?;
    let (low, high) = training.target_accuracy;
    let (mut step, mut measured) = (0, None::<Measurement>);
    while step < training.max_steps {
        let mut rng = step_rng(config.seed, step, Purpose::Warmup);
        let sequences = (0..training.sequences)
            .map(|_| example(&tokenizer, &questions, &config.teacher, &mut rng))
            .collect::<anyhow::Result<Vec<_>>>()?;
        let rate = training.learning_rate * schedule.factor(step);
        let loss = supervised_step(&model, &mut optimizer, &sequences, rate, training)?;
        step += 1;
        if step.is_multiple_of(training.evaluate_every) {
            let seed = purpose_seed(config.seed, Purpose::Evaluation);
            let key = SamplingKey { seed, step, prompt: 0 };
            measured = Some(measure(&model, &judge, &held_out, training, key)?);
        }
        progress(step, loss, measured);
        if measured.is_some_and(|measured| measured.accuracy >= low) {
            break;
        }
    }
    let reached = measured.context("`training.max_steps` is below `training.evaluate_every`")?;
    anyhow::ensure!(
        (low..=high).contains(&reached.accuracy),
        "after {step} steps the warm-up answers {:.3} of held-out questions, expected {low} to {high}",
        reached.accuracy,
    );
    let record = WarmupRecord { config: config.clone(), steps: step, reached };
    save(&record, &model, staging.path())?;
    Ok(record)
}

/// Writes the model with its tokenizer and the record.
fn save(record: &WarmupRecord, model: &Decoder, tokenizer: &Path) -> anyhow::Result<()> {
    let folder = DirectoryInProgress::begin(&record.config.output)?;
    model.save(folder.path(), tokenizer)?;
    let path = folder.path().join(RECORD);
    std::fs::write(&path, serde_json::to_string_pretty(record)?)
        .with_context(|| path.display().to_string())?;
    folder.commit()?;
    Ok(())
}

/// Takes one step on the answers' mean negative log-likelihood and returns it.
fn supervised_step(
    model: &Decoder,
    optimizer: &mut AdamW,
    sequences: &[Sequence],
    learning_rate: f64,
    training: &WarmupTraining,
) -> anyhow::Result<f64> {
    let pass = pass(model, training);
    let sequences: Vec<&Sequence> = sequences.iter().collect();
    let tokens: usize = sequences.iter().map(|sequence| sequence.response.len()).sum();
    let weight = 1.0 / tokens as f64;
    let cotangent = Cotangent { log_prob: vec![-weight; tokens], entropy: None };
    let log_prob = pass.checkpointed_forward(&sequences).backward(&cotangent)?;
    optimizer.step(&Ranks::single(), learning_rate)?;
    Ok(-weight * log_prob.iter().sum::<f64>())
}

fn pass<'a>(model: &'a Decoder, training: &WarmupTraining) -> PolicyPass<'a> {
    PolicyPass {
        model,
        temperature: 1.0,
        micro_batch_tokens: training.micro_batch_tokens,
        activation_bytes: TrainingSection::DEFAULT_ACTIVATION_BYTES,
        block_inputs: Memory::Device,
        with_squared_scores: false,
    }
}

fn measure(
    model: &Decoder,
    judge: &Judge,
    held_out: &[Prompt],
    training: &WarmupTraining,
    key: SamplingKey,
) -> anyhow::Result<Measurement> {
    let options = GenerationOptions {
        samples: 1,
        max_new_tokens: training.max_response_tokens,
        stop_ids: vec![END_OF_TEXT_ID],
        ..GenerationOptions::default()
    };
    let prompts: Vec<&Prompt> = held_out.iter().collect();
    let (mesh, engine) = (DeviceMesh::single(), Engine::Own(model));
    let pass = SamplingPass { engine, options: &options, judge };
    let samples = pass.roll_out(&mesh, &prompts, key, &|_| ())?.samples;
    let right = samples.iter().filter(|sample| sample.verdict.is_right()).count();
    let sequences: Vec<&Sequence> = samples.iter().map(|sample| &sample.sequence).collect();
    let statistics = self::pass(model, training).statistics(&sequences);
    let accuracy = right as f64 / samples.len() as f64;
    Ok(Measurement { accuracy, entropy: statistics.mean_entropy() })
}

fn example(
    tokenizer: &TextTokenizer,
    questions: &[Question],
    teacher: &Teacher,
    rng: &mut impl Rng,
) -> anyhow::Result<Sequence> {
    let question = questions.choose(rng).context("no questions to learn from")?;
    let answer = teacher.answer(&question.problem, rng).with_context(|| {
        format!(
            "question {}: {:?} is none that this teacher answers",
            question.id, question.problem
        )
    })?;
    let mut response = tokenizer.encode(&answer)?;
    response.push(END_OF_TEXT_ID);
    Ok(Sequence::new(tokenizer.encode(&question.problem)?, response))
}

fn write_tokenizer(directory: &Path) -> anyhow::Result<()> {
    for (name, content) in TOKENIZER {
        std::fs::write(directory.join(name), content)?;
    }
    Ok(())
}

fn model_config(sizes: &ModelSizes) -> anyhow::Result<ModelConfig> {
    let shape = ModelShape {
        hidden_size: sizes.hidden_size,
        intermediate_size: sizes.intermediate_size,
        num_hidden_layers: sizes.num_hidden_layers,
        num_attention_heads: sizes.num_attention_heads,
        num_key_value_heads: sizes.num_key_value_heads,
        head_dim: sizes.hidden_size / sizes.num_attention_heads.max(1),
        vocab_size: VOCABULARY,
        architecture: Architecture::Qwen2,
        rms_norm_eps: 1e-6,
        rope_theta: 10_000.0,
        rope_scaling: None,
        max_position_embeddings: 512,
        tie_word_embeddings: true,
        attention: Architecture::Qwen2.attention(),
        experts: None,
        initializer_range: 0.02,
        bos_token_id: None,
        eos_token_ids: vec![END_OF_TEXT_ID],
        pad_token_id: None,
    };
    Ok(ModelConfig::new(shape)?)
}

/// A supervised warm-up as its TOML file writes it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct WarmupConfig {
    /// Seed of the initial weights, the order of questions and the teacher.
    pub(crate) seed: u64,
    /// Hugging Face directory to write the model to.
    pub(crate) output: PathBuf,
    /// Threads of libtorch; 0 keeps libtorch's default.
    #[serde(default)]
    pub(crate) threads: usize,
    pub(crate) model: ModelSizes,
    /// Questions to learn from; their held-out split measures the accuracy.
    pub(crate) questions: ArithmeticTask,
    pub(crate) teacher: Teacher,
    pub(crate) training: WarmupTraining,
}

/// Sizes of a Qwen2-architecture model over bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ModelSizes {
    /// Width of the residual stream.
    pub(crate) hidden_size: usize,
    /// Width of the gated feed-forward layer.
    pub(crate) intermediate_size: usize,
    pub(crate) num_hidden_layers: usize,
    pub(crate) num_attention_heads: usize,
    pub(crate) num_key_value_heads: usize,
}

/// How a warm-up trains and when it stops.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct WarmupTraining {
    /// Peak learning rate of `AdamW`.
    pub(crate) learning_rate: f64,
    /// Steps over which the learning rate rises from its first fraction to the peak.
    warmup_steps: u64,
    pub(crate) sequences: usize,
    /// Steps after which a warm-up that has not reached its accuracy has failed.
    pub(crate) max_steps: u64,
    /// Steps between measurements of the accuracy.
    evaluate_every: u64,
    /// Held-out questions of a measurement.
    evaluation_questions: usize,
    /// Accuracy to stop at, `[lowest, highest]`, fractions: sampled at temperature 1 on held-out questions.
    target_accuracy: (f64, f64),
    /// Longest answer that is sampled, in tokens.
    pub(crate) max_response_tokens: usize,
    /// Most tokens of one forward pass, padding included.
    pub(crate) micro_batch_tokens: usize,
}

impl WarmupConfig {
    pub(crate) fn load(path: &Path) -> anyhow::Result<Self> {
        let text = whole_file::read_text_at_most(path, whole_file::LONGEST_TEXT_BYTES)
            .with_context(|| format!("{}: cannot read", path.display()))?;
        let config: Self = toml::from_str(&text).map_err(|error| {
            anyhow::anyhow!(in_file(path, &text, error.span(), plain_words(error.message())))
        })?;
        config.check().with_context(|| path.display().to_string())?;
        Ok(config)
    }

    fn check(&self) -> anyhow::Result<()> {
        if let Some(problem) = self.questions.problems("questions").first() {
            anyhow::bail!("{problem}");
        }
        if let Some(problem) = self.teacher.problem() {
            anyhow::bail!("{problem}");
        }
        let training = &self.training;
        let rate = training.learning_rate;
        anyhow::ensure!(
            rate.is_finite() && rate > 0.0,
            "`training.learning_rate` is {rate}, expected a finite number above 0"
        );
        let (low, high) = training.target_accuracy;
        anyhow::ensure!(
            0.0 <= low && low < high && high <= 1.0,
            "`training.target_accuracy` is [{low}, {high}], expected two ascending fractions"
        );
        let counts = [
            ("sequences", training.sequences as u64),
            ("evaluation_questions", training.evaluation_questions as u64),
            ("max_response_tokens", training.max_response_tokens as u64),
            ("micro_batch_tokens", training.micro_batch_tokens as u64),
            ("evaluate_every", training.evaluate_every),
        ];
        for (field, value) in counts {
            anyhow::ensure!(value > 0, "`training.{field}` is 0, expected at least 1");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEMO: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../configs/demo-warmup.toml");

    fn refusal(from: &str, to: &str) -> String {
        let text = std::fs::read_to_string(DEMO).unwrap();
        assert!(text.contains(from), "the demo's warm-up has no {from:?}");
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("warmup.toml");
        std::fs::write(&path, text.replace(from, to)).unwrap();
        let error = WarmupConfig::load(&path).expect_err("must be refused");
        format!("{error:#}").replace(&folder.path().display().to_string(), "DIR")
    }

    #[test]
    fn every_byte_string_survives_and_the_end_of_text_is_one_token() {
        let directory = tempfile::tempdir().unwrap();
        write_tokenizer(directory.path()).unwrap();
        let tokenizer = TextTokenizer::load(directory.path()).unwrap();
        let text = "47+38=#### 85\n\té漢\u{7f}";
        let ids = tokenizer.encode(text).unwrap();
        assert_eq!(ids, text.bytes().map(u32::from).collect::<Vec<_>>());
        assert_eq!(tokenizer.decode(&ids).unwrap(), text);
        assert_eq!(tokenizer.encode("<|endoftext|>").unwrap(), [END_OF_TEXT_ID]);
        tokenizer.check_vocabulary(VOCABULARY).unwrap();
        tokenizer.check_vocabulary(VOCABULARY - 1).unwrap_err();
    }

    #[test]
    fn a_bad_value_is_named_with_file_and_field_in_one_line() {
        let cases = [
            (
                "0.6, 0.3, 0.1",
                "60.0, 0.3, 0.1",
                "`teacher.guess.shares` is 60, expected a fraction",
            ),
            (
                "0.6, 0.3, 0.1",
                "0.45, 0.3, 0.1",
                "`teacher.guess.shares` is 0.85, expected a sum of 1",
            ),
            ("learning_rate = 2e-3", "learning_rate = -1.0", "`training.learning_rate` is -1"),
            ("sequences = 64", "sequences = 0", "`training.sequences` is 0"),
            ("[0.2, 0.6]", "[0.6, 0.5]", "`training.target_accuracy` is [0.6, 0.5]"),
            ("hidden_size", "hiden_size", "unknown field `hiden_size`"),
        ];
        for (from, to, expected) in cases {
            let message = refusal(from, to);
            assert!(message.starts_with("DIR/warmup.toml:"), "{message}");
            assert!(message.contains(expected), "{message}");
            assert_eq!(message.lines().count(), 1, "{message}");
        }
    }
}
