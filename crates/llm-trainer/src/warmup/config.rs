//! Configuration of a warm-up: a small architecture, a teacher, and the accuracy to stop at.

use std::path::{Path, PathBuf};

use anyhow::Context;
use messages::plain_words;
use question_data::arithmetic::ArithmeticTask;
use serde::{Deserialize, Serialize};

use super::teacher::Teacher;

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
    pub(crate) warmup_steps: u64,
    /// Sequences of one step.
    pub(crate) sequences: usize,
    /// Steps after which a warm-up that has not reached its accuracy has failed.
    pub(crate) max_steps: u64,
    /// Steps between measurements of the accuracy.
    pub(crate) evaluate_every: u64,
    /// Held-out questions of a measurement.
    pub(crate) evaluation_questions: usize,
    /// Accuracy to stop at, `[lowest, highest]`, fractions: sampled at temperature 1 on held-out questions.
    pub(crate) target_accuracy: (f64, f64),
    /// Longest answer that is sampled, in tokens.
    pub(crate) max_response_tokens: usize,
    /// Most tokens of one forward pass, padding included.
    pub(crate) micro_batch_tokens: usize,
}

impl WarmupConfig {
    /// Reads and checks a TOML file.
    pub(crate) fn load(path: &Path) -> anyhow::Result<Self> {
        let text = whole_file::read_text_at_most(path, whole_file::LONGEST_TEXT_BYTES)
            .with_context(|| format!("{}: cannot read", path.display()))?;
        let config: Self = toml::from_str(&text).map_err(|error| {
            anyhow::anyhow!("{}: {}", path.display(), plain_words(&one_line(&error)))
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

/// Formats a TOML error in one line: position and message.
fn one_line(error: &toml::de::Error) -> String {
    error
        .to_string()
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .collect::<Vec<_>>()
        .join(": ")
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
            assert!(message.starts_with("DIR/warmup.toml: "), "{message}");
            assert!(message.contains(expected), "{message}");
            assert_eq!(message.lines().count(), 1, "{message}");
        }
    }
}
