//! Accuracy of the majority vote.

use proptest::prelude::*;
use run_report::evaluation::majority::Votes;

fn majority_at_k(right: usize, wrong: &[usize], without: usize, k: usize) -> f64 {
    Votes { right, wrong: wrong.to_vec(), without }.majority_at_k(k)
}

#[test]
fn without_a_right_response_it_is_zero_without_a_sign() {
    let majority = majority_at_k(0, &[2], 0, 2);
    assert!(majority.abs() <= 0.0 && majority.is_sign_positive(), "{majority}");
}

/// maj@k by its definition, over every set of `k`. Answer 0 is right, `None` has no vote.
fn by_enumeration(answers: &[Option<usize>], k: usize) -> f64 {
    let sets = (0_u32..1 << answers.len()).filter(|set| set.count_ones() as usize == k);
    let (mut total, mut count) = (0.0, 0.0);
    for set in sets {
        let mut votes = [0_u32; 16];
        for (index, answer) in answers.iter().enumerate() {
            if let (1, Some(answer)) = (set >> index & 1, answer) {
                votes[*answer] += 1;
            }
        }
        let most = votes.iter().max().copied().unwrap_or(0);
        let winners = votes.iter().filter(|&&v| v == most).count();
        if most > 0 && votes[0] == most {
            total += 1.0 / winners as f64;
        }
        count += 1.0;
    }
    total / count
}

#[test]
fn small_votes_are_what_one_counts_by_hand() {
    // Two right, one wrong: of the three pairs one is right, two are tied.
    assert!((majority_at_k(2, &[1], 0, 2) - 2.0 / 3.0).abs() < 1e-15);
    // All three: two against one.
    assert!((majority_at_k(2, &[1], 0, 3) - 1.0).abs() < 1e-15);
    // Tied three ways, and a fourth who does not vote.
    assert!((majority_at_k(1, &[1, 1], 1, 4) - 1.0 / 3.0).abs() < 1e-15);
    // The right one is outvoted.
    assert!(majority_at_k(1, &[2], 0, 3).abs() < 1e-15);
    // Nobody votes for it, or at all.
    assert!(majority_at_k(0, &[3], 2, 4).abs() < 1e-15);
    assert!(majority_at_k(0, &[], 4, 2).abs() < 1e-15);
}

#[test]
fn many_responses_stay_within_the_range_of_numbers() {
    // C(1000, 500) is the largest there is. Either answer wins as often.
    let majority = majority_at_k(500, &[500], 0, 500);
    assert!((majority - 0.5).abs() < 1e-9, "{majority}");
    // Sets in which one of two answers is right, and those in which the other is.
    let (one, other) = (majority_at_k(500, &[499], 1, 500), majority_at_k(499, &[500], 1, 500));
    assert!((one + other - 1.0).abs() < 1e-9 && one > other, "{one} {other}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    fn the_expectation_is_the_mean_over_all_sets(
        answers in prop::collection::vec(prop::option::weighted(0.8, 0..5_usize), 1..11),
        k in 1..11_usize,
    ) {
        let k = k.min(answers.len());
        let held = |answer| answers.iter().filter(|found| **found == Some(answer)).count();
        let wrong: Vec<usize> = (1..5).map(held).filter(|&count| count > 0).collect();
        let silent = answers.iter().filter(|found| found.is_none()).count();
        let majority = majority_at_k(held(0), &wrong, silent, k);
        let expected = by_enumeration(&answers, k);
        prop_assert!((majority - expected).abs() < 1e-12, "{majority} {expected}");
        if k == 1 {
            prop_assert!((majority - held(0) as f64 / answers.len() as f64).abs() < 1e-12);
        }
    }
}
