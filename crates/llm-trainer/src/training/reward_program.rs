//! `reward.custom`: rewards from a program, a service or a Python function.
//!
//! Each response is a line of JSON, [`Line`]; each reward a line too, a number or an object with the field `reward`.

mod service;

use std::sync::Mutex;
use std::time::Duration;

use anyhow::{Context, bail};
use reward_math::Verdict;
use serde::Serialize;
use training_run::config::{RewardProgram, RewardSection};

use super::custom_reward::{CustomReward, RewardInput};
use super::line_process::{LineProcess, reward};
use service::Service;

/// Gathers a batch and calls a function with its rows.
const PYTHON: &str = include_str!("reward_program/function.py");

/// A response, as one line.
#[derive(Serialize)]
struct Line<'a> {
    /// Place in the batch, from 0.
    row: usize,
    /// Number of responses of the batch.
    rows: usize,
    /// Identifier of the question.
    question: &'a str,
    problem: &'a str,
    /// The known answer.
    answer: &'a str,
    source: &'a str,
    response: &'a str,
    /// Number of response tokens.
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
            let service = Service::new(url, wait);
            CustomReward::of_batches(move |batch| {
                let field = || format!("reward.custom.http: {}", service.url());
                let text = lines(batch)?.concat();
                rewards(&service.answers(&text).with_context(field)?, batch).with_context(field)
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
