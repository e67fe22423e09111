//! Accuracy of the majority vote.

use std::collections::BTreeMap;

/// Most responses to one problem: up to here the number of subsets is an `f64`.
pub const MOST_SAMPLES: usize = 1000;

/// Votes of the responses to one problem.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Votes {
    /// Votes for the right answer.
    pub right: usize,
    /// Votes for each wrong answer.
    pub wrong: Vec<usize>,
    /// Responses without a vote.
    pub without: usize,
}

impl Votes {
    /// Counts votes from `(is right, normal form of the answer)` of each response.
    pub fn count<'a>(responses: impl IntoIterator<Item = (bool, Option<&'a str>)>) -> Self {
        let mut votes = Self { right: 0, wrong: Vec::new(), without: 0 };
        let mut wrong: BTreeMap<&str, usize> = BTreeMap::new();
        for (is_right, answer) in responses {
            match answer {
                _ if is_right => votes.right += 1,
                Some(answer) => *wrong.entry(answer).or_default() += 1,
                None => votes.without += 1,
            }
        }
        votes.wrong = wrong.into_values().collect();
        votes
    }

    /// Number of different answers.
    pub fn distinct(&self) -> usize {
        self.wrong.len() + usize::from(self.right > 0)
    }

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
    pub fn majority_at_k(&self, k: usize) -> f64 {
        let &Self { right, ref wrong, without } = self;
        let samples = right + wrong.iter().sum::<usize>() + without;
        assert!(samples <= MOST_SAMPLES, "{samples} responses, expected at most {MOST_SAMPLES}");
        assert!((1..=samples).contains(&k), "k is {k}, expected 1 to {samples}");
        let with_votes =
            |votes: usize| binomial(right, votes) * undefeated(wrong, without, votes, k - votes);
        // A sum of nothing is −0, which would be shown.
        (1..=right.min(k)).map(with_votes).fold(0.0, |sum, ways| sum + ways) / binomial(samples, k)
    }
}

/// Ways to fill a set with `others` more responses so that no wrong answer has more than `votes`. Each way is divided by the
/// number of answers that have most votes.
fn undefeated(wrong: &[usize], without: usize, votes: usize, others: usize) -> f64 {
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
        shared * binomial(without, others - filled)
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
