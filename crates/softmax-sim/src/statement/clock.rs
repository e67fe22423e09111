//! GRPO's clock: with binary rewards its expected step is the policy gradient's times `m_G(μ)`.

use super::vectors::{largest, largest_gap, normals, number, policy, recorded, stream};
use crate::report::Row;
use entropy_core::{Categorical, grpo_clock};
use rl_losses::{GroupNormalisation, group_relative_advantages};

/// Random policies of three actions, the first of which is right.
const POLICIES: u64 = 30;
const ACTIONS: usize = 3;
const GROUPS: [usize; 4] = [2, 3, 5, 8];

/// The clock for a probability of success and a group size.
///
/// # Panics
///
/// If the first is no probability, or the group is smaller than two.
pub fn clock(success: f64, group_size: usize) -> f64 {
    grpo_clock(success, group_size).expect("a probability and two samples at least")
}

/// Checks `clock` against all groups there can be, and against recorded values of 40 digits.
#[expect(clippy::missing_panics_doc, reason = "what it draws and what is recorded is valid")]
pub fn check(seed: u64, clock: impl Fn(f64, usize) -> f64) -> Vec<Row> {
    let mut gaps = Vec::new();
    for group_size in GROUPS {
        for case in 0..POLICIES {
            let logits = normals(&mut stream(seed, 0x636c_6f63, case), ACTIONS);
            gaps.push(gap(&policy(&logits), group_size, &clock));
        }
    }
    let recorded = recorded();
    let table = recorded["grpo_clock"].as_array().expect("a list");
    let from_table = table.iter().map(|entry| {
        let group_size = entry["group_size"].as_u64().expect("a count");
        let group_size = usize::try_from(group_size).expect("a small one");
        let expected = number(&entry["clock"]);
        (clock(number(&entry["success"]), group_size) / expected - 1.0).abs()
    });
    vec![
        Row::of("expected GRPO step over all groups, relative gap", 1e-5, gaps)
            .by("rl_losses::group_relative_advantages, whose 1e-6 in the denominator stays"),
        Row::of("recorded values of 40 digits, relative gap", 1e-13, from_table)
            .by("18 pairs of success and group size"),
    ]
}

/// Gap between the expected step of groups of this size and the clock times `π (q - μ)`.
fn gap(policy: &Categorical, group_size: usize, clock: impl Fn(f64, usize) -> f64) -> f64 {
    let probs = policy.probs();
    let mut expected = [0.0; ACTIONS];
    let places = u32::try_from(group_size).expect("a small group");
    for outcome in 0..ACTIONS.pow(places) {
        let pick = |place: u32| outcome / ACTIONS.pow(place) % ACTIONS;
        let picks: Vec<usize> = (0..places).map(pick).collect();
        let probability: f64 = picks.iter().map(|pick| probs[*pick]).product();
        let rewards: Vec<f64> = picks.iter().map(|pick| f64::from(*pick == 0)).collect();
        let advantages = group_relative_advantages(
            &rewards,
            &[group_size],
            GroupNormalisation::StandardDeviation,
        )
        .expect("one group of finite rewards");
        for (pick, advantage) in std::iter::zip(&picks, advantages) {
            for (action, step) in expected.iter_mut().enumerate() {
                let slope = f64::from(action == *pick) - probs[action];
                *step += probability * advantage * slope / group_size as f64;
            }
        }
    }
    let success = probs[0];
    let factor = clock(success, group_size);
    let predicted: Vec<f64> = (0..ACTIONS)
        .map(|action| factor * probs[action] * (f64::from(action == 0) - success))
        .collect();
    largest_gap(&expected, &predicted) / largest(&predicted)
}
