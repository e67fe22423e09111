//! A response as `generate` writes it: a JSON object, or for people its text or one token a line with what it cost.

use std::io::Write;

use model_files::text_tokenizer::TextTokenizer;
use serde::Serialize;

use decoder::generation::Generated;

/// Widest bar, in characters; it stands for [`FULL_NATS`] or more.
const BAR: f64 = 20.0;

/// Entropy of the widest bar, in nats.
const FULL_NATS: f64 = 4.0;

/// One response.
#[derive(Debug, Serialize)]
pub(super) struct Answer<'a> {
    pub(super) prompt: usize,
    pub(super) sample: usize,
    pub(super) text: &'a str,
    pub(super) token_ids: &'a [u32],
    /// Log-probability of each token in nats, over the tokens that it was drawn from.
    pub(super) log_prob: &'a [f64],
    /// Distribution that the log-probabilities are of.
    pub(super) log_prob_of: &'a str,
    pub(super) finish: &'static str,
    #[serde(flatten)]
    pub(super) entropy: Option<EntropyColumns>,
}

impl Answer<'_> {
    /// Writes a line that names the response, then its text, or a table of its tokens.
    pub(super) fn write_for_people(
        &self,
        tokenizer: &TextTokenizer,
        out: &mut impl Write,
    ) -> anyhow::Result<()> {
        let Self { prompt, sample, finish, .. } = self;
        let tokens = self.token_ids.len();
        writeln!(out, "prompt {prompt}, sample {sample}: {tokens} tokens, {finish}")?;
        let Some(EntropyColumns { entropy, surprise, temperature, .. }) = &self.entropy else {
            writeln!(out, "{}", self.text)?;
            return Ok(());
        };
        writeln!(out, "log-probabilities of {}; entropy and surprise in nats", self.log_prob_of)?;
        writeln!(out, "{:>7} {:>8} {:>6}  {:<20} token", "entropy", "surprise", "T", "entropy")?;
        for (index, id) in self.token_ids.iter().enumerate() {
            let text = tokenizer.decode_raw(&[*id])?;
            let (entropy, surprise, temperature) =
                (entropy[index], surprise[index], temperature[index]);
            let bar = bar(entropy);
            writeln!(out, "{entropy:7.3} {surprise:8.3} {temperature:6.2}  {bar:<20} {text:?}")?;
        }
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
        writeln!(out, "{:7.3} {:8.3} mean over {tokens} tokens\n", mean(entropy), mean(surprise))?;
        Ok(())
    }
}

/// Entropies and related values, one per token.
#[derive(Debug, Serialize)]
pub(super) struct EntropyColumns {
    /// Entropy of the distribution that the token was drawn from, in nats.
    pub(super) entropy: Vec<f64>,
    /// Entropy over the full vocabulary at temperature 1, in nats.
    pub(super) entropy_at_temperature_1: Vec<f64>,
    /// `-log_prob`, in nats.
    pub(super) surprise: Vec<f64>,
    /// Temperature that divided the logits.
    pub(super) temperature: Vec<f64>,
}

impl EntropyColumns {
    /// Returns the columns of a response whose entropies were measured, else `None`.
    pub(super) fn of(response: &Generated) -> Option<Self> {
        let Generated { entropy, log_prob, .. } = response;
        (!entropy.is_empty()).then(|| Self {
            entropy: entropy.iter().map(|token| token.drawn_from).collect(),
            entropy_at_temperature_1: entropy.iter().map(|token| token.at_temperature_1).collect(),
            surprise: log_prob.iter().map(|log_prob| -log_prob).collect(),
            temperature: entropy.iter().map(|token| token.temperature).collect(),
        })
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a number between 0 and the widest bar"
)]
fn bar(entropy: f64) -> String {
    "█".repeat((BAR * (entropy / FULL_NATS).clamp(0.0, 1.0)).round() as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_grows_with_the_entropy_up_to_its_width() {
        let widths = [0.0, 0.1, 1.0, 4.0, 9.0].map(|entropy| bar(entropy).chars().count());
        assert_eq!(widths, [0, 1, 5, 20, 20]);
    }
}
