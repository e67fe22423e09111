//! Operations that overlap with computation.

use tch::{Device, Kind, Tensor};
use torch_ext::{ProcessGroup, ReduceOp};

use crate::processes::Run;

const F64: (Kind, Device) = (Kind::Double, Device::Cpu);

pub(crate) fn scenario(group: &ProcessGroup) {
    let (rank, size) = (group.rank() as f64, group.world_size() as f64);
    let elements = 100_000;
    let all = elements * group.world_size() as i64;
    let sums: Vec<Tensor> = (0..8).map(|_| Tensor::zeros([elements], F64)).collect();
    let works: Vec<_> = (0..)
        .zip(&sums)
        .map(|(index, sum)| {
            let input = Tensor::full([all], rank + f64::from(index), F64);
            group.reduce_scatter_async(&input, sum).unwrap()
        })
        .collect();
    let gathered = Tensor::zeros([group.world_size() as i64], F64);
    let gather = group.all_gather_async(&Tensor::full([1], rank, F64), &gathered).unwrap();

    // Computes meanwhile, then waits in another order than that of the calls.
    assert!(
        Tensor::eye(128, F64).matmul(&Tensor::eye(128, F64)).trace().double_value(&[]) == 128.0
    );
    gather.wait().unwrap();
    for work in works.into_iter().rev() {
        work.wait().unwrap();
    }
    let ranks = size * (size - 1.0) / 2.0;
    for (index, sum) in sums.iter().enumerate() {
        let expected = Tensor::full([elements], ranks + size * index as f64, F64);
        assert_eq!(sum, &expected, "reduce-scatter {index}");
    }
    assert_eq!(gathered, Tensor::arange(group.world_size() as i64, F64));

    dropped(group);
}

/// Works and tensors that are dropped unfinished leave a working group.
fn dropped(group: &ProcessGroup) {
    for _ in 0..20 {
        let options = (Kind::BFloat16, Device::Cpu);
        let part = Tensor::ones([50_000], options);
        let input = Tensor::ones([50_000 * group.world_size() as i64], options);
        drop(group.all_gather_async(&part, &input).unwrap());
        drop(group.reduce_scatter_async(&input, &part).unwrap());
        drop((part, input));
    }
    let sum = Tensor::ones([3], F64);
    group.all_reduce(&sum, ReduceOp::Sum).unwrap();
    assert_eq!(sum, Tensor::full([3], group.world_size() as f64, F64));
}

#[test]
fn operations_overlap_and_may_be_waited_for_in_any_order() {
    Run::start("overlap", 2, &[]).assert_success();
}
