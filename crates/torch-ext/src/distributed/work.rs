//! An operation that runs while the process does something else.

use std::sync::Arc;
use std::time::Instant;

use tch::{TchError, Tensor};

use super::connection::{Connection, Operation};
use super::error::GroupError;
use super::operation::Call;
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
pub struct Work(
    /// `None` if nothing has to be sent.
    pub(super) Option<Running>,
);

/// The part of an operation that other ranks take part in.
#[derive(Debug)]
pub(super) struct Running {
    pub(super) call: Call,
    pub(super) last_step: Option<LastStep>,
    pub(super) operation: Operation,
    pub(super) connection: Arc<Connection>,
    pub(super) witness: Arc<Witness>,
    pub(super) counters: Arc<Counters>,
}

/// The last step of an operation in this process, after the back-end's part: adds parts, `[parts, elements]`, in their order.
#[derive(Debug)]
pub(super) struct LastStep {
    pub(super) parts: Tensor,
    pub(super) into: Tensor,
}

impl Work {
    /// Waits until the tensors hold their results; on CUDA, until the current stream is ordered after that.
    ///
    /// # Errors
    ///
    /// [`GroupError::Failed`] if a rank died, did not call within the time-out, or called something else.
    pub fn wait(self) -> Result<(), GroupError> {
        let Some(running) = self.0 else { return Ok(()) };
        let Running { call, last_step, operation, connection, witness, counters } = running;
        let began = Instant::now();
        if !operation.wait() {
            let message = format!("{call}: {}", one_line(&TorchError::take()));
            // It keeps connections alive, which are about to be closed.
            drop(operation);
            return Err(lost(&call, message, &witness, &connection));
        }
        let outcome = last_step.map_or(Ok(()), |last_step| last_step.take());
        counters.lock()[call.operation as usize].waited += began.elapsed();
        // Before the connection, which may hold the last reference to its group.
        drop(operation);
        outcome.map_err(|error| failed(&call, &error))
    }
}

impl LastStep {
    fn take(&self) -> Result<(), TchError> {
        let part = |index| self.parts.f_select(0, index);
        let mut sum = part(0)?;
        for index in 1..self.parts.size()[0] {
            // Kinds with fewer bits are added in `Float` and rounded once.
            sum = sum.f_totype(accumulator(sum.kind()))?.f_add(&part(index)?)?;
        }
        copy(&self.into, &sum)
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

/// The error of a call that failed in this process alone.
pub(super) fn failed(call: &Call, error: &TchError) -> GroupError {
    GroupError::Failed { message: format!("{call}: {error}"), silent: Vec::new() }
}

/// The error of a call with other ranks, which `message` begins with: this rank reports it and asks for their reports.
pub(super) fn lost(
    call: &Call,
    message: String,
    witness: &Arc<Witness>,
    connection: &Arc<Connection>,
) -> GroupError {
    let silent = witness.silent(call, &message, connection);
    GroupError::Failed { message, silent }
}
