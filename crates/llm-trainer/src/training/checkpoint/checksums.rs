//! Checksums of files that several ranks write, and that they check together.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Context;
use training_run::manifest::{self, Checked, FileSum};
use training_run::run_directory::Checkpoint;
use training_run::run_directory::TRAINER_FOLDER;

use crate::training::adamw::AdamW;
use ranks::{DeviceMesh, Ranks};

/// Writes the optimiser's state to `folder`, each rank its part. Waits for all ranks and returns the checksums of the files of all but
/// the first.
pub(super) fn save_state(
    mesh: &DeviceMesh,
    optimizer: &AdamW,
    folder: &Path,
) -> anyhow::Result<BTreeMap<String, FileSum>> {
    let write = |name: String| -> anyhow::Result<Option<(String, FileSum)>> {
        let path = folder.join(&name);
        optimizer.save(&path)?;
        if mesh.run.is_first() {
            return Ok(None);
        }
        let place = || path.display().to_string();
        // The first rank cannot flush files that another machine has written.
        std::fs::File::open(&path)?.sync_all().with_context(place)?;
        let sum = FileSum::of(&path).with_context(place)?;
        Ok(Some((format!("{TRAINER_FOLDER}/{name}"), sum)))
    };
    let written = optimizer.file_name(mesh).map_or(Ok(None), write);
    let written = mesh.run.gather_ok("whether every shard is written", written)?;
    Ok(written.into_iter().flatten().collect())
}

/// Checks that the files of a checkpoint are unchanged. Each rank reads its share of them; all ranks get the same result.
pub(crate) fn checked(ranks: &Ranks, checkpoint: &Checkpoint) -> anyhow::Result<Checked> {
    ranks.same("the checkpoint that is checked", &format!("that of step {}", checkpoint.step))?;
    let report = manifest::check(&checkpoint.path, (ranks.rank(), ranks.count()));
    Ok(Checked::together(ranks.gather("what is damaged of the checkpoint", report)?))
}
