//! Properties of every method and any batch.

use proptest::prelude::*;
use rl_losses::{
    Aggregation, Centering, ClipCov, ClipRange, CovarianceBand, KlCov, LossSums, PolicyLoss, Scope,
    Semantics, Share,
};

use crate::batches::{Columns, columns, gather, losses, marked, rules, seeded, with_selected};

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// The parts of a split batch add up to the whole: the micro-batch size is no hyper-parameter.
    #[test]
    fn parts_add_up_to_the_whole(
        columns in columns(), cuts: [prop::sample::Index; 2], seed: u64, rule in 0usize..4,
    ) {
        let (batch, rule) = (columns.batch(), rules()[rule]);
        let n = batch.len();
        let mut cuts = cuts.map(|cut| cut.index(n + 1));
        cuts.sort_unstable();
        for loss in losses() {
            let plan = loss.plan(&batch, &rule, &mut seeded(seed))?;
            let unsplit = loss.evaluate(&batch, plan.part(0..n));
            let (mut value, mut gradient, mut sums) = (0.0, Vec::new(), LossSums::default());
            for run in [0..cuts[0], cuts[0]..cuts[1], cuts[1]..n] {
                let part = loss.evaluate(&batch.part(run.clone()), plan.part(run));
                value += part.value;
                gradient.extend(part.grad_log_prob);
                sums += part.sums;
            }
            prop_assert!((value - unsplit.value).abs() < 1e-12, "{}", loss.name());
            prop_assert_eq!(gradient, unsplit.grad_log_prob);
            let close = sums.neg_log_ratio - unsplit.sums.neg_log_ratio;
            let same = LossSums {
                neg_log_ratio: unsplit.sums.neg_log_ratio,
                abs_log_ratio: unsplit.sums.abs_log_ratio,
                ..sums
            };
            prop_assert!(close.abs() < 1e-12);
            prop_assert_eq!(same, unsplit.sums);
        }
    }

    /// Ranks that tell each other summaries and candidates make the plan of the whole: the same
    /// selection, weights and gradient, to the last bit, in whatever order they are merged.
    #[test]
    fn ranks_make_the_plan_of_the_whole(
        columns in columns(), cuts: [prop::sample::Index; 2], seed: u64, rule in 0usize..4,
        backwards: bool,
    ) {
        let (batch, rule) = (columns.batch(), rules()[rule]);
        let micro_batches = columns.micro_batches.len();
        let mut cuts = cuts.map(|cut| cut.index(micro_batches + 1));
        cuts.sort_unstable();
        let ranks = [0..cuts[0], cuts[0]..cuts[1], cuts[1]..micro_batches].map(|run| columns.rank(run));
        let sequences: usize = columns.micro_batches.iter().sum();
        let ends = [1, 2, 3].map(|count| ranks[..count].iter().map(|rank| rank.lengths.len()).sum());
        let shares = [(0, ends[0]), (ends[0], ends[1]), (ends[1], ends[2])]
            .map(|(start, end)| Share::of(&columns.lengths, &(start..end).collect::<Vec<_>>()));
        let everything = Share::of(&columns.lengths, &(0..sequences).collect::<Vec<_>>());
        let order: Vec<usize> = if backwards { vec![2, 1, 0] } else { vec![0, 1, 2] };
        for loss in losses() {
            let whole_summary = loss.summarise(&batch)?;
            let of_all = loss.candidates(&batch, &everything, &whole_summary, seed)?;
            let full_plan = loss.finish(&batch, &everything, &whole_summary, of_all, &rule)?;
            let expected = loss.evaluate(&batch, full_plan.part(0..batch.len()));

            let mut summary = loss.summarise(&ranks[order[0]].batch())?;
            for &rank in &order[1..] {
                summary.merge(&loss.summarise(&ranks[rank].batch())?);
            }
            let local = |rank: usize| {
                loss.candidates(&ranks[rank].batch(), &shares[rank], &summary, seed)
            };
            let mut candidates = local(order[0])?;
            for &rank in &order[1..] {
                candidates.merge(local(rank)?);
            }
            let (mut selected, mut gradient) = (Vec::new(), Vec::new());
            for (rank, share) in std::iter::zip(&ranks, &shares) {
                let batch = rank.batch();
                let plan = loss.finish(&batch, share, &summary, candidates.clone(), &rule)?;
                selected.extend(plan.selected());
                gradient.extend(loss.evaluate(&batch, plan.part(0..batch.len())).grad_log_prob);
            }
            prop_assert_eq!(selected, full_plan.selected(), "{}", loss.name());
            prop_assert_eq!(gradient, expected.grad_log_prob, "{}", loss.name());
        }
    }

    /// The order of the sequences carries no meaning; a draw, or a tie, follows it.
    #[test]
    fn permuted_sequences_have_the_same_loss(
        (columns, order) in columns().prop_flat_map(|columns| {
            let order: Vec<usize> = (0..columns.lengths.len()).collect();
            (Just(columns), Just(order).prop_shuffle())
        }),
        seed: u64, rule in 0usize..4,
    ) {
        let mut columns = columns;
        columns.micro_batches = vec![columns.lengths.len()];
        let (other, rule) = (columns.permuted(&order), rules()[rule]);
        let (batch, permuted, runs) = (columns.batch(), other.batch(), columns.runs(&order));
        for loss in losses() {
            let plan = loss.plan(&batch, &rule, &mut seeded(seed))?;
            let moved = gather(&plan.selected(), &runs);
            let again = loss.plan(&permuted, &rule, &mut seeded(seed))?;
            prop_assert_eq!(again.selected_tokens().len(), plan.selected_tokens().len(), "{}", loss.name());
            let again = with_selected(again, &moved);
            let one = loss.evaluate(&batch, plan.part(0..batch.len()));
            let two = loss.evaluate(&permuted, again.part(0..batch.len()));
            prop_assert!((one.value - two.value).abs() < 1e-12);
            for (a, b) in std::iter::zip(gather(&one.grad_log_prob, &runs), two.grad_log_prob) {
                prop_assert!((a - b).abs() < 1e-12, "{a} and {b}");
            }
        }
    }

    /// A larger scale of the advantages is a larger step, not another method.
    #[test]
    fn losses_scale_with_the_advantages(
        columns in columns(), scale in 0.1f64..10.0, seed: u64,
    ) {
        let batch = columns.batch();
        let mut scaled = columns.clone();
        for advantage in &mut scaled.advantage {
            *advantage *= scale;
        }
        for loss in losses().into_iter().filter(is_homogeneous) {
            let plan = loss.plan(&batch, &Aggregation::TokenMean, &mut seeded(seed))?;
            // What is selected by covariance depends on its scale; GMPO's constant is a loss itself, those of STEER and
            // CW-GRPO are relative to the largest and to the mean.
            let plan_of_scaled = match loss {
                PolicyLoss::Gmpo(_) | PolicyLoss::Steer(_) | PolicyLoss::CovarianceWeight(_) => {
                    loss.plan(&scaled.batch(), &Aggregation::TokenMean, &mut seeded(seed))?
                }
                _ => plan.clone(),
            };
            if let PolicyLoss::Steer(_) = loss {
                let largest = |columns: &Columns| {
                    loss.summarise(&columns.batch()).map(|summary| summary.largest)
                };
                // Below the smallest scale that it divides by, weights do depend on the size.
                if largest(&columns)?.min(largest(&scaled)?) < 0.02 {
                    continue;
                }
            }
            let one = loss.evaluate(&batch, plan.part(0..batch.len()));
            let two = loss.evaluate(&scaled.batch(), plan_of_scaled.part(0..batch.len()));
            prop_assert!((two.value - scale * one.value).abs() < 1e-10 * (1.0 + one.value.abs()));
            for (one, two) in std::iter::zip(&one.grad_log_prob, &two.grad_log_prob) {
                prop_assert!((two - scale * one).abs() < 1e-10, "{loss:?}");
            }
        }
    }

    /// Methods that read the ratio alone do not see how likely a token is.
    #[test]
    fn losses_of_the_ratio_ignore_a_shift_of_both_policies(
        columns in columns(), shift in -3.0..0.0, seed: u64,
    ) {
        let batch = columns.batch();
        let mut shifted = columns.clone();
        for column in [&mut shifted.log_prob, &mut shifted.old_log_prob]
            .into_iter()
            .chain(&mut shifted.optional[2..])
        {
            for log_prob in column {
                *log_prob += shift;
            }
        }
        for loss in losses().into_iter().filter(reads_the_ratio_alone) {
            let plan = loss.plan(&batch, &Aggregation::TokenMean, &mut seeded(seed))?;
            let one = loss.evaluate(&batch, plan.part(0..batch.len()));
            let two = loss.evaluate(&shifted.batch(), plan.part(0..batch.len()));
            // A ratio at a bound may fall to the other side by rounding.
            if one.sums.clipped == two.sums.clipped {
                for (one, two) in std::iter::zip(&one.grad_log_prob, &two.grad_log_prob) {
                    prop_assert!((two - one).abs() < 1e-12, "{loss:?}");
                }
            }
        }
    }

    /// A method is the plain policy gradient if policy and old policy are the same, or says that it is
    /// not.
    #[test]
    fn on_policy_methods_are_inert_or_say_so(mut columns in columns(), seed: u64) {
        columns.old_log_prob.clone_from(&columns.log_prob);
        columns.optional[1] = columns.optional[0].clone();
        let mut start = 0;
        for &length in &columns.lengths {
            let advantage = columns.advantage.get(start).copied().unwrap_or_default();
            columns.advantage[start..start + length].fill(advantage);
            start += length;
        }
        let batch = columns.batch();
        for loss in losses().into_iter().filter(PolicyLoss::is_inert_on_policy) {
            let plan = loss.plan(&batch, &Aggregation::TokenMean, &mut seeded(seed))?;
            let output = loss.evaluate(&batch, plan.part(0..batch.len()));
            let weight = 1.0 / batch.len() as f64;
            for (slope, advantage) in std::iter::zip(&output.grad_log_prob, batch.advantage()) {
                prop_assert!((slope + weight * advantage).abs() < 1e-14, "{loss:?}");
            }
            prop_assert_eq!(output.sums.altered, 0, "{}", loss.name());
        }
    }

    /// Storage in `f32` changes digits, not the method.
    #[test]
    fn single_precision_agrees(columns in columns(), seed: u64) {
        let single = columns.stored::<f32>();
        // The same numbers in both, so that no token lies on another side of a bound.
        let double = single.stored::<f64>();
        let (single, double) = (single.batch(), double.batch());
        for loss in losses() {
            let plan = loss.plan(&double, &Aggregation::SeqMeanTokenMean, &mut seeded(seed))?;
            let one = loss.evaluate(&double, plan.part(0..double.len()));
            let two = loss.evaluate(&single, plan.part(0..single.len()));
            prop_assert_eq!(one.sums.selected, two.sums.selected);
            if one.sums.clipped == two.sums.clipped && one.sums.altered == two.sums.altered {
                prop_assert!((one.value - two.value).abs() < 1e-5 * (1.0 + one.value.abs()));
                for (one, two) in std::iter::zip(&one.grad_log_prob, &two.grad_log_prob) {
                    prop_assert!((one - f64::from(*two)).abs() < 1e-5, "{loss:?}");
                }
            }
        }
    }

    /// A shift of the advantages or of the log-probabilities, and a larger scale of either, rank the
    /// tokens as before: of equal covariances another may be taken, no lower one. Centred on the state
    /// there is no shift to take off. Every token is a candidate here, as verl has it: a shift moves advantages off 0.
    #[test]
    fn shifts_and_scales_select_the_same_covariances(
        columns in columns(), shift in -3.0..3.0, scale in 0.1..10.0, fraction in 0.05..1.0,
        state: bool,
    ) {
        let centering = if state { Centering::State } else { Centering::Batch };
        let loss = KlCov::new(fraction, 1.0)?.with(centering, Scope::MiniBatch, Semantics::Verl);
        let loss = PolicyLoss::KlCov(loss);
        let batch = columns.batch();
        let covariances = if state {
            let entropy = &columns.optional[0];
            entropy_core::state_token_covariances(batch.advantage(), batch.log_prob(), entropy)
        } else {
            entropy_core::token_covariances(batch.advantage(), batch.log_prob())
        };
        let chosen = |columns: &Columns| -> Result<Vec<f64>, TestCaseError> {
            let marks = marked(&loss, &columns.batch())?;
            let pairs = std::iter::zip(&covariances, marks).filter(|(_, marked)| *marked);
            let mut values: Vec<f64> = pairs.map(|(covariance, _)| *covariance).collect();
            values.sort_by(f64::total_cmp);
            Ok(values)
        };
        let mut moved = columns.clone();
        let shift = if state { 0.0 } else { shift };
        moved.advantage.iter_mut().for_each(|a| *a = scale * *a + shift);
        let advantages = chosen(&moved)?;
        let mut moved = columns.clone();
        moved.log_prob.iter_mut().for_each(|log_prob| *log_prob = scale * *log_prob - shift);
        moved.optional[0].iter_mut().for_each(|entropy| *entropy *= scale);
        for selection in [advantages, chosen(&moved)?] {
            for (covariance, expected) in std::iter::zip(selection, chosen(&columns)?) {
                prop_assert!((covariance - expected).abs() < 1e-9, "{covariance} for {expected}");
            }
        }
    }

    /// KL-Cov marks exactly the share it was given, as far as it has candidates, and no candidate above the lowest it marked is
    /// left. Candidates are the tokens with an advantage, under verl's arithmetic all.
    #[test]
    fn kl_cov_marks_the_highest_covariances(
        columns in columns(), fraction in 0.01..1.0, verl: bool,
    ) {
        let batch = columns.batch();
        let semantics = if verl { Semantics::Verl } else { Semantics::Exact };
        let loss =
            KlCov::new(fraction, 1.0)?.with(Centering::Batch, Scope::MiniBatch, semantics);
        let selected = marked(&PolicyLoss::KlCov(loss), &batch)?;
        let covariances = entropy_core::token_covariances(batch.advantage(), batch.log_prob());
        let candidates: Vec<usize> =
            (0..batch.len()).filter(|&token| verl || batch.advantage()[token] != 0.0).collect();
        let marked_as = |wanted: bool| {
            let tokens = candidates.iter().filter(|&&token| selected[token] == wanted);
            tokens.map(|&token| covariances[token]).collect::<Vec<f64>>()
        };
        let share = (fraction * batch.len() as f64).floor().max(1.0).min(candidates.len() as f64);
        prop_assert_eq!(selected.iter().filter(|mark| **mark).count(), marked_as(true).len());
        prop_assert!((marked_as(true).len() as f64 - share).abs() < 0.5);
        let lowest_marked = marked_as(true).into_iter().fold(f64::INFINITY, f64::min);
        prop_assert!(marked_as(false).iter().all(|covariance| *covariance <= lowest_marked + 1e-14));
    }
}

/// Returns true if the loss is proportional to the advantages, the plan held fixed.
fn is_homogeneous(loss: &PolicyLoss) -> bool {
    match loss {
        PolicyLoss::KlCov(_) | PolicyLoss::Dro(_) => false,
        PolicyLoss::DppoTv(loss) => loss.pull <= 0.0,
        PolicyLoss::CovarianceControl(control) => {
            !matches!(control.treatment, rl_losses::Treatment::Penalise(_))
        }
        _ => true,
    }
}

/// Returns true if the gradient depends on the log-probabilities only through their difference.
fn reads_the_ratio_alone(loss: &PolicyLoss) -> bool {
    !matches!(
        loss,
        PolicyLoss::DppoTv(_)
            | PolicyLoss::DppoKl(_)
            | PolicyLoss::DynamicClip(_)
            | PolicyLoss::Steer(_)
            | PolicyLoss::SequenceMask(_)
            | PolicyLoss::EntropyDiscriminator(_)
            | PolicyLoss::CovarianceWeight(_)
    )
}

/// Every eligible token is drawn equally often: 2 of 8, so a quarter of the draws each.
#[test]
fn clip_cov_draws_uniformly_from_the_band() {
    let log_prob = [-1.0, -1.0, -1.0, -1.0, -3.0, -3.0, -3.0, -3.0];
    let columns = Columns {
        log_prob: log_prob.to_vec(),
        old_log_prob: log_prob.to_vec(),
        advantage: vec![1.0, 1.0, 1.0, 1.0, -1.0, -1.0, -1.0, -1.0],
        optional: [const { Vec::new() }; 4].map(|_: Vec<f64>| log_prob.to_vec()),
        lengths: vec![8],
        micro_batches: vec![1],
    };
    let band = CovarianceBand::new(0.5, 5.0).unwrap();
    let loss = ClipCov::new(0.25, band, ClipRange::new(1.0, 1.0).unwrap()).unwrap();
    let draws = 20_000;
    let (mut counts, mut pairs, mut rng) = ([0u32; 8], [[0u32; 8]; 8], seeded(7));
    for _ in 0..draws {
        let plan = PolicyLoss::ClipCov(loss)
            .plan(&columns.batch(), &Aggregation::TokenMean, &mut rng)
            .unwrap();
        let &[first, second] = plan.selected_tokens() else { panic!("two tokens") };
        counts[first] += 1;
        counts[second] += 1;
        pairs[first][second] += 1;
    }
    let within = |count: u32, share: f64| {
        let standard_error = (share * (1.0 - share) / f64::from(draws)).sqrt();
        (f64::from(count) / f64::from(draws) - share).abs() < 5.5 * standard_error
    };
    assert!(counts.iter().all(|&count| within(count, 0.25)), "{counts:?}");
    for (first, row) in pairs.iter().enumerate() {
        assert!(row[first + 1..].iter().all(|&count| within(count, 1.0 / 28.0)), "{pairs:?}");
    }
}
