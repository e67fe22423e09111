//! Responses for people: texts, or one token a line with what it cost.

use std::io::Write;

use model_files::text_tokenizer::TextTokenizer;

use super::answer::{Answer, EntropyColumns};

/// Widest bar, in characters; it stands for [`FULL_NATS`] or more.
const BAR: f64 = 20.0;

/// Entropy of the widest bar, in nats.
const FULL_NATS: f64 = 4.0;

/// One response: a line that names it, then its text, or a table of its tokens.
pub(super) fn write(
    answer: &Answer<'_>,
    tokenizer: &TextTokenizer,
    out: &mut impl Write,
) -> anyhow::Result<()> {
    let Answer { prompt, sample, finish, .. } = answer;
    let tokens = answer.token_ids.len();
    writeln!(out, "prompt {prompt}, sample {sample}: {tokens} tokens, {finish}")?;
    let Some(EntropyColumns { entropy, surprise, temperature, .. }) = &answer.entropy else {
        writeln!(out, "{}", answer.text)?;
        return Ok(());
    };
    writeln!(out, "log-probabilities of {}; entropy and surprise in nats", answer.log_prob_of)?;
    writeln!(out, "{:>7} {:>8} {:>6}  {:<20} token", "entropy", "surprise", "T", "entropy")?;
    for (index, id) in answer.token_ids.iter().enumerate() {
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
