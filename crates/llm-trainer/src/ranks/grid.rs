//! The ranks of a run as rows and columns: some hold one model together, the others have copies of it.

use anyhow::ensure;

use super::Ranks;

/// The ranks of a run, seen from one of them. With `t` ranks to a model, rank `r` is the `r mod t`-th of model `r / t`: those that
/// hold a model together are neighbours, as on one machine.
#[derive(Debug, Clone)]
pub struct Grid {
    /// All of them.
    pub run: Ranks,
    /// Those that hold the same part of their models as this one: they share out sequences and sum gradients.
    pub data: Ranks,
    /// Those that hold this one's model together.
    pub tensor: Ranks,
}

impl Grid {
    /// The ranks of `run`, `tensor` of them to a model.
    ///
    /// # Errors
    ///
    /// If `tensor` does not divide their number, or not all of them come.
    pub fn new(run: &Ranks, tensor: usize) -> anyhow::Result<Self> {
        let (rank, count) = (run.rank(), run.count());
        ensure!(
            tensor > 0 && count.is_multiple_of(tensor),
            "parallel.tensor is {tensor}, expected a divisor of the number of processes, {count}"
        );
        let first = rank - rank % tensor;
        let together: Vec<usize> = (first..first + tensor).collect();
        let alike: Vec<usize> = (rank % tensor..count).step_by(tensor).collect();
        // What a model's ranks call depends on what it has drawn: only the others call the same all over the run.
        let together = Ranks { is_counted: false, ..run.among(&together)? };
        Ok(Self { run: run.clone(), data: run.among(&alike)?, tensor: together })
    }

    /// One process on its own.
    pub fn single() -> Self {
        let one = Ranks::single();
        Self { run: one.clone(), data: one.clone(), tensor: one }
    }

    /// Whether this rank speaks for its model.
    pub fn speaks(&self) -> bool {
        self.tensor.is_first()
    }
}
