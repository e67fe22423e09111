//! Saves the optimiser's state to files and restores it.

use std::path::Path;

use tch::{Kind, Tensor};
use whole_file::WriteError;

use super::layout::Piece;
use super::place::Place;
use super::precision::{is_narrow, wide_kind};
use super::saved::{SavedState, WHOLE};
use super::{AdamW, MasterCopy};
use crate::training::split_weight::{joined, nearest, split};
use decoder::tensor_file::{TensorFile, TensorFileError, write_tensors};

/// Column of the weights that are stepped, in `f32` at least.
const MASTER: &str = "master";

/// Column of the lower halves of weights whose upper half is the parameter.
const LOWER: &str = "lower";

const FIRST: &str = "first_moment";
const SECOND: &str = "second_moment";
const STEP: &str = "step";

impl AdamW {
    /// Writes the state as one safetensors file. Each rank of a split state writes its own part, less what others write.
    ///
    /// # Errors
    ///
    /// If the file cannot be written.
    pub fn save(&self, path: &Path) -> Result<(), WriteError> {
        let mut tensors = Vec::new();
        for (i, place) in self.places.iter().enumerate().filter(|(_, place)| place.is_owner) {
            let place = place.written();
            let columns = [
                (FIRST, &self.first_moments[i]),
                (SECOND, &self.second_moments[i]),
                (STEP, &self.steps[i]),
            ];
            let columns = self.weight_column(i).into_iter().chain(columns);
            tensors.extend(columns.map(|(column, tensor)| (format!("{column}/{place}"), tensor)));
        }
        write_tensors(path, &tensors)
    }

    /// Column written for the weight itself; `None` for a parameter in bf16, which the model's file has.
    fn weight_column(&self, index: usize) -> Option<(&'static str, &Tensor)> {
        match &self.master_copies[index] {
            MasterCopy::None if is_narrow(&self.parameters[index]) => None,
            MasterCopy::None => Some((MASTER, &self.parameters[index])),
            MasterCopy::Full(master) => Some((MASTER, master)),
            MasterCopy::LowerHalf(lower) => Some((LOWER, lower)),
        }
    }

    /// Restores the weight of tensor `index` from its written form, complete or as the lower half. The parameter, read from the
    /// model's file, is the upper half. `has` tells whether a column exists, `read` reads it in a kind.
    fn restore_weight(
        &mut self,
        index: usize,
        has: impl Fn(&str) -> bool,
        read: impl Fn(&str, Kind) -> Result<Tensor, TensorFileError>,
    ) -> Result<(), TensorFileError> {
        let parameter = &mut self.parameters[index];
        let kind = wide_kind(parameter);
        let read_weight = |parameter: &Tensor| {
            if has(MASTER) || !has(LOWER) {
                return Ok(read(MASTER, kind)?.view_as(parameter));
            }
            let lower = read(LOWER, Kind::Int16)?.view_as(parameter);
            // The parameter may have a wider kind here.
            let upper = nearest(&parameter.detach().to_kind(Kind::Float));
            Ok(joined(&upper, &lower.to_device(upper.device())).to_kind(kind))
        };
        match &mut self.master_copies[index] {
            MasterCopy::None if is_narrow(parameter) => {}
            MasterCopy::None => parameter.copy_(&read_weight(parameter)?),
            MasterCopy::Full(master) => {
                master.copy_(&read_weight(parameter)?);
                if is_narrow(parameter) {
                    parameter.copy_(&nearest(master));
                } else {
                    parameter.copy_(master);
                }
            }
            MasterCopy::LowerHalf(lower) => {
                let (upper, rest) = split(&read_weight(parameter)?);
                parameter.copy_(&upper);
                lower.copy_(&rest);
            }
        }
        Ok(())
    }

    /// Restores the state of the same model from the folder it was saved to, by any number of ranks, with `master` as `"f32"`
    /// or `"split"`. The parameters must be those that were saved with it.
    ///
    /// # Errors
    ///
    /// If the files cannot be read, their tensors are not those of this model, or a rank does not answer.
    pub fn restore_from(&mut self, folder: &Path) -> anyhow::Result<()> {
        let has_all =
            self.sharding.is_none() && self.places.iter().all(|place| place.shard.is_none());
        if has_all && !SavedState::is_sharded(folder) {
            return Ok(self.restore(&folder.join(WHOLE))?);
        }
        let _no_grad = tch::no_grad_guard();
        let saved = SavedState::open(folder)?;
        let place = folder.display();
        let sharding = self.sharding.as_ref();
        let expected = sharding.map_or(self.places.len(), |sharding| sharding.parameters.len());
        let parameters = saved.parameters();
        anyhow::ensure!(
            parameters == expected,
            "{place}: holds {parameters} parameters, expected {expected}: another model's"
        );
        for (i, place) in self.places.clone().into_iter().enumerate() {
            let (name, shape) = (&place.name, place.full_shape());
            let length = self.parameters[i].numel().try_into()?;
            let piece = Piece { parameter: i, start: place.start(), length };
            let read = |column: &str, kind: Kind| {
                saved.elements(column, name, &shape, place.shard, piece, kind)
            };
            let columns =
                [(FIRST, &mut self.first_moments[i]), (SECOND, &mut self.second_moments[i])];
            for (column, tensor) in columns {
                tensor.copy_(&read(column, tensor.kind())?.view_as(tensor));
            }
            self.steps[i].copy_(&saved.step(name)?);
            self.restore_weight(i, |column| saved.has(column, name), read)?;
        }
        if let Some(fault) = self.fault_of_moments() {
            anyhow::bail!("{place}: {fault}, expected none below 0");
        }
        self.applied = self
            .applied_by_steps()
            .map_err(|fault| anyhow::anyhow!("{place}: {fault}, expected a number of steps"))?;
        Ok(self.gather_parameters()?)
    }

    /// Restores the state that [`AdamW::save`] wrote for the same model. The parameters must be those that were saved with it.
    ///
    /// # Errors
    ///
    /// If the file cannot be read, or its tensors are not those of this model.
    pub fn restore(&mut self, path: &Path) -> Result<(), TensorFileError> {
        let _no_grad = tch::no_grad_guard();
        let file = TensorFile::open(path)?;
        let mut expected = 0;
        for (i, Place { name, .. }) in self.places.clone().into_iter().enumerate() {
            let key = |column: &str| format!("{column}/{name}");
            let has = |column: &str| file.shape(&key(column)).is_some();
            let shape = self.parameters[i].size();
            let read = |column: &str, kind| file.tensor(&key(column), &shape, &[kind]);
            self.restore_weight(i, has, read)?;
            let columns = [
                (FIRST, &mut self.first_moments[i]),
                (SECOND, &mut self.second_moments[i]),
                (STEP, &mut self.steps[i]),
            ];
            for (column, tensor) in columns {
                tensor.copy_(&file.tensor(&key(column), &tensor.size(), &[tensor.kind()])?);
            }
            let written = [MASTER, LOWER, FIRST, SECOND, STEP];
            expected += written.into_iter().filter(|column| has(column)).count();
        }
        let count = file.names().count();
        let malformed = |found: String, expected: String| {
            TensorFileError::malformed(path, format!("{found}, expected {expected}"))
        };
        if count != expected {
            return Err(malformed(
                format!("{count} tensors"),
                format!("{expected}: another model's"),
            ));
        }
        if let Some(fault) = self.fault_of_moments() {
            return Err(malformed(fault, "none below 0".to_owned()));
        }
        self.applied = self
            .applied_by_steps()
            .map_err(|fault| malformed(fault, "a number of steps".to_owned()))?;
        Ok(())
    }

    /// Names a second moment below 0; `None` if there is none.
    fn fault_of_moments(&self) -> Option<String> {
        self.places.iter().zip(&self.second_moments).find_map(|(Place { name, .. }, moment)| {
            let least = (moment.numel() > 0).then(|| moment.min().double_value(&[]))?;
            (least < 0.0).then(|| format!("tensor `{SECOND}/{name}` holds {least}"))
        })
    }

    /// Number of applied steps, that of the first tensor, or the first step count that is no whole number.
    fn applied_by_steps(&self) -> Result<u64, String> {
        let mut applied = None;
        for (Place { name, .. }, step) in self.places.iter().zip(&self.steps) {
            let count = step.double_value(&[]);
            let steps =
                whole_step(count).ok_or_else(|| format!("tensor `{STEP}/{name}` is {count}"))?;
            applied.get_or_insert(steps);
        }
        Ok(applied.unwrap_or(0))
    }
}

/// The step count that a float holds; `None` if it is no whole number in range.
fn whole_step(step: f64) -> Option<u64> {
    let is_whole = (0.0..=f64::from(u32::MAX)).contains(&step) && step.fract() == 0.0;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a whole number in range"
    )]
    is_whole.then_some(step as u64)
}
