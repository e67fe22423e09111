//! The optimiser's state to files and back.

use std::path::Path;

use trainer_core::atomic_write::WriteError;

use super::AdamW;
use super::layout::Piece;
use super::saved::{SavedState, WHOLE};
use crate::tensor_file::{TensorFile, TensorFileError, write_tensors};

impl AdamW {
    /// Writes the state as one safetensors file; of a state that is cut over ranks, what this one holds of it, less what others write.
    ///
    /// # Errors
    ///
    /// If the file cannot be written.
    pub fn save(&self, path: &Path) -> Result<(), WriteError> {
        let mut tensors = Vec::new();
        for i in (0..self.names.len()).filter(|&i| self.speaks_for(i)) {
            let name = self.name_with_part(i);
            let place = if self.is_sharded() { format!("{name}@{}", self.starts[i]) } else { name };
            let columns = [
                ("master", &self.master[i]),
                ("first_moment", &self.first_moments[i]),
                ("second_moment", &self.second_moments[i]),
                ("step", &self.steps[i]),
            ];
            tensors.extend(columns.map(|(column, tensor)| (format!("{column}/{place}"), tensor)));
        }
        write_tensors(path, &tensors)
    }

    /// Restores the state of the same model from the folder it was saved to, by whichever number of ranks.
    ///
    /// # Errors
    ///
    /// If the files cannot be read, their tensors are not those of this model, or a rank does not come.
    pub fn restore_from(&mut self, folder: &Path) -> anyhow::Result<()> {
        if !self.is_sharded() && !self.is_cut() && !SavedState::is_sharded(folder) {
            return Ok(self.restore(&folder.join(WHOLE))?);
        }
        let _no_grad = tch::no_grad_guard();
        let saved = SavedState::open(folder)?;
        let place = folder.display();
        let expected =
            self.sharding.as_ref().map_or(self.names.len(), |sharding| sharding.parameters());
        let found = saved.parameters();
        anyhow::ensure!(
            found == expected,
            "{place}: holds {found} parameters, expected {expected}: another model's"
        );
        for (i, name) in self.names.iter().enumerate() {
            let shape = match &self.sharding {
                Some(sharding) => sharding.shape(i).to_vec(),
                None => self.parameters[i].size(),
            };
            let length = self.master[i].numel().try_into()?;
            let piece = Piece { parameter: i, start: self.starts[i], length };
            let part = self.part(i);
            let shape = part.map_or(shape.clone(), |part| part.whole_shape(&shape));
            let columns = [
                ("master", &mut self.master[i]),
                ("first_moment", &mut self.first_moments[i]),
                ("second_moment", &mut self.second_moments[i]),
            ];
            for (column, tensor) in columns {
                let wanted = (name.as_str(), shape.as_slice(), part);
                let values = saved.elements(column, wanted, piece, tensor.kind())?;
                tensor.copy_(&values.view_as(tensor));
            }
            self.steps[i].copy_(&saved.step(name)?);
            if self.is_apart(i) {
                let master = self.master[i].shallow_clone();
                self.parameters[i].copy_(&master);
            }
        }
        self.applied = self.applied_by_steps().map_err(|applied| {
            anyhow::anyhow!("{place}: {applied} steps were applied, expected a whole number")
        })?;
        Ok(self.gather_parameters()?)
    }

    /// Restores what [`AdamW::save`] wrote for the same model.
    ///
    /// # Errors
    ///
    /// If the file cannot be read, or its tensors are not those of this model.
    pub fn restore(&mut self, path: &Path) -> Result<(), TensorFileError> {
        let _no_grad = tch::no_grad_guard();
        let file = TensorFile::open(path)?;
        let mut expected = 0;
        for (i, name) in self.names.iter().enumerate() {
            let columns = [
                ("master", &mut self.master[i]),
                ("first_moment", &mut self.first_moments[i]),
                ("second_moment", &mut self.second_moments[i]),
                ("step", &mut self.steps[i]),
            ];
            for (column, tensor) in columns {
                let key = format!("{column}/{name}");
                tensor.copy_(&file.tensor(&key, &tensor.size(), &[tensor.kind()])?);
                expected += 1;
            }
            if self.is_apart(i) {
                let master = self.master[i].shallow_clone();
                self.parameters[i].copy_(&master);
            }
        }
        let found = file.names().count();
        let malformed = |found: String, expected: String| TensorFileError::Malformed {
            path: path.to_owned(),
            found,
            expected,
        };
        if found != expected {
            return Err(malformed(
                format!("{found} tensors"),
                format!("{expected}: another model's"),
            ));
        }
        self.applied = self.applied_by_steps().map_err(|applied| {
            let found = format!("tensor `step/{}` is {applied}", self.names[0]);
            malformed(found, "a number of steps".to_owned())
        })?;
        Ok(())
    }

    /// Steps that were applied, as each tensor's own count has it.
    fn applied_by_steps(&self) -> Result<u64, f64> {
        match self.steps.first().map(|step| step.double_value(&[])) {
            None => Ok(0),
            Some(applied) => whole_step(applied).ok_or(applied),
        }
    }
}

/// A count that was kept as a float.
fn whole_step(step: f64) -> Option<u64> {
    let whole = (0.0..=f64::from(u32::MAX)).contains(&step) && step.fract() == 0.0;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a whole number in range"
    )]
    whole.then_some(step as u64)
}
