//! The baseline of least variance at each place of a group's responses.

use super::{
    columns::{Advantages, check_groups, check_tokens},
    returns::discounted_returns,
};
use crate::{RolloutColumns, column::sequence_ranges};

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
pub(super) fn optimal_token_baseline(
    columns: &RolloutColumns<'_>,
    squared_scores: &[f64],
) -> Advantages {
    let token_rewards = columns.token_rewards()?;
    let RolloutColumns { group_sizes, sequence_lengths, .. } = *columns;
    let samples = vec![0.0; sequence_lengths.len()];
    check_groups(("sequence_lengths", &samples), group_sizes, 1)?;
    check_tokens("squared_scores", squared_scores, sequence_lengths)?;
    let mut advantages = discounted_returns(&token_rewards, None, sequence_lengths, 1.0)?;
    let mut begin = 0;
    for samples in sequence_ranges(group_sizes) {
        let lengths = &sequence_lengths[samples];
        let tokens = begin..begin + lengths.iter().sum::<usize>();
        begin = tokens.end;
        take_off_baselines(&mut advantages[tokens.clone()], &squared_scores[tokens], lengths);
    }
    Ok(advantages)
}

/// Turns the returns of a group's responses into advantages.
fn take_off_baselines(returns: &mut [f64], squared_scores: &[f64], lengths: &[usize]) {
    let longest = lengths.iter().copied().max().unwrap_or(0);
    let (mut weighed, mut weights) = (vec![0.0; longest], vec![0.0; longest]);
    let mut responses = vec![0; longest];
    for tokens in sequence_ranges(lengths) {
        let mut energy = 0.0;
        for (place, token) in tokens.enumerate() {
            energy += squared_scores[token];
            weighed[place] += returns[token] * energy;
            weights[place] += energy;
            responses[place] += 1;
        }
    }
    for tokens in sequence_ranges(lengths) {
        for (place, token) in tokens.enumerate().filter(|(place, _)| responses[*place] > 1) {
            returns[token] -= weighed[place] / (weights[place] + WEIGHT_FLOOR);
        }
    }
}
