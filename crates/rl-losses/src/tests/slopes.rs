//! The gradient against differences of the value.

use proptest::prelude::*;

use super::batches::{columns, losses, rules, seeded};
use crate::{
    batch::TokenBatch,
    fast::real::Real,
    plan::{PlanPart, StepPlan},
    term::{Sources, Token, TokenLoss, Visited, Visitor},
};

/// The weighed loss of one token as its log-probability moves by `step`: plan and stop-gradients stay.
struct Moved<'a> {
    batch: &'a TokenBatch<'a>,
    plan: PlanPart<'a>,
    step: f64,
}

impl Visitor for Moved<'_> {
    type Output = f64;

    fn visit<L: TokenLoss>(self, loss: &L) -> f64 {
        let Self { batch, plan, step } = self;
        let column = |values: &[f64]| values[0];
        let (old_log_prob, advantage) = (column(batch.old_log_prob()), column(batch.advantage()));
        let detached_log_prob = column(batch.log_prob());
        let StepPlan { constants, column, shared, .. } = plan.plan;
        let mut constant = constants.values(plan.shifted(0..1))[0];
        if plan.makes_constants() {
            let column = column.map_or(0.0, |name| batch.column(name).expect("all columns")[0]);
            let (planned, log_prob) = (constant, detached_log_prob);
            let shared = shared.unwrap_or_default();
            constant = loss.constant(Sources {
                planned,
                log_prob,
                old_log_prob,
                advantage,
                column,
                shared,
            });
        }
        let log_prob = detached_log_prob + step;
        let limit = loss.log_ratio_limit().unwrap_or(f64::INFINITY);
        let log_ratio = log_prob - old_log_prob;
        let token = Token {
            log_prob,
            old_log_prob,
            detached_log_prob,
            ratio: Real::exp(log_ratio.held(-limit, limit)),
            held: log_ratio.abs() > limit.min(<f64 as Real>::EXP_LIMIT),
            advantage,
            constant,
            selected: plan.selected()[0],
        };
        plan.weights()[0] * loss.score(&token).term.value
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// The gradient against differences of the value, with plan and stop-gradients held fixed. Where
    /// the slopes to both sides differ there is a kink, and the gradient is one of them.
    #[test]
    fn gradient_is_the_slope_of_the_value(columns in columns(), seed: u64, rule in 0usize..4) {
        const STEP: f64 = 1e-6;
        let (batch, rule) = (columns.batch(), rules()[rule]);
        let n = batch.len();
        for loss in losses() {
            let plan = loss.plan(&batch, &rule, &mut seeded(seed))?;
            let gradient = loss.evaluate(&batch, plan.part(0..n)).grad_log_prob;
            for (token, &slope) in gradient.iter().enumerate() {
                let run = token..token + 1;
                let part = batch.part(run.clone());
                let value_at = |step: f64| {
                    loss.visit(Moved { batch: &part, plan: plan.part(run.clone()), step })
                };
                let here = value_at(0.0);
                let value = loss.evaluate(&part, plan.part(run.clone())).value;
                prop_assert_eq!(value.to_bits(), (here + 0.0).to_bits());
                let right = (value_at(STEP) - here) / STEP;
                let left = (here - value_at(-STEP)) / STEP;
                let size = 1.0 + left.abs() + right.abs();
                let close = |difference: f64| (difference - slope).abs() < 2e-5 * size;
                // At a kink any of the two, or, as of |x| at 0, their mean; a jump of the value, as
                // where a mask sets in, has no slope on its side.
                let kink = (right - left).abs() > 2e-5 * size;
                let at_kink = close(left) || close(right) || close(0.5 * (left + right));
                prop_assert!(
                    if kink { at_kink } else { close(left) && close(right) },
                    "{loss:?}, token {token}: {left}, {right}, slope {slope}"
                );
            }
        }
    }
}
