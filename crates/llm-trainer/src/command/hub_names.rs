//! Names of the hub on the command line and in configurations, to files of its cache.

use std::path::{Path, PathBuf};

use hub_files::{Hub, ModelParts};
use model_files::hub_name::HubName;
use question_data::dataset::QuestionFile;
use training_run::config::{Commits, HubFile, Run};

/// Replaces the names of a run; `recorded` are commits that it has to keep.
pub(super) fn of_run(run: Run, parts: ModelParts, recorded: &Commits) -> anyhow::Result<Run> {
    let hub = Hub::from_env();
    run.located(|file| {
        let commit = recorded.get(&file.to_string()).map(String::as_str);
        Ok(match file {
            HubFile::Model(name) => hub.model(name, commit, parts, &say)?,
            HubFile::DataSet(name) => hub.data_set(name, commit, &say)?,
        })
    })
}

/// Returns the directory of a model: the path itself, or that of a name in the hub's cache.
pub(super) fn model(path: &Path, parts: ModelParts) -> anyhow::Result<PathBuf> {
    match name(path) {
        Some(name) => Ok(Hub::from_env().model(&name, None, parts, &say)?.folder),
        None => Ok(path.to_path_buf()),
    }
}

/// The name of the hub that a path is, if it is no path of this machine.
pub(super) fn name(path: &Path) -> Option<HubName> {
    HubName::of_path(path, Path::new(""))
}

/// Locates the files of a data set of the hub.
pub(super) fn questions(file: &mut QuestionFile) -> anyhow::Result<()> {
    if let Some(name) = name(&file.path) {
        file.located = Hub::from_env().data_set(&name, None, &say)?.files;
    }
    Ok(())
}

fn say(line: &str) {
    eprintln!("{line}");
}
