//! Checks every collective against its definition, in every kind that training uses.

use tch::{Device, Kind, Tensor};
use torch_ext::distributed::GroupOperation;
use torch_ext::{ProcessGroup, ReduceOp};

use workspace_tests::processes::{Port, Process, succeed};

use crate::processes::{Run, command};

const KINDS: [Kind; 4] = [Kind::Float, Kind::Double, Kind::BFloat16, Kind::Int64];

fn tensor(shape: &[i64], kind: Kind, value: impl Fn(i64) -> i64) -> Tensor {
    let values: Vec<i64> = (0..shape.iter().product()).map(value).collect();
    Tensor::from_slice(&values).to_kind(kind).reshape(shape)
}

fn assert_is(actual: &Tensor, what: &str, value: impl Fn(i64) -> i64) {
    let actual: Vec<i64> =
        Vec::<i64>::try_from(actual.to_kind(Kind::Int64).reshape([-1])).expect("numbers");
    let expected: Vec<i64> = (0..).take(actual.len()).map(value).collect();
    assert_eq!(actual, expected, "{what}");
}

/// All numbers are small whole ones: exact in every kind, whatever the order of addition.
pub(crate) fn scenario(group: &ProcessGroup) {
    let (rank, size) = (group.rank() as i64, group.world_size() as i64);
    for kind in KINDS {
        reductions(group, kind, rank, size);
        movements(group, kind, rank, size);
    }
    narrow_sums(group, size);
    bytes(group);
    leaves(group);
    traffic(group, size);
}

/// Checks traffic against the definition of each algorithm; a world of one sends nothing.
fn traffic(group: &ProcessGroup, size: i64) {
    let read = || group.traffic();
    let others = u64::try_from(size - 1).unwrap();
    let ranks = others + 1;
    let before = read();
    let eight = || Tensor::zeros([8 * size], (Kind::Double, Device::Cpu));
    group.all_reduce(&eight(), ReduceOp::Sum).unwrap();
    group.all_gather(&Tensor::zeros([8], (Kind::Double, Device::Cpu)), &eight()).unwrap();
    let part = Tensor::zeros([8], (Kind::Double, Device::Cpu));
    group.reduce_scatter_async(&eight(), &part).unwrap().wait().unwrap();
    let total = 64 * ranks;
    let expected = [
        (GroupOperation::AllReduce, 2 * total * others / ranks),
        (GroupOperation::AllGather, 64 * others),
        (GroupOperation::ReduceScatter, 64 * others),
    ];
    for ((operation, before), (_, now)) in before.into_iter().zip(read()) {
        let sent = now.bytes_sent - before.bytes_sent;
        let expected =
            expected.iter().find(|(other, _)| *other == operation).map_or(0, |(_, sent)| *sent);
        assert_eq!(sent, expected, "{operation}");
        assert!(now.waited >= before.waited);
    }
}

fn reductions(group: &ProcessGroup, kind: Kind, rank: i64, size: i64) {
    let ranks = size * (size + 1) / 2;
    // 105 elements are no multiple of any number of ranks here but one.
    for shape in [&[5_i64, 21][..], &[1], &[]] {
        let sum = tensor(shape, kind, |index| (rank + 1) * (index % 7 + 1));
        group.all_reduce(&sum, ReduceOp::Sum).unwrap();
        assert_eq!((sum.kind(), sum.size()), (kind, shape.to_vec()));
        assert_is(&sum, "all-reduce sum", |index| ranks * (index % 7 + 1));
    }
    let signed = |index: i64| if index % 2 == 0 { rank } else { -rank };
    let largest = tensor(&[9], kind, signed);
    group.all_reduce(&largest, ReduceOp::Max).unwrap();
    assert_is(&largest, "all-reduce max", |index| if index % 2 == 0 { size - 1 } else { 0 });

    let output = Tensor::zeros([2, 3], (kind, Device::Cpu));
    let input = tensor(&[size, 6], kind, |index| (rank + 1) * (index / 6 + 1));
    group.reduce_scatter_async(&input, &output).unwrap().wait().unwrap();
    assert_is(&output, "reduce-scatter sum", |_| ranks * (rank + 1));
    assert_is(&input, "its input stays", |index| (rank + 1) * (index / 6 + 1));
}

fn movements(group: &ProcessGroup, kind: Kind, rank: i64, size: i64) {
    let output = Tensor::zeros([size * 5], (kind, Device::Cpu));
    let input = tensor(&[5], kind, |index| 10 * rank + index);
    group.all_gather(&input, &output).unwrap();
    assert_is(&output, "all-gather", |index| 10 * (index / 5) + index % 5);

    let nothing = Tensor::zeros([0], (kind, Device::Cpu));
    group.all_reduce(&nothing, ReduceOp::Sum).unwrap();
    group.all_gather(&nothing, &nothing).unwrap();
}

/// 256 + 1 is 256 in `BFloat16`, however often it is added; the sum over ranks is rounded once.
fn narrow_sums(group: &ProcessGroup, size: i64) {
    let base = if group.rank() == 0 { 256.0 } else { 1.0 };
    for kind in [Kind::BFloat16, Kind::Half] {
        let scale = if kind == Kind::Half { 8.0 } else { 1.0 }; // 2048 + 1 is 2048 in Half
        let expected =
            Tensor::from(scale * 256.0 + (size - 1) as f64).to_kind(kind).double_value(&[]);
        let base = if base > 1.0 { scale * base } else { base };
        let sum = Tensor::full([4], base, (kind, Device::Cpu));
        group.all_reduce(&sum, ReduceOp::Sum).unwrap();
        assert_eq!(sum.double_value(&[3]), expected, "{kind:?} of {size} ranks");
        let part = Tensor::zeros([1], (kind, Device::Cpu));
        let input = Tensor::full([size], base, (kind, Device::Cpu));
        group.reduce_scatter_async(&input, &part).unwrap().wait().unwrap();
        assert_eq!(part.double_value(&[0]), expected, "{kind:?} of {size} ranks");
    }
}

fn bytes(group: &ProcessGroup) {
    let payload = |rank: usize| vec![u8::try_from(rank).expect("few ranks"); 3 * rank];
    let all = group.all_gather_bytes(&payload(group.rank())).unwrap();
    assert_eq!(all, (0..group.world_size()).map(payload).collect::<Vec<_>>());
    assert_eq!(group.all_gather_bytes(&[]).unwrap(), vec![Vec::<u8>::new(); group.world_size()]);
    let key = "count";
    group.store().add(key, 1).unwrap();
    // Nobody reads before all have counted.
    group.all_gather_bytes(&[]).unwrap();
    assert_eq!(group.store().add(key, 0).unwrap(), group.world_size() as i64);
}

/// Parameters that require gradients are written without becoming part of a graph.
fn leaves(group: &ProcessGroup) {
    for kind in [Kind::Float, Kind::BFloat16] {
        let leaf = Tensor::ones([4], (kind, Device::Cpu)).set_requires_grad(true);
        group.all_reduce(&leaf, ReduceOp::Sum).unwrap();
        assert!(leaf.is_leaf() && leaf.requires_grad());
        assert_is(&leaf.detach(), "a leaf", |_| group.world_size() as i64);
    }
}

#[test]
fn two_processes_hold_every_closed_form() {
    Run::start("closed_forms", 2, &[]).assert_success();
}

#[test]
fn four_processes_hold_every_closed_form() {
    Run::start("closed_forms", 4, &[]).assert_success();
}

#[test]
fn rank_0_serves_the_store_where_no_launcher_does() {
    let port = Port::reserve();
    let start = |rank| Process::start(&mut command("closed_forms", rank, 2, port.number(), &[]));
    succeed([1, 0].map(start).into());
}
