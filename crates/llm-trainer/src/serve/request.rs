//! A parsed and checked request: what to draw, and in which form to report it.

use std::sync::Arc;

use model_files::chat_template::{ChatTemplate, Message};
use model_files::sampling::Sampling;
use model_files::stop_strings::StopStrings;
use model_files::text_tokenizer::TextTokenizer;
use serde_json::Value;

use super::error::ApiError;
use super::fields::Fields;
use super::worker::BatchCapacity;
use decoder::generation::GenerationOptions;

/// Most alternatives reported per token.
const MOST_TOP: usize = 20;
/// Most stop texts.
const MOST_STOPS: usize = 16;
/// Most prompts of one request.
const MOST_PROMPTS: usize = 256;
/// Default length of a completion, in tokens; OpenAI's.
const COMPLETION_TOKENS: usize = 16;

/// Interface of a request: completion or chat.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Style {
    Completion,
    Chat,
}

/// A request that can be answered.
#[derive(Debug, Clone)]
#[expect(clippy::struct_excessive_bools, reason = "the interface's own switches")]
pub(super) struct Request {
    pub(super) style: Style,
    pub(super) prompts: Vec<Vec<u32>>,
    pub(super) options: Arc<GenerationOptions>,
    /// Seed; `None` draws different tokens each time.
    pub(super) seed: Option<u64>,
    /// Number of most likely tokens reported per token; `None` reports no log-probabilities.
    pub(super) log_probs: Option<usize>,
    /// True if the answer includes the prompt.
    pub(super) echo: bool,
    /// True if nothing is drawn.
    pub(super) only_echo: bool,
    pub(super) streams: bool,
    pub(super) stream_usage: bool,
    pub(super) tells_token_ids: bool,
}

/// Model data that requests are checked against.
#[derive(Debug)]
pub(super) struct Reader {
    pub(super) tokenizer: TextTokenizer,
    pub(super) template: Option<ChatTemplate>,
    pub(super) model_name: String,
    pub(super) vocab_size: usize,
    pub(super) eos_ids: Vec<u32>,
    pub(super) capacity: BatchCapacity,
}

impl Reader {
    /// Parses and checks the body of a request.
    ///
    /// # Errors
    ///
    /// [`ApiError`] that names the first invalid field, its value and what was expected.
    pub(super) fn read(&self, style: Style, body: &[u8]) -> Result<Request, ApiError> {
        let mut fields = Fields::read(body)?;
        let model = fields.required("model", "the name of the model", |value| {
            value.as_str().map(str::to_owned)
        })?;
        if model != self.model_name {
            return Err(ApiError::unknown_model(&model, &self.model_name));
        }
        let prompts = match style {
            Style::Completion => self.prompts(&mut fields)?,
            Style::Chat => vec![self.conversation(&mut fields)?],
        };
        let echo = style == Style::Completion && fields.flag("echo")?;
        let asked = self.longest_response(style, &mut fields, &prompts)?;
        let only_echo = echo && asked == 0;
        if asked == 0 && !echo {
            return Err(ApiError::field("max_tokens", "is 0, expected at least 1 without `echo`"));
        }
        let options = GenerationOptions {
            samples: fields.count("n", self.capacity.rows)?.unwrap_or(1),
            max_new_tokens: asked.max(1),
            ..self.sampling(&mut fields)?
        };
        if options.samples == 0 {
            return Err(ApiError::field("n", "is 0, expected at least 1"));
        }
        let seed = fields.take("seed", "a whole number", |value| {
            value.as_u64().or_else(|| value.as_i64().map(i64::cast_unsigned))
        })?;
        let log_probs = log_probs(style, &mut fields)?;
        let streams = fields.flag("stream")?;
        let stream_usage = fields
            .take("stream_options", "an object with `include_usage`", |value| {
                let usage = value.as_object()?.get("include_usage");
                usage.map_or(Some(false), Value::as_bool)
            })?
            .unwrap_or(false);
        let tells_token_ids = fields.flag("return_token_ids")?;
        if echo && streams {
            return Err(ApiError::field("echo", "is true, expected false with `stream`"));
        }
        refuse_what_is_not_done(&mut fields, options.samples)?;
        fields.finish()?;
        Ok(Request {
            style,
            prompts,
            options: Arc::new(options),
            seed,
            log_probs,
            echo,
            only_echo,
            streams,
            stream_usage,
            tells_token_ids,
        })
    }

    /// Reads the prompts of a completion: a text, token ids, or several of either.
    fn prompts(&self, fields: &mut Fields) -> Result<Vec<Vec<u32>>, ApiError> {
        let expected = "a text, a list of token ids, or a list of these";
        let value = fields.required("prompt", expected, |value| Some(value.clone()))?;
        let list = match &value {
            Value::Array(list) if list.iter().any(|one| !one.is_number()) => list.as_slice(),
            one => std::slice::from_ref(one),
        };
        if list.len() > MOST_PROMPTS {
            let problem = format!("holds {} prompts, expected at most {MOST_PROMPTS}", list.len());
            return Err(ApiError::field("prompt", &problem));
        }
        let one = |value: &Value| -> Result<Vec<u32>, ApiError> {
            let tokens = match value {
                Value::String(text) => self.encode("prompt", text)?,
                Value::Array(ids) => self.token_ids("prompt", ids)?,
                _ => {
                    return Err(ApiError::field(
                        "prompt",
                        &format!("is no prompt, expected {expected}"),
                    ));
                }
            };
            if tokens.is_empty() {
                return Err(ApiError::field("prompt", "is empty, expected at least one token"));
            }
            Ok(tokens)
        };
        list.iter().map(one).collect()
    }

    fn token_ids(&self, name: &str, ids: &[Value]) -> Result<Vec<u32>, ApiError> {
        let good = |id: &Value| {
            let id = u32::try_from(id.as_u64()?).ok()?;
            ((id as usize) < self.vocab_size).then_some(id)
        };
        let bad = || {
            let expected =
                format!("holds no token id, expected whole numbers below {}", self.vocab_size);
            ApiError::field(name, &expected)
        };
        ids.iter().map(|id| good(id).ok_or_else(bad)).collect()
    }

    fn encode(&self, name: &str, text: &str) -> Result<Vec<u32>, ApiError> {
        self.tokenizer.encode(text).map_err(|error| ApiError::field(name, &error.to_string()))
    }

    /// Renders a conversation in the model's chat template, with the assistant's turn opened.
    fn conversation(&self, fields: &mut Fields) -> Result<Vec<u32>, ApiError> {
        let expected = "a list of turns, each with `role` and `content`, both texts";
        let messages = fields.required("messages", expected, |value| {
            let turns = value.as_array().filter(|turns| !turns.is_empty())?;
            turns.iter().map(turn).collect::<Option<Vec<Message>>>()
        })?;
        let Some(template) = &self.template else {
            let problem =
                "cannot be used: the model has no chat template, expected /v1/completions";
            return Err(ApiError::field("messages", problem));
        };
        let text = template.render(&messages, true);
        let text = text.map_err(|error| ApiError::field("messages", &error.to_string()))?;
        let tokens = self.encode("messages", &text)?;
        if tokens.is_empty() {
            return Err(ApiError::field("messages", "have no token, expected at least one"));
        }
        Ok(tokens)
    }

    /// Returns the requested length in tokens, or the default, if it fits behind the longest prompt.
    fn longest_response(
        &self,
        style: Style,
        fields: &mut Fields,
        prompts: &[Vec<u32>],
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
        let longest = prompts.iter().map(Vec::len).max().unwrap_or(0);
        let left = most.saturating_sub(longest);
        let asked = asked.unwrap_or(match style {
            Style::Completion => COMPLETION_TOKENS,
            Style::Chat => left.max(1),
        });
        if longest.saturating_add(asked) > most {
            let problem = format!(
                "is {asked} after a prompt of {longest} tokens, expected at most {most} tokens together"
            );
            return Err(ApiError::too_long(name, &problem));
        }
        Ok(asked)
    }

    fn sampling(&self, fields: &mut Fields) -> Result<GenerationOptions, ApiError> {
        let temperature = fields
            .number("temperature", "a number from 0 to 100", |t| (0.0..=100.0).contains(&t))?;
        let top_p = fields.number("top_p", "a number above 0 and at most 1", Sampling::is_top_p)?;
        let min_p = fields.number("min_p", "a number from 0 to below 1", Sampling::is_min_p)?;
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
        let further = fields
            .take("stop_token_ids", "a list of token ids", |value| value.as_array().cloned())?;
        let (special, stop_strings) =
            StopStrings::split(&self.tokenizer, &stops.unwrap_or_default())
                .map_err(|error| ApiError::field("stop", &error.to_string()))?;
        let mut stop_ids =
            if fields.flag("ignore_eos")? { Vec::new() } else { self.eos_ids.clone() };
        stop_ids.extend(special);
        stop_ids.extend(self.token_ids("stop_token_ids", &further.unwrap_or_default())?);
        Ok(GenerationOptions {
            sampling: Sampling {
                temperature: temperature.unwrap_or(Sampling::DEFAULT.temperature),
                top_p: top_p.unwrap_or(Sampling::DEFAULT.top_p),
                top_k: top_k.unwrap_or(Sampling::DEFAULT.top_k),
                min_p: min_p.unwrap_or(Sampling::DEFAULT.min_p),
            },
            stop_ids,
            stop_strings: stop_strings.map(Arc::new),
            ..GenerationOptions::default()
        })
    }
}

/// Parses a turn whose content is a text, or a list of text parts.
fn turn(value: &Value) -> Option<Message> {
    let role = value.get("role")?.as_str()?;
    let content = match value.get("content")? {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts
            .iter()
            .map(|part| part.get("text").and_then(Value::as_str))
            .collect::<Option<String>>()?,
        _ => return None,
    };
    Some(Message::new(role, content))
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
    for name in ["logit_bias", "tools", "functions", "suffix", "modalities"] {
        fields.unsupported(name, is_empty)?;
    }
    fields.unsupported("tool_choice", |value| value.as_str() == Some("none"))?;
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
mod tests {
    use std::path::Path;
    use std::sync::LazyLock;

    use proptest::prelude::*;
    use workspace_tests::fuzz::{edited, in_time};

    use super::*;

    const COMPLETION: &str = r#"{"model":"m","prompt":["ab",[1,2]],"max_tokens":5,"n":2,"temperature":0.5,"top_p":0.9,"seed":-3,"stop":["x","yz"],"logprobs":2,"echo":false,"stream":true,"stream_options":{"include_usage":true},"return_token_ids":true,"user":"u"}"#;

    const CHAT: &str = r#"{"model":"m","messages":[{"role":"system","content":"be short"},{"role":"user","content":[{"type":"text","text":"2+2?"}]}],"max_completion_tokens":3,"logprobs":true,"top_logprobs":1}"#;

    static READER: LazyLock<Reader> = LazyLock::new(|| {
        let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
        let folder = workspace_tests::files::folder(&[(
            "chat_template.jinja",
            "{% for m in messages %}{{ m.role }}: {{ m.content }}\n{% endfor %}",
        )]);
        Reader {
            tokenizer: TextTokenizer::load(&tests.join("fixtures/tiny_qwen2_tied"))
                .expect("a fixture"),
            template: ChatTemplate::load(folder.path()).expect("a template"),
            model_name: "m".to_owned(),
            vocab_size: 256,
            eos_ids: vec![0],
            capacity: BatchCapacity { rows: 4, tokens: 64, cpu_kernels: false },
        }
    });

    proptest! {
        #[test]
        fn fuzz_request(bytes in edited([COMPLETION, CHAT].map(|text| text.as_bytes().to_vec()).to_vec())) {
            for style in [Style::Completion, Style::Chat] {
                if let Ok(request) = in_time(|| READER.read(style, &bytes)) {
                    let most = request.prompts.iter().map(Vec::len).max().unwrap_or(0);
                    prop_assert!(most + request.options.max_new_tokens <= 64 || request.only_echo, "{request:?}");
                    prop_assert!(request.prompts.iter().flatten().all(|id| *id < 256), "{request:?}");
                }
            }
        }
    }

    #[test]
    fn samples_of_the_fuzz_test_are_read() {
        let completion = READER.read(Style::Completion, COMPLETION.as_bytes()).unwrap();
        assert_eq!(completion.prompts[1], [1, 2]);
        assert_eq!(READER.read(Style::Chat, CHAT.as_bytes()).unwrap().prompts.len(), 1);
    }
}
