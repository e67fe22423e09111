//! Sequences dealt out to ranks in any way: the plan stays that of the whole.

use proptest::prelude::*;
use rl_losses::{Scope, Share};

use crate::batches::{columns, losses, rules, seeded};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Selections and gradients of every method, to the bit; some ranks may hold nothing.
    #[test]
    fn dealt_sequences_make_the_plan_of_the_whole(
        columns in columns(),
        owners in prop::collection::vec(0usize..3, 6),
        seed: u64, rule in 0usize..4,
    ) {
        let (lengths, rule) = (columns.lengths.clone(), rules()[rule]);
        let everyone: Vec<usize> = (0..lengths.len()).collect();
        let whole_columns = columns.permuted(&everyone);
        let whole_batch = whole_columns.batch();
        let held: Vec<Vec<usize>> = (0..3)
            .map(|rank| everyone.iter().copied().filter(|&one| owners[one] == rank).collect())
            .collect();
        let ranks: Vec<_> = held.iter().map(|own| columns.permuted(own)).collect();
        let shares: Vec<Share> = held.iter().map(|own| Share::of(&lengths, own)).collect();
        let chosen = losses().into_iter().filter(|loss| loss.scope() != Some(Scope::MicroBatch));
        for loss in chosen {
            let plan = loss.plan(&whole_batch, &rule, &mut seeded(seed))?;
            let expected = loss.evaluate(&whole_batch, plan.part(0..plan.len()));

            let draw_seed = loss.draw_seed(&mut seeded(seed));
            let mut summary = loss.summarise(&ranks[2].batch())?;
            for rank in [0, 1] {
                summary.merge(&loss.summarise(&ranks[rank].batch())?);
            }
            let local = |rank: usize| {
                let batch = ranks[rank].batch();
                loss.candidates(&batch, &shares[rank], &summary, draw_seed)
            };
            let mut candidates = local(2)?;
            for rank in [0, 1] {
                candidates.merge(local(rank)?);
            }
            let mut selected = vec![false; plan.len()];
            let mut gradient = vec![f64::NAN; plan.len()];
            for ((sequences, columns), share) in held.iter().zip(&ranks).zip(&shares) {
                let batch = columns.batch();
                let part = loss.finish(&batch, share, &summary, candidates.clone(), &rule)?;
                let output = loss.evaluate(&batch, part.part(0..batch.len()));
                let tokens = sequences.iter().flat_map(|&one| whole_batch.token_range(one..one + 1));
                for (index, token) in tokens.enumerate() {
                    selected[token] = part.selected()[index];
                    gradient[token] = output.grad_log_prob[index];
                }
            }
            prop_assert_eq!(selected, plan.selected(), "{}", loss.name());
            prop_assert_eq!(gradient, expected.grad_log_prob, "{}", loss.name());
        }
    }
}
