//! The key–value part of a GGUF file.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::error::GgufError;

/// One metadata value. Integers of every width are one kind, and so are both floats.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Value {
    /// `uint8` to `uint64`, `int8` to `int64`.
    Integer(i128),
    /// `float32`, kept as such: its shortest decimal is what was meant.
    Float32(f32),
    /// `float64`.
    Float64(f64),
    /// `bool`.
    Bool(bool),
    /// `string`.
    Text(String),
    /// An array of strings.
    Texts(Vec<String>),
    /// An array of integers.
    Integers(Vec<i64>),
    /// An array of floats or booleans, which is skipped.
    Other,
}

impl Value {
    fn kind(&self) -> &'static str {
        match self {
            Self::Integer(_) => "an integer",
            Self::Float32(_) | Self::Float64(_) => "a float",
            Self::Bool(_) => "a boolean",
            Self::Text(_) => "a string",
            Self::Texts(_) => "an array of strings",
            Self::Integers(_) => "an array of integers",
            Self::Other => "an array of floats or booleans",
        }
    }
}

/// All metadata of one file. A getter names the key if the entry is missing, of another type or out of range.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Metadata {
    path: PathBuf,
    values: BTreeMap<String, Value>,
}

impl Metadata {
    pub(super) fn new(path: PathBuf) -> Self {
        Self { path, values: BTreeMap::new() }
    }

    /// Adds a value; `false` if the key was there already.
    pub(super) fn insert(&mut self, key: String, value: Value) -> bool {
        self.values.insert(key, value).is_none()
    }

    fn wrong(&self, key: &str, value: &Value, expected: &str) -> GgufError {
        self.error(key, format!("is {}, expected {expected}", value.kind()))
    }

    pub(super) fn error(&self, key: &str, problem: impl Into<String>) -> GgufError {
        GgufError::metadata(&self.path, key, problem)
    }

    fn required<T>(&self, key: &str, found: Option<T>, expected: &str) -> Result<T, GgufError> {
        found.ok_or_else(|| self.error(key, format!("missing, expected {expected}")))
    }

    pub(super) fn optional_text(&self, key: &str) -> Result<Option<&str>, GgufError> {
        match self.values.get(key) {
            None => Ok(None),
            Some(Value::Text(text)) => Ok(Some(text)),
            Some(other) => Err(self.wrong(key, other, "a string")),
        }
    }

    pub(super) fn text(&self, key: &str) -> Result<&str, GgufError> {
        self.required(key, self.optional_text(key)?, "a string")
    }

    /// A count, size or token id below 2³², if the key is there.
    pub(super) fn optional_count(&self, key: &str) -> Result<Option<u32>, GgufError> {
        match self.values.get(key) {
            None => Ok(None),
            Some(Value::Integer(value)) => u32::try_from(*value).map(Some).map_err(|_| {
                self.error(key, format!("is {value}, expected an integer in 0..4294967296"))
            }),
            Some(other) => Err(self.wrong(key, other, "an integer")),
        }
    }

    /// A count or size of at least 1.
    pub(super) fn count(&self, key: &str) -> Result<u32, GgufError> {
        match self.required(key, self.optional_count(key)?, "a positive integer")? {
            0 => Err(self.error(key, "is 0, expected a positive integer")),
            value => Ok(value),
        }
    }

    /// A positive finite number, if the key is there. A `float32` is read as its shortest decimal,
    /// so that 1e-6 stays 1e-6.
    pub(super) fn optional_positive(&self, key: &str) -> Result<Option<f64>, GgufError> {
        let value = match self.values.get(key) {
            None => return Ok(None),
            Some(Value::Float32(value)) => value.to_string().parse().unwrap_or(f64::from(*value)),
            Some(Value::Float64(value)) => *value,
            Some(other) => return Err(self.wrong(key, other, "a float")),
        };
        if value.is_finite() && value > 0.0 {
            Ok(Some(value))
        } else {
            Err(self.error(key, format!("is {value}, expected a positive finite number")))
        }
    }

    pub(super) fn positive(&self, key: &str) -> Result<f64, GgufError> {
        self.required(key, self.optional_positive(key)?, "a float")
    }

    pub(super) fn optional_bool(&self, key: &str) -> Result<Option<bool>, GgufError> {
        match self.values.get(key) {
            None => Ok(None),
            Some(Value::Bool(value)) => Ok(Some(*value)),
            Some(other) => Err(self.wrong(key, other, "a boolean")),
        }
    }

    pub(super) fn texts(&self, key: &str) -> Result<&[String], GgufError> {
        match self.required(key, self.values.get(key), "an array of strings")? {
            Value::Texts(texts) => Ok(texts),
            other => Err(self.wrong(key, other, "an array of strings")),
        }
    }

    pub(super) fn integers(&self, key: &str) -> Result<&[i64], GgufError> {
        match self.required(key, self.values.get(key), "an array of integers")? {
            Value::Integers(integers) => Ok(integers),
            other => Err(self.wrong(key, other, "an array of integers")),
        }
    }
}
