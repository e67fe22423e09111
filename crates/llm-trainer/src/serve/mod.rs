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
mod server;
mod tool_calls;
mod worker;

pub(crate) use admission::Admission;
pub(crate) use http::{OpenPort, open, signalled};
pub(crate) use recording::Rollouts;
pub(crate) use recording::{Owner, Recording, Terms};
pub(crate) use request::{BatchCapacity, Reader};
pub(crate) use worker::{ModelRequest, RequestEvent, Work};

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// A free port of this machine.
pub(crate) const FREE_PORT: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0);

#[derive(Debug, Clone)]
pub(crate) struct Settings {
    pub(crate) admission: Admission,
    /// Most requests that wait for the model; further ones are refused with status 429.
    pub(crate) queue: usize,
    /// Longest request body, in bytes.
    pub(crate) body_bytes: usize,
    /// Most connections at once; further ones wait to be accepted.
    pub(crate) connections: usize,
    /// True if a connection stays open for further requests. Idle ones count among [`connections`](Self::connections).
    pub(crate) keep_alive: bool,
    /// Longest wait for the head of a request, and for its body.
    pub(crate) read_timeout: Duration,
    /// Time that requests may continue after a shutdown was requested.
    pub(crate) grace: Duration,
    /// Folder from which `POST /v1/reload` may load models, without links; `None` refuses it.
    pub(crate) reload_root: Option<PathBuf>,
    /// Rollouts that are recorded under `/rollouts/`; `None` records none.
    pub(crate) rollouts: Option<Arc<Rollouts>>,
}

impl Settings {
    /// Limits of a server for programs that this process itself starts, which ends with them.
    pub(crate) fn of_own_programs() -> Self {
        Self {
            admission: Admission { host: Some(FREE_PORT.ip()), api_key: None },
            queue: 65_536,
            body_bytes: 64 << 20,
            connections: 65_536,
            keep_alive: true,
            read_timeout: Duration::from_mins(1),
            grace: Duration::ZERO,
            reload_root: None,
            rollouts: None,
        }
    }
}
