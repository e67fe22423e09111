//! A share of its own for each bucket of prompts.

use proptest::prelude::*;
use rl_losses::{Centering, CovarianceControl, Knob, PolicyLoss};

use crate::batches::{columns, gather, losses, rules, seeded, token_weights};

proptest! {
    /// Each bucket has its share, of its own tokens, as if it were alone (centred on the state: batch
    /// means are those of all buckets); one bucket for all is the plain plan.
    #[test]
    fn each_bucket_has_its_own_share(
        columns in columns(), seed: u64, rule in 0usize..4,
        marks in prop::collection::vec(0usize..3, 6), fractions in prop::collection::vec(0.01..1.0, 3),
    ) {
        let (batch, rule) = (columns.batch(), rules()[rule]);
        let sequences = columns.lengths.len();
        let buckets = &marks[..sequences];
        let control = CovarianceControl { centering: Centering::State, ..CovarianceControl::default() };
        let with = |fraction: f64| PolicyLoss::CovarianceControl(CovarianceControl { fraction, ..control });
        let plan =
            with(1.0).plan_by_bucket(&batch, buckets, &fractions, &rule, &mut seeded(seed))?;
        prop_assert_eq!(plan.weights(), token_weights(&rule, &columns.lengths));
        for (bucket, &fraction) in fractions.iter().enumerate() {
            let order: Vec<usize> = (0..sequences).filter(|&one| buckets[one] == bucket).collect();
            let alone = columns.permuted(&order);
            let alone = with(fraction).plan(&alone.batch(), &rule, &mut seeded(seed))?;
            prop_assert_eq!(gather(&plan.selected(), &columns.runs(&order)), alone.selected());
        }
        for loss in losses() {
            let fraction = [0.37];
            let one = loss.plan_by_bucket(&batch, &marks.repeat(0), &fraction, &rule, &mut seeded(seed));
            prop_assert!(one.is_err() || sequences == 0);
            let one = loss
                .plan_by_bucket(&batch, &vec![0; sequences], &fraction, &rule, &mut seeded(seed));
            let Ok(moved) = Knob::Fraction.set(&loss, fraction[0]) else { continue };
            match one {
                Ok(plan) => prop_assert_eq!(plan, moved.plan(&batch, &rule, &mut seeded(seed))?),
                Err(error) => prop_assert!(format!("{loss:?}").contains("MicroBatch"), "{error}"),
            }
        }
    }
}
