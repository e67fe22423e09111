//! Rollouts: sampled responses with their rewards.

use std::time::Instant;

use anyhow::Context;
use reward_math::{Gold, Options, Reward, Side, Verdict};
use rl_losses::OverlongPenalty;
use serde::{Deserialize, Serialize};
use trainer_core::prompt::Prompt;
use trainer_core::stop_strings::StopStrings;
use trainer_core::text_tokenizer::{TextTokenizer, TokenizerError};

use super::policy_pass::Sequence;
use crate::generation::{Finish, GenerationOptions, PromptRequest, SamplingKey, generate};
use crate::model::Decoder;

/// How responses are sampled and judged.
#[derive(Debug, Clone, Copy)]
pub struct Judge<'a> {
    /// Turns tokens to the text that is judged.
    pub tokenizer: &'a TextTokenizer,
    /// Texts that end a response and are no part of what is judged.
    pub stop_strings: Option<&'a StopStrings>,
    /// How an answer is found and compared.
    pub options: &'a Options,
    /// What a verdict is worth.
    pub reward: Reward,
    /// What is taken off long responses.
    pub overlong: Option<OverlongPenalty>,
}

impl Judge<'_> {
    fn text(&self, token_ids: &[u32]) -> Result<String, TokenizerError> {
        let text = self.tokenizer.decode(token_ids)?;
        Ok(self.stop_strings.map_or(text.as_str(), |stops| stops.cut(&text)).to_owned())
    }

    fn reward(&self, verdict: &Verdict, tokens: usize) -> f64 {
        let punishment = self.overlong.map_or(0.0, |overlong| overlong.penalty(tokens));
        self.reward.of(verdict) + punishment
    }
}

/// One sampled response.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// Prompt and response tokens.
    pub sequence: Sequence,
    /// `log π(y_t)` as sampled, in nats; over [`Sequence::kept`] where that is given.
    pub rollout_log_prob: Vec<f64>,
    /// Whether the response was cut at the length limit.
    pub truncated: bool,
    /// The response as text, up to a stop string.
    pub text: String,
    /// What the verifier says.
    pub verdict: Verdict,
    /// What it is worth.
    pub reward: f64,
}

impl Sample {
    /// Whether no answer was found in the response.
    pub fn is_unparsed(&self) -> bool {
        matches!(self.verdict, Verdict::Unparsed { which: Side::Response, .. })
    }
}

/// The responses to one question, as they wait for a step or are trained on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Answered {
    /// Index among the questions of the run.
    pub question: usize,
    /// Its group.
    pub samples: Vec<Sample>,
}

/// All responses of one rollout, group after group.
#[derive(Debug, Clone)]
pub struct Rollout {
    /// The responses.
    pub samples: Vec<Sample>,
    /// Wall time of sampling.
    pub generation_seconds: f64,
    /// Wall time of judging.
    pub judging_seconds: f64,
}

/// Samples `options.samples` responses to each prompt and judges them.
///
/// `(seed, step)` keys the sampling noise, with the index of the prompt in `prompts`, counted from `first_prompt`.
///
/// # Errors
///
/// If generation or decoding fails, or the answer to a question cannot be parsed.
pub fn roll_out(
    model: &Decoder,
    prompts: &[&Prompt],
    options: &GenerationOptions,
    judge: Judge<'_>,
    (seed, step): (u64, u64),
    first_prompt: u64,
) -> anyhow::Result<Rollout> {
    let started = Instant::now();
    let requests: Vec<PromptRequest<'_>> = (first_prompt..)
        .zip(prompts)
        .map(|(index, prompt)| PromptRequest {
            token_ids: &prompt.tokens,
            key: SamplingKey { seed, step, prompt: index },
        })
        .collect();
    let generated = generate(model, &requests, options)?;
    let generation_seconds = started.elapsed().as_secs_f64();
    let mut samples = Vec::with_capacity(generated.len());
    for (prompt, group) in prompts.iter().zip(generated.chunks(options.samples)) {
        let question = &prompt.question;
        let gold = Gold::parse(&question.answer, judge.options)
            .with_context(|| format!("question {}: answer {:?}", question.id, question.answer))?;
        for response in group {
            let text = judge.text(&response.token_ids)?;
            let verdict = gold.verify(&text);
            samples.push(Sample {
                sequence: Sequence {
                    prompt: prompt.tokens.clone(),
                    response: response.token_ids.clone(),
                    kept: response.kept.clone(),
                },
                rollout_log_prob: response.log_prob.clone(),
                truncated: response.finish == Finish::Length,
                text,
                reward: judge.reward(&verdict, response.token_ids.len()),
                verdict,
            });
        }
    }
    let judging_seconds = started.elapsed().as_secs_f64() - generation_seconds;
    Ok(Rollout { samples, generation_seconds, judging_seconds })
}
