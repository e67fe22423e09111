//! An operation that runs while the process does something else.

use std::sync::Arc;
use std::time::Instant;

use tch::{TchError, Tensor};

use super::connection::{Connection, Operation};
use super::error::GroupError;
use super::operation::{Call, ReduceOp};
use super::traffic::Counters;
use super::values::one_line;
use super::witness::Witness;
use crate::TorchError;

/// An operation in progress. Its tensors hold their results after [`Self::wait`], and anything before.
///
/// It keeps its tensors alive. If dropped unfinished, it goes on in the background, so that the other ranks are not blocked; its
/// output is undefined.
#[derive(Debug)]
#[must_use = "the tensors hold no result before `wait`"]
pub struct Work {
    pub(super) call: Call,
    pub(super) last_step: LastStep,
    /// `None` if nothing has to be sent.
    pub(super) running: Option<Running>,
}

/// The part of an operation that other ranks take part in.
#[derive(Debug)]
pub(super) struct Running {
    pub(super) operation: Operation,
    pub(super) connection: Arc<Connection>,
    pub(super) witness: Arc<Witness>,
    pub(super) counters: Arc<Counters>,
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

impl Work {
    /// A finished operation.
    pub(super) fn done(call: Call) -> Self {
        Self { call, last_step: LastStep::None, running: None }
    }

    /// Waits until the tensors hold their results; on CUDA, until the current stream is ordered after that.
    ///
    /// # Errors
    ///
    /// [`GroupError::Failed`] if a rank died, did not call within the time-out, or called something else.
    pub fn wait(self) -> Result<(), GroupError> {
        let Self { call, last_step, running } = self;
        let Some(Running { operation, connection, witness, counters }) = running else {
            return Ok(());
        };
        let began = Instant::now();
        if !operation.wait() {
            let message = one_line(&TorchError::take());
            // It keeps connections alive, which are about to be closed.
            drop(operation);
            return Err(lost(call, message, &witness, &connection));
        }
        let outcome = last_step.take();
        counters.waited(call.operation, began.elapsed());
        // Before the connection, which may hold the last reference to its group.
        drop(operation);
        outcome.map_err(|error| failed(call, error.to_string()))
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
pub(super) fn lost(
    call: Call,
    message: String,
    witness: &Arc<Witness>,
    connection: &Arc<Connection>,
) -> GroupError {
    let silent = witness.silent(&call, &message, connection);
    GroupError::Failed { call: Box::new(call), message, silent }
}
