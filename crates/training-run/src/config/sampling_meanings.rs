//! The meanings of the sampling options in the schema.

use model_files::sampling::Sampling;
use schemars::Schema;
use serde_json::Value;

/// Puts the meaning of each sampling option in place of the link to it.
pub(super) fn with_sampling_meanings(section: &mut Schema) {
    for option in ["top_k", "top_p", "min_p"] {
        let text = section.pointer_mut(&format!("/properties/{option}/description"));
        if let Some(Value::String(text)) = text {
            *text = text.replace(&format!("[`Sampling::{option}`]"), &Sampling::meaning(option));
        }
    }
}
