//! Layout of the sharded optimiser state: the elements of each parameter that a rank keeps.
//!
//! Parameters that are exchanged together make a unit: those of a block, or a single one. A unit is concatenated and split into
//! as many equal shards as there are ranks; the last shard may end in padding.

use std::ops::Range;

use decoder::model::block_of;

/// Parameters that are exchanged together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Unit {
    pub(super) parameters: Range<usize>,
    /// Number of elements of all of them.
    pub(super) elements: i64,
    /// Index of the block that they make, if they make one.
    pub(super) block: Option<usize>,
}

/// A run of elements of one parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) parameter: usize,
    /// First element, in the parameter's memory order.
    pub(super) start: i64,
    pub(super) length: i64,
}

/// Groups parameters with these names and numbers of elements into units.
pub(super) fn units(names: &[String], sizes: &[i64]) -> Vec<Unit> {
    let mut units: Vec<Unit> = Vec::new();
    for (index, (name, &elements)) in names.iter().zip(sizes).enumerate() {
        let block = block_of(name);
        match units.last_mut() {
            Some(unit) if block.is_some() && unit.block == block => {
                unit.parameters.end = index + 1;
                unit.elements += elements;
            }
            _ => units.push(Unit { parameters: index..index + 1, elements, block }),
        }
    }
    units
}

impl Unit {
    /// Number of elements of each rank's shard.
    pub(super) fn shard(&self, ranks: usize) -> i64 {
        let ranks = i64::try_from(ranks).expect("a number of processes");
        (self.elements + ranks - 1) / ranks
    }

    /// The pieces of the shard of `rank`, in order; `sizes` has the number of elements of every parameter.
    pub(super) fn pieces(&self, sizes: &[i64], rank: usize, ranks: usize) -> Vec<Piece> {
        let shard = self.shard(ranks);
        let first = shard * i64::try_from(rank).expect("a number of processes");
        let mut pieces = Vec::new();
        let mut begin = 0;
        for parameter in self.parameters.clone() {
            let end = begin + sizes[parameter];
            let (from, to) = (first.max(begin), (first + shard).min(end));
            if from < to {
                pieces.push(Piece { parameter, start: from - begin, length: to - from });
            }
            begin = end;
        }
        pieces
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn index_of(element: i64) -> usize {
        usize::try_from(element).expect("counted from 0")
    }

    fn names() -> Vec<String> {
        ["embed", "model.layers.0.a", "model.layers.0.b", "model.layers.10.a", "norm", "head"]
            .map(str::to_owned)
            .to_vec()
    }

    #[test]
    fn a_block_is_a_unit_and_so_is_what_is_in_none() {
        let units = units(&names(), &[7, 2, 3, 5, 1, 4]);
        let actual: Vec<_> =
            units.iter().map(|unit| (unit.parameters.clone(), unit.elements)).collect();
        assert_eq!(actual, [(0..1, 7), (1..3, 5), (3..4, 5), (4..5, 1), (5..6, 4)]);
    }

    #[test]
    fn every_element_is_in_one_piece() {
        let sizes = [7, 2, 3, 5, 1, 4];
        for ranks in 1..7 {
            let mut seen: Vec<Vec<bool>> =
                sizes.iter().map(|&size| vec![false; index_of(size)]).collect();
            for rank in 0..ranks {
                for unit in units(&names(), &sizes) {
                    let pieces = unit.pieces(&sizes, rank, ranks);
                    let held: i64 = pieces.iter().map(|piece| piece.length).sum();
                    assert!(held <= unit.shard(ranks));
                    for Piece { parameter, start, length } in pieces {
                        for element in start..start + length {
                            let was =
                                std::mem::replace(&mut seen[parameter][index_of(element)], true);
                            assert!(!was, "element {element} of {parameter} twice");
                        }
                    }
                }
            }
            assert!(seen.concat().iter().all(|&seen| seen), "{ranks} ranks");
        }
    }
}
