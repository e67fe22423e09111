//! Routes of the interface, request counters, and refusals before a request reaches the model.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use http_body_util::{BodyExt, Limited};
use hyper::body::{Body, Bytes, Incoming};
use hyper::header::CONTENT_TYPE;
use hyper::{Method, StatusCode};
use serde_json::{Value, json};
use tokio::sync::mpsc::Sender;
use tokio::sync::mpsc::error::TrySendError;

use super::Settings;
use super::error::{ApiError, Response, refusal, whole, whole_text};
use super::request::{Reader, Style};
use super::worker::ModelRequest;

pub(super) struct Server {
    pub(super) settings: Settings,
    pub(super) reader: Reader,
    pub(super) model_requests: Sender<ModelRequest>,
    /// Generator of seeds for requests without one.
    seeds: RandomState,
    pub(super) counts: Counts,
}

#[derive(Debug, Default)]
pub(super) struct Counts {
    requests: AtomicU64,
    refused: AtomicU64,
    pub(super) prompt_tokens: AtomicU64,
    pub(super) drawn_tokens: AtomicU64,
}

impl Server {
    pub(super) fn new(
        settings: Settings,
        reader: Reader,
        model_requests: Sender<ModelRequest>,
    ) -> Self {
        let (seeds, counts) = (RandomState::new(), Counts::default());
        Self { settings, reader, model_requests, seeds, counts }
    }

    /// Answers a request; errors become refusals.
    pub(super) async fn answer_or_refuse(
        self: &Arc<Self>,
        request: hyper::Request<Incoming>,
        peer: SocketAddr,
    ) -> Response {
        self.answer(request, peer).await.unwrap_or_else(|error| {
            self.counts.refused.fetch_add(1, Ordering::Relaxed);
            refusal(&error)
        })
    }

    async fn answer(
        self: &Arc<Self>,
        request: hyper::Request<Incoming>,
        peer: SocketAddr,
    ) -> Result<Response, ApiError> {
        self.counts.requests.fetch_add(1, Ordering::Relaxed);
        self.settings.admission.check(request.headers(), request.uri())?;
        let path = request.uri().path().to_owned();
        let (rollout, route) = match path.strip_prefix("/rollouts/") {
            Some(path) => {
                let (id, route) = path.split_once('/').unwrap_or((path, ""));
                (Some(id), route)
            }
            None => (None, path.strip_prefix('/').unwrap_or_default()),
        };
        let style = if route == "v1/completions" { Style::Completion } else { Style::Chat };
        let by = |allowed: &str| {
            let is_allowed = allowed.split(" or ").any(|method| request.method() == method);
            if is_allowed { Ok(()) } else { Err(ApiError::method(allowed)) }
        };
        match (rollout, route) {
            (_, "v1/models") => by("GET").map(|()| whole(StatusCode::OK, &self.models())),
            (_, "v1/completions" | "v1/chat/completions") => {
                by("POST")?;
                self.generate(style, &self.body(request).await?, rollout).await
            }
            (Some(id), "reward") => {
                by("POST")?;
                self.reward(id, &self.body(request).await?)
            }
            (Some(id), "") => {
                by("GET or DELETE")?;
                self.rollout(id, request.method() == Method::DELETE)
            }
            (None, "health") => {
                by("GET")?;
                if self.model_requests.is_closed() {
                    return Err(ApiError::ended());
                }
                Ok(whole(StatusCode::OK, &json!({"status": "ok"})))
            }
            (None, "metrics") => by("GET").map(|()| self.metrics()),
            (None, "v1/reload") => {
                by("POST")?;
                if !peer.ip().to_canonical().is_loopback() {
                    let message = "models are reloaded from this machine alone";
                    return Err(ApiError::forbidden(message));
                }
                self.reload(&self.body(request).await?).await
            }
            _ => Err(ApiError::unknown_path(path.strip_prefix("/rollouts/").unwrap_or(&path))),
        }
    }

    pub(super) fn models(&self) -> Value {
        let name = &self.reader.model_name;
        json!({"object": "list", "data": [{
            "id": name, "object": "model", "created": 0, "owned_by": "llm-trainer",
            "max_model_len": self.reader.capacity.tokens,
        }]})
    }

    fn metrics(&self) -> Response {
        let Counts { requests, refused, prompt_tokens, drawn_tokens } = &self.counts;
        let waiting = (self.settings.queue - self.model_requests.capacity()) as u64;
        let mut text = String::new();
        for (name, kind, value) in [
            ("requests_total", "counter", requests.load(Ordering::Relaxed)),
            ("refused_total", "counter", refused.load(Ordering::Relaxed)),
            ("prompt_tokens_total", "counter", prompt_tokens.load(Ordering::Relaxed)),
            ("drawn_tokens_total", "counter", drawn_tokens.load(Ordering::Relaxed)),
            ("waiting_requests", "gauge", waiting),
        ] {
            let name = format!("llm_trainer_{name}");
            text.extend(["# TYPE ", &name, " ", kind, "\n", &name, " ", &value.to_string(), "\n"]);
        }
        whole_text(StatusCode::OK, "text/plain; version=0.0.4", text)
    }

    /// Reads the body of a request, if it is JSON, short enough and in time.
    pub(super) async fn body(&self, request: hyper::Request<Incoming>) -> Result<Bytes, ApiError> {
        // A page in a browser may send text to this machine unasked, but no JSON.
        let kind = request.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
        let kind = kind.and_then(|kind| kind.split(';').next()).unwrap_or_default();
        if !kind.trim().eq_ignore_ascii_case("application/json") {
            return Err(ApiError::content_type());
        }
        let limit = self.settings.body_bytes;
        if request.body().size_hint().lower() > limit as u64 {
            return Err(ApiError::body_too_large(limit));
        }
        let read = Limited::new(request.into_body(), limit).collect();
        match tokio::time::timeout(self.settings.read_timeout, read).await {
            Err(_) => Err(ApiError::slow_body()),
            Ok(Ok(body)) => Ok(body.to_bytes()),
            Ok(Err(error)) if error.is::<http_body_util::LengthLimitError>() => {
                Err(ApiError::body_too_large(limit))
            }
            Ok(Err(error)) => Err(ApiError::body(format!("the body cannot be read: {error}"))),
        }
    }

    pub(super) fn send_to_model(&self, request: ModelRequest) -> Result<(), ApiError> {
        self.model_requests.try_send(request).map_err(|error| match error {
            TrySendError::Full(_) => ApiError::full(self.settings.queue),
            TrySendError::Closed(_) => ApiError::ended(),
        })
    }

    /// Returns a number that is almost certainly unique among requests.
    pub(super) fn random(&self) -> u64 {
        let number = self.counts.requests.load(Ordering::Relaxed);
        self.seeds.hash_one((number, SystemTime::now()))
    }
}
