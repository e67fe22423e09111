//! Errors as OpenAI's interface has them: `{"error": {"message", "type", "param", "code"}}`.

use decoder::generation::GenerationError;
use http_body_util::channel::Channel;
use hyper::StatusCode;
use hyper::body::{Bytes, Frame};
use hyper::header::{ALLOW, CONTENT_TYPE, HeaderValue, RETRY_AFTER};
use serde_json::{Value, json};

/// Longest id of a rollout, in bytes.
pub(super) const LONGEST_ID: usize = 128;

#[derive(Debug, Clone, PartialEq)]
pub(super) struct ApiError {
    pub(super) status: StatusCode,
    message: String,
    param: Option<String>,
    code: Option<&'static str>,
}

impl ApiError {
    fn new(status: StatusCode, message: impl Into<String>) -> Self {
        Self { status, message: message.into(), param: None, code: None }
    }

    fn about(self, param: &str) -> Self {
        Self { param: Some(param.to_owned()), ..self }
    }

    fn coded(self, code: &'static str) -> Self {
        Self { code: Some(code), ..self }
    }

    /// A field that cannot be used; the message names it, too.
    pub(super) fn field(name: &str, problem: &str) -> Self {
        Self::body(format!("`{name}` {problem}")).about(name).coded("invalid_value")
    }

    pub(super) fn body(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, message)
    }

    pub(super) fn too_long(name: &str, problem: &str) -> Self {
        Self::field(name, problem).coded("context_length_exceeded")
    }

    pub(super) fn unknown_model(found: &str, expected: &str) -> Self {
        let message = format!("`model` is {found:?}, expected {expected:?}");
        Self::new(StatusCode::NOT_FOUND, message).about("model").coded("model_not_found")
    }

    pub(super) fn body_too_large(limit: usize) -> Self {
        let message = format!("the body has more than {limit} bytes, the most this server reads");
        Self::new(StatusCode::PAYLOAD_TOO_LARGE, message)
    }

    pub(super) fn slow_body() -> Self {
        Self::new(StatusCode::REQUEST_TIMEOUT, "the body did not come in time")
    }

    pub(super) fn content_type() -> Self {
        let message = "the content type is another, expected application/json";
        Self::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, message)
    }

    pub(super) fn unknown_path(path: &str) -> Self {
        let known = "/v1/models, /v1/completions, /v1/chat/completions, /v1/reload, /rollouts/ID, /health or /metrics";
        let path: String = path.chars().take(80).collect();
        Self::new(StatusCode::NOT_FOUND, format!("there is no {path:?}, expected {known}"))
    }

    pub(super) fn unknown_rollout(id: &str) -> Self {
        let id: String = id.chars().take(80).collect();
        let message = format!(
            "there is no rollout {id:?}, expected one that has begun; ids are at most {LONGEST_ID} letters, digits, `.`, `_` and `-`"
        );
        Self::new(StatusCode::NOT_FOUND, message)
    }

    pub(super) fn many_rollouts(most: usize) -> Self {
        let message =
            format!("{most} rollouts are recorded, the most this server keeps; delete some");
        Self::new(StatusCode::TOO_MANY_REQUESTS, message).coded("rollouts_full")
    }

    pub(super) fn many_turns(most: u64) -> Self {
        let message = format!(
            "the rollout has had {most} requests, the most of rollout.environment.max_turns"
        );
        Self::forbidden(message).coded("turns_used")
    }

    pub(super) fn method(allowed: &str) -> Self {
        let message = format!("this path takes another method, expected {allowed}");
        Self::new(StatusCode::METHOD_NOT_ALLOWED, message)
    }

    pub(super) fn full(queue: usize) -> Self {
        let message =
            format!("{queue} requests are waiting, the most this server queues; try again later");
        Self::new(StatusCode::TOO_MANY_REQUESTS, message).coded("queue_full")
    }

    pub(super) fn forbidden(message: impl Into<String>) -> Self {
        Self::new(StatusCode::FORBIDDEN, message)
    }

    pub(super) fn unauthorized() -> Self {
        let message = "the key is missing or wrong, expected `Authorization: Bearer KEY`";
        Self::new(StatusCode::UNAUTHORIZED, message).coded("invalid_api_key")
    }

    pub(super) fn ended() -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "the server is ending")
    }

    pub(super) fn engine(message: impl Into<String>) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, message)
    }

    pub(super) fn json(&self) -> Value {
        let kind = match self.status {
            StatusCode::TOO_MANY_REQUESTS => "rate_limit_error",
            status if status.is_server_error() => "server_error",
            _ => "invalid_request_error",
        };
        let Self { message, param, code, .. } = self;
        json!({"error": {"message": message, "type": kind, "param": param, "code": code}})
    }
}

impl From<GenerationError> for ApiError {
    fn from(error: GenerationError) -> Self {
        let message = error.to_string();
        match error {
            GenerationError::Option { option, found, expected } => {
                Self::field(option, &format!("is {found}, expected {expected}"))
            }
            GenerationError::TooLong(_) => {
                Self::body(message).about("max_tokens").coded("context_length_exceeded")
            }
            GenerationError::Prompt(_) => Self::body(message).about("prompt"),
            _ => Self::engine(message),
        }
    }
}

/// An answer whose body comes piece by piece.
pub(super) type Response = hyper::Response<Channel<Bytes>>;

pub(super) fn whole_text(status: StatusCode, kind: &'static str, text: String) -> Response {
    let (mut piece, body) = Channel::new(1);
    let _heard = piece.try_send(Frame::data(text.into()));
    response(status, kind, body)
}

pub(super) fn response(status: StatusCode, kind: &'static str, body: Channel<Bytes>) -> Response {
    let mut response = hyper::Response::new(body);
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}

pub(super) fn whole(status: StatusCode, value: &Value) -> Response {
    whole_text(status, "application/json", value.to_string())
}

pub(super) fn refusal(error: &ApiError) -> Response {
    let mut response = whole(error.status, &error.json());
    let headers = response.headers_mut();
    match error.status {
        StatusCode::TOO_MANY_REQUESTS => {
            headers.insert(RETRY_AFTER, HeaderValue::from_static("1"));
        }
        StatusCode::METHOD_NOT_ALLOWED => {
            headers.insert(ALLOW, HeaderValue::from_static("GET, POST"));
        }
        _ => {}
    }
    response
}
