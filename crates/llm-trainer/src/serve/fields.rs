//! The fields of a request, taken out one by one: a wrong one is named with its value, and so is one that is left.

use messages::shown;
use serde_json::{Map, Value};

use super::error::ApiError;

/// Longest piece of a value in a message, in characters.
const MOST: usize = 60;

/// Fields that say nothing about the answer of this server.
const WITHOUT_EFFECT: [&str; 8] = [
    "user",
    "store",
    "metadata",
    "service_tier",
    "safety_identifier",
    "prompt_cache_key",
    "parallel_tool_calls",
    "skip_special_tokens",
];

#[derive(Debug)]
pub(super) struct Fields(Map<String, Value>);

impl Fields {
    pub(super) fn read(body: &[u8]) -> Result<Self, ApiError> {
        match serde_json::from_slice(body) {
            Ok(Value::Object(fields)) => Ok(Self(fields)),
            Ok(_) => Err(ApiError::body("the body is no JSON object, expected one")),
            Err(error) => Err(ApiError::body(format!("the body is no JSON: {error}"))),
        }
    }

    /// A field as `read` takes it; null is as good as absent.
    pub(super) fn take<T>(
        &mut self,
        name: &str,
        expected: &str,
        read: impl FnOnce(&Value) -> Option<T>,
    ) -> Result<Option<T>, ApiError> {
        let Some(value) = self.0.remove(name).filter(|value| !value.is_null()) else {
            return Ok(None);
        };
        read(&value).map(Some).ok_or_else(|| {
            let value = shown(&value.to_string(), MOST);
            ApiError::field(name, &format!("is {value}, expected {expected}"))
        })
    }

    pub(super) fn required<T>(
        &mut self,
        name: &str,
        expected: &str,
        read: impl FnOnce(&Value) -> Option<T>,
    ) -> Result<T, ApiError> {
        self.take(name, expected, read)?
            .ok_or_else(|| ApiError::field(name, &format!("is missing, expected {expected}")))
    }

    pub(super) fn text(&mut self, name: &str, expected: &str) -> Result<String, ApiError> {
        self.required(name, expected, |value| value.as_str().map(str::to_owned))
    }

    pub(super) fn flag(&mut self, name: &str) -> Result<bool, ApiError> {
        Ok(self.take(name, "true or false", Value::as_bool)?.unwrap_or(false))
    }

    pub(super) fn count(&mut self, name: &str, most: usize) -> Result<Option<usize>, ApiError> {
        let expected = format!("a whole number of at most {most}");
        self.take(name, &expected, |value| {
            value.as_u64().and_then(|n| usize::try_from(n).ok()).filter(|n| *n <= most)
        })
    }

    pub(super) fn number(
        &mut self,
        name: &str,
        expected: &str,
        good: impl Fn(f64) -> bool,
    ) -> Result<Option<f64>, ApiError> {
        self.take(name, expected, |value| value.as_f64().filter(|number| good(*number)))
    }

    /// Refuses what would change the answer, but is not done here, unless it has the value that changes nothing.
    pub(super) fn unsupported(
        &mut self,
        name: &str,
        harmless: impl FnOnce(&Value) -> bool,
    ) -> Result<(), ApiError> {
        self.take(name, "it absent: this server does not do it", |value| {
            harmless(value).then_some(())
        })
        .map(|_| ())
    }

    pub(super) fn finish(mut self) -> Result<(), ApiError> {
        for name in WITHOUT_EFFECT {
            self.0.remove(name);
        }
        match self.0.iter().find(|(_, value)| !value.is_null()) {
            Some((name, _)) => {
                let name: String = name.chars().take(MOST).collect();
                Err(ApiError::field(&name, "is no field that this server knows"))
            }
            None => Ok(()),
        }
    }
}
