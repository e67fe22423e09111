//! A checkpoint: a Hugging Face directory, and beside the weights what the trainer needs to go on.

use std::path::Path;

use anyhow::Context;
use serde::{Deserialize, Serialize};
use trainer_core::question_order::DataCursor;
use trainer_core::run_directory::RunDirectory;

use super::adamw::AdamW;
use crate::model::Decoder;

/// Folder of the trainer's own files within a checkpoint.
const FOLDER: &str = "trainer";

/// What is neither weights nor optimiser moments. All noise is keyed by seed and step, so no generator is kept.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TrainerState {
    /// Steps done.
    pub(super) step: u64,
    /// Optimiser steps done.
    pub(super) updates: u64,
    /// Where the run stands in its data.
    pub(super) cursor: DataCursor,
}

/// Writes the checkpoint of `state.step` and points `latest` at it.
pub(super) fn save(
    directory: &RunDirectory,
    model: &Decoder,
    optimizer: &AdamW,
    state: &TrainerState,
    tokenizer_source: &Path,
    keep: usize,
) -> anyhow::Result<()> {
    let folder = directory.begin_checkpoint(state.step)?;
    model.save(folder.path(), tokenizer_source)?;
    let trainer = folder.path().join(FOLDER);
    std::fs::create_dir(&trainer).with_context(|| trainer.display().to_string())?;
    optimizer.save(&trainer.join("optimizer.safetensors"))?;
    let text = serde_json::to_string_pretty(state)?;
    let path = trainer.join("state.json");
    std::fs::write(&path, text).with_context(|| path.display().to_string())?;
    directory.finish_checkpoint(state.step, folder, keep)?;
    Ok(())
}

/// Restores the optimiser from a checkpoint and returns the rest of the state.
pub(super) fn restore(checkpoint: &Path, optimizer: &mut AdamW) -> anyhow::Result<TrainerState> {
    let trainer = checkpoint.join(FOLDER);
    optimizer.restore(&trainer.join("optimizer.safetensors"))?;
    let path = trainer.join("state.json");
    let text = std::fs::read_to_string(&path).with_context(|| path.display().to_string())?;
    serde_json::from_str(&text).with_context(|| format!("{}: not a trainer state", path.display()))
}
