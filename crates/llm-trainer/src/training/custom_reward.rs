//! A custom reward in place of `reward.values`.

use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use anyhow::{Context, bail};
use question_data::dataset::Question;
use reward_math::Verdict;
use serde::Serialize;
use serde_json::Value;
use training_run::config::{RewardProgram, RewardSection};

use super::line_process::{LineProcess, reward};

/// A response as a custom reward sees it.
#[derive(Debug, Clone, Copy)]
pub struct RewardInput<'a> {
    /// The question, with its known answer.
    pub question: &'a Question,
    /// The response as text, up to a stop string.
    pub response: &'a str,
    /// The verifier's verdict.
    pub verdict: &'a Verdict,
    /// Number of response tokens, including the end-of-sequence token.
    pub tokens: usize,
    /// True if the response was truncated at the length limit.
    pub truncated: bool,
}

/// Rewards of a batch of responses, in their order.
type OfBatch = dyn Fn(&[RewardInput<'_>]) -> anyhow::Result<Vec<f64>> + Send + Sync;

/// A custom reward of responses, in reward units; the penalty of `reward.overlong` is added to it.
///
/// It is asked once for all responses that a process has sampled, in their order, on one thread. It must be deterministic on every
/// rank: otherwise a run can neither be repeated nor resumed.
#[derive(Clone)]
pub struct CustomReward(Arc<OfBatch>);

impl CustomReward {
    /// Wraps a reward function of a single response.
    pub fn new(reward: impl Fn(RewardInput<'_>) -> f64 + Send + Sync + 'static) -> Self {
        Self::of_batches(move |batch| Ok(batch.iter().map(|&one| reward(one)).collect()))
    }

    /// Wraps a reward function of all responses of a batch: one number each, in their order. An error ends the run.
    pub fn of_batches(
        reward: impl Fn(&[RewardInput<'_>]) -> anyhow::Result<Vec<f64>> + Send + Sync + 'static,
    ) -> Self {
        Self(Arc::new(reward))
    }

    /// Computes the rewards of a batch. Fails unless the function returns one finite number a response.
    pub(super) fn of(&self, batch: &[RewardInput<'_>]) -> anyhow::Result<Vec<f64>> {
        let rewards = (self.0)(batch)?;
        let (count, expected) = (rewards.len(), batch.len());
        anyhow::ensure!(count == expected, "{count} rewards of {expected} responses");
        for (reward, input) in std::iter::zip(&rewards, batch) {
            anyhow::ensure!(
                reward.is_finite(),
                "question {}: the reward of a response is {reward}, expected a finite number",
                input.question.id
            );
        }
        Ok(rewards)
    }
}

impl fmt::Debug for CustomReward {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("CustomReward")
    }
}

/// Gathers a batch and calls a function with its rows.
const PYTHON: &str = include_str!("reward_program/function.py");

/// Largest answer that is read, in bytes.
const LONGEST_ANSWER: u64 = 64 << 20;

/// Tries of a request, 0.5, 1, 2, … seconds apart.
const TRIES: u32 = 4;

/// A response as `reward.custom` gets it. Each reward is a line too: a number, or an object with the field `reward`.
#[derive(Serialize)]
struct Line<'a> {
    /// Place in the batch, from 0.
    row: usize,
    rows: usize,
    question: &'a str,
    problem: &'a str,
    answer: &'a str,
    source: &'a str,
    response: &'a str,
    tokens: usize,
    truncated: bool,
    /// The verdict as `reward-math grade` writes it.
    #[serde(flatten)]
    verdict: &'a Verdict,
}

/// Starts what `reward.custom` names; `None` if it names nothing.
pub(super) fn custom_reward(section: &RewardSection) -> anyhow::Result<Option<CustomReward>> {
    let Some(program) = &section.custom else { return Ok(None) };
    let wait = Duration::from_secs_f64(section.custom_timeout_seconds);
    Ok(Some(match program {
        RewardProgram::Command(words) => of_process(words, "reward.custom.command", wait)?,
        RewardProgram::Python(function) => {
            let words = ["python3", "-u", "-c", PYTHON, function].map(str::to_owned);
            of_process(&words, "reward.custom.python", wait)?
        }
        RewardProgram::Http(url) => {
            let agent: ureq::Agent = ureq::Agent::config_builder()
                .timeout_global(Some(wait))
                .http_status_as_error(false)
                // Responses are for the service that was named, not for another or for a proxy of the environment.
                .max_redirects(0)
                .proxy(None)
                .build()
                .into();
            let url = url.clone();
            CustomReward::of_batches(move |batch| {
                let field = || format!("reward.custom.http: {url}");
                let text = lines(batch)?.concat();
                rewards(&posted(&agent, &url, &text).with_context(field)?, batch)
                    .with_context(field)
            })
        }
    }))
}

fn of_process(
    words: &[String],
    field: &'static str,
    wait: Duration,
) -> anyhow::Result<CustomReward> {
    let process = Mutex::new(LineProcess::start(words).context(field)?);
    Ok(CustomReward::of_batches(move |batch| {
        // A reward that panicked has ended the run.
        let mut process = process.lock().expect("one batch at a time");
        let answers = process.answers(&lines(batch)?, wait).context(field)?;
        rewards(&answers, batch).context(field)
    }))
}

fn lines(batch: &[RewardInput<'_>]) -> serde_json::Result<Vec<String>> {
    let line = |(row, input): (usize, &RewardInput<'_>)| {
        let RewardInput { question, response, verdict, tokens, truncated } = *input;
        let line = Line {
            row,
            rows: batch.len(),
            question: &question.id,
            problem: &question.problem,
            answer: &question.answer,
            source: &question.source,
            response,
            tokens,
            truncated,
            verdict,
        };
        Ok(serde_json::to_string(&line)? + "\n")
    };
    batch.iter().enumerate().map(line).collect()
}

/// Reads one reward a response from their lines.
fn rewards(answers: &[String], batch: &[RewardInput<'_>]) -> anyhow::Result<Vec<f64>> {
    if answers.len() != batch.len() {
        bail!("{} rewards of {} responses", answers.len(), batch.len());
    }
    let pairs = std::iter::zip(answers, batch);
    pairs
        .map(|(answer, input)| {
            reward(answer).with_context(|| {
                let start: String = answer.trim_end().chars().take(80).collect();
                format!("question {}: {start:?} is no reward, expected a finite number or {{\"reward\": NUMBER}}", input.question.id)
            })
        })
        .collect()
}

/// Posts lines of JSON and reads the answer: lines, or one array. Fails if there is no answer of status 200 after all tries.
fn posted(agent: &ureq::Agent, url: &str, lines: &str) -> anyhow::Result<Vec<String>> {
    let post = || -> anyhow::Result<(u16, String)> {
        let request = agent.post(url).header("Content-Type", "application/x-ndjson");
        let mut answer = request.send(lines)?;
        let body = answer.body_mut().with_config().limit(LONGEST_ANSWER);
        let text = body.read_to_string().context("the answer is cut")?;
        Ok((answer.status().as_u16(), text))
    };
    let mut tried = 1;
    loop {
        let failure = match post() {
            Ok((200, text)) => return Ok(parts(&text)),
            Ok((status, text)) if status < 500 && status != 429 => {
                bail!("status {status}: {}", text.chars().take(200).collect::<String>())
            }
            Ok((status, _)) => anyhow::anyhow!("status {status}"),
            Err(error) => error,
        };
        if tried == TRIES {
            return Err(failure.context(format!("no rewards in {TRIES} tries")));
        }
        std::thread::sleep(Duration::from_millis(500) * 2_u32.pow(tried - 1));
        tried += 1;
    }
}

/// The elements of an array, or the lines that are not empty.
fn parts(text: &str) -> Vec<String> {
    match serde_json::from_str(text) {
        Ok(Value::Array(values)) => values.iter().map(Value::to_string).collect(),
        _ => text.lines().filter(|line| !line.trim().is_empty()).map(str::to_owned).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_an_array_or_lines() {
        assert_eq!(parts("[1, {\"reward\": 2}]\n"), ["1", "{\"reward\":2}"]);
        assert_eq!(parts("1\n\n0.5\n"), ["1", "0.5"]);
        assert_eq!(parts("0.5"), ["0.5"]);
        assert!(parts("").is_empty());
    }
}
