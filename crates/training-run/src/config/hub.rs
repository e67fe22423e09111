//! Names of the hub in a configuration, and the files that they stand for.

use std::collections::BTreeMap;
use std::fmt::{self, Display, Formatter};
use std::path::{Path, PathBuf};

use model_files::hub_name::{HubName, Snapshot};

use super::sections::{ModelSection, RunConfig};

/// Commits by the names that a configuration writes, [`HubFile`]s as text.
pub type Commits = BTreeMap<String, String>;

/// A name of the hub in a configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HubFile<'a> {
    /// A model.
    Model(&'a HubName),
    /// A data set.
    DataSet(&'a HubName),
}

impl Display for HubFile<'_> {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Model(name) => name.fmt(out),
            Self::DataSet(name) => write!(out, "datasets/{name}"),
        }
    }
}

impl ModelSection {
    /// The directory, or the name with its revision.
    pub fn place(&self) -> PathBuf {
        if self.revision.is_empty() {
            return self.path.clone();
        }
        PathBuf::from(format!("{}@{}", self.path.display(), self.revision))
    }
}

impl RunConfig {
    /// Replaces names by files, and returns the commits of those names.
    pub(super) fn locate<E>(
        &mut self,
        mut locate: impl FnMut(HubFile<'_>) -> Result<Snapshot, E>,
    ) -> Result<Commits, E> {
        let mut commits = Commits::new();
        self.model.path = self.model.place();
        self.model.revision.clear();
        for (_, path) in self.models() {
            if let Some(name) = HubName::of_path(path, Path::new("")) {
                let file = HubFile::Model(&name);
                let Snapshot { commit, folder, .. } = locate(file)?;
                commits.insert(file.to_string(), commit);
                *path = folder;
            }
        }
        for (_, file) in self.question_files() {
            if let Some(name) = HubName::of_path(&file.path, Path::new("")) {
                let named = HubFile::DataSet(&name);
                let Snapshot { commit, files, .. } = locate(named)?;
                commits.insert(named.to_string(), commit);
                file.located = files;
            }
        }
        Ok(commits)
    }
}
