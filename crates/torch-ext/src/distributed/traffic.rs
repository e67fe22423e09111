//! Counts the bytes that a process sends and the time that it waits.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::operation::GroupOperation;

/// Traffic of one kind of operation in this process.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Traffic {
    /// Bytes of tensors sent by this process, by the ring algorithms of Gloo and NCCL. With `n` ranks and a tensor of `S`
    /// bytes: `2 S (n - 1) / n` for an all-reduce, `(n - 1) / n` of the whole for an all-gather and a reduce-scatter,
    /// Transport overhead is not counted.
    pub bytes_sent: u64,
    /// Time that this process was blocked in [`Work::wait`](super::Work::wait). On CUDA that is not the time of the GPU.
    pub waited: Duration,
}

/// The counters of a run: its group, and all sub-groups.
#[derive(Debug, Default)]
pub(super) struct Counters(Mutex<[Traffic; GroupOperation::ALL.len()]>);

impl Counters {
    pub(super) fn lock(&self) -> MutexGuard<'_, [Traffic; GroupOperation::ALL.len()]> {
        // Whoever panicked has left whole numbers.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Bytes that this rank of `ranks` sends in a call; `output` and `input` are the back-end's tensor sizes, in bytes.
pub(super) fn bytes_sent(
    operation: GroupOperation,
    ranks: usize,
    output: usize,
    input: usize,
) -> u64 {
    let others = ranks - 1;
    let bytes = match operation {
        GroupOperation::AllReduce => 2 * output * others / ranks,
        GroupOperation::AllGather => input * others,
        // Every rank keeps its own part.
        GroupOperation::ReduceScatter => input * others / ranks,
    };
    u64::try_from(bytes).unwrap_or(u64::MAX)
}
