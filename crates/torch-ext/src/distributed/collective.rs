//! The collective operations: every rank of a group calls the same ones in the same order.

use tch::{Device, Kind, Tensor};

use super::argument;
use super::error::GroupError;
use super::group::ProcessGroup;
use super::operation::{Call, GroupOperation, ReduceOp};
use super::work::{LastStep, Work, accumulator, copy, failed};
use crate::size;

impl ProcessGroup {
    /// Replaces `tensor` on every rank by the reduction over all ranks.
    ///
    /// # Errors
    ///
    /// [`GroupError::Refused`] before anything is sent, [`GroupError::Failed`] after.
    pub fn all_reduce(&self, tensor: &Tensor, op: ReduceOp) -> Result<(), GroupError> {
        let call = self.call(GroupOperation::AllReduce, tensor)?;
        argument::require_number(&call)?;
        if self.is_trivial(tensor) {
            return Ok(());
        }
        let kind = tensor.kind();
        let wide_kind = accumulator(kind);
        if op == ReduceOp::Sum && wide_kind != kind && tensor.device() == Device::Cpu {
            let wide =
                torch(&call, tensor.f_detach().and_then(|values| values.f_totype(wide_kind)))?;
            // The sum is one part, rounded as it is written.
            let last_step = LastStep { parts: wide.unsqueeze(0), into: tensor.shallow_clone() };
            return self.start(call, &wide, None, op, Some(last_step))?.wait();
        }
        self.start(call, tensor, None, op, None)?.wait()
    }

    /// Writes the `input` of every rank, `[elements]`, in rank order to `output`, `[world_size × elements]`.
    ///
    /// # Errors
    ///
    /// The errors of [`Self::all_reduce`].
    pub fn all_gather(&self, input: &Tensor, output: &Tensor) -> Result<(), GroupError> {
        self.all_gather_async(input, output)?.wait()
    }

    /// Starts [`Self::all_gather`].
    ///
    /// # Errors
    ///
    /// The errors of [`Self::all_gather`], except those that [`Work::wait`] returns.
    pub fn all_gather_async(&self, input: &Tensor, output: &Tensor) -> Result<Work, GroupError> {
        let call = self.call(GroupOperation::AllGather, input)?;
        self.require_whole(&call, output, input)?;
        if self.world_size() == 1 {
            torch(&call, copy(output, input))?;
        }
        if self.is_trivial(input) {
            return Ok(Work(None));
        }
        self.start(call, output, Some(input), ReduceOp::Sum, None)
    }

    /// Gathers the bytes of every rank of the group, in rank order; lengths may differ. Goes over the CPU's back-end.
    ///
    /// Every rank receives, from each rank, as many bytes as the longest has.
    ///
    /// # Errors
    ///
    /// The errors of [`Self::all_gather`].
    pub fn all_gather_bytes(&self, bytes: &[u8]) -> Result<Vec<Vec<u8>>, GroupError> {
        let lengths = Tensor::zeros([size(self.world_size())], (Kind::Int64, Device::Cpu));
        self.all_gather(&Tensor::from_slice(&[size(bytes.len())]), &lengths)?;
        let length = |rank| usize::try_from(lengths.int64_value(&[rank])).unwrap_or(0);
        let lengths: Vec<usize> = (0..size(self.world_size())).map(length).collect();
        let longest = lengths.iter().copied().max().unwrap_or(0);
        let mut padded = bytes.to_vec();
        padded.resize(longest, 0);
        let mut all = vec![0; longest * lengths.len()];
        let output = Tensor::zeros([size(all.len())], (Kind::Uint8, Device::Cpu));
        self.all_gather(&Tensor::from_slice(&padded), &output)?;
        let count = all.len();
        output.copy_data(&mut all, count);
        let part = |(rank, &length): (usize, &usize)| all[rank * longest..][..length].to_vec();
        Ok(lengths.iter().enumerate().map(part).collect())
    }

    /// Starts to sum `input`, `[world_size × elements]`, over all ranks; this rank's part is `output`, `[elements]`. On the CPU the
    /// parts are sent in the background and added in [`Work::wait`].
    ///
    /// # Errors
    ///
    /// The errors of [`Self::all_reduce`], except those that [`Work::wait`] returns.
    pub fn reduce_scatter_async(
        &self,
        input: &Tensor,
        output: &Tensor,
    ) -> Result<Work, GroupError> {
        let call = self.call(GroupOperation::ReduceScatter, output)?;
        argument::require_number(&call)?;
        self.require_whole(&call, input, output)?;
        if self.world_size() == 1 {
            torch(&call, copy(output, input))?;
        }
        if self.is_trivial(output) {
            return Ok(Work(None));
        }
        if output.device() != Device::Cpu {
            return self.start(call, output, Some(input), ReduceOp::Sum, None);
        }
        // Gloo's own reduce-scatter is an all-reduce of the whole, of which it keeps a part: twice the bytes.
        let parts = [size(self.world_size()), size(output.numel())];
        let parts = torch(&call, Tensor::f_empty(parts, (input.kind(), Device::Cpu)))?;
        let last_step = LastStep { parts: parts.shallow_clone(), into: output.shallow_clone() };
        self.start(call, &parts, Some(input), ReduceOp::Sum, Some(last_step))
    }

    /// Returns true if nothing has to be sent.
    fn is_trivial(&self, tensor: &Tensor) -> bool {
        self.connection.is_none() || tensor.numel() == 0
    }
}

fn torch<T>(call: &Call, result: Result<T, tch::TchError>) -> Result<T, GroupError> {
    result.map_err(|error| failed(call, &error))
}
