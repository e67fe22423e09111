//! Checksums of files that several ranks write, and that they check together.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Context;
use training_run::manifest::{self, Checked, FileSum};
use training_run::run_directory::Checkpoint;
use training_run::run_directory::TRAINER_FOLDER;

use crate::training::adamw::{AdamW, shard_name};
use ranks::{DeviceMesh, Ranks};

/// Writes this rank's part of the optimiser's state to the folder that the first rank names, which does not have the
/// checkpoint's name yet. Waits for all ranks and returns the checksums of their files.
pub(in crate::training) fn save_shard(
    DeviceMesh { run: ranks, data, tensor }: &DeviceMesh,
    optimizer: &AdamW,
    folder: Option<&Path>,
) -> anyhow::Result<BTreeMap<String, FileSum>> {
    let named = folder.map(|folder| folder.to_string_lossy().into_owned()).unwrap_or_default();
    let folder = ranks.gather("the folder of the checkpoint", named)?.swap_remove(0);
    // If the state is not sharded over copies of the model, all copies have the same state.
    let holders = if optimizer.is_sharded() { ranks } else { tensor };
    let name = shard_name(holders.rank(), holders.count());
    let path = Path::new(&folder).join(&name);
    let write = || -> anyhow::Result<Option<(String, FileSum)>> {
        if !optimizer.is_sharded() && !data.is_first() {
            return Ok(None);
        }
        optimizer.save(&path)?;
        let place = || path.display().to_string();
        // The first rank cannot flush files that another machine has written.
        std::fs::File::open(&path)?.sync_all().with_context(place)?;
        let sum = FileSum::of(&path).with_context(place)?;
        Ok(Some((format!("{TRAINER_FOLDER}/{name}"), sum)))
    };
    let written = ranks.gather_ok("whether every shard is written", write())?;
    Ok(written.into_iter().flatten().collect())
}

/// Checks that the files of a checkpoint are unchanged. Each rank reads its share of them; all ranks get the same result.
pub(crate) fn checked(ranks: &Ranks, checkpoint: &Checkpoint) -> anyhow::Result<Checked> {
    ranks.same("the checkpoint that is checked", &format!("that of step {}", checkpoint.step))?;
    let report = manifest::check(&checkpoint.path, (ranks.rank(), ranks.count()));
    Ok(Checked::together(ranks.gather("what is damaged of the checkpoint", report)?))
}
