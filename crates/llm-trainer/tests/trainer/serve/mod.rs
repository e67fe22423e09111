//! The server as its clients see it: real requests over the network.

mod answers;
mod clients;
mod hostile;
mod reload;
mod rollouts;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use serde_json::Value;

use crate::fixture::directory;

/// A server of its own, killed when the test ends.
pub(crate) struct Server {
    child: Child,
    /// `127.0.0.1:PORT`.
    pub(crate) address: String,
}

impl Server {
    pub(crate) fn of(model: &Path, more: &[&str]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_llm-trainer"))
            .arg("serve")
            .arg(model)
            .args(["--port", "0", "--device", "cpu", "--threads", "1", "--model-name", "tiny"])
            .args(more)
            .env("OMP_NUM_THREADS", "1")
            .stdout(Stdio::piped())
            .spawn()
            .expect("the binary of this crate runs");
        let mut line = String::new();
        let stdout = child.stdout.take().expect("piped");
        BufReader::new(stdout).read_line(&mut line).expect("it says where it listens");
        let address = line.trim().strip_prefix("serving tiny at http://");
        let address = address.unwrap_or_else(|| panic!("{line:?}")).to_owned();
        Self { child, address }
    }

    /// The recorded model whose head is tied.
    pub(crate) fn tiny(more: &[&str]) -> Self {
        Self::of(&directory("tiny_qwen2_tied"), more)
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Status and body of the answer to a request with a JSON body.
    pub(crate) fn post(&self, path: &str, body: &Value) -> (u16, Value) {
        let (status, text) = self.exchange("POST", path, "application/json", &body.to_string());
        (status, serde_json::from_str(&text).unwrap_or_else(|_| panic!("no JSON: {text:?}")))
    }

    /// Status and body of the answer.
    pub(crate) fn exchange(
        &self,
        method: &str,
        path: &str,
        kind: &str,
        body: &str,
    ) -> (u16, String) {
        let head = format!(
            "{method} {path} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\ncontent-type: {kind}\r\ncontent-length: {}\r\n\r\n",
            self.address,
            body.len()
        );
        let answer = self.raw(&[head.as_bytes(), body.as_bytes()].concat());
        let (head, body) = answer.split_once("\r\n\r\n").unwrap_or_else(|| panic!("{answer:?}"));
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
        let is_chunked = head.to_ascii_lowercase().contains("transfer-encoding: chunked");
        let body = if is_chunked { unchunked(body) } else { body.to_owned() };
        (status.unwrap_or_else(|| panic!("{head:?}")), body)
    }

    /// Whatever is answered to these bytes until the connection is closed.
    pub(crate) fn raw(&self, bytes: &[u8]) -> String {
        let mut stream = self.connect();
        // It may answer and close before it has read all.
        let _sent = stream.write_all(bytes);
        let mut answer = Vec::new();
        let _end = stream.read_to_end(&mut answer);
        String::from_utf8_lossy(&answer).into_owned()
    }

    pub(crate) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(&self.address).expect("it listens");
        stream.set_read_timeout(Some(Duration::from_mins(5))).expect("a socket has time-outs");
        stream
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended already.
        let _ended = self.child.kill();
        let _ended = self.child.wait();
    }
}

/// The text of a body in chunks: each its length in hexadecimal, a line's end, the bytes, a line's end.
fn unchunked(mut body: &str) -> String {
    let mut text = String::new();
    while let Some((length, rest)) = body.split_once("\r\n") {
        let length = usize::from_str_radix(length, 16).expect("a length in hexadecimal");
        text.push_str(&rest[..length]);
        body = rest[length..].trim_start_matches("\r\n");
    }
    text
}
