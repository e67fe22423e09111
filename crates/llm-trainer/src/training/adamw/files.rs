//! Saves the optimiser's state to files and restores it.

use std::path::Path;

use tch::{Device, Kind, Tensor};
use whole_file::FileError;

use super::place::Place;
use super::saved::{SavedState, WHOLE};
use super::{AdamW, Stepped};
use crate::training::split_weight::{is_narrow, joined, nearest, split, wide_kind};
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
    pub fn save(&self, path: &Path) -> Result<(), FileError> {
        let (mut tensors, steps) = (Vec::new(), self.steps(Device::Cpu));
        for stepped in self.tensors.iter().filter(|stepped| stepped.place.is_owner) {
            let place = stepped.place.written();
            let [first, second] = &stepped.moments;
            let columns = [(FIRST, first), (SECOND, second), (STEP, &steps)];
            let columns = stepped.weight_column().into_iter().chain(columns);
            tensors.extend(columns.map(|(column, tensor)| (format!("{column}/{place}"), tensor)));
        }
        write_tensors(path, &tensors)
    }

    /// Restores the state of the same model from the folder it was saved to, by any number of ranks, with `master` as `"f32"`
    /// or `"split"`. The parameters must be those that were saved with it.
    pub(crate) fn restore_from(&mut self, folder: &Path) -> anyhow::Result<()> {
        let has_all = self.sharding.is_none()
            && self.tensors.iter().all(|stepped| stepped.place.shard.is_none());
        if has_all && !SavedState::is_sharded(folder) {
            return Ok(self.restore(&folder.join(WHOLE))?);
        }
        let _no_grad = tch::no_grad_guard();
        let saved = SavedState::open(folder)?;
        let sharding = self.sharding.as_ref();
        let expected = sharding.map_or(self.tensors.len(), |sharding| sharding.parameters.len());
        let parameters = saved.parameters();
        anyhow::ensure!(
            parameters == expected,
            "{}: holds {parameters} parameters, expected {expected}: another model's",
            folder.display()
        );
        let mut steps = Vec::new();
        for stepped in &mut self.tensors {
            let (place, length) = (stepped.place.clone(), stepped.parameter.numel().try_into()?);
            let read = |column: &str, kind: Kind| saved.elements(column, &place, length, kind);
            for (column, moment) in [FIRST, SECOND].into_iter().zip(&mut stepped.moments) {
                moment.copy_(&read(column, moment.kind())?.view_as(moment));
            }
            steps.push(saved.step(&place.name)?);
            stepped.restore_weight(|column| saved.has(column, &place.name), read)?;
        }
        self.check_restored(folder, &steps)?;
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
        let (mut expected, mut steps) = (0, Vec::new());
        for stepped in &mut self.tensors {
            let (name, shape) = (stepped.place.name.clone(), stepped.parameter.size());
            let key = |column: &str| format!("{column}/{name}");
            let has = |column: &str| file.shape(&key(column)).is_some();
            stepped
                .restore_weight(has, |column, kind| file.tensor(&key(column), &shape, &[kind]))?;
            for (column, moment) in [FIRST, SECOND].into_iter().zip(&mut stepped.moments) {
                moment.copy_(&file.tensor(&key(column), &shape, &[moment.kind()])?);
            }
            steps.push(file.tensor(&key(STEP), &[], &[Kind::Float])?);
            let written = [MASTER, LOWER, FIRST, SECOND, STEP];
            expected += written.into_iter().filter(|column| has(column)).count();
        }
        let count = file.names().count();
        if count != expected {
            let problem = format!("{count} tensors, expected {expected}: another model's");
            return Err(TensorFileError::malformed(path, problem));
        }
        self.check_restored(path, &steps)
    }

    /// Checks the numbers that were read from `path`, with the `steps` of each tensor: all have taken as many.
    fn check_restored(&mut self, path: &Path, steps: &[Tensor]) -> Result<(), TensorFileError> {
        let malformed = |fault: String, expected: &str| {
            TensorFileError::malformed(path, format!("{fault}, expected {expected}"))
        };
        for Stepped { place: Place { name, .. }, moments: [_, second], .. } in &self.tensors {
            if second.numel() > 0 {
                let least = second.min().double_value(&[]);
                if least < 0.0 {
                    let fault = format!("tensor `{SECOND}/{name}` holds {least}");
                    return Err(malformed(fault, "none below 0"));
                }
            }
        }
        let mut applied = None;
        for (Stepped { place: Place { name, .. }, .. }, steps) in self.tensors.iter().zip(steps) {
            let count = steps.double_value(&[]);
            let fault =
                |expected: &str| malformed(format!("tensor `{STEP}/{name}` is {count}"), expected);
            let taken = whole_step(count).ok_or_else(|| fault("a number of steps"))?;
            let first = *applied.get_or_insert(taken);
            if taken != first {
                return Err(fault(&format!("{first}, as for the other tensors")));
            }
        }
        self.applied = applied.unwrap_or(0);
        Ok(())
    }
}

impl Stepped {
    /// Column written for the weight itself; `None` for a parameter in bf16, which the model's file has.
    fn weight_column(&self) -> Option<(&'static str, &Tensor)> {
        match &self.copy {
            None if is_narrow(&self.parameter) => None,
            None => Some((MASTER, &self.parameter)),
            Some(lower) if self.is_split() => Some((LOWER, lower)),
            Some(master) => Some((MASTER, master)),
        }
    }

    /// Restores the weight from its written form, complete or as the lower half. The parameter, read from the
    /// model's file, is the upper half. `has` tells whether a column exists, `read` reads it in a kind.
    fn restore_weight(
        &mut self,
        has: impl Fn(&str) -> bool,
        read: impl Fn(&str, Kind) -> Result<Tensor, TensorFileError>,
    ) -> Result<(), TensorFileError> {
        let is_split = self.is_split();
        let Self { parameter, copy, .. } = self;
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
        match copy {
            None if is_narrow(parameter) => {}
            None => parameter.copy_(&read_weight(parameter)?),
            Some(lower) if is_split => {
                let (upper, rest) = split(&read_weight(parameter)?);
                parameter.copy_(&upper);
                lower.copy_(&rest);
            }
            Some(master) => {
                master.copy_(&read_weight(parameter)?);
                let stored = if is_narrow(parameter) { &nearest(master) } else { master };
                parameter.copy_(stored);
            }
        }
        Ok(())
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
