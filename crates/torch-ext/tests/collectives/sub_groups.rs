//! Groups of some of the ranks: tensor-parallel rows and data-parallel columns.

use tch::{Device, Kind, Tensor};
use torch_ext::{ProcessGroup, ReduceOp};

use crate::processes::Run;

const F64: (Kind, Device) = (Kind::Double, Device::Cpu);

fn sum_over(group: &ProcessGroup, value: usize) -> f64 {
    let sum = Tensor::full([2], value as f64, F64);
    group.all_reduce(&sum, ReduceOp::Sum).unwrap();
    sum.double_value(&[1])
}

/// Four ranks as two rows of two.
pub(crate) fn scenario(world: &ProcessGroup) {
    let rank = world.rank();
    let row: Vec<usize> = if rank < 2 { vec![0, 1] } else { vec![2, 3] };
    let column = [rank % 2, rank % 2 + 2];
    let rows = world.sub_group(&row).unwrap();
    let columns = world.sub_group(&column).unwrap();
    for _ in 0..3 {
        assert_eq!(sum_over(&rows, rank), (row[0] + row[1]) as f64);
        assert_eq!(sum_over(&columns, rank), (column[0] + column[1]) as f64);
        assert_eq!(sum_over(world, rank), 6.0);
    }
    assert_eq!((rows.rank(), rows.world_size()), (rank % 2, 2));
    assert_eq!((columns.rank(), columns.ranks()), (rank / 2, &column[..]));
    assert_eq!((rows.placement().local_rank, rows.placement().local_world_size), (rank, 4));

    // The given order is the order of ranks; the same ranks a second time are another group.
    let turned: Vec<usize> = row.iter().rev().copied().collect();
    for _ in 0..2 {
        let turned = world.sub_group(&turned).unwrap();
        assert_eq!(turned.rank(), 1 - rank % 2);
        let all = turned.all_gather_bytes(&[u8::try_from(rank).expect("few ranks")]).unwrap();
        assert_eq!(all.concat(), [row[1] as u8, row[0] as u8]);
    }
    let alone = rows.sub_group(&[rows.rank()]).unwrap();
    assert_eq!(sum_over(&alone, rank), rank as f64);

    // Some ranks make a group, the others do not take part.
    if rank != 2 {
        let three = world.sub_group(&[0, 1, 3]).unwrap();
        assert_eq!(sum_over(&three, rank), 4.0);
        let boolean = Tensor::zeros([1], (Kind::Bool, Device::Cpu));
        let text = three.all_reduce(&boolean, ReduceOp::Sum).unwrap_err().to_string();
        assert_eq!(
            text,
            format!(
                "rank {rank} of 4: all-reduce of 1 Bool among ranks [0, 1, 3]: expected numbers"
            )
        );
    }
    assert_eq!(sum_over(world, 1), 4.0);
}

#[test]
fn rows_and_columns_of_four_ranks_sum_apart() {
    Run::start("sub_groups", 4, &[]).assert_success();
}

#[test]
fn a_list_that_is_no_sub_group_is_refused() {
    let single = ProcessGroup::single();
    assert_eq!(single.sub_group(&[0]).unwrap().world_size(), 1);
    for (ranks, problem) in [
        (&[][..], "no sub-group of ranks []: expected rank 0 to be in it"),
        (&[0, 1], "no sub-group of ranks [0, 1]: expected ranks in 0..1, found 1"),
        (&[0, 0], "no sub-group of ranks [0, 0]: rank 0 is in it twice"),
    ] {
        let text = single.sub_group(ranks).unwrap_err().to_string();
        assert_eq!(text, format!("rank 0 of 1: {problem}"));
    }
}
