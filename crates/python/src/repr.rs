//! Texts of results.

use pyo3::prelude::*;

/// `Name(field=value, …)`, each value as Python spells it.
pub(crate) fn repr(object: &Bound<'_, PyAny>, fields: &[&str]) -> PyResult<String> {
    let field = |name: &&str| -> PyResult<String> {
        Ok(format!("{name}={}", object.getattr(*name)?.repr()?))
    };
    let fields: Vec<String> = fields.iter().map(field).collect::<PyResult<_>>()?;
    Ok(format!("{}({})", object.get_type().name()?, fields.join(", ")))
}
