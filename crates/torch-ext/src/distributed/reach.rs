//! Connects to a store that may not be there, in bounded time.
//!
//! c10d's client waits without end for a listener that does not answer, and does not report why it could not connect.

use std::net::{TcpStream, ToSocketAddrs};
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

use super::error::GroupError;

/// Interval between attempts to connect.
const RETRY: Duration = Duration::from_millis(50);
/// Extra time for an answer that comes at the last moment.
const SLACK: Duration = Duration::from_millis(500);

/// Waits for `connect`, at most `wait`. A later connection is dropped.
pub(super) fn within<T: Send + 'static>(
    wait: Duration,
    key: &str,
    connect: impl FnOnce() -> Result<T, GroupError> + Send + 'static,
) -> Result<T, GroupError> {
    let (sender, receiver) = channel();
    // The thread is left behind if nothing answers.
    thread::spawn(move || sender.send(connect()));
    receiver.recv_timeout(wait.saturating_add(SLACK)).unwrap_or_else(|_| {
        let message = format!("no answer within {} s", wait.as_secs_f64());
        Err(GroupError::Store { action: "connect", key: key.to_owned(), message })
    })
}

/// Waits until something listens at the address; otherwise returns the last reason for a failed attempt.
pub(super) fn listener(host: &str, port: u16, wait: Duration) -> Result<(), String> {
    let began = Instant::now();
    loop {
        let Some(problem) = attempt(host, port, wait.saturating_sub(began.elapsed())) else {
            return Ok(());
        };
        if began.elapsed() >= wait {
            return Err(format!("{problem}, for {} s", wait.as_secs_f64()));
        }
        thread::sleep(RETRY.min(wait.saturating_sub(began.elapsed())));
    }
}

/// The reason why none of the host's addresses accepted a connection; `None` if one did.
fn attempt(host: &str, port: u16, wait: Duration) -> Option<String> {
    let addresses = match (host, port).to_socket_addrs() {
        Ok(addresses) => addresses,
        Err(error) => return Some(error.to_string()),
    };
    let mut problem = "no address".to_owned();
    for address in addresses {
        match TcpStream::connect_timeout(&address, wait.max(RETRY)) {
            Ok(_listens) => return None,
            Err(error) => problem = error.to_string(),
        }
    }
    Some(problem)
}
