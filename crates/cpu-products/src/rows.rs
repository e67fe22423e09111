//! Row-wise work on a batch of decoding rows, on several threads if it is large.

use rayon::prelude::*;

/// Smallest number of values worth splitting over threads.
const WORTH_A_THREAD: usize = 1 << 14;

/// Calls `work` with the index of each row of `numbers`, `[rows, width]`, and the row.
pub fn each_row(numbers: &mut [f32], width: usize, work: impl Fn(usize, &mut [f32]) + Send + Sync) {
    let run = |(index, row): (usize, &mut [f32])| work(index, row);
    if numbers.len() < WORTH_A_THREAD || numbers.len() == width {
        numbers.chunks_mut(width).enumerate().for_each(run);
    } else {
        numbers.par_chunks_mut(width).enumerate().for_each(run);
    }
}

/// Transposes `[outputs, rows]` to `[rows, outputs]`.
pub(crate) fn transposed(product: &[f32], rows: usize) -> Vec<f32> {
    /// Numbers of a cache line.
    const LINE: usize = 16;
    let outputs = product.len() / rows;
    let mut turned = vec![0.0; product.len()];
    each_row(&mut turned, LINE * outputs, |index, band| {
        let (first, height) = (index * LINE, band.len() / outputs);
        // Square by square: what is read and what is written of one lies in the nearest cache.
        for from in (0..outputs).step_by(LINE) {
            let to = outputs.min(from + LINE);
            let square = &product[from * rows..to * rows];
            for (row, target) in (first..first + height).zip(band.chunks_exact_mut(outputs)) {
                for (value, sums) in target[from..to].iter_mut().zip(square.chunks_exact(rows)) {
                    *value = sums[row];
                }
            }
        }
    });
    turned
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outputs_become_columns() {
        for (outputs, rows) in [(1, 1), (3, 2), (7, 16), (5, 17), (400, 50)] {
            let product: Vec<f32> = (0..outputs * rows).map(|n| n as f32).collect();
            let turned = transposed(&product, rows);
            for (row, values) in turned.chunks_exact(outputs).enumerate() {
                let column = product.iter().skip(row).step_by(rows);
                assert!(values.iter().eq(column), "row {row} of {outputs} × {rows}");
            }
        }
    }
}
