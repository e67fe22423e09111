//! A service that is posted responses and answers with rewards.

use std::time::Duration;

use anyhow::{Context, bail};
use serde_json::Value;

/// Largest answer that is read, in bytes.
const LONGEST_ANSWER: u64 = 64 << 20;

/// Tries of a request, 0.5, 1, 2, … seconds apart.
const TRIES: u32 = 4;

/// A service by its address.
#[derive(Debug)]
pub(super) struct Service {
    url: String,
    agent: ureq::Agent,
}

impl Service {
    pub(super) fn new(url: &str, wait: Duration) -> Self {
        let agent = ureq::Agent::config_builder()
            .timeout_global(Some(wait))
            .http_status_as_error(false)
            // Responses are for the service that was named, not for another or for a proxy of the environment.
            .max_redirects(0)
            .proxy(None)
            .build()
            .into();
        Self { url: url.to_owned(), agent }
    }

    pub(super) fn url(&self) -> &str {
        &self.url
    }

    /// Posts lines of JSON and reads the answer: lines, or one array. Fails if there is no answer of status 200 after all tries.
    pub(super) fn answers(&self, lines: &str) -> anyhow::Result<Vec<String>> {
        let mut tried = 1;
        loop {
            let failure = match self.post(lines) {
                Ok((200, text)) => return Ok(parts(&text)),
                Ok((status, text)) if status < 500 && status != 429 => {
                    bail!("status {status}: {}", text.chars().take(200).collect::<String>())
                }
                Ok((status, _)) => anyhow::anyhow!("status {status}"),
                Err(error) => error,
            };
            if tried == TRIES {
                return Err(failure.context(format!("no rewards in {TRIES} tries")));
            }
            std::thread::sleep(Duration::from_millis(500) * 2_u32.pow(tried - 1));
            tried += 1;
        }
    }

    fn post(&self, lines: &str) -> anyhow::Result<(u16, String)> {
        let request = self.agent.post(&self.url).header("Content-Type", "application/x-ndjson");
        let mut answer = request.send(lines)?;
        let body = answer.body_mut().with_config().limit(LONGEST_ANSWER);
        let text = body.read_to_string().context("the answer is cut")?;
        Ok((answer.status().as_u16(), text))
    }
}

/// The elements of an array, or the lines that are not empty.
fn parts(text: &str) -> Vec<String> {
    match serde_json::from_str(text) {
        Ok(Value::Array(values)) => values.iter().map(Value::to_string).collect(),
        _ => text.lines().filter(|line| !line.trim().is_empty()).map(str::to_owned).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_an_array_or_lines() {
        assert_eq!(parts("[1, {\"reward\": 2}]\n"), ["1", "{\"reward\":2}"]);
        assert_eq!(parts("1\n\n0.5\n"), ["1", "0.5"]);
        assert_eq!(parts("0.5"), ["0.5"]);
        assert!(parts("").is_empty());
    }
}
