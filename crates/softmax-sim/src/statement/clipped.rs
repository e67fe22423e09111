//! The clipped surrogate away from the policy that sampled: the step is `η π (m A - E[m A])`, and
//! masking an action changes `ΔH` by `+η π_a A_a G_a`.

use super::order;
use super::token_loss::{Tokens, clip};
use super::vectors::{largest, largest_gap, over_states, policy, range};
use crate::population::State;
use crate::report::Row;
use entropy_core::{Categorical, logit_step};
use rl_losses::{DualClip, PolicyLoss, PpoClip};

/// Range of the logits between the policy that sampled and the one being updated.
const DRIFT: f64 = 1.0;

/// First-order change of entropy, in nats, for an advantage, a mask of the actions left and a step size.
pub type Predict = fn(&Categorical, &[f64], &[bool], f64) -> f64;

/// Checks `predict`, and the closed form of the step, against the loss that trains the model.
pub fn check(states: &[State], predict: Predict) -> Vec<Row> {
    let findings = over_states(states, |state| finding(state, predict));
    let clipped = findings.iter().map(|(_, clipped, _)| clipped).sum::<f64>();
    let share = clipped / findings.len() as f64;
    let gaps = findings.iter().map(|(gap, ..)| *gap);
    let mut rows = vec![
        Row::of("step of the loss against η π (m A - E[m A]), gap", 1e-13, gaps)
            .by("PolicyLoss::evaluate with every action weighted by the policy that sampled"),
        Row::of("policies with nothing clipped, share", 0.5, [1.0 - share])
            .over(findings.len())
            .by("the drift of the logits has range 1, the ratio may leave 0.8 to 1.2"),
    ];
    rows.extend(order::rows("error", 2, findings.iter().map(|(_, _, order)| *order)));
    rows
}

/// Gap of the step, whether anything was clipped, and the order of the prediction.
fn finding(state: &State, predict: Predict) -> (f64, f64, Option<f64>) {
    let (old, advantage) = (&state.policy, &state.advantage);
    let unit = DRIFT / range(old, &state.direction);
    let drifted: Vec<f64> = std::iter::zip(old.centred_log_probs(), &state.direction)
        .map(|(c, d)| c + unit * (d - state.direction[0]))
        .collect();
    let policy = &policy(&drifted);
    let clip = clip();
    let mask = logit_step::clip_mask(policy, old, advantage, |log_ratio, advantage| {
        clip.is_clipped(log_ratio, advantage)
    });
    let tokens = Tokens::enumerated(policy, old, advantage);
    let loss = PolicyLoss::PpoClip(PpoClip::new(clip, DualClip::OFF));
    let step = tokens.expected_step(&loss, old, vec![false; tokens.actions.len()]);
    let closed = logit_step::clipped_surrogate(policy, advantage, &mask, 1.0);
    let gap = largest_gap(&step, &closed) / largest(advantage);
    let order = order::slope_along(policy, &closed, predict(policy, advantage, &mask, 1.0));
    (gap, f64::from(mask.contains(&false)), order)
}
