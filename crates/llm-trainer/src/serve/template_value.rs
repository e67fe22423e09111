//! Fields and elements of JSON that a chat template gets.

use model_files::chat_template::{TemplateValue, ValueKind};

/// Returns the field `name` of an object; `None` where it is absent or null.
pub(super) fn field(value: &TemplateValue, name: &str) -> Option<TemplateValue> {
    value.get_attr(name).ok().filter(|field| !field.is_undefined() && !field.is_none())
}

/// Returns the field `name` of an object, if it is a text.
pub(super) fn text(value: &TemplateValue, name: &str) -> Option<String> {
    field(value, name)?.as_str().map(str::to_owned)
}

/// Returns the elements of a list.
pub(super) fn elements(value: &TemplateValue) -> Option<Vec<TemplateValue>> {
    let list = (value.kind() == ValueKind::Seq).then_some(value)?;
    list.try_iter().ok().map(Iterator::collect)
}
