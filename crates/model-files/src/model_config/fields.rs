//! Fields of a JSON object, read as what they must be.

use std::path::Path;

use serde_json::{Map, Value};

use super::error::ModelConfigError;

/// The object in a `config.json`.
pub(super) struct Fields<'a> {
    pub(super) path: &'a Path,
    pub(super) object: &'a Map<String, Value>,
}

/// A field's value; the error names file, field and the value found.
pub(super) type Read<T> = Result<T, ModelConfigError>;

impl Fields<'_> {
    /// Reads a token id, a list of them, or nothing.
    pub(super) fn token_ids(&self, field: &'static str) -> Read<Vec<u32>> {
        let one = |value: &Value| value.as_u64().and_then(|id| u32::try_from(id).ok());
        let ids = match self.present(field) {
            None => Some(Vec::new()),
            // Some Llama files say in this way that there is none.
            Some(value) if value.as_i64() == Some(-1) => Some(Vec::new()),
            Some(Value::Array(values)) => values.iter().map(one).collect(),
            Some(value) => one(value).map(|id| vec![id]),
        };
        ids.ok_or_else(|| self.fault(field, "a token id or a list of token ids"))
    }

    pub(super) fn only(&self, field: &'static str, supported: &Value) -> Read<()> {
        let same = |found: &Value| match (found.as_f64(), supported.as_f64()) {
            (Some(found), Some(supported)) => found.total_cmp(&supported).is_eq(),
            _ => found == supported,
        };
        match self.present(field) {
            Some(found) if !same(found) => Err(self.fault(field, &supported.to_string())),
            _ => Ok(()),
        }
    }

    pub(super) fn count(&self, field: &'static str) -> Read<usize> {
        let count = self.present(field).and_then(count);
        count.ok_or_else(|| self.fault(field, "a whole number"))
    }

    pub(super) fn count_or(&self, field: &'static str, default: usize) -> Read<usize> {
        self.present(field).map_or(Ok(default), |_| self.count(field))
    }

    /// Reads a count that is `None` for null, and `default` where the field is missing.
    pub(super) fn count_or_null(&self, field: &'static str, default: usize) -> Read<Option<usize>> {
        match self.object.get(field) {
            Some(Value::Null) => Ok(None),
            _ => self.count_or(field, default).map(Some),
        }
    }

    pub(super) fn number_or(&self, field: &'static str, default: f64) -> Read<f64> {
        let number = self.present(field).map_or(Some(default), Value::as_f64);
        number.ok_or_else(|| self.fault(field, "a number"))
    }

    pub(super) fn flag(&self, field: &'static str, default: bool) -> Read<bool> {
        let flag = self.present(field).map_or(Some(default), Value::as_bool);
        flag.ok_or_else(|| self.fault(field, "true or false"))
    }

    /// `rope_parameters` of newer files, which may hold an object for each kind of attention, such as `full_attention`.
    pub(super) fn rope_parameters(&self, attention: &str) -> Option<&Value> {
        let all = self.present("rope_parameters")?;
        Some(all.get(attention).unwrap_or(all))
    }

    pub(super) fn present(&self, field: &str) -> Option<&Value> {
        self.object.get(field).filter(|value| !value.is_null())
    }

    pub(super) fn fault(&self, field: &'static str, expected: &str) -> ModelConfigError {
        let value = self.object.get(field).map_or_else(|| "missing".to_owned(), Value::to_string);
        ModelConfigError::field(self.path, field, &value, expected)
    }
}

/// A whole number of at least 0.
pub(super) fn count(value: &Value) -> Option<usize> {
    value.as_u64().and_then(|number| usize::try_from(number).ok())
}
