//! Checks arguments before anything is sent.

use tch::{Device, Kind, Tensor};

use super::error::GroupError;
use super::group::ProcessGroup;
use super::operation::{Call, GroupOperation};

/// The kinds that every back-end can send.
const MOVED: [Kind; 9] = [
    Kind::Float,
    Kind::Double,
    Kind::BFloat16,
    Kind::Half,
    Kind::Int64,
    Kind::Int,
    Kind::Int8,
    Kind::Uint8,
    Kind::Bool,
];

impl ProcessGroup {
    /// Describes a call and checks its tensor.
    pub(super) fn call(
        &self,
        operation: GroupOperation,
        tensor: &Tensor,
    ) -> Result<Call, GroupError> {
        let placement = self.placement();
        let is_whole = self.world_size() == placement.world_size;
        let call = Call {
            operation,
            rank: placement.rank,
            world_size: placement.world_size,
            members: (!is_whole).then(|| self.ranks().to_vec()),
            elements: if tensor.defined() { tensor.numel() } else { 0 },
            kind: tensor.f_kind().ok(),
        };
        self.require_tensor(&call, tensor)?;
        Ok(call)
    }

    fn require_tensor(&self, call: &Call, tensor: &Tensor) -> Result<(), GroupError> {
        let problem = match tensor.f_kind() {
            Err(error) => Some(format!("no tensor to work on: {error}")),
            Ok(kind) if !MOVED.contains(&kind) => Some(format!("{kind:?} is not moved")),
            Ok(_) if tensor.is_sparse() || !tensor.is_contiguous() => Some(format!(
                "expected a contiguous tensor, its shape is {:?} with strides {:?}",
                tensor.size(),
                tensor.stride()
            )),
            Ok(_) if tensor.device() != Device::Cpu && tensor.device() != self.options.device => {
                let (actual, expected) = (tensor.device(), self.options.device);
                Some(format!("tensor on {actual:?}, expected Cpu or the group's {expected:?}"))
            }
            Ok(_) => None,
        };
        problem.map_or(Ok(()), |problem| Err(refuse(call, &problem)))
    }

    /// Checks that `whole` has `world_size` times the elements of `part`.
    pub(super) fn require_whole(
        &self,
        call: &Call,
        whole: &Tensor,
        part: &Tensor,
    ) -> Result<(), GroupError> {
        self.require_tensor(call, whole)?;
        let expected = part.numel() * self.world_size();
        if whole.numel() != expected {
            let (elements, per_rank, size) = (whole.numel(), part.numel(), self.world_size());
            let problem = format!(
                "the whole has {elements} elements, expected {expected}, {per_rank} for each of {size} ranks"
            );
            return Err(refuse(call, &problem));
        }
        if (whole.kind(), whole.device()) != (part.kind(), part.device()) {
            let (kind, device) = (whole.kind(), whole.device());
            let problem = format!(
                "the whole is {kind:?} on {device:?}, expected {:?} on {:?} as the part",
                part.kind(),
                part.device()
            );
            return Err(refuse(call, &problem));
        }
        Ok(())
    }
}

/// Rejects truth values, which can be sent but not reduced.
pub(super) fn require_number(call: &Call) -> Result<(), GroupError> {
    if call.kind == Some(Kind::Bool) {
        return Err(refuse(call, "expected numbers"));
    }
    Ok(())
}

/// The error of a call that is rejected before it starts.
fn refuse(call: &Call, problem: &str) -> GroupError {
    GroupError::Refused(format!("{call}: {problem}"))
}
