//! An operation that runs while the process does something else.

use std::ffi::c_int;
use std::ptr::NonNull;
use std::sync::Arc;
use std::time::Instant;

use tch::{TchError, Tensor};

use super::connection::{Connection, RawWork};
use super::error::GroupError;
use super::operation::{Call, ReduceOp};
use super::traffic::Counters;
use super::values::one_line;
use super::witness::Witness;
use crate::TorchError;

unsafe extern "C" {
    fn torch_ext_work_wait(work: *mut RawWork) -> c_int;
    fn torch_ext_work_free(work: *mut RawWork);
}

/// An operation in progress. Its tensors hold their results after [`Self::wait`], and anything before.
///
/// It keeps its tensors alive. If dropped unfinished, it goes on in the background, so that the other ranks are not blocked; its
/// output is undefined.
#[derive(Debug)]
#[must_use = "the tensors hold no result before `wait`"]
pub struct Work {
    handle: Option<Handle>,
    call: Call,
    last_step: LastStep,
    witness: Option<Arc<Witness>>,
    connection: Option<Arc<Connection>>,
    counters: Option<Arc<Counters>>,
}

/// The last step of an operation in this process, after the back-end's part.
#[derive(Debug)]
pub(super) enum LastStep {
    /// Nothing is left to do.
    None,
    /// Round the sum, which was taken in a wider kind.
    Round { wide: Tensor, into: Tensor },
    /// Reduce the parts that all ranks sent, `[ranks, elements]`, in rank order.
    Reduce { parts: Tensor, op: ReduceOp, into: Tensor },
}

#[derive(Debug)]
struct Handle(NonNull<RawWork>);

// SAFETY: the C++ object holds counted pointers with atomic counts, and c10d lets any thread wait for a work.
unsafe impl Send for Handle {}

impl Drop for Handle {
    fn drop(&mut self) {
        // SAFETY: from `new`, freed once. What is under way holds references of its own to its tensors and connections.
        unsafe { torch_ext_work_free(self.0.as_ptr()) };
    }
}

impl Work {
    /// A finished operation.
    pub(super) fn done(call: Call) -> Self {
        let (witness, connection) = (None, None);
        let last_step = LastStep::None;
        let counters = None;
        Self { handle: None, call, last_step, witness, connection, counters }
    }

    /// Adopts the result of `torch_ext_group_start`; null is an error.
    ///
    /// # Safety
    ///
    /// `raw` is null or a work from there that nothing else owns.
    pub(super) unsafe fn adopt(
        raw: *mut RawWork,
        call: Call,
        last_step: LastStep,
        witness: Option<Arc<Witness>>,
        connection: Option<Arc<Connection>>,
    ) -> Result<Self, GroupError> {
        let Some(raw) = NonNull::new(raw) else {
            let message = one_line(&TorchError::take());
            return Err(lost(call, message, witness.as_ref(), connection.as_ref()));
        };
        let (handle, counters) = (Some(Handle(raw)), None);
        Ok(Self { handle, call, last_step, witness, connection, counters })
    }

    /// Counts the time that this operation waits.
    pub(super) fn counted(mut self, counters: Option<Arc<Counters>>) -> Self {
        self.counters = counters;
        self
    }

    /// Waits until the tensors hold their results; on CUDA, until the current stream is ordered after that.
    ///
    /// # Errors
    ///
    /// [`GroupError::Failed`] if a rank died, did not call within the time-out, or called something else.
    pub fn wait(mut self) -> Result<(), GroupError> {
        let Some(handle) = self.handle.take() else { return Ok(()) };
        let began = Instant::now();
        // SAFETY: the handle is live until the end of this function.
        let status = unsafe { torch_ext_work_wait(handle.0.as_ptr()) };
        if status != 0 {
            let message = one_line(&TorchError::take());
            // The handle keeps connections alive, which are about to be closed.
            drop(handle);
            let (witness, connection) = (self.witness.as_ref(), self.connection.as_ref());
            return Err(lost(self.call, message, witness, connection));
        }
        let outcome = self.last_step.take();
        if let Some(counters) = &self.counters {
            counters.waited(self.call.operation, began.elapsed());
        }
        outcome.map_err(|error| failed(self.call, error.to_string()))
    }
}

impl LastStep {
    fn take(&self) -> Result<(), TchError> {
        match self {
            Self::None => Ok(()),
            Self::Round { wide, into } => copy(into, wide),
            Self::Reduce { parts, op, into } => {
                let part = |rank| parts.f_select(0, rank);
                let mut sum = part(0)?;
                for rank in 1..parts.size()[0] {
                    sum = match op {
                        // Kinds with fewer bits are added in `Float` and rounded once.
                        ReduceOp::Sum => {
                            sum.f_totype(accumulator(sum.kind()))?.f_add(&part(rank)?)?
                        }
                        ReduceOp::Max => sum.f_maximum(&part(rank)?)?,
                    };
                }
                copy(into, &sum)
            }
        }
    }
}

/// The kind in which values of `kind` are added.
pub(super) fn accumulator(kind: tch::Kind) -> tch::Kind {
    match kind {
        tch::Kind::BFloat16 | tch::Kind::Half => tch::Kind::Float,
        other => other,
    }
}

/// Overwrites `into` with the values of `from`, of equal number but any shape, outside of autograd.
pub(super) fn copy(into: &Tensor, from: &Tensor) -> Result<(), TchError> {
    let mut flat = into.f_detach()?.f_view_([-1])?;
    flat.f_copy_(&from.f_detach()?.f_reshape([-1])?)
}

/// Converts a count to libtorch's shape type.
pub(super) fn extent(count: usize) -> i64 {
    i64::try_from(count).expect("fewer elements than a tensor can have")
}

/// The error of a call that failed in this process alone.
pub(super) fn failed(call: Call, message: String) -> GroupError {
    GroupError::Failed { call: Box::new(call), message, silent: Vec::new() }
}

/// The error of a call with other ranks: this rank reports it and asks for their reports.
fn lost(
    call: Call,
    message: String,
    witness: Option<&Arc<Witness>>,
    connection: Option<&Arc<Connection>>,
) -> GroupError {
    let silent = match (witness, connection) {
        (Some(witness), Some(connection)) => witness.silent(&call, &message, connection),
        _ => Vec::new(),
    };
    GroupError::Failed { call: Box::new(call), message, silent }
}
