//! A rollout as it is recorded: token ids as drawn, which are never made of text again.

use decoder::generation::{Finish, SamplingKey};
use model_files::sampling::Sampling;
use model_files::text_tokenizer::{TextTokenizer, TokenizerError};
use serde_json::{Value, json};

use super::choice::{Choice, finish_reason};
use super::tool_calls::ToolCall;

/// Tokens that the policy drew at one request.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RecordedTurn {
    /// Index of the first of them in the sequence.
    pub(crate) start: usize,
    /// Log-probability of each as drawn, in nats.
    pub(crate) log_prob: Vec<f64>,
    /// Reason that they end.
    pub(crate) finish: Finish,
    /// Number of reloads of the weights that drew them.
    version: u64,
}

/// Prompts and drawn tokens, each behind the other.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RecordedSequence {
    pub(crate) token_ids: Vec<u32>,
    /// Runs of drawn tokens, ascending; the policy did not draw the others.
    pub(crate) turns: Vec<RecordedTurn>,
    /// Text of the tokens: prompts as they were rendered, drawn tokens with special ones spelled out.
    text: String,
}

/// An answer to a conversation.
#[derive(Debug, Clone, PartialEq)]
struct Reply {
    /// Its place among the messages.
    place: usize,
    content: String,
    calls: Vec<ToolCall>,
    /// Its text as drawn, without the end-of-sequence token.
    drawn: String,
}

/// One rollout: a harness's requests with one rollout id.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Recording {
    /// Several where a prompt did not begin with a recorded sequence.
    pub(crate) sequences: Vec<RecordedSequence>,
    /// Reward that the harness has posted.
    pub(crate) reward: Option<f64>,
    replies: Vec<Reply>,
    /// Number of requests.
    turns: u64,
    /// Place and noise in a training step.
    pub(super) owner: Option<Owner>,
}

/// Place of a rollout in a training step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Owner {
    /// Index among this process's rollouts.
    pub(crate) place: usize,
    /// Key of its noise.
    pub(crate) key: SamplingKey,
    /// Index in its group.
    pub(crate) member: u64,
    /// How its tokens are drawn: no request may change the distribution that is trained or measured.
    pub(crate) sampling: Sampling,
}

/// A request of a rollout.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct TurnPrompt {
    pub(super) token_ids: Vec<u32>,
    /// Text of the prompt, if it came as text.
    pub(super) text: Option<String>,
    /// The sequence that it continues, with its number of tokens.
    pub(super) continued: Option<(usize, usize)>,
    /// Number of messages of the conversation.
    pub(super) messages: usize,
}

impl Recording {
    /// An empty rollout of a training step.
    pub(crate) fn owned(owner: Owner) -> Self {
        Self { owner: Some(owner), ..Self::default() }
    }

    /// Begins a request: its number, from 0, and the rollout's place in a training step; `None` after `most` requests.
    pub(super) fn begin_turn(&mut self, most: u64) -> Option<(u64, Option<Owner>)> {
        let turn = (self.turns < most).then_some((self.turns, self.owner))?;
        self.turns += 1;
        Some(turn)
    }

    /// The text as drawn of the answer at a place of the conversation, if this is that answer.
    pub(super) fn drawn_text(
        &self,
        place: usize,
        content: &str,
        calls: &[ToolCall],
    ) -> Option<&str> {
        let is_it = |reply: &&Reply| {
            reply.place == place
                && reply.content == content
                && reply.calls.len() == calls.len()
                && reply.calls.iter().zip(calls).all(|(left, right)| left.equals(right))
        };
        self.replies.iter().rev().find(is_it).map(|reply| reply.drawn.as_str())
    }

    /// The longest sequence whose text `text` begins with: its index, its tokens, and the text behind it.
    pub(super) fn continued<'t>(&self, text: &'t str) -> Option<(usize, &[u32], &'t str)> {
        let rest = self.sequences.iter().enumerate().filter_map(|(index, sequence)| {
            Some((index, sequence.token_ids.as_slice(), text.strip_prefix(&sequence.text)?))
        });
        rest.max_by_key(|(_, token_ids, _)| token_ids.len())
    }

    /// The longest sequence with which these tokens begin.
    pub(super) fn continued_tokens(&self, token_ids: &[u32]) -> Option<(usize, usize)> {
        let sequences = self.sequences.iter().enumerate();
        sequences
            .filter(|(_, sequence)| token_ids.starts_with(&sequence.token_ids))
            .map(|(index, sequence)| (index, sequence.token_ids.len()))
            .max_by_key(|(_, length)| *length)
    }

    /// Records an answer, if it has ended: at an end-of-sequence token where it has [`Finish::Stop`].
    pub(super) fn record(
        &mut self,
        prompt: &TurnPrompt,
        choice: &Choice,
        tokenizer: &TextTokenizer,
    ) -> Result<(), TokenizerError> {
        let Choice { token_ids, log_prob, version, text: content, calls, .. } = choice;
        let Some(finish) = choice.finish else { return Ok(()) };
        let drawn = tokenizer.decode_raw(token_ids)?;
        let ends = usize::from(finish == Finish::Stop);
        self.replies.push(Reply {
            place: prompt.messages,
            content: content.clone(),
            calls: calls.clone(),
            drawn: tokenizer.decode_raw(&token_ids[..token_ids.len() - ends])?,
        });
        let mut text = match &prompt.text {
            Some(text) => text.clone(),
            None => tokenizer.decode_raw(&prompt.token_ids)?,
        };
        text.push_str(&drawn);
        let mut all = prompt.token_ids.clone();
        let (start, log_prob, version) = (all.len(), log_prob.clone(), *version);
        let turn = RecordedTurn { start, log_prob, finish, version };
        all.extend(token_ids);
        // Another request may have continued it since.
        let unchanged = prompt.continued.and_then(|(index, length)| {
            self.sequences.get_mut(index).filter(|sequence| sequence.token_ids.len() == length)
        });
        if let Some(sequence) = unchanged {
            sequence.token_ids = all;
            sequence.text = text;
            sequence.turns.push(turn);
        } else {
            self.sequences.push(RecordedSequence { token_ids: all, turns: vec![turn], text });
        }
        Ok(())
    }

    /// The rollout as `GET /rollouts/ID` answers it.
    pub(super) fn json(&self, id: &str) -> Value {
        let sequences = self.sequences.iter().map(|sequence| {
            let mut mask = vec![0; sequence.token_ids.len()];
            let turns = sequence.turns.iter().map(|turn| {
                mask[turn.start..turn.start + turn.log_prob.len()].fill(1);
                json!({
                    "start": turn.start, "log_probs": turn.log_prob,
                    "finish_reason": finish_reason(turn.finish), "weight_version": turn.version,
                })
            });
            let turns: Vec<Value> = turns.collect();
            json!({"token_ids": sequence.token_ids, "response_mask": mask, "turns": turns})
        });
        let sequences: Vec<Value> = sequences.collect();
        json!({"id": id, "reward": self.reward, "sequences": sequences})
    }
}
