//! Advice for a path that holds no model.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use crate::hub_name::HubName;
use whole_file::{LONGEST_TEXT_BYTES, read_text_at_most};

/// Description of a model's directory, for messages.
pub const EXPECTED: &str = "a Hugging Face directory with config.json";

/// Returns the next step if `path` is no model's directory; `None` if it has a `config.json` or there is no advice.
pub fn advice(path: &Path) -> Option<String> {
    if path.join("config.json").is_file() {
        return None;
    }
    if let Some(file) = gguf_file(path) {
        let (from, name) = (file.display(), file.file_stem().unwrap_or(OsStr::new("model")));
        let to = Path::new("models").join(name);
        let to = to.display();
        return Some(format!("`llm-trainer import-gguf {from} {to}` makes one of this GGUF file"));
    }
    let checkpoints = path.join("checkpoints");
    if checkpoints.is_dir() {
        let latest = latest_of(&checkpoints)?;
        return Some(format!("this is a run, its latest checkpoint is {}", latest.display()));
    }
    let name = hub_name(path)?;
    let folder = Path::new("models").join(path.file_name()?);
    let folder = folder.display();
    Some(format!(
        "{name} is the name of a model on the hub: download it with `hf download {name} --local-dir {folder}`, and \
         give {folder}"
    ))
}

/// Returns the checkpoint that `latest` names in the directory of a run's checkpoints.
fn latest_of(checkpoints: &Path) -> Option<PathBuf> {
    let pointer = read_text_at_most(&checkpoints.join("latest"), LONGEST_TEXT_BYTES).ok()?;
    let name = pointer.trim();
    name.strip_prefix("step-")?.parse::<u64>().ok()?;
    let latest = checkpoints.join(name);
    latest.is_dir().then_some(latest)
}

/// Returns the GGUF file itself, or the only one in a directory.
fn gguf_file(path: &Path) -> Option<PathBuf> {
    let is_gguf = |path: &Path| {
        path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("gguf"))
    };
    if is_gguf(path) {
        return Some(path.to_path_buf());
    }
    let entries = std::fs::read_dir(path).ok()?.filter_map(Result::ok);
    let mut files: Vec<PathBuf> =
        entries.map(|entry| entry.path()).filter(|path| is_gguf(path)).collect();
    if files.len() == 1 { files.pop() } else { None }
}

/// Returns `OWNER/NAME` if the path ends so and no directory of that owner exists.
///
/// The part before it is the directory of the configuration.
fn hub_name(path: &Path) -> Option<String> {
    let (owner, name) = (path.parent()?, path.file_name()?.to_str()?);
    let owner_name = owner.file_name()?.to_str()?;
    let name = HubName::parse(&format!("{owner_name}/{name}"))?;
    let before = owner.parent().filter(|before| !before.as_os_str().is_empty());
    let is_absent = !owner.exists() && before.is_none_or(Path::is_dir);
    is_absent.then_some(name.repository)
}

#[cfg(test)]
mod tests {
    use workspace_tests::files::folder;

    use super::*;

    fn in_folder(files: &[&str], path: &str) -> Option<String> {
        let files: Vec<(&str, &str)> = files.iter().map(|file| (*file, "")).collect();
        let folder = folder(&files);
        let next_step = advice(&folder.path().join(path))?;
        Some(next_step.replace(&folder.path().display().to_string(), "DIR"))
    }

    #[test]
    fn the_name_of_a_model_on_the_hub_is_answered_with_the_download() {
        let expected = "Qwen/Qwen2.5-0.5B is the name of a model on the hub: download it with `hf download \
                        Qwen/Qwen2.5-0.5B --local-dir models/Qwen2.5-0.5B`, and give models/Qwen2.5-0.5B";
        assert_eq!(advice(Path::new("Qwen/Qwen2.5-0.5B")).as_deref(), Some(expected));
        assert_eq!(in_folder(&[], "Qwen/Qwen2.5-0.5B").as_deref(), Some(expected), "in a config");
        for no_name in ["models/Qwen2.5-0.5B", "nowhere", "../Qwen", "no such/folder"] {
            assert_eq!(in_folder(&[], no_name), None, "{no_name}");
        }
        assert_eq!(
            in_folder(&["Qwen/x"], "Qwen/Qwen2.5-0.5B"),
            None,
            "the owner's folder is there"
        );
    }

    #[test]
    fn a_gguf_file_is_answered_with_its_import() {
        let expected =
            "`llm-trainer import-gguf DIR/m/tiny.gguf models/tiny` makes one of this GGUF file";
        assert_eq!(in_folder(&["m/tiny.gguf"], "m/tiny.gguf").as_deref(), Some(expected));
        assert_eq!(in_folder(&["m/tiny.gguf"], "m").as_deref(), Some(expected), "its folder");
    }

    #[test]
    fn of_a_model_nothing_is_said() {
        assert_eq!(in_folder(&["m/config.json", "m/x.gguf"], "m"), None);
        assert_eq!(in_folder(&["m/other"], "m"), None);
    }
}
