//! An OpenAI-compatible server: completions, chat, log-probabilities and streaming over HTTP/1.1.
//!
//! One thread, the first, runs the model and nothing else; all requests decode together in its batch. Another answers the network.
//! Between them stands a queue of bounded length. Fields, limits and how a trainer pushes weights are in `docs/rollout.md`.

mod answer;
mod error;
mod fields;
mod http;
mod orders;
mod request;
mod response;
mod server;
mod text;
mod worker;

pub use http::{Listening, listen};
pub use worker::Room;

use std::path::PathBuf;
use std::time::Duration;

/// What the server lets in.
#[derive(Debug, Clone)]
pub struct Settings {
    /// What requests call the model.
    pub model_name: String,
    /// Responses that decode together, and tokens of prompt and response.
    pub room: Room,
    /// Requests that wait for the model; further ones are refused with status 429.
    pub queue: usize,
    /// Longest body of a request.
    pub body_bytes: usize,
    /// Connections at once; further ones wait to be accepted.
    pub connections: usize,
    /// Longest wait for the head of a request, and for its body.
    pub read_timeout: Duration,
    /// How long requests may go on once the end was asked for.
    pub grace: Duration,
    /// Folder that `POST /v1/reload` may load models from; `None` refuses it.
    pub reload_root: Option<PathBuf>,
}
