//! Every measure of an evaluation: its definition, and one value per problem.

use run_report::evaluation::majority::Votes;
use run_report::evaluation::measures::{counts_below, pass_at_k};

/// pass@k over every set of `k` of `samples`, the first `right` of which are right.
fn pass_by_enumeration(right: usize, samples: usize, k: usize) -> f64 {
    let sets: Vec<u32> =
        (0u32..1 << samples).filter(|set| set.count_ones() as usize == k).collect();
    let passed = sets.iter().filter(|&&set| (0..right).any(|one| set >> one & 1 == 1));
    passed.count() as f64 / sets.len() as f64
}

#[test]
fn pass_at_k_is_the_mean_over_all_sets() {
    for samples in 1..=9 {
        for right in 0..=samples {
            for k in 1..=samples {
                let pass = pass_at_k(right, samples, k);
                let expected = pass_by_enumeration(right, samples, k);
                assert!((pass - expected).abs() < 1e-12, "{right} of {samples}, k {k}");
            }
        }
    }
    // 1 - C(990, 500) / C(1000, 500), about 1 - 2^-10 less what drawing without putting back gains.
    let large = pass_at_k(10, 1000, 500);
    assert!((large - 0.999_066_8).abs() < 1e-6, "{large}");
}

#[test]
fn counts_are_powers_of_two_and_the_last() {
    assert_eq!(counts_below(1), [0; 0]);
    assert_eq!(counts_below(2), [2]);
    assert_eq!(counts_below(6), [2, 4, 6]);
    assert_eq!(counts_below(32), [2, 4, 8, 16, 32]);
}

#[test]
fn votes_are_for_answers_that_are_the_same() {
    let votes = Votes::count([
        (true, Some("1/2")),
        (true, Some("0.5")),
        (false, Some("3")),
        (false, None),
        (false, Some("3")),
        (false, Some("4")),
    ]);
    assert_eq!(votes, Votes { right: 2, wrong: vec![2, 1], without: 1 });
    assert_eq!(votes.distinct(), 3);
    assert!((votes.majority_at_k(6) - 0.5).abs() < 1e-15);
}
