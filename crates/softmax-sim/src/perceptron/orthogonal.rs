//! Random matrices with orthonormal rows or columns.

use ndarray::Array2;
use ndarray_rand::rand_distr::{Distribution, StandardNormal};
use rand::Rng;

/// A matrix `[rows, columns]` drawn uniformly from those whose shorter side is orthonormal.
///
/// Gram–Schmidt on normal vectors, done twice, so that they are orthogonal to rounding.
pub(super) fn orthogonal(rows: usize, columns: usize, rng: &mut impl Rng) -> Array2<f64> {
    let (long, short) = (rows.max(columns), rows.min(columns));
    let mut vectors: Array2<f64> =
        Array2::from_shape_simple_fn((short, long), || StandardNormal.sample(rng));
    for index in 0..short {
        let (done, mut rest) = vectors.view_mut().split_at(ndarray::Axis(0), index);
        let mut vector = rest.row_mut(0);
        for _ in 0..2 {
            for other in done.rows() {
                let overlap = other.dot(&vector);
                vector.scaled_add(-overlap, &other);
            }
        }
        let norm = vector.dot(&vector).sqrt();
        vector.mapv_inplace(|x| x / norm);
    }
    if rows >= columns { vectors.reversed_axes() } else { vectors }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    #[test]
    fn the_shorter_side_is_orthonormal() {
        for (rows, columns) in [(4, 64), (64, 64), (64, 2), (1, 1)] {
            let matrix = orthogonal(rows, columns, &mut ChaCha8Rng::seed_from_u64(1));
            assert_eq!(matrix.dim(), (rows, columns));
            let gram =
                if rows >= columns { matrix.t().dot(&matrix) } else { matrix.dot(&matrix.t()) };
            let error = (&gram - &Array2::<f64>::eye(rows.min(columns)))
                .fold(0.0, |worst: f64, x| worst.max(x.abs()));
            assert!(error < 1e-14, "{rows} by {columns}: {error}");
        }
    }
}
