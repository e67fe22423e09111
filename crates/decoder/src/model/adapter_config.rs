//! `adapter_config.json` of PEFT, as far as a plain low-rank adapter goes.

use std::path::{Path, PathBuf};

use model_files::lora::{LoraSection, LoraTarget};
use serde_json::{Map, Value, json};
use whole_file::{LONGEST_TEXT_BYTES, read_at_most};

use crate::tensor_file::TensorFileError;

pub(super) const CONFIG: &str = "adapter_config.json";

/// The file's content; `base` is the directory of the model.
pub(super) fn config_json(settings: &LoraSection, base: Option<&Path>) -> Value {
    let targets: Vec<&str> = settings.targets.iter().map(|target| target.name()).collect();
    json!({
        "peft_type": "LORA",
        "task_type": "CAUSAL_LM",
        "base_model_name_or_path": base.map(|path| path.display().to_string()),
        "r": settings.rank,
        "lora_alpha": settings.alpha,
        "lora_dropout": 0.0,
        "target_modules": targets,
        "bias": "none",
        "fan_in_fan_out": false,
        "inference_mode": true,
        "init_lora_weights": true,
        "modules_to_save": null,
        "use_dora": false,
        "use_rslora": false,
    })
}

/// The directory of the model that the adapter in `directory` belongs to; `None` where it holds no adapter. A relative
/// one is beside the adapter, or else relative to the working directory.
pub(super) fn base_of(directory: &Path) -> Result<Option<PathBuf>, TensorFileError> {
    // A whole model may carry an adapter's files beside it; the model is then what was asked for.
    if directory.join("config.json").exists() || !directory.join(CONFIG).exists() {
        return Ok(None);
    }
    let file = ConfigFile::read(directory)?;
    let value = file.value("base_model_name_or_path");
    let Some(base) = value.as_str() else {
        return Err(file.fault("base_model_name_or_path", value, "the directory of the model"));
    };
    let beside = directory.join(base);
    let base = if beside.is_dir() { beside } else { PathBuf::from(base) };
    if base.join("config.json").is_file() {
        return Ok(Some(base));
    }
    let value = Value::from(base.display().to_string());
    Err(file.fault("base_model_name_or_path", &value, "the directory of a model with config.json"))
}

pub(super) fn read_settings(directory: &Path) -> Result<LoraSection, TensorFileError> {
    ConfigFile::read(directory)?.settings()
}

struct ConfigFile {
    path: PathBuf,
    object: Map<String, Value>,
}

impl ConfigFile {
    fn read(directory: &Path) -> Result<Self, TensorFileError> {
        let path = directory.join(CONFIG);
        let bytes = read_at_most(&path, LONGEST_TEXT_BYTES)
            .map_err(|source| TensorFileError::Io { path: path.clone(), source })?;
        let object = serde_json::from_slice(&bytes).map_err(|error| {
            let problem = format!("not JSON: {error}, expected the settings of a PEFT adapter");
            TensorFileError::malformed(&path, problem)
        })?;
        Ok(Self { path, object })
    }

    /// The value of a field, null where there is none.
    fn value(&self, field: &str) -> &Value {
        self.object.get(field).unwrap_or(&Value::Null)
    }

    fn fault(&self, field: &str, found: &Value, expected: &str) -> TensorFileError {
        let shown: String = found.to_string().chars().take(120).collect();
        let problem = format!("`{field}` is {shown}, expected {expected}");
        TensorFileError::malformed(&self.path, problem)
    }

    fn settings(&self) -> Result<LoraSection, TensorFileError> {
        // What would make another function of the same matrices. Absent and empty are PEFT's own defaults.
        let only = [
            ("peft_type", json!("LORA")),
            ("bias", json!("none")),
            ("fan_in_fan_out", json!(false)),
            ("use_dora", json!(false)),
            ("use_rslora", json!(false)),
            ("modules_to_save", Value::Null),
            ("layers_to_transform", Value::Null),
            ("rank_pattern", Value::Null),
            ("alpha_pattern", Value::Null),
        ];
        for (field, expected) in only {
            let value = self.value(field);
            let empty = value.as_array().is_some_and(Vec::is_empty)
                || value.as_object().is_some_and(Map::is_empty);
            let absent = field != "peft_type" && (value.is_null() || empty);
            if !absent && *value != expected {
                return Err(self.fault(field, value, &expected.to_string()));
            }
        }
        let fault = |field, expected| self.fault(field, self.value(field), expected);
        let rank = self.value("r").as_u64().filter(|&rank| (1..=1 << 20).contains(&rank));
        let rank = rank.and_then(|rank| usize::try_from(rank).ok());
        let alpha = self.value("lora_alpha").as_f64().filter(|alpha| *alpha > 0.0);
        Ok(LoraSection {
            rank: rank.ok_or_else(|| fault("r", "a whole number of at least 1"))?,
            alpha: alpha.ok_or_else(|| fault("lora_alpha", "a number above 0"))?,
            targets: self.targets(self.value("target_modules"))?,
        })
    }

    fn targets(&self, found: &Value) -> Result<Vec<LoraTarget>, TensorFileError> {
        let target = |name: &Value| LoraTarget::of_name(name.as_str()?);
        let named = found.as_array().and_then(|names| names.iter().map(target).collect());
        let Some::<Vec<LoraTarget>>(mut targets) = named else {
            let known: Vec<&str> = LoraTarget::ALL.iter().map(|target| target.name()).collect();
            let expected = format!("a list of {}", known.join(", "));
            return Err(self.fault("target_modules", found, &expected));
        };
        // PEFT writes a set, in any order.
        targets.sort_unstable();
        targets.dedup();
        if targets.is_empty() {
            return Err(self.fault("target_modules", found, "at least one projection"));
        }
        Ok(targets)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use workspace_tests::files::folder;
    use workspace_tests::fuzz::{edited, in_time};

    use super::*;

    proptest! {
        #[test]
        fn fuzz_adapter_config(bytes in edited(vec![sample()])) {
            let folder = folder(&[]);
            std::fs::write(folder.path().join(CONFIG), bytes).unwrap();
            if let Ok(settings) = in_time(|| read_settings(folder.path())) {
                prop_assert!(settings.rank > 0 && settings.alpha > 0.0, "{settings:?}");
            }
        }
    }

    fn sample() -> Vec<u8> {
        let settings = LoraSection { rank: 8, alpha: 16.0, targets: LoraTarget::ALL.to_vec() };
        config_json(&settings, Some(Path::new("base"))).to_string().into_bytes()
    }
}
