//! Invalid arguments that are rejected before anything is sent, and a world of one.

use std::time::Duration;

use tch::{Device, Kind, Tensor};
use torch_ext::{GroupError, GroupOptions, Placement, ProcessGroup, ReduceOp};

const F32: (Kind, Device) = (Kind::Float, Device::Cpu);

fn message(result: Result<(), GroupError>) -> String {
    let error = result.expect_err("a mistake");
    assert!(matches!(error, GroupError::Refused(_)), "{error:?}");
    error.to_string()
}

#[test]
fn tensors_that_do_not_fit_are_refused_with_both_sizes() {
    let group = ProcessGroup::single();
    let (three, four) = (Tensor::zeros([3], F32), Tensor::zeros([4], F32));
    assert_eq!(
        message(group.all_gather(&three, &four)),
        "rank 0 of 1: all-gather of 3 Float: the whole has 4 elements, expected 3, 3 for each of 1 \
         ranks"
    );
    assert_eq!(
        message(group.reduce_scatter_async(&three, &four).map(drop)),
        "rank 0 of 1: reduce-scatter of 4 Float: the whole has 3 elements, expected 4, 4 for each \
         of 1 ranks"
    );
    assert_eq!(
        message(group.all_gather(&three, &three.to_kind(Kind::Double))),
        "rank 0 of 1: all-gather of 3 Float: the whole is Double on Cpu, expected Float on Cpu as \
         the part"
    );
}

#[test]
fn tensors_that_no_back_end_takes_are_refused() {
    let group = ProcessGroup::single();
    let turned = Tensor::zeros([2, 3], F32).transpose(0, 1);
    let text = message(group.all_reduce(&turned, ReduceOp::Sum));
    assert!(text.contains("expected a contiguous tensor, its shape is [3, 2] with strides [1, 3]"));
    let complex = Tensor::zeros([1], (Kind::ComplexFloat, Device::Cpu));
    assert!(
        message(group.all_reduce(&complex, ReduceOp::Sum)).contains("ComplexFloat is not moved")
    );
    let truth = Tensor::zeros([1], (Kind::Bool, Device::Cpu));
    assert!(message(group.all_reduce(&truth, ReduceOp::Max)).contains("expected numbers"));
    group.all_gather(&truth, &Tensor::zeros([1], (Kind::Bool, Device::Cpu))).unwrap();
    let nothing = message(group.all_reduce(&Tensor::new(), ReduceOp::Sum));
    assert!(nothing.contains("no tensor"), "{nothing}");
}

#[test]
fn a_placement_without_a_coordinator_is_refused() {
    let placement = Placement { world_size: 2, ..Placement::single() };
    let text = ProcessGroup::join(&placement, &GroupOptions::default()).unwrap_err().to_string();
    assert!(text.starts_with("MASTER_ADDR is not set"), "{text}");
}

/// The constructor of NCCL is never reached if its library, or the device, is missing.
#[test]
fn without_the_cuda_device_nccl_is_an_error_that_says_so() {
    let variables = [
        ("RANK", "0"),
        ("WORLD_SIZE", "2"),
        ("LOCAL_RANK", "0"),
        ("LOCAL_WORLD_SIZE", "2"),
        ("MASTER_ADDR", "127.0.0.1"),
        ("MASTER_PORT", "1"),
    ];
    let placement = Placement::from_lookup(|name| {
        variables
            .iter()
            .find(|(variable, _)| *variable == name)
            .map(|(_, value)| (*value).to_owned())
    });
    let options = GroupOptions {
        timeout: Duration::from_secs(1),
        device: Device::Cuda(99),
        ..GroupOptions::default()
    };
    let error = ProcessGroup::join(&placement.unwrap(), &options).unwrap_err();
    assert!(error.to_string().starts_with("no NCCL for device 99: "), "{error}");
}
