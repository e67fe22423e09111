//! One request to a server, without a retry.

use std::fmt::{Debug, Display};
use std::io::{BufRead, BufReader, Read};
use std::time::Duration;

use anyhow::anyhow;
use serde_json::Value;

/// Largest answer that is read, in bytes.
const LONGEST_ANSWER: u64 = 256 << 20;

/// A request to a server: a path, and a body where it is a `POST`.
#[derive(Debug, Clone)]
pub(super) struct Request {
    pub(super) path: String,
    pub(super) body: Option<Value>,
}

impl Request {
    pub(super) fn get(path: &str) -> Self {
        Self { path: path.to_owned(), body: None }
    }

    pub(super) fn post(path: &str, body: Value) -> Self {
        Self { path: path.to_owned(), body: Some(body) }
    }
}

/// Reason why a request failed.
#[derive(Debug)]
pub(super) enum Failure {
    /// The server has no place for the request now.
    Full(anyhow::Error),
    /// The server may answer another time.
    Passing(anyhow::Error),
    /// A retry does not help.
    Lasting(anyhow::Error),
}

fn passing(error: impl Display + Debug + Send + Sync + 'static) -> Failure {
    Failure::Passing(anyhow::Error::msg(error))
}

/// A client for servers of the local network.
#[derive(Debug)]
pub(super) struct Client(ureq::Agent);

impl Client {
    pub(super) fn new(wait: Duration) -> Self {
        let config = ureq::Agent::config_builder()
            .timeout_global(Some(wait))
            .timeout_connect(Some(wait.min(Duration::from_secs(10))))
            .http_status_as_error(false)
            // The weights and prompts of a run are for the server that was named.
            .max_redirects(0)
            // No proxy from the environment: the servers are on the local network.
            .proxy(None);
        Self(config.build().into())
    }

    /// Sends a request; text that is no JSON is returned as a string.
    pub(super) fn send(&self, url: &str, request: &Request) -> Result<Value, Failure> {
        let mut text = String::new();
        self.body(url, request)?.read_to_string(&mut text).map_err(passing)?;
        Ok(serde_json::from_str(&text).unwrap_or(Value::String(text)))
    }

    /// Sends a request whose answer is a stream of events, and passes each on as it arrives.
    pub(super) fn stream(
        &self,
        url: &str,
        request: &Request,
        mut tell: impl FnMut(Value),
    ) -> Result<(), Failure> {
        for line in BufReader::new(self.body(url, request)?).lines() {
            let line = line.map_err(passing)?;
            match line.strip_prefix("data: ") {
                None => {}
                Some("[DONE]") => return Ok(()),
                Some(event) => {
                    let event: Value = serde_json::from_str(event).map_err(passing)?;
                    if let Some(error) = event.get("error") {
                        return Err(passing(error.to_string()));
                    }
                    tell(event);
                }
            }
        }
        Err(passing("the answer breaks off"))
    }

    fn body(&self, url: &str, request: &Request) -> Result<impl Read + use<>, Failure> {
        let url = format!("{url}{}", request.path);
        let sent = match &request.body {
            None => self.0.get(&url).call(),
            Some(body) => self.0.post(&url).content_type("application/json").send(body.to_string()),
        };
        let response = sent.map_err(passing)?;
        let status = response.status();
        let mut body = response.into_body().into_reader().take(LONGEST_ANSWER);
        if status.is_success() {
            return Ok(body);
        }
        let mut text = String::new();
        body.read_to_string(&mut text).map_err(passing)?;
        let excerpt: String = text.chars().take(300).collect();
        let error = anyhow!("status {status}: {excerpt}");
        Err(match status.as_u16() {
            429 => Failure::Full(error),
            500.. => Failure::Passing(error),
            _ => Failure::Lasting(error),
        })
    }
}
