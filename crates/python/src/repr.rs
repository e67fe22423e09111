//! Results as classes of Python, and their texts.

use pyo3::prelude::*;

/// Declares a frozen class of Python with these fields, which its text lists. Behind `from` stands the type that it is made of,
/// field by field.
macro_rules! record {
    ($(#[$about:meta])+ $name:ident from $source:path { $($field:ident: $kind:ty,)+ }) => {
        $crate::repr::record! { $(#[$about])+ $name { $($field: $kind,)+ } }

        impl From<$source> for $name {
            fn from(source: $source) -> Self {
                Self { $($field: source.$field.into(),)+ }
            }
        }
    };
    ($(#[$about:meta])+ $name:ident { $($field:ident: $kind:ty,)+ }) => {
        $(#[$about])+
        #[pyo3::pyclass(frozen, get_all, eq, module = "entropy_rl")]
        #[derive(Clone, Debug, PartialEq)]
        pub(crate) struct $name {
            $($field: $kind,)+
        }

        $crate::repr::shown!($name: $($field),+);
    };
}

/// Makes the text of a class of Python list these of its attributes.
macro_rules! shown {
    ($name:ident: $($field:ident),+) => {
        #[pyo3::pymethods]
        impl $name {
            fn __repr__(slf: &pyo3::Bound<'_, Self>) -> pyo3::PyResult<String> {
                $crate::repr::repr(slf, &[$(stringify!($field)),+])
            }
        }
    };
}

/// Declares the attributes of a class of Python, each computed when it is read, and the class's further methods.
macro_rules! attributes {
    ($name:ident, $this:ident: { $($field:ident: $kind:ty = $value:expr;)+ } $($methods:tt)*) => {
        #[pyo3::pymethods]
        impl $name {
            $(
                #[getter]
                fn $field(&$this) -> $kind {
                    $value
                }
            )+

            $($methods)*
        }
    };
}
pub(crate) use {attributes, record, shown};

/// `Name(field=value, …)`, each value as Python spells it.
pub(crate) fn repr(object: &Bound<'_, PyAny>, fields: &[&str]) -> PyResult<String> {
    let field = |name: &&str| -> PyResult<String> {
        Ok(format!("{name}={}", object.getattr(*name)?.repr()?))
    };
    let fields: Vec<String> = fields.iter().map(field).collect::<PyResult<_>>()?;
    Ok(format!("{}({})", object.get_type().name()?, fields.join(", ")))
}
