//! Names of models and data sets on the Hugging Face hub.

use std::fmt::{self, Display, Formatter};
use std::path::{Path, PathBuf};

/// Common names of directories for models and runs, which are not taken for an owner's name on the hub.
const FOLDERS: [&str; 8] =
    ["models", "model", "runs", "checkpoints", "configs", "data", "out", "tmp"];

/// Endings of files: a path that ends so names a file, not a repository.
const FILE_ENDINGS: [&str; 7] = ["jsonl", "zst", "json", "csv", "parquet", "gguf", "toml"];

/// A repository of the hub, a revision of it, and for data sets a part: `OWNER/NAME[@REVISION][:PART]`, as
/// `openai/gsm8k@main:main/train`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HubName {
    /// `OWNER/NAME`.
    pub repository: String,
    /// Branch, tag or commit; empty is the default branch.
    pub revision: String,
    /// Part of a data set, such as `main/train`; empty is all of it.
    pub part: String,
}

/// Files of a name in the hub's cache, of one commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    /// Hash of the commit.
    pub commit: String,
    /// Directory of the commit; the directory of a model.
    pub folder: PathBuf,
    /// The files asked for, in order.
    pub files: Vec<PathBuf>,
}

impl HubName {
    /// Reads a name; `None` if the text cannot be one. Directories and files are not looked at.
    pub fn parse(text: &str) -> Option<Self> {
        let (rest, part) = text.split_once(':').unwrap_or((text, ""));
        let (repository, revision) = rest.split_once('@').unwrap_or((rest, ""));
        let (owner, name) = repository.split_once('/')?;
        let is_plain = |text: &str| {
            let known = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
            text.chars().all(known) && text.starts_with(|c: char| c.is_ascii_alphanumeric())
        };
        let ending = name.rsplit_once('.').map_or("", |(_, ending)| ending);
        let is_repository = is_plain(owner)
            && is_plain(name)
            && !FOLDERS.contains(&owner)
            && !FILE_ENDINGS.contains(&ending);
        let is_within = |text: &str| {
            text.is_empty() || text.split('/').all(|piece| !matches!(piece, "" | "." | ".."))
        };
        (is_repository && is_within(revision) && is_within(part)).then(|| Self {
            repository: repository.to_owned(),
            revision: revision.to_owned(),
            part: part.to_owned(),
        })
    }

    /// Reads a path as a name; `None` if it cannot be one, or if it or the directory of the owner exists below `folder`.
    pub fn of_path(path: &Path, folder: &Path) -> Option<Self> {
        let name = Self::parse(path.to_str()?)?;
        let owner = name.repository.split('/').next()?;
        let is_local = folder.join(path).exists() || folder.join(owner).exists();
        (!is_local).then_some(name)
    }
}

impl Display for HubName {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        out.write_str(&self.repository)?;
        if !self.revision.is_empty() {
            write!(out, "@{}", self.revision)?;
        }
        if self.part.is_empty() { Ok(()) } else { write!(out, ":{}", self.part) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_an_owner_and_may_have_a_revision_and_a_part() {
        for (text, repository, revision, part) in [
            ("Qwen/Qwen3-0.6B", "Qwen/Qwen3-0.6B", "", ""),
            ("Qwen/Qwen3-0.6B@refs/pr/1", "Qwen/Qwen3-0.6B", "refs/pr/1", ""),
            ("openai/gsm8k:main/train", "openai/gsm8k", "", "main/train"),
            ("o/n@v1:a.jsonl", "o/n", "v1", "a.jsonl"),
        ] {
            let name = HubName::parse(text).unwrap();
            assert_eq!(
                (&*name.repository, &*name.revision, &*name.part),
                (repository, revision, part)
            );
            assert_eq!(name.to_string(), text);
        }
    }

    #[test]
    fn paths_are_no_names() {
        for text in [
            "questions/train.jsonl",
            "models/Qwen3-0.6B",
            "Qwen3-0.6B",
            "./Qwen/x",
            "../x",
            "/a/b",
            "a/b/c",
            "a b/c",
            "o/n:../../etc/passwd",
            "o/n@../x",
            "o/n@/etc",
            "",
        ] {
            assert_eq!(HubName::parse(text), None, "{text}");
        }
    }

    #[test]
    fn a_local_directory_wins_and_so_does_that_of_the_owner() {
        let folder = tempfile::tempdir().unwrap();
        let path = Path::new("Qwen/Qwen3-0.6B");
        assert!(HubName::of_path(path, folder.path()).is_some());
        std::fs::create_dir(folder.path().join("Qwen")).unwrap();
        assert_eq!(HubName::of_path(path, folder.path()), None);
        std::fs::create_dir(folder.path().join("Qwen/Qwen3-0.6B")).unwrap();
        assert_eq!(HubName::of_path(path, folder.path()), None);
    }
}
