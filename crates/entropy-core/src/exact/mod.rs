//! Effects of a step on the entropy, each to a relative error of 1e-13 even where terms cancel.
//!
//! A figure is first summed in `f64`, together with the size of its terms. If it is too small a part of that size to be
//! accurate, it is summed again in twice the precision, and then in as many digits as it needs. Terms that cancel exactly
//! are recognised by their symmetry: no precision shows a 0.
//! Derivation: `docs/theory.md#cancellation`.

mod big;
mod direction;
mod double_double;
mod expansion;
mod factorial;
mod multi_precision;
mod precise_policy;
mod real;
mod symmetry;

pub(crate) use direction::{Direction, Figure};

use crate::categorical::Categorical;
use expansion::{Expansion, Rated};
use precise_policy::PrecisePolicy;

/// Range of the step up to which no term of the exact sums is much larger than the sum.
const SMOOTH_RANGE: f64 = 2.0;
/// Range of logits and step up to which an entropy in `f64` has fourteen digits.
const MODERATE_RANGE: f64 = 100.0;

/// Computes the figure for a policy that moves in a direction.
///
/// # Panics
///
/// If the direction does not hold one value per action, or is NaN or infinite at a possible one.
pub(crate) fn figure(policy: &Categorical, direction: Direction, figure: Figure) -> f64 {
    policy.check_length(direction.column);
    let quick =
        Expansion::new(policy.probs(), policy.centred_log_probs(), policy.mode(), direction);
    // The sums run over what has a probability before the step.
    let is_sum = matches!(figure, Figure::FirstOrder | Figure::Curvature) || !quick.wakes();
    let settled = |figure: Figure| quick.rated(figure).settled().filter(|_| is_sum);
    if let Some(value) = settled(figure) {
        return value;
    }
    direction.check_finite(policy);
    let figure = match figure {
        Figure::FirstOrder | Figure::Change if symmetry::is_uncorrelated(policy, direction) => {
            if figure == Figure::FirstOrder {
                return 0.0;
            }
            // All of the change is of second order, and no smaller part of a larger sum.
            if let Some(value) = settled(Figure::Remainder) {
                return value;
            }
            Figure::Remainder
        }
        other => other,
    };
    if figure == Figure::Change
        && quick.range() > SMOOTH_RANGE
        && let Some(value) = difference(policy, direction).settled()
    {
        return value;
    }
    if is_sum {
        let precise = PrecisePolicy::of(policy.logits());
        let expansion = precise.expansion(direction);
        if figure == Figure::Change
            && let Some(value) = expansion.first_order().with(quick.remainder())
        {
            return value;
        }
        if let Some(value) = expansion.rated(figure).settled() {
            return value;
        }
    }
    multi_precision::figure(policy.logits(), direction, figure)
}

/// `ΔH` as the difference of two entropies, which can be more accurate for a long step.
fn difference(policy: &Categorical, direction: Direction) -> Rated<f64> {
    let along = direction.along(policy.probs(), policy.centred_log_probs(), policy.mode());
    let after = policy.moved(&along.values, 1.0);
    let entropy_size = |policy: &Categorical| {
        let range = policy.range_over_support(policy.centred_log_probs()).min(700.0);
        policy.entropy() * 0.125f64.mul_add(range, 1.0)
    };
    Rated {
        value: after.entropy() - policy.entropy(),
        size: 2.0 * (entropy_size(policy) + entropy_size(&after)),
    }
}

/// Entropy after the step, in nats.
pub(crate) fn entropy_after(policy: &Categorical, direction: Direction) -> f64 {
    let along = direction.along(policy.probs(), policy.centred_log_probs(), policy.mode());
    let range = policy.range_over_support(policy.centred_log_probs())
        + policy.range_over_support(&along.values);
    if range <= MODERATE_RANGE {
        return policy.moved(&along.values, 1.0).entropy();
    }
    PrecisePolicy::of(policy.logits()).after(direction).entropy
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::UpdateRule;
    use proptest::prelude::*;

    /// Logits of few levels or many, impossible ones among them, and advantages that often cancel.
    fn updates() -> impl Strategy<Value = (Vec<f64>, Vec<f64>, f64, UpdateRule)> {
        let logit = prop_oneof![
            (-3.0..3.0f64).boxed(),
            prop::sample::select(vec![0.0, -1.5, 2.25]).boxed(),
            (-700.0..700.0f64).boxed(),
            Just(f64::NEG_INFINITY).boxed(),
        ];
        let advantage = prop_oneof![(-1.0..1.0f64).boxed(), (-2..3i32).prop_map(f64::from).boxed()];
        let row = (1usize..8).prop_flat_map(move |actions| {
            let others = prop::collection::vec(logit.clone(), actions);
            (others, prop::collection::vec(advantage.clone(), actions + 1))
        });
        let rule = prop::sample::select(vec![
            UpdateRule::PolicyGradient,
            UpdateRule::NaturalPolicyGradient,
        ]);
        let sign = prop::sample::select(vec![1.0, -1.0]);
        (row, -15.0..1.0f64, sign, rule).prop_map(
            |((mut logits, advantage), exponent, sign, rule)| {
                logits.push(0.5);
                (logits, advantage, sign * 10f64.powf(exponent), rule)
            },
        )
    }

    proptest! {
        #[test]
        fn every_figure_is_that_of_many_digits((logits, advantage, eta, rule) in updates()) {
            let policy = Categorical::from_logits(&logits).unwrap();
            let direction = Direction { column: &advantage, rule, eta };
            for asked in [Figure::FirstOrder, Figure::Curvature, Figure::Change, Figure::Remainder] {
                let actual = figure(&policy, direction, asked);
                let expected = multi_precision::figure(&logits, direction, asked);
                let error = (actual - expected).abs();
                prop_assert!(
                    error <= (1e-13 * expected.abs()).max(1e-300),
                    "{asked:?}: {actual:e}, not {expected:e}"
                );
            }
        }
    }
}
