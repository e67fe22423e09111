//! The operations of a group, and the description of a call in error messages.

use std::fmt;

use tch::Kind;

/// Reduction of the ranks' values to one, numbered as in `c10d::ReduceOp::RedOpType`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ReduceOp {
    /// The sum; on the CPU, `BFloat16` and `Half` are summed in `Float` and rounded once.
    Sum = 0,
    /// The maximum.
    Max = 4,
}

/// An operation of a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum GroupOperation {
    /// Every rank gets the reduction over all ranks.
    AllReduce,
    /// Every rank gets the tensors of all ranks, in rank order.
    AllGather,
    /// Every rank gets its part of the reduction over all ranks.
    ReduceScatter,
}

impl GroupOperation {
    /// All operations.
    pub const ALL: [Self; 3] = [Self::AllReduce, Self::AllGather, Self::ReduceScatter];
}

impl fmt::Display for GroupOperation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::AllReduce => "all-reduce",
            Self::AllGather => "all-gather",
            Self::ReduceScatter => "reduce-scatter",
        })
    }
}

/// One call of an operation, for messages: `rank 1 of 4: all-reduce of 1024 Float among ranks [0, 1]`.
///
/// All ranks are those of the whole run, also in a sub-group.
#[derive(Debug)]
pub(super) struct Call {
    pub(super) operation: GroupOperation,
    pub(super) rank: usize,
    pub(super) world_size: usize,
    /// The ranks that take part; `None` if all do.
    pub(super) members: Option<Vec<usize>>,
    /// Number of elements of the tensor that this rank passed; of its part, if the operation has parts and a whole.
    pub(super) elements: usize,
    /// Kind of the elements; `None` if there is no tensor.
    pub(super) kind: Option<Kind>,
}

impl Call {
    /// The ranks of the run that take part.
    pub(super) fn ranks(&self) -> Vec<usize> {
        self.members.clone().unwrap_or_else(|| (0..self.world_size).collect())
    }
}

impl fmt::Display for Call {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { operation, rank, world_size, members, elements, kind } = self;
        write!(formatter, "rank {rank} of {world_size}: {operation}")?;
        if let Some(kind) = kind {
            write!(formatter, " of {elements} {kind:?}")?;
        }
        if let Some(members) = members {
            write!(formatter, " among ranks {members:?}")?;
        }
        Ok(())
    }
}
