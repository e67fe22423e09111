//! The baseline of least variance at each place of a group's responses.

use super::{
    columns::{AdvantageError, check_groups, check_tokens},
    returns::discounted_returns,
};

/// Added to a sum of weights, as in verl.
const WEIGHT_FLOOR: f64 = 1e-8;

/// Optimal token baseline, `[tokens]`: the return of each token less the mean over its group of the returns at the same place,
/// weighed by how much each response's score has moved until there.
///
/// ```text
/// A_t = G_t - Σ_i G_t W_t / (Σ_i W_t + 1e-8),    W_t = Σ_{j ≤ t} ‖e_{y_j} - π_j‖²
/// ```
///
/// Sums run over the responses of the group that have a token at `t`; where only one has, the baseline is 0. The squared norm of the
/// score in the logits is `1 - 2 π(y) + Σ π²`, `squared_scores` `[tokens]`.
///
/// Source: [arXiv:2602.07078](https://arxiv.org/abs/2602.07078); verl `optimal_token_baseline`; row 63 of `docs/paper-vs-code.md`.
///
/// # Errors
///
/// [`AdvantageError`] if the columns do not fit each other, a group is empty, or a value is not finite.
pub fn optimal_token_baseline_advantages(
    token_rewards: &[f64],
    squared_scores: &[f64],
    group_sizes: &[usize],
    sequence_lengths: &[usize],
) -> Result<Vec<f64>, AdvantageError> {
    let samples = vec![0.0; sequence_lengths.len()];
    check_groups(("sequence_lengths", &samples), group_sizes, 1)?;
    check_tokens("squared_scores", squared_scores, sequence_lengths)?;
    let mut advantages = discounted_returns(token_rewards, None, sequence_lengths, 1.0)?;
    let (mut sample, mut begin) = (0, 0);
    for &size in group_sizes {
        let lengths = &sequence_lengths[sample..sample + size];
        let end = begin + lengths.iter().sum::<usize>();
        take_off_baselines(&mut advantages[begin..end], &squared_scores[begin..end], lengths);
        (sample, begin) = (sample + size, end);
    }
    Ok(advantages)
}

/// Turns the returns of a group's responses into advantages.
fn take_off_baselines(returns: &mut [f64], squared_scores: &[f64], lengths: &[usize]) {
    let longest = lengths.iter().copied().max().unwrap_or(0);
    let (mut weighed, mut weights) = (vec![0.0; longest], vec![0.0; longest]);
    let mut responses = vec![0; longest];
    let mut begin = 0;
    for &length in lengths {
        let mut energy = 0.0;
        for place in 0..length {
            energy += squared_scores[begin + place];
            weighed[place] += returns[begin + place] * energy;
            weights[place] += energy;
            responses[place] += 1;
        }
        begin += length;
    }
    begin = 0;
    for &length in lengths {
        for place in (0..length).filter(|&place| responses[place] > 1) {
            returns[begin + place] -= weighed[place] / (weights[place] + WEIGHT_FLOOR);
        }
        begin += length;
    }
}
