//! Checks that all ranks are about to call the same operation.

use tch::{Kind, Tensor};

use super::error::GroupError;
use super::group::ProcessGroup;
use super::operation::{Call, GroupOperation};
use super::work::{extent, failed};

const KINDS: [Kind; 9] = [
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

/// Returns true for the kinds that every back-end can send.
pub(super) fn is_moved(kind: Kind) -> bool {
    KINDS.contains(&kind)
}

/// The values that all ranks must have in common: operation, kind, elements, and root or reduction.
fn fingerprint(call: &Call, argument: i32) -> [i64; 4] {
    let index = |position: Option<usize>| position.map_or(-1, extent);
    [
        index(GroupOperation::ALL.iter().position(|&operation| operation == call.operation)),
        index(call.kind.and_then(|kind| KINDS.iter().position(|&other| other == kind))),
        index(Some(call.elements)),
        i64::from(argument),
    ]
}

fn describe(fingerprint: &[i64]) -> String {
    let index_of = |index: i64| usize::try_from(index).ok();
    let operation = index_of(fingerprint[0]).and_then(|index| GroupOperation::ALL.get(index));
    let name = operation.map_or_else(|| "something else".to_owned(), ToString::to_string);
    let tensor = match index_of(fingerprint[1]).and_then(|index| KINDS.get(index)) {
        Some(kind) => format!(" of {} {kind:?}", fingerprint[2]),
        None => String::new(),
    };
    let argument = match operation {
        Some(GroupOperation::Broadcast) => format!(" from {} of the group", fingerprint[3]),
        Some(GroupOperation::AllReduce | GroupOperation::ReduceScatter) => {
            let op = match fingerprint[3] {
                0 => "sum",
                3 => "min",
                _ => "max",
            };
            format!(" by {op}")
        }
        _ => String::new(),
    };
    name + &tensor + &argument
}

/// Compares the calls of all ranks of `group`; every rank gets the same result.
pub(super) fn require(group: &ProcessGroup, call: &Call, argument: i32) -> Result<(), GroupError> {
    let ours = fingerprint(call, argument);
    let all = group.gather_integers(call, &ours)?;
    let different = all.chunks_exact(ours.len()).enumerate().find(|(_, theirs)| *theirs != ours);
    match different {
        None => Ok(()),
        Some((index, theirs)) => Err(GroupError::Disagreement {
            call: Box::new(call.clone()),
            peer: group.ranks()[index],
            theirs: describe(theirs),
        }),
    }
}

impl ProcessGroup {
    /// Gathers the values of all ranks of the group, concatenated in rank order; on the CPU, and not verified.
    pub(super) fn gather_integers(
        &self,
        call: &Call,
        values: &[i64],
    ) -> Result<Vec<i64>, GroupError> {
        let input = Tensor::from_slice(values);
        let output = Tensor::zeros(
            [extent(values.len() * self.world_size())],
            (Kind::Int64, tch::Device::Cpu),
        );
        self.gather_unverified(call.clone(), &input, &output)?.wait()?;
        Vec::<i64>::try_from(&output).map_err(|error| failed(call.clone(), error.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_rank_s_call_is_described_from_its_numbers() {
        let mut call = Call {
            operation: GroupOperation::AllReduce,
            rank: 0,
            world_size: 2,
            members: None,
            elements: 8,
            kind: Some(Kind::BFloat16),
            peer: None,
        };
        assert_eq!(describe(&fingerprint(&call, 4)), "all-reduce of 8 BFloat16 by max");
        call.operation = GroupOperation::Broadcast;
        assert_eq!(describe(&fingerprint(&call, 1)), "broadcast of 8 BFloat16 from 1 of the group");
        assert_eq!(describe(&[99, 99, 0, 0]), "something else");
    }
}
