//! The tokens that come first, against a stable sort of all.

use proptest::prelude::*;

use super::batches::seeded;
use crate::{
    aggregation::Aggregation,
    batch::{TokenBatch, TokenColumns},
    fast::{
        draw,
        threads::{Threads, tests::at_once},
    },
    method::{ClipCov, CovarianceBand, KlCov, PolicyLoss},
    plan::Share,
    surrogate::ClipRange,
};

/// The selection of a whole mini-batch of one sequence, with this seed of the draw.
fn selected(loss: &PolicyLoss, batch: &TokenBatch<'_>, seed: u64) -> Vec<usize> {
    let share = Share::of(batch.sequence_lengths(), &[0]);
    let summary = loss.summarise(batch).expect("no further column");
    let candidates = loss.candidates(batch, &share, &summary, seed).expect("no further column");
    let plan = loss.finish(batch, &share, &summary, candidates, &Aggregation::TokenMean);
    plan.expect("no further column").selected_tokens().to_vec()
}

proptest! {
    /// Covers draws of which enough lie in the band, too few, or none.
    #[test]
    fn the_drawn_are_those_of_the_band_with_the_highest_numbers(
        seed: u64, tokens in 1usize..3000, low in 0.0..0.6f64, fraction in 1e-4..0.02f64,
    ) {
        let column = |salt: u64| -> Vec<f64> {
            let number = |token| draw::of(salt, token) as f64 / 2f64.powi(52) - 1.0;
            (0..tokens as u64).map(number).collect()
        };
        let (log_prob, advantage) = (column(seed ^ 1), column(seed ^ 2));
        let columns =
            TokenColumns { log_prob: &log_prob, old_log_prob: &log_prob, advantage: &advantage };
        let lengths = [tokens];
        let batch = TokenBatch::new(columns, &lengths).unwrap();
        let (band, clip) = (CovarianceBand::new(low, 1.5).unwrap(), ClipRange::new(0.2, 0.2).unwrap());
        let loss = PolicyLoss::ClipCov(ClipCov::new(fraction, band, clip).unwrap());

        let mut expected = loss.eligible(&batch).unwrap();
        expected.sort_by_key(|&token| std::cmp::Reverse(draw::of(seed, token as u64)));
        expected.truncate(loss.selection().unwrap().count(tokens));
        expected.sort_unstable();
        prop_assert_eq!(selected(&loss, &batch, seed), expected);
    }

    /// Covers advantages per sequence and per token, with ties, in one piece and in three.
    #[test]
    fn the_first_are_those_of_the_highest_covariance(
        seed: u64, tokens in 1usize..4000, length in 1usize..900, levels in 2u64..4000, fraction in 1e-4..0.3f64,
    ) {
        let number = |salt: u64, at: usize| (draw::of(seed ^ salt, at as u64) % levels) as f64 / levels as f64;
        let log_prob: Vec<f64> = (0..tokens).map(|at| -number(1, at)).collect();
        let advantage: Vec<f64> = (0..tokens).map(|at| number(2, at / length) - 0.5).collect();
        let columns =
            TokenColumns { log_prob: &log_prob, old_log_prob: &log_prob, advantage: &advantage };
        let lengths = [tokens];
        let batch = TokenBatch::new(columns, &lengths).unwrap();
        let loss = PolicyLoss::KlCov(KlCov::new(fraction, 1.0).unwrap());
        let selection = loss.selection().unwrap();

        let centre = selection.centre(&loss.summarise(&batch).unwrap());
        let mut expected: Vec<usize> =
            (0..tokens).filter(|&at| selection.admits(advantage[at])).collect();
        prop_assert!(expected.iter().all(|&at| advantage[at] != 0.0));
        let covariance = |at: usize| centre.covariance(advantage[at], log_prob[at]) + 0.0;
        expected.sort_by(|&a, &b| covariance(b).total_cmp(&covariance(a)));
        expected.truncate(selection.count(tokens));
        expected.sort_unstable();
        prop_assert_eq!(&selected(&loss, &batch, 0), &expected);
        let batch = batch.with_threads(Threads::new(3, at_once));
        prop_assert_eq!(&selected(&loss, &batch, 0), &expected);
        let plan = loss.plan(&batch, &Aggregation::TokenMean, &mut seeded(0)).unwrap();
        prop_assert_eq!(plan.selected_tokens(), expected);
    }
}
