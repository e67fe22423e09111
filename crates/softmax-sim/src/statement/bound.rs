//! The bound on what Lemma 1 leaves out, against many random and adversarial cases.

use super::vectors::{normals, range, span, stream};
use crate::report::Row;
use entropy_core::Categorical;
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;

/// Beyond this range of the step the exact change is a difference of two entropies.
const ACCURATE_RANGE: f64 = 2.0;

/// Checks `bound`, in nats, by the share of it that the remainder takes in each of so many `cases`.
///
/// Policies from uniform to peaked over 2 to 10⁴ actions, with impossible actions and logits of ±700,
/// and those that come nearest to the bound: one action against equal others, stepped by its
/// indicator. Steps of range 1e-6 to 50.
pub fn check(
    seed: u64,
    cases: u64,
    bound: impl Fn(&Categorical, &[f64]) -> f64 + Sync,
) -> Vec<Row> {
    let shares: Vec<f64> =
        (0..cases).into_par_iter().map(|case| share(seed, case, &bound)).collect();
    vec![Row::of("error of Lemma 1 over C_n range(δ)²", 1.0, shares).by(
        "random and adversarial policies and steps, 2 to 10⁴ actions, steps of range 1e-6 to 50",
    )]
}

fn share(seed: u64, case: u64, bound: impl Fn(&Categorical, &[f64]) -> f64) -> f64 {
    let (logits, step) = draw(seed, case);
    let policy = Categorical::from_logits(&logits).expect("the first logit is finite");
    let change = policy.entropy_change(&step);
    let remainder = (change - policy.entropy_change_first_order(&step)).abs();
    let width = range(&policy, &step);
    // Rounding alone: of the two terms, and of the two entropies whose difference a long step takes.
    let mut rounding = 4.0 * f64::EPSILON * change.abs();
    if width > ACCURATE_RANGE {
        rounding += 1e-15 * policy.entropy();
    }
    if remainder <= rounding { 0.0 } else { (remainder - rounding) / bound(&policy, &step) }
}

fn draw(seed: u64, case: u64) -> (Vec<f64>, Vec<f64>) {
    let mut rng = stream(seed, 0x0062_6f75_6e64, case);
    let actions = actions(&mut rng, case);
    let range = log_uniform(&mut rng, 1e-6, 50.0);
    let (mut logits, mut step) = if case.is_multiple_of(3) {
        adversarial(&mut rng, actions)
    } else {
        let deviation = log_uniform(&mut rng, 1e-3, 12.0);
        let logits = normals(&mut rng, actions).iter().map(|x| deviation * x).collect();
        (logits, normals(&mut rng, actions))
    };
    if actions > 2 {
        match case % 16 {
            1 => logits[actions - 1] = f64::NEG_INFINITY,
            2 => (0..actions).for_each(|a| logits[a] += if a % 2 == 0 { 700.0 } else { -700.0 }),
            _ => {}
        }
    }
    let width = span(step.iter().copied());
    if width > 0.0 {
        for value in &mut step {
            *value *= range / width;
        }
    }
    (logits, step)
}

/// One action or a few of mass from e^-12 to e^12 against equal others, stepped by their indicator.
fn adversarial(rng: &mut ChaCha8Rng, actions: usize) -> (Vec<f64>, Vec<f64>) {
    let count = if rng.random_bool(0.7) { 1 } else { rng.random_range(1..actions) };
    let gap = rng.random_range(-12.0..12.0) + (actions as f64).ln() * rng.random_range(0.0..1.0);
    let sign = if rng.random_bool(0.5) { 1.0 } else { -1.0 };
    let one = |action: usize, value: f64| if action < count { value } else { 0.0 };
    ((0..actions).map(|a| one(a, gap)).collect(), (0..actions).map(|a| one(a, sign)).collect())
}

/// 2 to 256 actions, evenly in the logarithm; one case in five hundred has up to 10⁴.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a positive number of actions, rounded down"
)]
fn actions(rng: &mut ChaCha8Rng, case: u64) -> usize {
    let most = if case.is_multiple_of(500) { 10_001.0 } else { 257.0 };
    log_uniform(rng, 2.0, most) as usize
}

fn log_uniform(rng: &mut ChaCha8Rng, low: f64, high: f64) -> f64 {
    rng.random_range(low.ln()..high.ln()).exp()
}
