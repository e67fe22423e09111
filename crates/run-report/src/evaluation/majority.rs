//! Accuracy of the majority vote.

/// Most responses to one problem: up to here the number of subsets is an `f64`.
pub const MOST_SAMPLES: usize = 1000;

/// Expected fraction of right majorities among `k` of the responses to one problem: maj@k.
///
/// In each set of `k` of the `n` responses, the answer with the most votes is right with some chance. maj@k is the mean of
/// that chance over all sets, drawn without replacement. A response without a readable answer has no vote. Answers tied for
/// most votes win with equal chances; without any vote nothing is right. It is exact: with `c` right responses, `m_i` for
/// wrong answer `i` and `u` without a vote,
///
/// ```text
/// maj@k = Σ_{j ≥ 1} C(c, j) Σ_t W_j(k - j, t) / (t + 1) / C(n, k)
/// Σ_{v,t} W_j(v, t) x^v y^t = (1 + x)^u Π_i (Σ_{a < j} C(m_i, a) x^a + C(m_i, j) x^j y)
/// ```
///
/// where `j` is the number of votes for the right answer and `t` the number of wrong answers with as many. `maj@1` is avg@n,
/// and `maj@n` the vote of all.
///
/// Source: self-consistency of Wang et al. 2022, arXiv:2203.11171, as the expectation over its draws.
///
/// # Panics
///
/// If `k` is 0 or above the number of responses, or these are more than [`MOST_SAMPLES`].
pub fn majority_at_k(right: usize, wrong: &[usize], without_vote: usize, k: usize) -> f64 {
    let samples = right + wrong.iter().sum::<usize>() + without_vote;
    assert!(samples <= MOST_SAMPLES, "{samples} responses, expected at most {MOST_SAMPLES}");
    assert!((1..=samples).contains(&k), "k is {k}, expected 1 to {samples}");
    let with_votes =
        |votes: usize| binomial(right, votes) * undefeated(wrong, without_vote, votes, k - votes);
    // A sum of nothing is −0, which would be shown.
    (1..=right.min(k)).map(with_votes).fold(0.0, |sum, ways| sum + ways) / binomial(samples, k)
}

/// Ways to fill a set with `others` more responses so that no wrong answer has more than `votes`. Each way is divided by the
/// number of answers that have most votes.
fn undefeated(wrong: &[usize], without_vote: usize, votes: usize, others: usize) -> f64 {
    let most_ties = others / votes;
    // [filled so far][ties so far]
    let mut ways = vec![vec![0.0; most_ties + 1]; others + 1];
    ways[0][0] = 1.0;
    for &held in wrong {
        let mut next = vec![vec![0.0; most_ties + 1]; others + 1];
        for (taken, factor) in (0..=held.min(votes)).map(|a| (a, binomial(held, a))) {
            let tie = usize::from(taken == votes);
            for filled in 0..(others + 1).saturating_sub(taken) {
                // A tie has `votes` filled: there is room for it wherever there is for them.
                for ties in 0..(most_ties + 1).saturating_sub(tie) {
                    next[filled + taken][ties + tie] += ways[filled][ties] * factor;
                }
            }
        }
        ways = next;
    }
    let rest = |(filled, ties): (usize, &Vec<f64>)| {
        let shared: f64 = (1..).zip(ties).map(|(winners, ways)| ways / f64::from(winners)).sum();
        shared * binomial(without_vote, others - filled)
    };
    ways.iter().enumerate().map(rest).sum()
}

/// `C(n, k)`, 0 where `k` exceeds `n`.
fn binomial(n: usize, k: usize) -> f64 {
    if k > n {
        return 0.0;
    }
    let k = k.min(n - k);
    // Every partial product is a binomial coefficient.
    (0..k).fold(1.0, |product, i| product * (n - i) as f64 / (i + 1) as f64)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

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
}
