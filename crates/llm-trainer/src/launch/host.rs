//! A host among those of a run, as its launcher is told.

use std::time::Duration;

/// A host among those of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Host {
    /// Which one this is, from 0; the first serves the store.
    pub index: usize,
    /// How many there are, at least 1.
    pub count: usize,
    /// Name or address of the first, by which all reach it.
    pub first: String,
    /// TCP port of the store there; 0 takes a free one, where there is one host.
    pub port: u16,
    /// Longest that the others wait for the first to serve it.
    pub connect_timeout: Duration,
}

impl Host {
    /// The only one.
    pub fn alone() -> Self {
        let (first, connect_timeout) = ("127.0.0.1".to_owned(), Duration::from_mins(1));
        Self { index: 0, count: 1, first, port: 0, connect_timeout }
    }
}
