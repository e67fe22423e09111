//! A rollout as it is recorded: token ids as drawn, which are never made of text again.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use decoder::generation::{Finish, SamplingKey};
use model_files::sampling::Sampling;
use model_files::stop_strings::StopStrings;
use model_files::text_tokenizer::{TextTokenizer, TokenizerError};
use serde_json::{Value, json};

use super::error::{ApiError, LONGEST_ID};
use super::tool_calls::ToolCall;

/// Tokens that the policy drew at one request.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RecordedTurn {
    /// Index of the first of them in the sequence.
    pub(crate) start: usize,
    /// Log-probability of each as drawn, in nats.
    pub(crate) log_prob: Vec<f64>,
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
    pub(super) text: String,
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
    turns: u64,
    /// Place and noise in a training step.
    pub(super) owner: Option<Owner>,
}

/// Bounds of a training run's rollouts.
#[derive(Debug, PartialEq)]
pub(crate) struct Terms {
    /// Most tokens drawn at one request.
    pub(crate) longest_turn: usize,
    /// Most requests of a rollout.
    pub(crate) turns: u64,
    /// Texts that end a response, besides those of the request.
    pub(crate) stop: Vec<String>,
}

/// Place of a rollout in a training step.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Owner {
    /// Index among this process's rollouts.
    pub(crate) place: usize,
    pub(crate) key: SamplingKey,
    /// Index in its group.
    pub(crate) member: u64,
    /// How its tokens are drawn: no request may change the distribution that is trained or measured.
    pub(crate) sampling: Sampling,
    pub(crate) terms: Arc<Terms>,
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
    /// Begins a request: its number, from 0, and the rollout's place in a training step.
    pub(super) fn begin_turn(
        &mut self,
        has_one_answer: bool,
        has_seed: bool,
    ) -> Result<(u64, Option<Owner>), ApiError> {
        if !has_one_answer {
            let problem = "asks for several answers or an echo, expected one answer at a request of a rollout";
            return Err(ApiError::field("prompt", problem));
        }
        if let Some(Owner { terms, .. }) = &self.owner {
            if has_seed {
                return Err(ApiError::field(
                    "seed",
                    "is given, expected none: the run has its own",
                ));
            }
            if self.turns >= terms.turns {
                return Err(ApiError::many_turns(terms.turns));
            }
        }
        self.turns += 1;
        Ok((self.turns - 1, self.owner.clone()))
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

    /// The longest sequence with which a prompt begins, and its index.
    pub(super) fn continued(
        &self,
        begins: impl Fn(&RecordedSequence) -> bool,
    ) -> Option<(usize, &RecordedSequence)> {
        let sequences = self.sequences.iter().enumerate();
        let sequences = sequences.filter(|(_, sequence)| begins(sequence));
        sequences.max_by_key(|(_, sequence)| sequence.token_ids.len())
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

/// One response to one prompt; the columns have one entry per token.
#[derive(Debug, Default)]
pub(super) struct Choice {
    pub(super) prompt: usize,
    pub(super) text: String,
    pub(super) token_ids: Vec<u32>,
    pub(super) log_prob: Vec<f64>,
    pub(super) top: Vec<Vec<(u32, f64)>>,
    /// Log-probabilities of the prompt's tokens, if they are scored.
    pub(super) prompt_log_prob: Vec<f64>,
    pub(super) finish: Option<Finish>,
    /// Calls of tools, which the text is without.
    pub(super) calls: Vec<ToolCall>,
    /// Number of reloads of the weights that drew it.
    pub(super) version: u64,
}

impl Choice {
    /// Text that was not told yet and no later token can change: complete characters, and nothing that may become a stop string.
    pub(super) fn new_text(
        &self,
        tokenizer: &TextTokenizer,
        stops: Option<&StopStrings>,
    ) -> Result<String, TokenizerError> {
        let decoded = tokenizer.decode(&self.token_ids)?;
        let mut safe = stops.map_or(decoded.as_str(), |stops| stops.cut(&decoded));
        if self.finish.is_none() {
            // Bytes that are no character yet; then the beginnings of stop strings.
            safe = safe.trim_end_matches(char::REPLACEMENT_CHARACTER);
            safe = &safe[..safe.len() - stops.map_or(0, |stops| stops.begun_at_end(safe))];
        }
        Ok(safe.get(self.text.len()..).unwrap_or_default().to_owned())
    }
}

pub(super) fn finish_reason(finish: Finish) -> &'static str {
    match finish {
        Finish::Stop | Finish::StopString => "stop",
        Finish::Length => "length",
    }
}

#[derive(Debug)]
pub(crate) struct Rollouts {
    /// Most rollouts that clients may begin; further ones are refused until some are deleted. `None` where a training run begins all.
    pub(super) most: Option<usize>,
    by_id: Mutex<BTreeMap<String, Recording>>,
}

impl Rollouts {
    /// Keeps at most so many rollouts, each begun by its first request, or those of a training run, which begins them itself.
    pub(crate) fn keeping(most: Option<usize>) -> Self {
        Self { most, by_id: Mutex::default() }
    }

    /// Begins a rollout of a training step.
    pub(crate) fn begin(&self, id: String, owner: Owner) {
        self.open().insert(id, Recording { owner: Some(owner), ..Recording::default() });
    }

    /// Ends a rollout; `None` if there is none of this id.
    pub(crate) fn end(&self, id: &str) -> Option<Recording> {
        self.open().remove(id)
    }

    /// Calls `use_it` with a rollout; where clients begin rollouts and `begins` is true, an unknown id begins one.
    pub(super) fn with<T>(
        &self,
        id: &str,
        begins: bool,
        use_it: impl FnOnce(&mut Recording) -> Result<T, ApiError>,
    ) -> Result<T, ApiError> {
        let mut open = self.open();
        if let Some(recording) = open.get_mut(id) {
            return use_it(recording);
        }
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
        let is_id = (1..=LONGEST_ID).contains(&id.len()) && id.bytes().all(is_plain);
        let Some(most) = self.most.filter(|_| begins && is_id) else {
            return Err(ApiError::unknown_rollout(id));
        };
        if open.len() >= most {
            return Err(ApiError::many_rollouts(most));
        }
        // A request that is refused begins nothing.
        let mut recording = Recording::default();
        let outcome = use_it(&mut recording)?;
        open.insert(id.to_owned(), recording);
        Ok(outcome)
    }

    fn open(&self) -> MutexGuard<'_, BTreeMap<String, Recording>> {
        self.by_id.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
