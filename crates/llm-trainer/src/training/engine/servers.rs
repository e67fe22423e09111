//! The servers of an engine: requests go to the one with the fewest, and one that does not answer is left out.

use std::fmt::{Debug, Display};
use std::io::{BufRead, BufReader, Read};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread::sleep;
use std::time::{Duration, Instant};

use anyhow::anyhow;
use serde_json::Value;
use training_run::config::EngineServers;

/// Longest pause before a request is sent again.
const LONGEST_PAUSE: Duration = Duration::from_mins(1);

/// First pause before a request is sent again; doubled each time.
const FIRST_PAUSE: Duration = Duration::from_millis(500);

#[derive(Debug)]
pub(super) struct Servers {
    client: Client,
    retries: usize,
    wait: Duration,
    all: Vec<Server>,
    /// Version of the weights that they have.
    pub(super) version: AtomicU64,
    /// Sentences for the user about servers that were left out or are back.
    news: Mutex<Vec<String>>,
}

#[derive(Debug)]
struct Server {
    url: String,
    in_flight: AtomicUsize,
    is_lost: AtomicBool,
}

impl Servers {
    pub(super) fn new(settings: &EngineServers) -> Self {
        let wait = Duration::from_secs_f64(settings.timeout_seconds);
        let server = |url: &String| Server {
            url: url.clone(),
            in_flight: AtomicUsize::new(0),
            is_lost: AtomicBool::new(false),
        };
        Self {
            client: Client::new(wait),
            retries: settings.retries,
            wait,
            all: settings.urls.iter().map(server).collect(),
            version: AtomicU64::new(0),
            news: Mutex::default(),
        }
    }

    pub(super) fn count(&self) -> usize {
        self.all.len()
    }

    pub(super) fn url(&self, index: usize) -> &str {
        &self.all[index].url
    }

    /// Takes the sentences about servers since the last call.
    pub(super) fn news(&self) -> Vec<String> {
        std::mem::take(&mut *self.news.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// True for each server that is left out.
    pub(super) fn lost(&self) -> Vec<bool> {
        self.all.iter().map(|server| server.is_lost.load(Ordering::Relaxed)).collect()
    }

    /// Leaves servers out, or takes them back.
    pub(super) fn set_lost(&self, lost: &[bool]) {
        for (server, lost) in self.all.iter().zip(lost) {
            server.is_lost.store(*lost, Ordering::Relaxed);
        }
    }

    /// Sends a request to the server with the fewest in flight; if that one does not answer, it is left out and another is asked.
    /// Returns the answer, and the version of the weights when it was asked. Fails if the request is refused, or no server is left.
    pub(super) fn ask(&self, request: &Request) -> anyhow::Result<(Value, u64)> {
        self.dealt(|index| {
            let version = self.version.load(Ordering::Relaxed);
            self.ask_one(index, request).map(|answer| (answer, version))
        })
    }

    /// Sends a request for a stream as [`ask`](Self::ask) does. Returns each event with the version of the weights when it arrived.
    pub(super) fn ask_for_stream(&self, request: &Request) -> anyhow::Result<Vec<(Value, u64)>> {
        self.dealt(|index| {
            self.tried(index, &request.path, |client, url| {
                let mut events = Vec::new();
                client.stream(url, request, |event| {
                    events.push((event, self.version.load(Ordering::Relaxed)));
                })?;
                Ok(events)
            })
        })
    }

    /// Asks the server with the fewest requests by `ask`, and another if that one does not answer.
    fn dealt<T>(&self, ask: impl Fn(usize) -> Result<T, Failure>) -> anyhow::Result<T> {
        loop {
            let free = self.all.iter().enumerate();
            let free = free.filter(|(_, server)| !server.is_lost.load(Ordering::Relaxed));
            let fewest = free.min_by_key(|(_, server)| server.in_flight.load(Ordering::Relaxed));
            let Some((index, server)) = fewest else {
                return Err(anyhow!("none of {} servers is left", self.count()));
            };
            server.in_flight.fetch_add(1, Ordering::Relaxed);
            let answer = ask(index);
            server.in_flight.fetch_sub(1, Ordering::Relaxed);
            match answer {
                Ok(value) => return Ok(value),
                // Another request has found it lost.
                Err(Failure::Passing(_)) if server.is_lost.load(Ordering::Relaxed) => {}
                Err(Failure::Passing(error)) if self.has_others(index) => self.lose(index, &error),
                Err(Failure::Passing(error) | Failure::Full(error) | Failure::Lasting(error)) => {
                    return Err(error);
                }
            }
        }
    }

    fn has_others(&self, index: usize) -> bool {
        self.lost().iter().enumerate().any(|(other, lost)| other != index && !lost)
    }

    /// Leaves a server out and says so once.
    fn lose(&self, index: usize, error: &anyhow::Error) {
        let server = &self.all[index];
        if !server.is_lost.swap(true, Ordering::Relaxed) {
            let url = &server.url;
            self.tell(format!(
                "{url} is left out until it answers; others are asked instead: {error:#}"
            ));
        }
    }

    /// Asks one server after another, those that are left out too if `with_lost`, and passes their answers on. One that gives none
    /// is left out; returns the last such reason. Fails where a retry does not help.
    pub(super) fn ask_each<T>(
        &self,
        with_lost: bool,
        ask: impl Fn(usize) -> Result<T, Failure>,
        mut take: impl FnMut(usize, T) -> anyhow::Result<()>,
    ) -> anyhow::Result<Option<anyhow::Error>> {
        let mut reason = None;
        let servers = self.lost().into_iter().enumerate();
        for (index, _) in servers.filter(|(_, is_lost)| with_lost || !is_lost) {
            match ask(index) {
                Ok(answer) => take(index, answer)?,
                Err(Failure::Lasting(error)) => return Err(error),
                Err(Failure::Passing(error) | Failure::Full(error)) => {
                    self.lose(index, &error);
                    reason = Some(error);
                }
            }
        }
        Ok(reason)
    }

    /// Takes a server back that has loaded the weights, and says so.
    pub(super) fn take_back(&self, index: usize) {
        let server = &self.all[index];
        if server.is_lost.swap(false, Ordering::Relaxed) {
            self.tell(format!("{} is back", server.url));
        }
    }

    /// Sends a request to one server until it is answered or has used all its retries; one that is left out is asked once. It stays
    /// left out until [`take_back`](Self::take_back): a server that was started again has its first weights.
    pub(super) fn ask_one(&self, index: usize, request: &Request) -> Result<Value, Failure> {
        self.tried(index, &request.path, |client, url| client.send(url, request))
    }

    fn tried<T>(
        &self,
        index: usize,
        path: &str,
        send: impl Fn(&Client, &str) -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        let server = &self.all[index];
        let retries = if server.is_lost.load(Ordering::Relaxed) { 0 } else { self.retries };
        let (mut pause, mut left, began) = (FIRST_PAUSE, retries, Instant::now());
        let named = |error: anyhow::Error| error.context(format!("{}{path}", server.url));
        loop {
            match send(&self.client, &server.url) {
                Ok(value) => return Ok(value),
                Err(Failure::Lasting(error)) => return Err(Failure::Lasting(named(error))),
                Err(Failure::Full(error)) if began.elapsed() > self.wait => {
                    return Err(Failure::Full(named(error)));
                }
                Err(Failure::Full(_)) => {}
                Err(Failure::Passing(error)) if left == 0 => {
                    let tries = format!("no answer in {} tries", retries + 1);
                    return Err(Failure::Passing(named(error.context(tries))));
                }
                Err(Failure::Passing(_)) => left -= 1,
            }
            sleep(pause);
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    pub(super) fn tell(&self, sentence: String) {
        self.news.lock().unwrap_or_else(PoisonError::into_inner).push(sentence);
    }
}

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
struct Client(ureq::Agent);

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

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::TcpListener;

    use super::*;

    /// A server that was started again answers with its first weights: it is asked for nothing until it has loaded others.
    #[test]
    fn an_answer_alone_takes_no_server_back() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        std::thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                let _head = stream.read(&mut [0; 1024]);
                let _sent = stream.write_all(
                    b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}",
                );
            }
        });
        let servers =
            Servers::new(&EngineServers { urls: vec![url.clone()], ..EngineServers::default() });
        servers.lose(0, &anyhow!("gone"));
        assert_eq!(servers.ask_one(0, &Request::get("/health")).unwrap(), serde_json::json!({}));
        assert_eq!(servers.lost(), [true]);
        let error = servers.ask(&Request::get("/health")).unwrap_err();
        assert_eq!(error.to_string(), "none of 1 servers is left");
        servers.take_back(0);
        servers.ask(&Request::get("/health")).unwrap();
        let left_out =
            format!("{url} is left out until it answers; others are asked instead: gone");
        assert_eq!(servers.news(), [left_out, format!("{url} is back")]);
    }
}
