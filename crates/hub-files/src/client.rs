//! Requests to the hub.

use std::fmt::Write;
use std::io::Read;
use std::time::Duration;

use ureq::config::RedirectAuthHeaders;
use ureq::tls::{Certificate, PemItem, RootCerts, TlsConfig, parse_pem};

/// Largest listing that is read, in bytes.
const LONGEST_LISTING: u64 = 64 << 20;

/// Slowest download that is waited for, in bytes per second, beyond [`LEAST_SECONDS`].
const LEAST_BYTES_PER_SECOND: u64 = 20_000;

const LEAST_SECONDS: u64 = 120;

/// An answer of the hub that is not the file.
#[derive(Debug)]
pub(crate) enum Failure {
    /// Status of an answer that another try would not change.
    Status(u16),
    /// The hub was not reached, or is busy.
    Unreachable(String),
}

/// Words for a status by which the hub refuses a repository, revision or file, or does not show it.
pub(crate) fn refused(status: u16) -> String {
    format!(
        "the hub answers {status}, expected a repository and revision that exist, and a token if it needs one (HF_TOKEN)"
    )
}

/// A client of the hub; the token goes to the hub alone, not to where it redirects.
#[derive(Debug)]
pub(crate) struct Client {
    agent: ureq::Agent,
    endpoint: String,
    token: Option<String>,
}

impl Client {
    /// `authorities` is the PEM text of further authorities, in place of the built-in ones.
    pub(crate) fn new(endpoint: &str, token: Option<String>, authorities: Option<&[u8]>) -> Self {
        let mut tls = TlsConfig::builder();
        if let Some(pem) = authorities {
            let certificate = |item| match item {
                Ok(PemItem::Certificate(certificate)) => Some(certificate),
                _ => None,
            };
            let all: Vec<Certificate<'static>> = parse_pem(pem).filter_map(certificate).collect();
            tls = tls.root_certs(RootCerts::new_with_certs(&all));
        }
        let config = ureq::Agent::config_builder()
            .tls_config(tls.build())
            .timeout_connect(Some(Duration::from_secs(10)))
            .timeout_recv_response(Some(Duration::from_secs(30)))
            .redirect_auth_headers(RedirectAuthHeaders::SameHost)
            .http_status_as_error(false)
            .user_agent(concat!("llm-trainer/", env!("CARGO_PKG_VERSION")));
        let endpoint = endpoint.trim_end_matches('/').to_owned();
        Self { agent: config.build().into(), endpoint, token }
    }

    /// Reads a listing.
    pub(crate) fn text(&self, path: &str) -> Result<Vec<u8>, Failure> {
        let (_, mut body) = self.get(path, 0, Duration::from_secs(LEAST_SECONDS))?;
        let mut text = Vec::new();
        let read = (&mut body).take(LONGEST_LISTING).read_to_end(&mut text);
        read.map_err(|error| Failure::Unreachable(error.to_string()))?;
        Ok(text)
    }

    /// Opens a file of `bytes` bytes from byte `start` on; returns where the answer starts: at `start`, or at 0.
    pub(crate) fn open(
        &self,
        path: &str,
        start: u64,
        bytes: u64,
    ) -> Result<(u64, impl Read + use<>), Failure> {
        let wait = Duration::from_secs(LEAST_SECONDS + bytes / LEAST_BYTES_PER_SECOND);
        let (status, body) = self.get(path, start, wait)?;
        Ok((if status == 206 { start } else { 0 }, body))
    }

    fn get(
        &self,
        path: &str,
        start: u64,
        wait: Duration,
    ) -> Result<(u16, ureq::BodyReader<'static>), Failure> {
        let mut request = self.agent.get(format!("{}/{path}", self.endpoint));
        if let Some(token) = &self.token {
            request = request.header("Authorization", format!("Bearer {token}"));
        }
        if start > 0 {
            request = request.header("Range", format!("bytes={start}-"));
        }
        let response = request.config().timeout_recv_body(Some(wait)).build().call();
        let response = response.map_err(|error| Failure::Unreachable(error.to_string()))?;
        match response.status().as_u16() {
            status @ (200 | 206) => Ok((status, response.into_body().into_reader())),
            status if status == 429 || status >= 500 => {
                Err(Failure::Unreachable(format!("it answers {status}")))
            }
            status => Err(Failure::Status(status)),
        }
    }
}

/// Escapes a path for an address; `/` stays.
pub(crate) fn escaped(path: &str) -> String {
    let mut text = String::with_capacity(path.len());
    for byte in path.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte) {
            text.push(char::from(byte));
        } else {
            let _ = write!(text, "%{byte:02X}");
        }
    }
    text
}
