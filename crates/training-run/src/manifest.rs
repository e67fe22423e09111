//! Checksums of a checkpoint's files, so that a run resumes from undamaged files only.
//!
//! `trainer/manifest.json` lists the size and the SHA-256 of every other file of the checkpoint.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, BufReader};
use std::path::{Component, Path};

use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use whole_file::FileError;
use whole_file::{LONGEST_TEXT_BYTES, open_regular, read_at_most};

use crate::run_directory::{STATE_FILE, pretty_json, trainer_file};

/// Name of the manifest among the [files of the trainer](trainer_file).
const MANIFEST: &str = "manifest.json";

/// Field of [`STATE_FILE`] that records that a manifest was written.
const HAS_MANIFEST: &str = "has_manifest";

/// Size and checksum of one file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileSum {
    /// Length of the file.
    pub bytes: u64,
    /// SHA-256 of its content, in hexadecimal.
    pub sha256: String,
}

impl FileSum {
    /// Computes size and checksum of a file.
    ///
    /// # Errors
    ///
    /// A file that cannot be read.
    pub fn of(path: &Path) -> io::Result<Self> {
        const PIECE: usize = 1 << 20;
        let mut file = BufReader::with_capacity(PIECE, open_regular(path)?);
        let mut hash = Sha256::new();
        let bytes = io::copy(&mut file, &mut hash)?;
        Ok(Self { bytes, sha256: format!("{:x}", hash.finalize()) })
    }

    /// Describes how a file differs from this entry; `None` if it does not.
    fn fault(&self, path: &Path) -> Option<String> {
        const SHOWN: usize = 16;
        match fs::metadata(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Some("is missing".to_owned());
            }
            // Another length needs no reading.
            Ok(found) if found.len() != self.bytes => {
                return Some(format!("has {} bytes, expected {}", found.len(), self.bytes));
            }
            _ => {}
        }
        let begins = |sum: &str| sum.chars().take(SHOWN).collect::<String>();
        match Self::of(path) {
            Err(error) => Some(error.to_string()),
            Ok(found) if found == *self => None,
            Ok(found) => Some(format!(
                "has a SHA-256 of {}…, expected {}…",
                begins(&found.sha256),
                begins(&self.sha256)
            )),
        }
    }
}

/// Sizes and checksums by file name, relative to the checkpoint.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// Entries by name, with `/` between folders.
    pub files: BTreeMap<String, FileSum>,
}

/// Result of comparing a checkpoint with its checksums.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Checked {
    /// Every file is as it was written.
    Whole,
    /// The checkpoint was written without checksums.
    Unknown,
    /// Damaged files, each with what was expected.
    Damaged(Vec<String>),
}

impl Manifest {
    /// Adds checksums of the files of `folder` that lack one; several files are read at once.
    ///
    /// # Errors
    ///
    /// A file that cannot be read.
    pub fn complete(mut self, folder: &Path) -> Result<Self, FileError> {
        let names = self.without_sum(folder);
        let names = names.map_err(FileError::of(folder, "list the files of"))?;
        let sums: Vec<_> = names.par_iter().map(|name| FileSum::of(&folder.join(name))).collect();
        for (name, sum) in names.into_iter().zip(sums) {
            let sum = sum.map_err(FileError::of(&folder.join(&name), "read back"))?;
            self.files.insert(name, sum);
        }
        Ok(self)
    }

    /// Writes the manifest to the checkpoint `folder`.
    ///
    /// # Errors
    ///
    /// A write that failed.
    pub fn write(&self, folder: &Path) -> Result<(), FileError> {
        let path = folder.join(trainer_file(MANIFEST));
        fs::write(&path, pretty_json(self)).map_err(FileError::of(&path, "write"))
    }

    /// Compares every `count`-th file of the checkpoint `folder`, from the `index`-th on, with the manifest.
    fn damage(&self, folder: &Path, (index, count): (usize, usize)) -> Vec<String> {
        let share: Vec<_> = self.files.iter().skip(index).step_by(count.max(1)).collect();
        let unnamed = if index == 0 { self.unnamed(folder) } else { Vec::new() };
        let fault = |(name, sum): &(&String, &FileSum)| {
            let lies_within =
                Path::new(name).components().all(|part| matches!(part, Component::Normal(_)));
            let fault = if lies_within {
                sum.fault(&folder.join(name))
            } else {
                Some("lies outside of the checkpoint".to_owned())
            };
            fault.map(|fault| format!("{name} {fault}"))
        };
        let mut faults: Vec<String> = share.par_iter().filter_map(fault).collect();
        faults.extend(unnamed);
        faults
    }

    /// Names the files that a run reads back, weights and the trainer's own, for which there is no checksum.
    fn unnamed(&self, folder: &Path) -> Vec<String> {
        let mut names = match self.without_sum(folder) {
            Ok(names) => names,
            Err(error) => return vec![format!("cannot be listed: {error}")],
        };
        names.retain(|name| name.ends_with(".safetensors") || name.starts_with(&trainer_file("")));
        names.sort();
        let manifest = trainer_file(MANIFEST);
        names.iter().map(|name| format!("{name} has no checksum in {manifest}")).collect()
    }

    /// Lists the files of the checkpoint `folder`, the manifest apart, that it does not name.
    fn without_sum(&self, folder: &Path) -> io::Result<Vec<String>> {
        let (mut names, manifest) = (Vec::new(), trainer_file(MANIFEST));
        list(folder, "", &mut names)?;
        names.retain(|name| !self.files.contains_key(name) && *name != manifest);
        Ok(names)
    }
}

/// Compares the files of the checkpoint `folder` with its manifest. `count` processes share the work, and this is number `index`:
/// together they read each file once.
pub fn check(folder: &Path, share: (usize, usize)) -> Checked {
    compare(folder, share).unwrap_or_else(|damage| Checked::Damaged(vec![damage]))
}

/// A damage to the manifest or the state is an error.
fn compare(folder: &Path, share: (usize, usize)) -> Result<Checked, String> {
    let read = |name: &str| match read_at_most(&folder.join(name), LONGEST_TEXT_BYTES) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        read => read.map(Some).map_err(|error| format!("{name} {error}")),
    };
    let [name, state] = [MANIFEST, STATE_FILE].map(trainer_file);
    let Some(text) = read(&name)? else {
        // The checkpoint is of an earlier version, or lacks a file.
        let state = read(&state)?.ok_or_else(|| format!("{state} is missing"))?;
        let state: serde_json::Value = serde_json::from_slice(&state).unwrap_or_default();
        let is_lost = state[HAS_MANIFEST] == true;
        return if is_lost { Err(format!("{name} is missing")) } else { Ok(Checked::Unknown) };
    };
    let manifest: Manifest =
        serde_json::from_slice(&text).map_err(|error| format!("{name} is no manifest: {error}"))?;
    let damage = manifest.damage(folder, share);
    Ok(if damage.is_empty() { Checked::Whole } else { Checked::Damaged(damage) })
}

impl Checked {
    /// Combines the results of several processes that checked a share each.
    pub fn together(all: Vec<Self>) -> Self {
        let known = all.iter().filter(|checked| **checked != Self::Unknown).count();
        let (unknown, mut damage) = (all.len() - known, Vec::new());
        for checked in all {
            if let Self::Damaged(more) = checked {
                damage.extend(more);
            }
        }
        if unknown > 0 && known > 0 {
            let manifest = trainer_file(MANIFEST);
            damage.push(format!("{manifest} is not seen by {unknown} of the processes"));
        }
        damage.sort();
        damage.dedup();
        match (damage.is_empty(), known) {
            (false, _) => Self::Damaged(damage),
            (true, 0) => Self::Unknown,
            (true, _) => Self::Whole,
        }
    }
}

/// Lists the files in `folder` and below; `prefix` is the folder's path in the checkpoint.
fn list(folder: &Path, prefix: &str, names: &mut Vec<String>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
        if entry.path().is_dir() {
            list(&entry.path(), &format!("{name}/"), names)?;
        } else {
            names.push(name);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run_directory::TRAINER_FOLDER;

    /// A checkpoint of two files and a state, with its manifest.
    fn checkpoint(folder: &Path) {
        fs::create_dir(folder.join(TRAINER_FOLDER)).unwrap();
        fs::write(folder.join("model.safetensors"), [7u8; 3000]).unwrap();
        fs::write(folder.join(TRAINER_FOLDER).join("optimizer.safetensors"), b"moments").unwrap();
        let state = folder.join(TRAINER_FOLDER).join(STATE_FILE);
        fs::write(state, format!("{{\"step\": 2, \"{HAS_MANIFEST}\": true}}")).unwrap();
        Manifest::default().complete(folder).unwrap().write(folder).unwrap();
    }

    fn damage(folder: &Path) -> Vec<String> {
        match check(folder, (0, 1)) {
            Checked::Damaged(damage) => damage,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_checksum_is_that_of_sha256() {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), b"abc").unwrap();
        // FIPS 180-2, appendix B.1.
        let expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        let sum = FileSum::of(file.path()).unwrap();
        assert_eq!((sum.bytes, sum.sha256.as_str()), (3, expected));
    }

    #[test]
    fn cut_missing_and_foreign_files_are_named() {
        let folder = tempfile::tempdir().unwrap();
        checkpoint(folder.path());
        fs::write(folder.path().join("model.safetensors"), [7u8; 2999]).unwrap();
        fs::remove_file(folder.path().join("trainer/optimizer.safetensors")).unwrap();
        assert_eq!(
            damage(folder.path()),
            [
                "model.safetensors has 2999 bytes, expected 3000",
                "trainer/optimizer.safetensors is missing"
            ]
        );
        let sum = FileSum { bytes: 0, sha256: String::new() };
        let manifest = Manifest { files: BTreeMap::from([("../other".to_owned(), sum)]) };
        manifest.write(folder.path()).unwrap();
        assert_eq!(
            damage(folder.path()),
            [
                "../other lies outside of the checkpoint",
                "model.safetensors has no checksum in trainer/manifest.json",
                "trainer/state.json has no checksum in trainer/manifest.json"
            ]
        );
        let manifest = folder.path().join(trainer_file(MANIFEST));
        fs::write(&manifest, b"{\"files\": ").unwrap();
        assert!(damage(folder.path())[0].starts_with("trainer/manifest.json is no manifest: EOF"));
        fs::remove_file(&manifest).unwrap();
        assert_eq!(damage(folder.path()), ["trainer/manifest.json is missing"]);
        fs::remove_file(folder.path().join("trainer/state.json")).unwrap();
        assert_eq!(damage(folder.path()), ["trainer/state.json is missing"]);
    }

    #[test]
    fn a_checkpoint_of_an_earlier_version_has_no_checksums() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join(TRAINER_FOLDER)).unwrap();
        fs::write(folder.path().join("trainer/state.json"), b"{\"step\": 2}").unwrap();
        assert_eq!(check(folder.path(), (0, 1)), Checked::Unknown);
    }

    /// Checksums that other processes computed are kept, and each file is checked by one of the processes.
    #[test]
    fn processes_share_the_files() {
        let folder = tempfile::tempdir().unwrap();
        checkpoint(folder.path());
        let shard = FileSum { bytes: 5, sha256: "aa".to_owned() };
        let written = BTreeMap::from([("trainer/elsewhere".to_owned(), shard)]);
        Manifest { files: written }.complete(folder.path()).unwrap().write(folder.path()).unwrap();
        let shares: Vec<Checked> = (0..3).map(|index| check(folder.path(), (index, 3))).collect();
        assert_eq!(shares.iter().filter(|share| **share == Checked::Whole).count(), 2);
        let combined = Checked::together(shares);
        assert_eq!(combined, Checked::Damaged(vec!["trainer/elsewhere is missing".to_owned()]));
        let together = |all: [Checked; 2]| Checked::together(all.to_vec());
        assert_eq!(together([Checked::Unknown, Checked::Unknown]), Checked::Unknown);
        assert_eq!(together([Checked::Whole, Checked::Whole]), Checked::Whole);
        assert!(matches!(together([Checked::Unknown, Checked::Whole]), Checked::Damaged(_)));
    }
}
