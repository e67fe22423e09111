//! An OpenAI-compatible server: completions, chat, log-probabilities and streaming over HTTP/1.1.
//!
//! The first thread runs the model and nothing else; all requests decode together in its batch. Another thread serves the network.
//! A bounded queue connects them. Fields, limits and how a trainer pushes weights are in `docs/rollout.md`.

mod admission;
mod answer;
mod conversation;
mod error;
mod fields;
mod http;
mod model_requests;
mod prompt;
mod recording;
mod request;
mod response;
mod rollout_requests;
mod rollouts;
mod server;
mod template_value;
mod text;
mod tool_calls;
mod worker;

pub use admission::Admission;
pub(crate) use http::open;
pub use http::{Listening, listen};
pub(crate) use recording::{Owner, Recording};
pub use rollouts::Rollouts;
pub(crate) use rollouts::Terms;
pub use worker::BatchCapacity;
pub(crate) use worker::{ModelRequest, RequestEvent, Work};

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// Limits and names of the server.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Name of the model in requests.
    pub model_name: String,
    /// Requests that are let in.
    pub admission: Admission,
    /// Responses that decode together, and tokens of prompt and response.
    pub capacity: BatchCapacity,
    /// Most requests that wait for the model; further ones are refused with status 429.
    pub queue: usize,
    /// Longest request body, in bytes.
    pub body_bytes: usize,
    /// Most connections at once; further ones wait to be accepted.
    pub connections: usize,
    /// True if a connection stays open for further requests. Idle ones count among [`connections`](Self::connections).
    pub keep_alive: bool,
    /// Longest wait for the head of a request, and for its body.
    pub read_timeout: Duration,
    /// Time that requests may continue after a shutdown was requested.
    pub grace: Duration,
    /// Folder from which `POST /v1/reload` may load models; `None` refuses it.
    pub reload_root: Option<PathBuf>,
    /// Rollouts that are recorded under `/rollouts/`; `None` records none.
    pub rollouts: Option<Arc<Rollouts>>,
}
