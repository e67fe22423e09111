//! Answers of a rollout engine, as responses.

use anyhow::{Context, bail, ensure};
use decoder::generation::{Finish, Generated, GenerationOptions};
use model_files::text_tokenizer::TextTokenizer;
use serde::Deserialize;
use serde_json::Value;

/// Longest text of a token, in bytes: several times that of the vocabularies in use.
const LONGEST_TOKEN_BYTES: usize = 1 << 10;

/// Least log-probability of a token that was drawn, in nats: any token drawn is far above.
const LEAST_LOG_PROB: f64 = -10_000.0;

/// Largest log-probability, which rounding may lift above 0.
const ROUNDING: f64 = 1e-3;

/// Conversion of the engine's text, and the texts that end a response.
#[derive(Debug, Clone, Copy)]
pub struct ReplyDecoding<'a> {
    /// Turns text into tokens if the engine returns none.
    pub tokenizer: &'a TextTokenizer,
    /// Texts that end a response.
    pub stop: &'a [String],
    /// Size of the model's vocabulary.
    pub vocab_size: usize,
}

#[derive(Deserialize)]
struct Answer {
    choices: Vec<Choice>,
}

#[derive(Deserialize)]
struct Choice {
    index: usize,
    text: String,
    finish_reason: Option<String>,
    logprobs: Option<LogProbs>,
    token_ids: Option<Vec<u32>>,
}

#[derive(Deserialize)]
struct LogProbs {
    token_logprobs: Vec<Option<f64>>,
}

/// Converts an answer to responses, each with a flag: true if its tokens had to be guessed.
pub(super) fn responses(
    answer: &Value,
    options: &GenerationOptions,
    decoding: ReplyDecoding<'_>,
) -> anyhow::Result<Vec<(Generated, bool)>> {
    let mut choices =
        Answer::deserialize(answer).context("the engine's answer is no completion")?.choices;
    choices.sort_by_key(|choice| choice.index);
    let count = choices.len();
    ensure!(count == options.samples, "{count} responses, expected {}", options.samples);
    if let Some((expected, choice)) =
        choices.iter().enumerate().find(|(expected, choice)| choice.index != *expected)
    {
        bail!("a response has index {}, expected {expected}", choice.index);
    }
    choices.into_iter().map(|choice| generated(choice, options, decoding)).collect()
}

/// Converts a choice to a response; the flag is true if its tokens had to be guessed.
fn generated(
    choice: Choice,
    options: &GenerationOptions,
    decoding: ReplyDecoding<'_>,
) -> anyhow::Result<(Generated, bool)> {
    let Choice { text, finish_reason, logprobs, token_ids, .. } = choice;
    let told = logprobs.context("no log-probabilities, expected those of the tokens drawn")?;
    let mut log_prob = told
        .token_logprobs
        .into_iter()
        .map(|value| value.filter(|value| (LEAST_LOG_PROB..=ROUNDING).contains(value)))
        .map(|value| value.map(|value| value.min(0.0)))
        .collect::<Option<Vec<f64>>>()
        .with_context(|| {
            format!("a log-probability is missing or out of range, expected {LEAST_LOG_PROB} to 0")
        })?;
    let is_told = token_ids.is_some();
    let token_ids = if let Some(token_ids) = token_ids {
        token_ids
    } else {
        let longest = options.max_new_tokens.saturating_mul(LONGEST_TOKEN_BYTES);
        let bytes = text.len();
        ensure!(bytes <= longest, "a text of {bytes} bytes, expected at most {longest}");
        decoding.tokenizer.encode(&text)?
    };
    let (count, most) = (token_ids.len(), options.max_new_tokens);
    ensure!((1..=most).contains(&count), "a response of {count} tokens, expected 1 to {most}");
    ensure!(!log_prob.is_empty(), "no log-probabilities for a response of {count} tokens");
    let is_guess = token_ids.len() != log_prob.len();
    ensure!(
        !(is_guess && is_told),
        "{} tokens with {} log-probabilities, expected as many",
        token_ids.len(),
        log_prob.len()
    );
    if is_guess {
        // The text as a whole keeps its log-probability, whatever its tokens.
        let mean = log_prob.iter().sum::<f64>() / count as f64;
        log_prob = vec![mean; token_ids.len()];
    }
    if let Some(id) = token_ids.iter().find(|id| **id as usize >= decoding.vocab_size) {
        bail!("token {id}, expected ids below vocab_size = {}", decoding.vocab_size);
    }
    let finish = match finish_reason.as_deref() {
        Some("length") => Finish::Length,
        Some("stop") if token_ids.last().is_some_and(|id| options.stop_ids.contains(id)) => {
            Finish::Stop
        }
        Some("stop") => Finish::StopString,
        other => bail!("the response ended by {other:?}, expected \"stop\" or \"length\""),
    };
    Ok((Generated { token_ids, log_prob, entropy: Vec::new(), mask: None, finish }, is_guess))
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::LazyLock;

    use proptest::prelude::*;
    use serde_json::json;
    use workspace_tests::fuzz::{edited, in_time};

    use super::*;

    /// Options of two responses, of at most three tokens.
    fn options(samples: usize) -> GenerationOptions {
        GenerationOptions { samples, max_new_tokens: 3, ..GenerationOptions::default() }
    }

    static TOKENIZER: LazyLock<TextTokenizer> = LazyLock::new(|| {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/tiny_qwen2_tied");
        TextTokenizer::load(&folder).expect("a fixture")
    });

    fn decoding() -> ReplyDecoding<'static> {
        ReplyDecoding { tokenizer: &TOKENIZER, stop: &[], vocab_size: 256 }
    }

    /// Converts an answer's choice.
    fn read(choice: &Value) -> Result<(Generated, bool), String> {
        let choice = Choice::deserialize(choice).map_err(|error| error.to_string())?;
        generated(choice, &options(1), decoding()).map_err(|error| format!("{error:#}"))
    }

    fn choice(ids: &[u32], log_probs: &[f64]) -> Value {
        json!({
            "index": 0, "text": "", "finish_reason": "length", "token_ids": ids,
            "logprobs": {"token_logprobs": log_probs},
        })
    }

    #[test]
    fn responses_that_no_policy_draws_are_refused() {
        let (response, _) = read(&choice(&[1, 2], &[-0.5, 1e-7])).unwrap();
        assert_eq!(response.log_prob, [-0.5, 0.0]);
        for (ids, log_probs, expected) in [
            (&[1, 2, 3, 4][..], &[-1.0; 4][..], "a response of 4 tokens, expected 1 to 3"),
            (&[], &[], "a response of 0 tokens, expected 1 to 3"),
            (&[1], &[5.0], "a log-probability is missing or out of range, expected -10000 to 0"),
            (&[1], &[-1e308], "a log-probability is missing or out of range"),
            (&[1, 2], &[-1.0], "2 tokens with 1 log-probabilities"),
            (&[256], &[-1.0], "token 256, expected ids below vocab_size = 256"),
        ] {
            let error = read(&choice(ids, log_probs)).unwrap_err();
            assert!(error.starts_with(expected), "{error}");
        }
    }
    /// Without a log-probability all tokens of a text would be certain.
    #[test]
    fn a_text_without_log_probabilities_or_without_end_is_refused() {
        let told = |text: &str, log_probs: &[f64]| {
            read(&json!({"index": 0, "text": text, "finish_reason": "length",
                "logprobs": {"token_logprobs": log_probs}}))
        };
        let (response, is_guess) = told("abc", &[-1.5]).unwrap();
        assert!(is_guess, "{response:?}");
        assert_eq!(response.log_prob, [-0.5; 3]);
        assert_eq!(
            told("abc", &[]).unwrap_err(),
            "no log-probabilities for a response of 3 tokens"
        );
        // Ten million letters took gigabytes in the tokenizer.
        assert_eq!(
            told(&"a".repeat(10_000_000), &[-1.5]).unwrap_err(),
            "a text of 10000000 bytes, expected at most 3072"
        );
    }

    proptest! {
        #[test]
        fn fuzz_answer(bytes in edited(answers())) {
            let options = options(2);
            let Ok(answer) = serde_json::from_slice(&bytes) else { return Ok(()) };
            let read = in_time(|| responses(&answer, &options, decoding()));
            for (response, _) in read.into_iter().flatten() {
                let count = response.token_ids.len();
                prop_assert!((1..=3).contains(&count) && response.log_prob.len() == count);
                prop_assert!(response.log_prob.iter().all(|&value| value <= 0.0 && value.is_finite()));
            }
        }
    }

    fn answers() -> Vec<Vec<u8>> {
        let text = json!({"index": 1, "text": "abc", "finish_reason": "stop",
            "logprobs": {"token_logprobs": [-0.5, -1.5, -1e-3]}});
        let answer = json!({"id": "a", "choices": [choice(&[1, 2], &[-0.5, -0.25]), text]});
        vec![answer.to_string().into_bytes()]
    }
}
