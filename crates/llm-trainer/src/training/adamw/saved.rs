//! The optimiser's state on disk: one file, or the shards of any number of ranks.
//!
//! ```text
//! optimizer.safetensors                  master/NAME first_moment/NAME second_moment/NAME step/NAME, each whole;
//!                                        lower/NAME in place of master/NAME where the parameter is its upper half
//! optimizer-00001-of-00004.safetensors   COLUMN/NAME@START, a run of elements of that parameter
//! ```
//!
//! A shard's names tell where its elements belong, so any number of ranks can read the shards of any other number. For a model
//! split over tensor-parallel ranks, NAME is followed by the part: `NAME[1:0/2]` is part 0 of 2 along dimension 1.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

use decoder::model::{Placement, TensorShard};
use decoder::tensor_file::{TensorFile, TensorFileError};
use tch::{Device, Kind, Tensor};

/// The file of a state that one process wrote.
const WHOLE: &str = "optimizer.safetensors";

/// The file of one of `ranks` that write the state.
pub(super) fn file_name(rank: usize, ranks: usize) -> String {
    if ranks == 1 {
        return WHOLE.to_owned();
    }
    format!("optimizer-{:05}-of-{ranks:05}.safetensors", rank + 1)
}

/// A saved state whose file headers have been read.
#[derive(Debug)]
pub(super) struct SavedState {
    /// The single file, or the folder of the shards.
    path: PathBuf,
    files: Vec<TensorFile>,
    /// `COLUMN/NAME` → the parts it was written in.
    shards: BTreeMap<String, BTreeMap<Option<TensorShard>, Runs>>,
}

/// Runs of elements, by their first element.
type Runs = BTreeMap<i64, Run>;

#[derive(Debug)]
struct Run {
    file: usize,
    /// Name of the tensor in the file.
    key: String,
    /// `None` if the file holds the complete parameter, or part, in its own shape.
    length: Option<i64>,
}

impl SavedState {
    /// Opens a file, the single one of a folder, or all shards in it.
    pub(super) fn open(path: &Path) -> Result<Self, TensorFileError> {
        let single = if path.is_dir() { path.join(WHOLE) } else { path.to_owned() };
        if single.exists() || single == path {
            return Self::of(&single, std::slice::from_ref(&single));
        }
        Self::of(path, &shards(path)?)
    }

    fn of(path: &Path, files: &[PathBuf]) -> Result<Self, TensorFileError> {
        let files: Vec<TensorFile> =
            files.iter().map(|path| TensorFile::open(path)).collect::<Result<_, _>>()?;
        let mut shards: BTreeMap<String, BTreeMap<Option<TensorShard>, Runs>> = BTreeMap::new();
        for (file, opened) in files.iter().enumerate() {
            for key in opened.names() {
                let run = |length| Run { file, key: key.to_owned(), length };
                let at_start = key.rsplit_once('@').and_then(|(stem, start)| {
                    let length = opened.shape(key)?.first().copied().unwrap_or(1);
                    Some((stem, start.parse().ok()?, run(i64::try_from(length).ok())))
                });
                let (stem, start, run) = at_start.unwrap_or_else(|| (key, 0, run(None)));
                let (stem, shard) = split_shard(stem);
                let runs = shards.entry(stem.to_owned()).or_default().entry(shard).or_default();
                runs.insert(start, run);
            }
        }
        Ok(Self { path: path.to_owned(), files, shards })
    }

    /// Checks the number of parameters that any column names.
    pub(super) fn check_parameters(&self, expected: usize) -> Result<(), TensorFileError> {
        let names = self.shards.keys().map(|key| key.split_once('/').map_or(&**key, |two| two.1));
        let count = names.collect::<BTreeSet<&str>>().len();
        if count == expected {
            return Ok(());
        }
        let problem = format!("holds {count} parameters, expected {expected}: another model's");
        Err(TensorFileError::malformed(&self.path, problem))
    }

    /// The error of a tensor with this fault.
    pub(super) fn refused(&self, tensor: &str, fault: &str, expected: &str) -> TensorFileError {
        let problem = format!("tensor `{tensor}` {fault}, expected {expected}");
        TensorFileError::malformed(&self.path, problem)
    }

    pub(super) fn has(&self, column: &str, name: &str) -> bool {
        self.shards.contains_key(&format!("{column}/{name}"))
    }

    /// `length` elements of a column from the start of `place` on, in the memory order of its shard.
    pub(super) fn elements(
        &self,
        column: &str,
        place: &Place,
        length: i64,
        kind: Kind,
    ) -> Result<Tensor, TensorFileError> {
        let key = format!("{column}/{}", place.name);
        let elements = place.start()..place.start() + length;
        let written = self.shards.get(&key).into_iter().flat_map(BTreeMap::keys).copied();
        let written: Vec<Option<TensorShard>> = written.collect();
        if written.is_empty() || written == [place.shard] {
            return self.elements_of_shard(&key, place.shard, &place.shape, elements, kind);
        }
        // Split in another way: assemble the parameter, then take the part.
        let shape = place.full_shape();
        let parameter = Tensor::zeros(&shape, (kind, Device::Cpu));
        for &written in &written {
            let shard_shape = written.map_or(shape.clone(), |shard| shard.shape(&shape));
            let all = 0..shard_shape.iter().product();
            let values = self.elements_of_shard(&key, written, &shard_shape, all, kind)?;
            let mut part =
                written.map_or(parameter.shallow_clone(), |shard| shard.within(&parameter));
            part.copy_(&values.view(shard_shape.as_slice()));
        }
        let count = written[0].map_or(1, |shard| shard.count);
        if usize::try_from(count).ok() != Some(written.len()) {
            let there = written.len();
            return Err(self
                .missing(&format!("{key}, of which {there} of {count} parts are there"), &shape));
        }
        let values = place.shard.map_or(parameter.shallow_clone(), |shard| shard.of(&parameter));
        Ok(values.reshape(-1).narrow(0, elements.start, length))
    }

    fn missing(&self, tensor: &str, expected: &[i64]) -> TensorFileError {
        TensorFileError::missing(&self.path, tensor, expected)
    }

    /// Elements of a part that was written as such; `shape` is the part's.
    fn elements_of_shard(
        &self,
        key: &str,
        shard: Option<TensorShard>,
        shape: &[i64],
        Range { start: mut next, end }: Range<i64>,
        kind: Kind,
    ) -> Result<Tensor, TensorFileError> {
        let Some(runs) = self.shards.get(key).and_then(|shards| shards.get(&shard)) else {
            return Err(self.missing(key, shape));
        };
        let mut pieces = Vec::new();
        for (&start, run) in runs {
            let length = run.length.unwrap_or_else(|| shape.iter().product());
            if start > next || next >= end {
                break;
            }
            if start + length <= next {
                continue;
            }
            let held = run.length.map_or_else(|| shape.to_vec(), |length| vec![length]);
            let tensor = self.files[run.file].tensor(&run.key, &held, &[kind])?.reshape(-1);
            let until = end.min(start + length);
            pieces.push(tensor.narrow(0, next - start, until - next));
            next = until;
        }
        if next < end {
            return Err(self.missing(&format!("{key}, elements {next} to {end}"), shape));
        }
        Ok(Tensor::cat(&pieces, 0))
    }

    /// Numbers of optimiser steps that parameter `name` has taken, one of each run, with the name of the tensor that holds it.
    pub(super) fn steps(&self, name: &str) -> Result<Vec<(&str, f64)>, TensorFileError> {
        let key = format!("step/{name}");
        let shards = self.shards.get(&key).ok_or_else(|| self.missing(&key, &[]))?;
        let runs = shards.values().flat_map(BTreeMap::values);
        runs.map(|Run { file, key, .. }| {
            let count = self.files[*file].tensor(key, &[], &[Kind::Float])?;
            Ok((key.as_str(), count.double_value(&[])))
        })
        .collect()
    }
}

/// Paths of all shards; fails if one is missing.
fn shards(folder: &Path) -> Result<Vec<PathBuf>, TensorFileError> {
    let system = |source| TensorFileError::Io { path: folder.to_owned(), source };
    // Each with the number of shards that its name states.
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).map_err(system)? {
        let name = entry.map_err(system)?.file_name().to_string_lossy().into_owned();
        let total = name
            .strip_prefix("optimizer-")
            .and_then(|rest| rest.strip_suffix(".safetensors"))
            .and_then(|rest| rest.split_once("-of-")?.1.parse::<usize>().ok());
        files.extend(total.map(|total| (name, total)));
    }
    files.sort();
    let malformed = |found: String, expected: String| {
        TensorFileError::malformed(folder, format!("{found}, expected {expected}"))
    };
    let Some(&(_, total)) = files.first() else {
        return Err(malformed("no state of an optimiser".to_owned(), format!("{WHOLE} or shards")));
    };
    let expected: Vec<String> = (0..total).map(|rank| file_name(rank, total)).collect();
    let names: Vec<String> = files.into_iter().map(|(name, _)| name).collect();
    if names != expected {
        let text = format!("{} shards of an optimiser's state ({})", names.len(), names.join(", "));
        return Err(malformed(
            text,
            format!("{total}, {} to {}", expected[0], expected[total - 1]),
        ));
    }
    Ok(names.into_iter().map(|name| folder.join(name)).collect())
}

/// Place of one stepped tensor: a parameter, a tensor-parallel shard of it, or a run of elements of either.
#[derive(Debug, Clone)]
pub(super) struct Place {
    pub(super) name: String,
    /// Shape of the parameter on this rank.
    pub(super) shape: Vec<i64>,
    /// This rank's tensor-parallel shard; `None` if it has all of the parameter.
    pub(super) shard: Option<TensorShard>,
    /// True if this rank writes and counts the tensor; other ranks may hold the same values.
    pub(super) is_owner: bool,
    /// First element of a run; `None` for all elements.
    pub(super) run: Option<i64>,
}

impl Place {
    /// All that this rank has of parameter `name`, of that shape here.
    pub(super) fn of(placement: &Placement, name: &str, shape: Vec<i64>) -> Self {
        let (shard, is_owner) = (placement.shard_of(name), placement.is_owner(name));
        Self { name: name.to_owned(), shape, shard, is_owner, run: None }
    }

    /// First element of the tensor within the parameter on this rank.
    pub(super) fn start(&self) -> i64 {
        self.run.unwrap_or(0)
    }

    /// Shape of the parameter over all ranks.
    fn full_shape(&self) -> Vec<i64> {
        self.shard.map_or(self.shape.clone(), |shard| shard.full_shape(&self.shape))
    }

    /// The name with the shard, as in `NAME[0:1/2]`: shard 1 of 2 along dimension 0.
    pub(super) fn name_with_shard(&self) -> String {
        let name = &self.name;
        match self.shard {
            None => name.clone(),
            Some(TensorShard { dimension, index, count }) => {
                format!("{name}[{dimension}:{index}/{count}]")
            }
        }
    }

    /// The place as it is written, as in `NAME[0:1/2]@START` for a run.
    pub(super) fn written(&self) -> String {
        let name = self.name_with_shard();
        self.run.map_or(name.clone(), |start| format!("{name}@{start}"))
    }
}

/// Splits a written name into the name and its part, as [`Place::name_with_shard`] writes it.
fn split_shard(written: &str) -> (&str, Option<TensorShard>) {
    let parse = || {
        let (name, rest) = written.strip_suffix(']')?.rsplit_once('[')?;
        let (dimension, rest) = rest.split_once(':')?;
        let (index, count) = rest.split_once('/')?;
        let shard = TensorShard {
            dimension: dimension.parse().ok()?,
            index: index.parse().ok()?,
            count: count.parse().ok()?,
        };
        let is_shard = (0..2).contains(&shard.dimension) && (0..shard.count).contains(&shard.index);
        is_shard.then_some((name, Some(shard)))
    };
    parse().unwrap_or((written, None))
}

#[cfg(test)]
mod tests {
    use super::*;
    use decoder::tensor_file::write_tensors;

    fn write(path: &Path, named: &[(&str, Tensor)]) {
        let named: Vec<(String, &Tensor)> =
            named.iter().map(|(name, tensor)| ((*name).to_owned(), tensor)).collect();
        write_tensors(path, &named).unwrap();
    }

    fn place(shape: Vec<i64>, shard: Option<TensorShard>, start: i64) -> Place {
        Place { name: "w".to_owned(), shape, shard, is_owner: true, run: Some(start) }
    }

    fn read(folder: &Path, start: i64, length: i64) -> Result<Vec<f64>, TensorFileError> {
        let state = SavedState::open(folder)?;
        let tensor =
            state.elements("master", &place(vec![2, 3], None, start), length, Kind::Float)?;
        Ok(Vec::try_from(tensor.to_kind(Kind::Double)).unwrap())
    }

    #[test]
    fn any_run_of_elements_is_read_from_one_file_or_from_shards() {
        let [single, shards] = [(); 2].map(|()| tempfile::tempdir().unwrap());
        let values = Tensor::from_slice(&[0f32, 1.0, 2.0, 3.0, 4.0, 5.0]);
        write(&single.path().join(WHOLE), &[("master/w", values.view([2, 3]))]);
        for (rank, (start, length)) in [(0, 2), (2, 2), (4, 2)].into_iter().enumerate() {
            let key = format!("master/w@{start}");
            let path = shards.path().join(file_name(rank, 3));
            write(&path, &[(&key, values.narrow(0, start, length))]);
        }
        for start in 0..6 {
            for end in start + 1..=6 {
                let expected: Vec<f64> = (start..end).map(|value| value as f64).collect();
                for folder in [&single, &shards] {
                    assert_eq!(read(folder.path(), start, end - start).unwrap(), expected);
                }
            }
        }
    }

    /// Written in any parts, read in any others; a column of a matrix is no run of its elements.
    #[test]
    fn parts_are_put_together_and_cut_again() {
        let matrix = Tensor::arange(24, tch::kind::FLOAT_CPU).view([4, 6]);
        let shards =
            |dimension, count| (0..count).map(move |index| TensorShard { dimension, index, count });
        let folder = tempfile::tempdir().unwrap();
        for (rank, shard) in shards(1, 2).enumerate() {
            let key = format!("master/w[1:{rank}/2]");
            let values = shard.of(&matrix).reshape(-1);
            let halves = [0, 6].map(|start| (format!("{key}@{start}"), values.narrow(0, start, 6)));
            let named: Vec<(&str, Tensor)> =
                halves.iter().map(|(key, half)| (key.as_str(), half.shallow_clone())).collect();
            write(&folder.path().join(file_name(rank, 2)), &named);
        }
        let state = SavedState::open(folder.path()).unwrap();
        let read = |shard: Option<TensorShard>, start: i64, length: i64| {
            let shape = shard.map_or(vec![4, 6], |shard| shard.shape(&[4, 6]));
            state.elements("master", &place(shape, shard, start), length, Kind::Float).unwrap()
        };
        assert!(read(None, 5, 9).equal(&matrix.reshape(-1).narrow(0, 5, 9)));
        for shard in shards(1, 2).chain(shards(1, 3)).chain(shards(0, 4)) {
            let values = shard.of(&matrix).reshape(-1);
            assert!(read(Some(shard), 2, 4).equal(&values.narrow(0, 2, 4)), "{shard:?}");
        }
        std::fs::remove_file(folder.path().join(file_name(1, 2))).unwrap();
        assert!(SavedState::open(folder.path()).is_err());
    }

    #[test]
    fn a_shard_that_is_missing_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let refused = |expected: &str| {
            let message = read(folder.path(), 0, 6).unwrap_err().to_string();
            assert!(message.contains(expected), "{message}");
        };
        refused("no state of an optimiser, expected optimizer.safetensors or");
        let values = Tensor::from_slice(&[0f32, 1.0]);
        write(&folder.path().join(file_name(1, 2)), &[("master/w@2", values.shallow_clone())]);
        refused("1 shards of an optimiser's state (optimizer-00002-of-00002");
        write(&folder.path().join(file_name(0, 2)), &[("master/w@0", values)]);
        refused("`master/w, elements 4 to 6` is missing");
    }

    #[test]
    fn a_part_is_read_as_it_is_written() {
        let shard = TensorShard { dimension: 1, index: 2, count: 4 };
        assert_eq!(split_shard("a.weight[1:2/4]"), ("a.weight", Some(shard)));
        for written in ["a.weight", "a.weight[1:4/4]", "a.weight[2:0/4]", "a[b]", "a[0:0/x]"] {
            assert_eq!(split_shard(written), (written, None));
        }
    }
}
