//! A rollout that has ended with a reward.

use decoder::generation::Finish;

use crate::serve::Recording;
use crate::training::line_process::reward;
use crate::training::sequence::{Given, Sequence};

/// Tokens of a rollout as they were served, and its reward.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Played {
    /// Tokens of all turns.
    pub(crate) sequence: Sequence,
    /// Log-probability of each response token as drawn, in nats.
    pub(crate) log_prob: Vec<f64>,
    /// True if the last turn was truncated at a length limit.
    pub(crate) truncated: bool,
    /// Index of the first response token of the last turn.
    pub(crate) last_turn: usize,
    pub(crate) reward: f64,
}

impl Played {
    /// Joins the recorded sequences of a rollout. The harness's `answer` is its reward, or it has posted one before.
    pub(super) fn of(recording: Recording, answer: &str) -> Result<Self, String> {
        let shown: String = answer.trim_end().chars().take(80).collect();
        let reward = reward(answer).or(recording.reward).filter(|reward| reward.is_finite());
        let reward = reward.ok_or_else(|| {
            format!("{shown:?} has no reward, expected a finite number or {{\"reward\": NUMBER}}")
        })?;
        let mut sequence = Sequence::new(Vec::new(), Vec::new());
        let (mut log_prob, mut truncated, mut last_turn) = (Vec::new(), false, 0);
        for recorded in recording.sequences {
            let (mut read, mut restarts) = (0, true);
            for turn in recorded.turns {
                let token_ids = recorded.token_ids[read..turn.start].to_vec();
                read = turn.start + turn.log_prob.len();
                if sequence.prompt.is_empty() {
                    sequence.prompt = token_ids;
                } else if !token_ids.is_empty() {
                    let before = sequence.response.len();
                    sequence.given.push(Given { before, token_ids, restarts });
                }
                last_turn = sequence.response.len();
                sequence.response.extend(&recorded.token_ids[turn.start..read]);
                log_prob.extend(turn.log_prob);
                truncated = turn.finish == Finish::Length;
                restarts = false;
            }
        }
        if sequence.response.is_empty() {
            return Err("the policy was asked nothing".to_owned());
        }
        Ok(Self { sequence, log_prob, truncated, last_turn, reward })
    }
}
