//! Means and co-moments of pairs, mergeable over parts of a batch and over ranks.

use entropy_core::PairedMoments;
use proptest::prelude::*;

#[test]
fn moments_of_three_pairs_are_those_done_by_hand() {
    let moments = PairedMoments::of(&[1.0, 2.0, 6.0], &[0.0, 4.0, 5.0]);
    let expected = PairedMoments {
        count: 3,
        mean_x: 3.0,
        mean_y: 3.0,
        sum_xx: 14.0,
        sum_xy: 11.0,
        sum_yy: 14.0,
    };
    assert_eq!(moments, expected);
    assert_eq!(moments.covariance(), Some(11.0 / 3.0));
    let correlation = moments.correlation().expect("neither column is constant");
    assert!((correlation - 11.0 / 14.0).abs() < 1e-15);
}

#[test]
fn nothing_has_no_covariance_and_a_constant_no_correlation() {
    assert_eq!(PairedMoments::default().covariance(), None);
    assert_eq!(PairedMoments::of(&[1.0, 1.0], &[0.0, 1.0]).correlation(), None);
}

proptest! {
    /// Any split, empty parts included, merges to the moments of the whole.
    #[test]
    fn merged_parts_equal_the_whole(
        pairs in prop::collection::vec((-50.0..50.0f64, 900.0..1000.0f64), 1..60),
        cuts in (any::<prop::sample::Index>(), any::<prop::sample::Index>()),
    ) {
        let (x, y): (Vec<f64>, Vec<f64>) = pairs.into_iter().unzip();
        let cuts = (cuts.0.index(x.len() + 1), cuts.1.index(x.len() + 1));
        let (first, second) = (cuts.0.min(cuts.1), cuts.0.max(cuts.1));
        let merged = [0..first, first..second, second..x.len()]
            .into_iter()
            .map(|part| PairedMoments::of(&x[part.clone()], &y[part]))
            .fold(PairedMoments::default(), PairedMoments::merge);
        let all = PairedMoments::of(&x, &y);
        prop_assert_eq!(merged.count, all.count);
        for (merged, expected) in [
            (merged.mean_x, all.mean_x),
            (merged.mean_y, all.mean_y),
            (merged.sum_xx, all.sum_xx),
            (merged.sum_xy, all.sum_xy),
            (merged.sum_yy, all.sum_yy),
        ] {
            prop_assert!((merged - expected).abs() < 1e-8, "{merged} vs {expected}");
        }
    }
}
