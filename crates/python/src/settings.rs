//! Settings of a policy loss: keywords of Python by the names of configurations.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use rl_losses::PolicyLoss;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::error::value_error;

/// The method or preset of this name with its settings, which replace those of a preset.
pub(crate) fn loss(name: &str, settings: Option<&Bound<'_, PyDict>>) -> PyResult<PolicyLoss> {
    let settings = settings.map_or(Ok(json!({})), |settings| json_of(settings))?;
    let Some(preset) = PolicyLoss::preset(name) else {
        return parsed("policy_loss", json!({ name: settings }));
    };
    let mut table = serde_json::to_value(preset).map_err(value_error)?;
    if let (Value::Object(published), Value::Object(settings)) =
        (&mut table[preset.name()], settings)
    {
        published.extend(settings);
    }
    parsed("policy_loss", table)
}

/// A value of Python as it would stand in a configuration.
pub(crate) fn json_of(value: &Bound<'_, PyAny>) -> PyResult<Value> {
    let text: String = value.py().import("json")?.call_method1("dumps", (value,))?.extract()?;
    serde_json::from_str(&text).map_err(value_error)
}

/// A setting of the argument, by the names of configurations.
pub(crate) fn parsed<T: DeserializeOwned>(argument: &str, value: Value) -> PyResult<T> {
    serde_json::from_value(value).map_err(|error| value_error(format!("`{argument}`: {error}")))
}
