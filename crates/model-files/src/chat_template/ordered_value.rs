//! JSON as values of a template.

use std::sync::Arc;

use minijinja::Value;
use minijinja::value::{Enumerator, Object, ObjectExt};

use crate::ordered_json::OrderedJson;

/// An object's fields in their order.
#[derive(Debug)]
struct Fields(Vec<(String, Value)>);

impl Object for Fields {
    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        let name = key.as_str()?;
        let field = self.0.iter().rev().find(|(field, _)| field == name);
        field.map(|(_, value)| value.clone())
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        self.mapped_enumerator(|fields| {
            Box::new(fields.0.iter().map(|(name, _)| Value::from(name.as_str())))
        })
    }
}

/// Converts JSON to a value of a template.
pub(super) fn ordered_value(json: &OrderedJson) -> Value {
    match json {
        OrderedJson::Null => Value::from(()),
        OrderedJson::Bool(value) => Value::from(*value),
        OrderedJson::Number(value) => Value::from_serialize(value),
        OrderedJson::Text(value) => Value::from(value.as_str()),
        OrderedJson::List(values) => values.iter().map(ordered_value).collect(),
        OrderedJson::Object(fields) => {
            let field =
                |(name, value): &(String, OrderedJson)| (name.clone(), ordered_value(value));
            Value::from_object(Fields(fields.iter().map(field).collect()))
        }
    }
}
