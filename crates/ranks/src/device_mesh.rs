//! The device mesh of a run: tensor-parallel ranks share one model, data-parallel ranks have copies of it.

use anyhow::ensure;

use super::Ranks;

/// The device mesh, seen from one rank. With `t` tensor-parallel ranks, rank `r` is the `r mod t`-th rank of model `r / t`.
/// Ranks of one model are neighbours, as on one machine.
#[derive(Debug, Clone)]
pub struct DeviceMesh {
    /// All ranks of the run.
    pub run: Ranks,
    /// The data-parallel group: ranks with the same shard of the model, which split the sequences and sum gradients.
    pub data: Ranks,
    /// The tensor-parallel group: the ranks that share this rank's model.
    pub tensor: Ranks,
}

impl DeviceMesh {
    /// Builds the mesh from the ranks of `run`, `tensor` of them to a model.
    ///
    /// # Errors
    ///
    /// If `tensor` does not divide the number of ranks, or some ranks do not join.
    pub fn new(run: &Ranks, tensor: usize) -> anyhow::Result<Self> {
        let (rank, count) = (run.rank(), run.count());
        ensure!(
            tensor > 0 && count.is_multiple_of(tensor),
            "parallel.tensor is {tensor}, expected a divisor of the number of processes, {count}"
        );
        let first = rank - rank % tensor;
        let together: Vec<usize> = (first..first + tensor).collect();
        let alike: Vec<usize> = (rank % tensor..count).step_by(tensor).collect();
        // The calls of a model's ranks depend on what it has sampled. Only the other groups make the same calls on every rank.
        let together = Ranks { is_counted: false, ..run.among(&together)? };
        Ok(Self { run: run.clone(), data: run.among(&alike)?, tensor: together })
    }

    /// The mesh of a single process.
    pub fn single() -> Self {
        let one = Ranks::single();
        Self { run: one.clone(), data: one.clone(), tensor: one }
    }

    /// Returns true on the rank that represents its model: the first of its tensor-parallel group.
    pub fn is_first_of_model(&self) -> bool {
        self.tensor.is_first()
    }
}
