//! A parsed and checked request: what to draw, and in which form to report it.

use std::sync::Arc;

use model_files::chat_template::ChatTemplate;
use model_files::sampling::Sampling;
use model_files::stop_strings::StopStrings;
use model_files::text_tokenizer::TextTokenizer;
use serde_json::Value;

use super::conversation::Conversation;
use super::error::ApiError;
use super::fields::Fields;
use super::recording::{Owner, Recording, TurnPrompt};
use decoder::generation::{Ask, GenerationOptions, SamplingKey};

/// Most alternatives reported per token.
const MOST_TOP: usize = 20;
const MOST_STOPS: usize = 16;
/// Default length of a completion, in tokens; OpenAI's.
const COMPLETION_TOKENS: usize = 16;

/// Interface of a request: completion or chat.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Style {
    Completion,
    Chat,
}

#[derive(Debug, Clone)]
#[expect(clippy::struct_excessive_bools, reason = "the interface's own switches")]
pub(crate) struct Request {
    pub(super) style: Style,
    pub(super) prompts: Vec<TurnPrompt>,
    pub(super) options: Arc<GenerationOptions>,
    /// Seed; `None` draws different tokens each time.
    pub(super) seed: Option<u64>,
    /// Number of most likely tokens reported per token; `None` reports no log-probabilities.
    pub(super) log_probs: Option<usize>,
    pub(super) echo: bool,
    /// True if nothing is drawn.
    pub(super) only_echo: bool,
    pub(super) streams: bool,
    /// True if a stream ends with the numbers of tokens.
    pub(super) stream_usage: bool,
    pub(super) tells_token_ids: bool,
    /// True if calls of tools are looked for in the response.
    pub(super) calls_tools: bool,
    /// Number of the request in its rollout, from 0, and the place of the rollout in a training step; `None` outside rollouts.
    pub(crate) turn: Option<(u64, Option<Owner>)>,
}

impl Request {
    /// Asks for the responses to a prompt.
    pub(crate) fn ask(&self, prompt: usize, id: u64, key: SamplingKey) -> Ask {
        let token_ids = self.prompts[prompt].token_ids.clone();
        let (options, top) = (Arc::clone(&self.options), self.log_probs.unwrap_or(0));
        Ask { id, token_ids, key, options, top }
    }
}

/// Size of the decoding batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BatchCapacity {
    /// Responses that decode together.
    pub(crate) rows: usize,
    /// Tokens of one prompt and response.
    pub(crate) tokens: usize,
    /// Decodes on the CPU, in f32 and bf16, by products made for few rows.
    pub(crate) cpu_kernels: bool,
}

/// The model that requests are checked against.
#[derive(Debug)]
pub(crate) struct Reader {
    pub(crate) tokenizer: TextTokenizer,
    pub(crate) template: Option<ChatTemplate>,
    pub(crate) model_name: String,
    pub(crate) vocab_size: usize,
    pub(crate) eos_ids: Vec<u32>,
    pub(crate) capacity: BatchCapacity,
}

impl Reader {
    pub(super) fn read(
        &self,
        style: Style,
        body: &[u8],
        rollout: Option<&mut Recording>,
    ) -> Result<Request, ApiError> {
        let recording = rollout.as_deref();
        let owner = recording.and_then(|recording| recording.owner.as_ref());
        let mut fields = Fields::read(body)?;
        let model = fields.text("model", "the name of the model")?;
        if model != self.model_name {
            return Err(ApiError::unknown_model(&model, &self.model_name));
        }
        let (prompts, calls_tools) = match style {
            Style::Completion => (self.prompts(&mut fields, recording)?, false),
            Style::Chat => {
                let conversation = Conversation::read(&mut fields, body)?;
                (vec![self.conversation(&conversation, recording)?], conversation.calls_tools)
            }
        };
        let echo = style == Style::Completion && fields.flag("echo")?;
        let asked = self.longest_response(style, &mut fields, &prompts, owner)?;
        let only_echo = echo && asked == 0;
        if asked == 0 && !echo {
            return Err(ApiError::field("max_tokens", "is 0, expected at least 1 without `echo`"));
        }
        let options = GenerationOptions {
            samples: fields.count("n", self.capacity.rows)?.unwrap_or(1),
            max_new_tokens: asked.max(1),
            ..self.sampling(&mut fields, owner)?
        };
        if options.samples == 0 {
            return Err(ApiError::field("n", "is 0, expected at least 1"));
        }
        let seed = fields.take("seed", "a whole number", |value| {
            value.as_u64().or_else(|| value.as_i64().map(i64::cast_unsigned))
        })?;
        let log_probs = log_probs(style, &mut fields)?;
        let streams = fields.flag("stream")?;
        let expected = "an object with `include_usage`";
        let stream_usage = fields.take("stream_options", expected, |value| {
            let usage = value.as_object()?.get("include_usage");
            usage.map_or(Some(false), Value::as_bool)
        })?;
        let tells_token_ids = fields.flag("return_token_ids")?;
        if echo && streams {
            return Err(ApiError::field("echo", "is true, expected false with `stream`"));
        }
        refuse_what_is_not_done(&mut fields, options.samples)?;
        fields.finish()?;
        let has_one_answer = prompts.len() == 1 && options.samples == 1 && !echo;
        let turn = rollout.map(|recording| recording.begin_turn(has_one_answer, seed.is_some()));
        Ok(Request {
            style,
            prompts,
            calls_tools,
            turn: turn.transpose()?,
            options: Arc::new(options),
            seed,
            log_probs,
            echo,
            only_echo,
            streams,
            stream_usage: stream_usage.unwrap_or(false),
            tells_token_ids,
        })
    }

    /// Returns the requested length in tokens, or the default, if it fits behind the longest prompt.
    fn longest_response(
        &self,
        style: Style,
        fields: &mut Fields,
        prompts: &[TurnPrompt],
        owner: Option<&Owner>,
    ) -> Result<usize, ApiError> {
        let most = self.capacity.tokens;
        let name = match style {
            Style::Completion => "max_tokens",
            Style::Chat => "max_completion_tokens",
        };
        let mut asked = fields.count(name, most)?;
        if style == Style::Chat {
            asked = asked.or(fields.count("max_tokens", most)?);
        }
        let longest = prompts.iter().map(|prompt| prompt.token_ids.len()).max().unwrap_or(0);
        let left = most.saturating_sub(longest);
        let asked = asked.unwrap_or(match style {
            Style::Completion => COMPLETION_TOKENS,
            Style::Chat => left.max(1),
        });
        let asked = asked.min(owner.map_or(usize::MAX, |owner| owner.terms.longest_turn));
        if longest.saturating_add(asked) > most {
            let problem = format!(
                "is {asked} after a prompt of {longest} tokens, expected at most {most} tokens together"
            );
            return Err(ApiError::too_long(name, &problem));
        }
        Ok(asked)
    }

    /// Reads how tokens are drawn; a training run's requests may only repeat what it has set.
    fn sampling(
        &self,
        fields: &mut Fields,
        owner: Option<&Owner>,
    ) -> Result<GenerationOptions, ApiError> {
        let of_run = owner.map(|owner| owner.sampling);
        let usual = of_run.unwrap_or(Sampling::DEFAULT);
        let temperature =
            fields.number("temperature", "0 or a number from 0.000001 to 100", |temperature| {
                Sampling::is_temperature(temperature) && temperature <= 100.0
            })?;
        let top_p = fields.number("top_p", Sampling::TOP_PS, Sampling::is_top_p)?;
        let min_p = fields.number("min_p", Sampling::MIN_PS, Sampling::is_min_p)?;
        // -1 is how some engines say that all may be drawn.
        let top_k = fields.take("top_k", "a whole number of at least -1", |value| {
            value.as_i64().filter(|k| *k >= -1).map(|k| usize::try_from(k).unwrap_or(0))
        })?;
        let stops =
            fields.take("stop", "a text, or a list of at most 16 texts", |value| match value {
                Value::String(text) => Some(vec![text.clone()]),
                Value::Array(list) if list.len() <= MOST_STOPS => {
                    list.iter().map(|text| text.as_str().map(str::to_owned)).collect()
                }
                _ => None,
            })?;
        let sampling = Sampling {
            temperature: temperature.unwrap_or(usual.temperature),
            top_p: top_p.unwrap_or(usual.top_p),
            top_k: top_k.unwrap_or(usual.top_k),
            min_p: min_p.unwrap_or(usual.min_p),
        };
        if of_run.is_some_and(|of_run| sampling != of_run) {
            let problem = format!(
                "or `top_p`, `top_k` or `min_p` is not the run's, expected them absent, or {usual:?}"
            );
            return Err(ApiError::field("temperature", &problem));
        }
        let further = fields
            .take("stop_token_ids", "a list of token ids", |value| value.as_array().cloned())?;
        let mut stops = stops.unwrap_or_default();
        stops.extend(owner.iter().flat_map(|owner| owner.terms.stop.iter().cloned()));
        let (special, stop_strings) = StopStrings::split(&self.tokenizer, &stops)
            .map_err(|error| ApiError::field("stop", &error.to_string()))?;
        let mut stop_ids =
            if fields.flag("ignore_eos")? { Vec::new() } else { self.eos_ids.clone() };
        stop_ids.extend(special);
        stop_ids.extend(self.token_ids("stop_token_ids", &further.unwrap_or_default())?);
        Ok(GenerationOptions {
            sampling,
            stop_ids,
            stop_strings: stop_strings.map(Arc::new),
            ..GenerationOptions::default()
        })
    }
}

/// Refuses fields that would change the answer and are not supported, unless they have no effect.
fn refuse_what_is_not_done(fields: &mut Fields, samples: usize) -> Result<(), ApiError> {
    let is_zero = |value: &Value| value.as_f64().is_some_and(|number| number.abs() <= 0.0);
    let is_empty = |value: &Value| {
        value.as_object().is_some_and(serde_json::Map::is_empty)
            || value.as_array().is_some_and(Vec::is_empty)
            || value.as_str().is_some_and(str::is_empty)
    };
    fields.unsupported("frequency_penalty", is_zero)?;
    fields.unsupported("presence_penalty", is_zero)?;
    fields.unsupported("repetition_penalty", |value| {
        value.as_f64().is_some_and(|number| (number - 1.0).abs() <= 0.0)
    })?;
    for name in ["logit_bias", "functions", "suffix", "modalities"] {
        fields.unsupported(name, is_empty)?;
    }
    fields.unsupported("best_of", |value| value.as_u64() == Some(samples as u64))?;
    fields.unsupported("response_format", |value| {
        value.get("type").and_then(Value::as_str) == Some("text")
    })
}

/// Number of most likely tokens reported per token; `None` reports no log-probabilities.
fn log_probs(style: Style, fields: &mut Fields) -> Result<Option<usize>, ApiError> {
    match style {
        Style::Completion => fields.count("logprobs", MOST_TOP),
        Style::Chat => {
            let wanted = fields.flag("logprobs")?;
            let top = fields.count("top_logprobs", MOST_TOP)?;
            if top.is_some() && !wanted {
                let fault = "is given, expected `logprobs` true with it";
                return Err(ApiError::field("top_logprobs", fault));
            }
            Ok(wanted.then_some(top.unwrap_or(0)))
        }
    }
}

#[cfg(test)]
mod tests;
