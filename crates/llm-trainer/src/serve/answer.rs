//! The answer to a request: one object, or one for each token of a stream.

use model_files::text_tokenizer::{TextTokenizer, TokenizerError};
use serde_json::{Value, json};

use super::recording::TurnAnswer;
use super::request::{RecordedRequest, Request, Style};
use super::text::PartialText;
use super::tool_calls::{ToolCall, tool_calls};
use super::worker::RequestEvent;
use decoder::generation::{Finish, GenerationError};

/// Fields shared by all objects of an answer.
#[derive(Debug, Clone)]
pub(super) struct Head {
    pub(super) id: String,
    /// Seconds since 1970.
    pub(super) created: u64,
    pub(super) model: String,
}

/// A request in progress and its answer so far.
#[derive(Debug)]
pub(super) struct Answer {
    head: Head,
    request: Request,
    choices: Vec<Choice>,
}

/// One response to one prompt.
#[derive(Debug, Default)]
struct Choice {
    prompt: usize,
    so_far: PartialText,
    text: String,
    tokens: Vec<Token>,
    /// Log-probabilities of the prompt's tokens, if they are scored.
    prompt_log_prob: Vec<f64>,
    finish: Option<Finish>,
    /// Calls of tools, which the text is without.
    calls: Vec<ToolCall>,
    /// Number of reloads of the weights that drew it.
    version: u64,
}

#[derive(Debug)]
struct Token {
    id: u32,
    log_prob: f64,
    top: Vec<(u32, f64)>,
}

impl Answer {
    pub(super) fn new(head: Head, request: Request) -> Self {
        let choices = (0..request.prompts.len())
            .flat_map(|prompt| {
                (0..request.options.samples).map(move |_| Choice { prompt, ..Choice::default() })
            })
            .collect();
        Self { head, request, choices }
    }

    /// Takes an event of the model; for a stream, returns the object to send, if any.
    pub(super) fn on_event(
        &mut self,
        event: RequestEvent,
        tokenizer: &TextTokenizer,
    ) -> Result<Option<Value>, GenerationError> {
        match event {
            RequestEvent::Failed(error) => Err(error),
            RequestEvent::Scored { prompt, log_prob } => {
                for choice in self.choices.iter_mut().filter(|choice| choice.prompt == prompt) {
                    choice.prompt_log_prob.clone_from(&log_prob);
                }
                Ok(None)
            }
            RequestEvent::Drawn { prompt, sample, token_id, log_prob, top, finish, version } => {
                let index = prompt * self.request.options.samples + sample;
                let stops = self.request.options.stop_strings.clone();
                let choice = &mut self.choices[index];
                let is_first = choice.tokens.is_empty();
                let new =
                    choice.so_far.push(token_id, finish.is_some(), tokenizer, stops.as_deref())?;
                choice.text.push_str(&new);
                choice.tokens.push(Token { id: token_id, log_prob, top });
                choice.finish = finish;
                choice.version = version;
                let is_read = finish.is_some() && self.request.calls_tools && !self.request.streams;
                if is_read && let Some((content, calls)) = tool_calls(&choice.text) {
                    (choice.text, choice.calls) = (content, calls);
                }
                if self.request.streams {
                    return Ok(Some(self.chunk(index, is_first, &new, tokenizer)?));
                }
                Ok(None)
            }
        }
    }

    /// Returns true if every response has ended.
    pub(super) fn is_whole(&self) -> bool {
        self.request.only_echo || self.choices.iter().all(|choice| choice.finish.is_some())
    }

    fn object(&self, is_chunk: bool, choices: &[Value]) -> Value {
        let object = match (self.request.style, is_chunk) {
            (Style::Completion, _) => "text_completion",
            (Style::Chat, false) => "chat.completion",
            (Style::Chat, true) => "chat.completion.chunk",
        };
        let Head { id, created, model } = &self.head;
        json!({"id": id, "object": object, "created": created, "model": model, "choices": choices})
    }

    /// Builds the object for the last token of a response.
    fn chunk(
        &self,
        index: usize,
        is_first: bool,
        new: &str,
        tokenizer: &TextTokenizer,
    ) -> Result<Value, TokenizerError> {
        let choice = &self.choices[index];
        let last = choice.tokens.len() - 1;
        let log_probs = self.log_probs(choice, last, tokenizer)?;
        let finish = choice.finish.map(finish_reason);
        let mut told = match self.request.style {
            Style::Completion => {
                json!({"index": index, "text": new, "logprobs": log_probs, "finish_reason": finish})
            }
            Style::Chat => {
                let mut delta = json!({"content": new});
                if is_first {
                    delta["role"] = json!("assistant");
                }
                json!({"index": index, "delta": delta, "logprobs": log_probs, "finish_reason": finish})
            }
        };
        if self.request.tells_token_ids {
            told["token_ids"] = json!([choice.tokens[last].id]);
        }
        Ok(self.object(true, &[told]))
    }

    /// Builds the object after the last token of a stream, if requested.
    pub(super) fn usage_chunk(&self) -> Option<Value> {
        self.request.stream_usage.then(|| {
            let mut object = self.object(true, &[]);
            object["usage"] = self.usage();
            object
        })
    }

    /// Builds the full answer.
    pub(super) fn whole(&self, tokenizer: &TextTokenizer) -> Result<Value, TokenizerError> {
        let mut choices = Vec::with_capacity(self.choices.len());
        for (index, choice) in self.choices.iter().enumerate() {
            let log_probs = self.log_probs(choice, 0, tokenizer)?;
            let finish = match choice.finish {
                Some(Finish::Stop | Finish::StopString) if !choice.calls.is_empty() => "tool_calls",
                finish => finish.map_or("length", finish_reason),
            };
            let prompt = &self.request.prompts[choice.prompt];
            let mut told = match self.request.style {
                Style::Completion => {
                    let before =
                        if self.request.echo { tokenizer.decode(prompt)? } else { String::new() };
                    let text = before + &choice.text;
                    json!({"index": index, "text": text, "logprobs": log_probs, "finish_reason": finish})
                }
                Style::Chat => {
                    let mut message =
                        json!({"role": "assistant", "content": choice.text, "refusal": null});
                    if !choice.calls.is_empty() {
                        let id = &self.head.id;
                        let calls = choice.calls.iter().enumerate();
                        let told =
                            calls.map(|(n, call)| call.told(&format!("call-{id}-{index}-{n}")));
                        message["tool_calls"] = told.collect();
                        if choice.text.is_empty() {
                            message["content"] = Value::Null;
                        }
                    }
                    json!({"index": index, "message": message, "logprobs": log_probs, "finish_reason": finish})
                }
            };
            if self.request.tells_token_ids {
                let ids = choice.tokens.iter().map(|token| token.id);
                told["token_ids"] = ids.collect();
                told["prompt_token_ids"] = json!(prompt);
            }
            choices.push(told);
        }
        let mut object = self.object(false, &choices);
        object["usage"] = self.usage();
        Ok(object)
    }

    /// The request, and what is recorded of its only answer, if it is one of a rollout.
    pub(super) fn recorded(&self) -> Option<(&RecordedRequest, TurnAnswer<'_>)> {
        let (request, choice) = self.request.recorded.as_ref().zip(self.choices.first())?;
        let answer = TurnAnswer {
            token_ids: choice.tokens.iter().map(|token| token.id).collect(),
            log_prob: choice.tokens.iter().map(|token| token.log_prob).collect(),
            finish: choice.finish?,
            version: choice.version,
            content: &choice.text,
            calls: &choice.calls,
        };
        Some((request, answer))
    }

    pub(super) fn usage(&self) -> Value {
        let prompt: usize = self.request.prompts.iter().map(Vec::len).sum();
        let drawn: usize = self.choices.iter().map(|choice| choice.tokens.len()).sum();
        json!({"prompt_tokens": prompt, "completion_tokens": drawn, "total_tokens": prompt + drawn})
    }

    /// Log-probabilities of the tokens from `first` on, in the format of the interface; null if not requested.
    fn log_probs(
        &self,
        choice: &Choice,
        first: usize,
        tokenizer: &TextTokenizer,
    ) -> Result<Value, TokenizerError> {
        if self.request.log_probs.is_none() {
            return Ok(Value::Null);
        }
        let tokens = &choice.tokens[first..];
        match self.request.style {
            Style::Chat => {
                let one = |id: u32, log_prob: f64| -> Result<Value, TokenizerError> {
                    let text = tokenizer.decode_raw(&[id])?;
                    // Part of a character has bytes that its text does not say.
                    let bytes = (!text.contains(char::REPLACEMENT_CHARACTER))
                        .then(|| text.as_bytes().to_vec());
                    Ok(json!({"token": text, "logprob": log_prob, "bytes": bytes}))
                };
                let content = tokens.iter().map(|token| {
                    let mut told = one(token.id, token.log_prob)?;
                    let top = token.top.iter().map(|&(id, log_prob)| one(id, log_prob));
                    told["top_logprobs"] = top.collect::<Result<_, _>>()?;
                    Ok(told)
                });
                Ok(json!({"content": content.collect::<Result<Vec<Value>, _>>()?, "refusal": null}))
            }
            Style::Completion => self.completion_log_probs(choice, tokens, first, tokenizer),
        }
    }

    /// Builds four columns: tokens, log-probabilities, most likely alternatives, and offsets in the text.
    fn completion_log_probs(
        &self,
        choice: &Choice,
        tokens: &[Token],
        first: usize,
        tokenizer: &TextTokenizer,
    ) -> Result<Value, TokenizerError> {
        let (mut texts, mut log_probs, mut tops) = (Vec::new(), Vec::new(), Vec::new());
        if self.request.echo {
            for (place, id) in self.request.prompts[choice.prompt].iter().enumerate() {
                texts.push(tokenizer.decode_raw(&[*id])?);
                // The first token is given: nothing says how likely it is.
                let log_prob = place.checked_sub(1).and_then(|at| choice.prompt_log_prob.get(at));
                log_probs.push(json!(log_prob));
                tops.push(Value::Null);
            }
        }
        for token in tokens {
            texts.push(tokenizer.decode_raw(&[token.id])?);
            log_probs.push(json!(token.log_prob));
            let mut top = serde_json::Map::new();
            for &(id, log_prob) in &token.top {
                // Several tokens may have one text: the likeliest keeps it.
                top.entry(tokenizer.decode_raw(&[id])?).or_insert(json!(log_prob));
            }
            tops.push(Value::Object(top));
        }
        let mut offset: usize = 0;
        if first > 0 {
            let ids: Vec<u32> = choice.tokens[..first].iter().map(|token| token.id).collect();
            offset = tokenizer.decode_raw(&ids)?.chars().count();
        }
        let offsets: Vec<usize> = texts
            .iter()
            .map(|text| {
                let start = offset;
                offset += text.chars().count();
                start
            })
            .collect();
        Ok(json!({
            "tokens": texts, "token_logprobs": log_probs, "top_logprobs": tops, "text_offset": offsets,
        }))
    }
}

fn finish_reason(finish: Finish) -> &'static str {
    match finish {
        Finish::Stop | Finish::StopString => "stop",
        Finish::Length => "length",
    }
}
