//! A checkpoint: a Hugging Face directory with the weights, and beside them the trainer's state.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Context;
use messages::plain_words;
use question_data::question_order::DataCursor;
use serde::de::DeserializeOwned;
use training_run::dynamic_sampling::GroupSampler;
use training_run::manifest::{self, Checked, FileSum, Manifest};
use training_run::run_directory::{Checkpoint, STATE_FILE, TRAINER_FOLDER, trainer_file};
use whole_file::{DirectoryInProgress, LONGEST_TEXT_BYTES, read_at_most};

use super::Trainer;
use crate::training::adamw::AdamW;
use crate::training::sample::{GroupBounds, QuestionGroup};
use crate::training::trainer_state::TrainerState;
use decoder::model::Decoder;
use ranks::Ranks;

/// Name of the file in [`TRAINER_FOLDER`] with the groups left over by dynamic sampling; absent if there are none.
const WAITING: &str = "waiting.json";

impl Trainer {
    /// Writes a checkpoint of the current state, with checksums of its files, and points `latest` at it. All ranks call it: each
    /// writes its part of the optimiser's state, and the first one all else.
    pub(super) fn save_checkpoint(&self) -> anyhow::Result<()> {
        let ranks = &self.mesh.run;
        let model = self.policy.model.full(ranks.is_first())?;
        let mut begun = None;
        let path = if ranks.is_first() {
            let folder = self.begin_checkpoint(&model);
            folder.map(|folder| begun.insert(folder).path().to_string_lossy().into_owned())
        } else {
            Ok(String::new())
        };
        let path = ranks.gather_ok("the folder of the checkpoint", path)?.swap_remove(0);
        let files = self.save_optimizer(&Path::new(&path).join(TRAINER_FOLDER))?;
        let finished = begun.map_or(Ok(()), |folder| self.finish_checkpoint(folder, files));
        ranks.agree("whether the checkpoint is written", finished)
    }

    /// Begins a checkpoint's folder, which has not its name yet, with all files but the optimiser's state.
    fn begin_checkpoint(&self, model: &Decoder) -> anyhow::Result<DirectoryInProgress> {
        let tokenizer_source = &self.config().model.path;
        let folder = self.recorder.directory.begin_checkpoint(self.state.step)?;
        model.save(folder.path(), tokenizer_source)?;
        let trainer = folder.path().join(TRAINER_FOLDER);
        std::fs::create_dir(&trainer).with_context(|| trainer.display().to_string())?;
        if let Some(reward_model) = &self.policy.reward_model {
            reward_model.save(folder.path(), tokenizer_source)?;
        }
        let write = |name: &str, text: String| {
            let path = trainer.join(name);
            std::fs::write(&path, text).with_context(|| path.display().to_string())
        };
        let state = TrainerState { has_manifest: true, ..self.state.clone() };
        write(STATE_FILE, serde_json::to_string_pretty(&state)?)?;
        let waiting = &self.sampler.waiting;
        if waiting.waiting_groups().next().is_some() {
            write(WAITING, serde_json::to_string(waiting)?)?;
        }
        Ok(folder)
    }

    /// Writes the optimiser's state to `folder`, each rank its part. Waits for all ranks and returns the checksums of the files of all
    /// but the first.
    fn save_optimizer(&self, folder: &Path) -> anyhow::Result<BTreeMap<String, FileSum>> {
        let (ranks, optimizer) = (&self.mesh.run, &self.policy.optimizer);
        let write = |name: String| -> anyhow::Result<Option<(String, FileSum)>> {
            let path = folder.join(&name);
            optimizer.save(&path)?;
            if ranks.is_first() {
                return Ok(None);
            }
            let place = || path.display().to_string();
            // The first rank cannot flush files that another machine has written.
            std::fs::File::open(&path)?.sync_all().with_context(place)?;
            let sum = FileSum::of(&path).with_context(place)?;
            Ok(Some((trainer_file(&name), sum)))
        };
        let written = optimizer.file_name(&self.mesh).map_or(Ok(None), write);
        let written = ranks.gather_ok("whether every shard is written", written)?;
        Ok(written.into_iter().flatten().collect())
    }

    /// Writes the checksums, of which `files` are known, and gives the folder its name.
    fn finish_checkpoint(
        &self,
        folder: DirectoryInProgress,
        files: BTreeMap<String, FileSum>,
    ) -> anyhow::Result<()> {
        Manifest { files }.complete(folder.path())?.write(folder.path())?;
        let (directory, rules) = (&self.recorder.directory, &self.config().checkpoint);
        Ok(directory.finish_checkpoint(self.state.step, folder, rules)?)
    }
}

/// Checks that the files of a checkpoint are unchanged. Each rank reads its share of them; all ranks get the same result.
pub(crate) fn checked(ranks: &Ranks, checkpoint: &Checkpoint) -> anyhow::Result<Checked> {
    ranks.same("the checkpoint that is checked", &format!("that of step {}", checkpoint.step))?;
    let report = manifest::check(&checkpoint.path, (ranks.rank(), ranks.count()));
    Ok(Checked::together(ranks.gather("what is damaged of the checkpoint", report)?))
}

/// Bounds that the parts of a checkpoint must fit.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bounds {
    pub(super) groups: GroupBounds,
    /// Most questions that one step asks; `None` where the checkpoint may be another run's, with other data.
    pub(super) asked_per_step: Option<usize>,
    /// Most steps whose responses are sampled ahead.
    pub(super) ahead: u64,
}

/// Largest size of the file of waiting groups: tens of thousands of long responses.
const LONGEST_WAITING_BYTES: u64 = 4 << 30;

/// Restores the optimiser from a checkpoint. Returns the trainer state and the waiting groups.
pub(super) fn restore(
    checkpoint: &Path,
    optimizer: &mut AdamW,
    bounds: Bounds,
) -> anyhow::Result<(TrainerState, GroupSampler<QuestionGroup>)> {
    let trainer = checkpoint.join(TRAINER_FOLDER);
    optimizer.restore(&trainer)?;
    let path = trainer.join(STATE_FILE);
    let state: TrainerState = read(&path, LONGEST_TEXT_BYTES, "not a trainer state")?;
    if let Some(fault) = state.first_fault().or_else(|| bounds.fault_of_cursor(&state)) {
        anyhow::bail!("{}: {fault}", path.display());
    }
    let path = trainer.join(WAITING);
    if !path.exists() {
        return Ok((state, GroupSampler::default()));
    }
    let waiting: GroupSampler<QuestionGroup> =
        read(&path, LONGEST_WAITING_BYTES, "not groups that wait")?;
    for (index, group) in waiting.waiting_groups().enumerate() {
        if let Some(fault) = group.responses.fault(bounds.groups) {
            anyhow::bail!("{}: group {index}: {fault}", path.display());
        }
    }
    Ok((state, waiting))
}

/// Reads a file of JSON; an error names the file, what it should hold, and the parser's fault in plain words.
fn read<T: DeserializeOwned>(path: &Path, longest: u64, fault: &str) -> anyhow::Result<T> {
    let text = read_at_most(path, longest).with_context(|| path.display().to_string())?;
    serde_json::from_slice(&text).map_err(|error| {
        anyhow::anyhow!("{}: {fault}: {}", path.display(), plain_words(&error.to_string()))
    })
}

impl Bounds {
    /// Describes a place in the data that the run cannot have reached; `None` if it can have.
    fn fault_of_cursor(&self, state: &TrainerState) -> Option<String> {
        let DataCursor { epoch, position } = state.cursor;
        let (per_step, questions) = (self.asked_per_step?, self.groups.questions);
        if position > questions {
            return Some(format!("`cursor.position` is {position}, expected at most {questions}"));
        }
        let asked = u128::from(epoch) * questions as u128 + position as u128;
        let most = u128::from(state.step.saturating_add(self.ahead)) * per_step as u128;
        (asked > most).then(|| {
            let step = state.step;
            format!(
                "`cursor` stands after {asked} questions, expected at most {most} after step {step}"
            )
        })
    }
}

#[cfg(test)]
mod damaged;
