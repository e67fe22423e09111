//! What the processes of a group do together, and how a failure of it is named.

use std::fmt;

use tch::Kind;

/// How the values of the ranks become one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ReduceOp {
    /// Their sum; those of `BFloat16` and `Half` are added in `Float` on the CPU and rounded once.
    Sum,
    /// The largest.
    Max,
    /// The smallest.
    Min,
}

impl ReduceOp {
    /// `c10d::ReduceOp::RedOpType`.
    pub(super) fn code(self) -> i32 {
        match self {
            Self::Sum => 0,
            Self::Min => 3,
            Self::Max => 4,
        }
    }
}

/// An operation of a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Operation {
    /// Every rank gets the sum (largest, smallest) over all ranks.
    AllReduce,
    /// Every rank gets what all ranks have, in the order of ranks.
    AllGather,
    /// Every rank gets its part of the sum (largest, smallest) over all ranks.
    ReduceScatter,
    /// Every rank gets what one rank has.
    Broadcast,
    /// No rank goes on before all are there.
    Barrier,
    /// To one rank.
    Send,
    /// From one rank.
    Receive,
}

impl Operation {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::AllReduce,
        Self::AllGather,
        Self::ReduceScatter,
        Self::Broadcast,
        Self::Barrier,
        Self::Send,
        Self::Receive,
    ];
}

impl fmt::Display for Operation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::AllReduce => "all-reduce",
            Self::AllGather => "all-gather",
            Self::ReduceScatter => "reduce-scatter",
            Self::Broadcast => "broadcast",
            Self::Barrier => "barrier",
            Self::Send => "send",
            Self::Receive => "receive",
        })
    }
}

/// One call of an operation, for messages: `rank 1 of 4: broadcast of 1024 Float from rank 0`.
///
/// All ranks are those of the whole run, also in a sub-group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// What was called.
    pub operation: Operation,
    /// The rank that called.
    pub rank: usize,
    /// Processes of the run.
    pub world_size: usize,
    /// The ranks that take part, where those are not all.
    pub members: Option<Vec<usize>>,
    /// Elements of the tensor that this rank passed: of its own part, where parts and whole differ.
    pub elements: usize,
    /// Their kind; `None` for a barrier.
    pub kind: Option<Kind>,
    /// Root, sender or receiver, where there is one.
    pub peer: Option<usize>,
}

impl Call {
    /// The ranks of the run that take part.
    pub fn ranks(&self) -> Vec<usize> {
        self.members.clone().unwrap_or_else(|| (0..self.world_size).collect())
    }
}

impl fmt::Display for Call {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { operation, rank, world_size, members, elements, kind, peer } = self;
        write!(formatter, "rank {rank} of {world_size}: {operation}")?;
        if let Some(kind) = kind {
            write!(formatter, " of {elements} {kind:?}")?;
        }
        if let Some(peer) = peer {
            let toward = if *operation == Operation::Send { "to" } else { "from" };
            write!(formatter, " {toward} rank {peer}")?;
        }
        if let Some(members) = members {
            write!(formatter, " among ranks {members:?}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_reads_as_a_sentence() {
        let mut call = Call {
            operation: Operation::Broadcast,
            rank: 1,
            world_size: 4,
            members: None,
            elements: 1024,
            kind: Some(Kind::Float),
            peer: Some(0),
        };
        assert_eq!(call.to_string(), "rank 1 of 4: broadcast of 1024 Float from rank 0");
        call.operation = Operation::Send;
        call.members = Some(vec![0, 1]);
        assert_eq!(
            call.to_string(),
            "rank 1 of 4: send of 1024 Float to rank 0 among ranks [0, 1]"
        );
        let barrier = Call { operation: Operation::Barrier, kind: None, peer: None, ..call };
        assert_eq!(barrier.to_string(), "rank 1 of 4: barrier among ranks [0, 1]");
    }
}
