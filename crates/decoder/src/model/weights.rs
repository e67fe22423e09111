//! The weights of a Hugging Face directory: one safetensors file, or the shards of an index.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use messages::{plain_words, shown};
use serde::Deserialize;
use tch::{Kind, Tensor};
use whole_file::read_at_most;

use crate::tensor_file::{LONGEST_NAME, TensorFile, TensorFileError, weight_kinds};

const SINGLE: &str = "model.safetensors";
const INDEX: &str = "model.safetensors.index.json";

/// Longest index accepted: several times that of the largest models.
const LONGEST_INDEX_BYTES: u64 = 32 << 20;

/// Most shards of a model; the largest models have some hundred.
const MOST_SHARDS: usize = 4096;

/// The safetensors files of one model, of which only the headers have been read.
#[derive(Debug)]
pub(super) struct WeightFiles {
    directory: PathBuf,
    files: Vec<TensorFile>,
    /// Tensor → index into `files`.
    place: BTreeMap<String, usize>,
}

impl WeightFiles {
    /// Opens the single file, or all shards the index names.
    pub(super) fn open(directory: &Path) -> Result<Self, TensorFileError> {
        let single = directory.join(SINGLE);
        let index = directory.join(INDEX);
        let paths = if single.exists() {
            vec![single]
        } else if index.exists() {
            shard_paths(directory, &index)?
        } else {
            let problem = format!("no weights found, expected {SINGLE} or {INDEX}");
            return Err(TensorFileError::malformed(directory, problem));
        };
        let files: Vec<TensorFile> =
            paths.iter().map(|path| TensorFile::open(path)).collect::<Result<_, _>>()?;
        let mut place = BTreeMap::new();
        for (number, file) in files.iter().enumerate() {
            for name in file.names() {
                if let Some(other) = place.insert(name.to_owned(), number) {
                    let other = files[other].path.display();
                    let problem = format!("is in {other} too, expected each tensor in one shard");
                    return Err(TensorFileError::tensor(&file.path, name, problem));
                }
            }
        }
        Ok(Self { directory: directory.to_owned(), files, place })
    }

    /// Reads tensor `name` on the CPU in the kind of the file, for a model of `kind`; its shape must be `shape`.
    pub(super) fn tensor(
        &self,
        name: &str,
        shape: &[i64],
        kind: Kind,
    ) -> Result<Tensor, TensorFileError> {
        if let Some(&number) = self.place.get(name) {
            return self.files[number].tensor(name, shape, weight_kinds(kind));
        }
        let path = match self.files.as_slice() {
            [only] => &only.path,
            _ => &self.directory,
        };
        Err(TensorFileError::missing(path, name, shape))
    }

    pub(super) fn kind(&self, name: &str) -> Option<Kind> {
        self.files[*self.place.get(name)?].kind(name)
    }

    /// Refuses tensors that are not in `wanted`, except those known to be redundant.
    pub(super) fn check_nothing_else(&self, wanted: &[String]) -> Result<(), TensorFileError> {
        let harmless =
            |name: &str| name.ends_with(".rotary_emb.inv_freq") || name == "lm_head.weight";
        // Of experts there are tens of thousands.
        let wanted: BTreeSet<&String> = wanted.iter().collect();
        match self.place.iter().find(|(name, _)| !wanted.contains(*name) && !harmless(name)) {
            None => Ok(()),
            Some((name, &number)) => {
                let problem = "has no place in a model of this config.json";
                Err(TensorFileError::tensor(&self.files[number].path, name, problem))
            }
        }
    }
}

#[derive(Deserialize)]
struct Index {
    weight_map: BTreeMap<String, String>,
}

/// The distinct files of an index, sorted; none may be outside the directory.
fn shard_paths(directory: &Path, index: &Path) -> Result<Vec<PathBuf>, TensorFileError> {
    let system = |source| TensorFileError::Io { path: index.to_owned(), source };
    let malformed = |found: String| {
        let expected = "an object with `weight_map` from tensor to a file of this directory";
        TensorFileError::malformed(index, format!("{found}, expected {expected}"))
    };
    let text = read_at_most(index, LONGEST_INDEX_BYTES).map_err(system)?;
    let Index { weight_map } = serde_json::from_slice(&text)
        .map_err(|error| malformed(format!("not an index: {}", plain_words(&error.to_string()))))?;
    // Sorted by file, so that each is looked at once.
    let by_file: BTreeMap<&String, &String> =
        weight_map.iter().map(|(tensor, name)| (name, tensor)).collect();
    if by_file.len() > MOST_SHARDS {
        return Err(malformed(format!("{} files, more than {MOST_SHARDS}", by_file.len())));
    }
    let mut paths = Vec::new();
    for (name, tensor) in by_file {
        let path = directory.join(name);
        let is_name = Path::new(name).file_name().is_some_and(|file| file == name.as_str());
        let shown_name = shown(name, LONGEST_NAME);
        if !is_name || shown_name != *name {
            let tensor = shown(tensor, LONGEST_NAME);
            return Err(malformed(format!("`weight_map.{tensor}` is \"{shown_name}\"")));
        }
        if leads_out(directory, &path) {
            return Err(malformed(format!("\"{name}\" is a link that leads out of the directory")));
        }
        paths.push(path);
    }
    Ok(paths)
}

/// Returns true if links lead `path` out of `directory`. The download cache of Hugging Face keeps its files in a folder
/// `blobs` two above; that counts as inside.
fn leads_out(directory: &Path, path: &Path) -> bool {
    let (Ok(directory), Ok(path)) = (directory.canonicalize(), path.canonicalize()) else {
        // What is not there is said when it is opened.
        return false;
    };
    let blobs = directory.parent().and_then(Path::parent).map(|model| model.join("blobs"));
    let cached = directory.parent().is_some_and(|parent| parent.ends_with("snapshots"))
        && blobs.is_some_and(|blobs| path.starts_with(blobs));
    !path.starts_with(&directory) && !cached
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use workspace_tests::files::folder;
    use workspace_tests::fuzz::{edited, in_time};

    use super::*;

    const SAMPLE: &str = r#"{"metadata":{"total_size":8},"weight_map":{"a":"model-1.safetensors","b":"model-2.safetensors"}}"#;

    /// A million names were looked up one by one for minutes.
    #[test]
    fn an_index_of_too_many_files_is_refused_at_once() {
        let map =
            (0..5000).map(|number| format!("\"t{number}\":\"f{number}\"")).collect::<Vec<_>>();
        let folder = folder(&[(INDEX, &format!("{{\"weight_map\":{{{}}}}}", map.join(",")))]);
        let error = WeightFiles::open(folder.path()).unwrap_err().to_string();
        assert!(error.contains("5000 files, more than 4096"), "{error}");
    }

    /// A line feed in a name began a line of the error, which then said what a stranger wanted.
    #[test]
    fn names_of_files_are_plain_and_short() {
        let long = "x".repeat(LONGEST_NAME + 1);
        for (name, expected) in [("a\\nerror: b", "is \"a\\nerror: b\","), (&long, "…\",")] {
            let index = format!("{{\"weight_map\":{{\"t\":\"{name}\"}}}}");
            let folder = folder(&[(INDEX, &index)]);
            let error = WeightFiles::open(folder.path()).unwrap_err().to_string();
            assert!(error.contains(expected) && error.lines().count() == 1, "{error}");
        }
    }

    proptest! {
        #[test]
        fn fuzz_index(bytes in edited(vec![SAMPLE.as_bytes().to_vec()])) {
            let folder = folder(&[]);
            let index = folder.path().join(INDEX);
            std::fs::write(&index, bytes).unwrap();
            if let Ok(paths) = in_time(|| shard_paths(folder.path(), &index)) {
                prop_assert!(paths.iter().all(|path| path.parent() == Some(folder.path())), "{paths:?}");
            }
        }
    }
}
