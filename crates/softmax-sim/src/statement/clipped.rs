//! The clipped surrogate away from the policy that sampled: the step is `η π (m A - E[m A])`, and
//! masking an action changes `ΔH` by `+η π_a A_a G_a`.

use super::entropy_prediction::range;
use super::order::{self, Reading};
use super::token_loss::Tokens;
use super::vectors::{largest, largest_gap, over_states, policy, scaled};
use crate::population::{Population, State};
use crate::report::Row;
use entropy_core::{Categorical, logit_step, predicted_change};
use rl_losses::{ClipRange, DualClip, PolicyLoss, PpoClip};

const STATEMENT: &str = "Clipped surrogate";
/// Range of the logits between the policy that sampled and the one being updated.
const DRIFT: f64 = 1.0;

/// The first-order change of entropy for the actions left by the mask, per unit of step size.
pub fn predict(policy: &Categorical, advantage: &[f64], mask: &[bool]) -> f64 {
    predicted_change::clipped_surrogate(policy, advantage, mask, 1.0)
}

/// Checks `predict`, and the closed form of the step, against the loss that trains the model.
pub fn check(
    populations: &[Population],
    predict: impl Fn(&Categorical, &[f64], &[bool]) -> f64 + Sync,
) -> Vec<Row> {
    let findings: Vec<(f64, f64, Reading)> =
        over_states(populations, |state| finding(&state, &predict));
    let readings: Vec<Reading> = findings.iter().map(|(_, _, order)| *order).collect();
    let clipped = findings.iter().map(|(_, clipped, _)| clipped).sum::<f64>();
    let share = clipped / findings.len() as f64;
    let mut rows = vec![
        Row::of(
            STATEMENT,
            "step of the loss against η π (m A - E[m A]), gap",
            1e-13,
            findings.iter().map(|(gap, ..)| *gap),
        )
        .by("PolicyLoss::evaluate with every action weighted by the policy that sampled"),
        Row::of(STATEMENT, "policies with nothing clipped, share", 0.5, [1.0 - share])
            .over(findings.len())
            .by("the drift of the logits has range 1, the ratio may leave 0.8 to 1.2"),
    ];
    rows.extend(order::rows(STATEMENT, "error", 2, &readings));
    rows
}

/// Gap of the step, whether anything was clipped, and the order of the prediction.
fn finding(
    state: &State<'_>,
    predict: impl Fn(&Categorical, &[f64], &[bool]) -> f64,
) -> (f64, f64, Reading) {
    let old = &state.policy;
    let unit = DRIFT / range(old, state.direction);
    let drifted: Vec<f64> = std::iter::zip(old.centred_log_probs(), state.direction)
        .map(|(c, d)| c + unit * (d - state.direction[0]))
        .collect();
    let policy = &policy(&drifted);
    let clip = ClipRange::new(0.2, 0.2).expect("both are positive");
    let mask = logit_step::clip_mask(policy, old, state.advantage, |log_ratio, advantage| {
        clip.is_clipped(log_ratio, advantage)
    });
    let tokens = Tokens::enumerated(policy, old, state.advantage);
    let loss = PolicyLoss::PpoClip(PpoClip::new(clip, DualClip::OFF));
    let step = tokens.expected_step(&loss, old, vec![false; tokens.actions().len()]);
    let closed = logit_step::clipped_surrogate(policy, state.advantage, &mask, 1.0);
    let gap = largest_gap(&step, &closed) / largest(state.advantage);
    let predicted = predict(policy, state.advantage, &mask);
    let width = range(policy, &closed);
    let order = if width > 0.0 {
        Reading::of(2, |size| {
            let eta = size / width;
            policy.entropy_change(&scaled(&closed, eta)) - eta * predicted
        })
    } else {
        Reading::of_no_step(predicted)
    };
    (gap, f64::from(mask.contains(&false)), order)
}
