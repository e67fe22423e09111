//! Advantages of mean 0 and variance 1 over a batch.

use entropy_core::PairedMoments;
use rl_losses::{whitened, whitened_by};

#[test]
fn parts_whitened_by_merged_moments_are_the_whitened_whole() {
    let values = [0.3, -1.0, 2.5, 0.0, 7.0];
    let (head, tail) = values.split_at(2);
    let moments = PairedMoments::of(head, head).merge(PairedMoments::of(tail, tail));
    let parts = [whitened_by(head, &moments), whitened_by(tail, &moments)].concat();
    for (part, expected) in std::iter::zip(parts, whitened(&values)) {
        assert!((part - expected).abs() < 1e-14, "{part} {expected}");
    }
}

#[test]
fn what_does_not_vary_is_zero() {
    assert_eq!(whitened(&[0.1; 3]), [0.0; 3]);
    assert_eq!(whitened(&[5.0]), [0.0]);
    assert!(whitened(&[]).is_empty());
}
