//! Saves the optimiser's state to files and restores it.

use std::path::Path;

use tch::{Device, Kind, Tensor};
use whole_file::FileError;

use super::saved::SavedState;
use super::{AdamW, Stepped};
use crate::training::split_weight::{is_narrow, joined, nearest, split};
use decoder::head::statistics_kind;
use decoder::tensor_file::{TensorFileError, write_tensors};

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

    /// Restores the state of the same model from the file that [`AdamW::save`] wrote, or from the folder to which any number of
    /// ranks have saved it, with `master` as `"f32"` or `"split"`. The parameters must be those that were saved with it.
    ///
    /// # Errors
    ///
    /// If a file cannot be read, or its tensors are not those of this model.
    pub fn restore(&mut self, path: &Path) -> anyhow::Result<()> {
        let saved = SavedState::open(path)?;
        self.restore_saved(&saved)?;
        Ok(self.gather_parameters()?)
    }

    fn restore_saved(&mut self, saved: &SavedState) -> Result<(), TensorFileError> {
        let _no_grad = tch::no_grad_guard();
        let mut applied = None;
        for stepped in &mut self.tensors {
            stepped.restore(saved)?;
            for (tensor, count) in saved.steps(&stepped.place.name)? {
                let refused =
                    |expected: &str| saved.refused(tensor, &format!("is {count}"), expected);
                let taken = format!("{count}").parse::<u32>();
                let taken = taken.map_err(|_| refused("a number of steps"))?;
                let first = *applied.get_or_insert(taken);
                if taken != first {
                    return Err(refused(&format!("{first}, as for the other tensors")));
                }
            }
        }
        let sharding = self.sharding.as_ref();
        saved.check_parameters(
            sharding.map_or(self.tensors.len(), |sharding| sharding.parameters.len()),
        )?;
        self.applied = applied.unwrap_or(0).into();
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

    /// Restores the moments and the weight, which is written complete or as the lower half. The parameter, read from the model's
    /// file, is then the upper half.
    fn restore(&mut self, saved: &SavedState) -> Result<(), TensorFileError> {
        let is_split = self.is_split();
        let Self { parameter, place, copy, moments, .. } = self;
        let (shape, kind) = (parameter.size(), statistics_kind(parameter));
        let read = |column: &str, kind: Kind| -> Result<Tensor, TensorFileError> {
            Ok(saved.elements(column, place, shape.iter().product(), kind)?.view(shape.as_slice()))
        };
        let read_weight = |parameter: &Tensor| {
            if saved.has(MASTER, &place.name) || !saved.has(LOWER, &place.name) {
                return read(MASTER, kind);
            }
            let lower = read(LOWER, Kind::Int16)?;
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
        for (column, moment) in [FIRST, SECOND].into_iter().zip(moments.iter_mut()) {
            moment.copy_(&read(column, moment.kind())?);
        }
        let second = &moments[1];
        // A rank's shard of a small parameter may be empty.
        let least = if second.numel() > 0 { second.min().double_value(&[]) } else { 0.0 };
        if least < 0.0 {
            let tensor = format!("{SECOND}/{}", place.name);
            return Err(saved.refused(&tensor, &format!("holds {least}"), "none below 0"));
        }
        Ok(())
    }
}
