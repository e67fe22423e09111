//! One host of a run, as given to its launcher.

use std::time::Duration;

/// One host of a run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Host {
    /// Index of this host, from 0; host 0 serves the store.
    pub index: usize,
    /// Number of hosts, at least 1.
    pub count: usize,
    /// Name or address of host 0, under which all hosts reach it.
    pub first: String,
    /// TCP port of the store on host 0. With one host, 0 takes a free port.
    pub port: u16,
    /// Longest time that other hosts wait for host 0 to serve the store.
    pub connect_timeout: Duration,
}

impl Host {
    /// The only host of a run.
    pub fn alone() -> Self {
        let (first, connect_timeout) = ("127.0.0.1".to_owned(), Duration::from_mins(1));
        Self { index: 0, count: 1, first, port: 0, connect_timeout }
    }
}
