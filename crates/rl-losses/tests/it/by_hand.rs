//! Numbers worked out by hand: one token each, on either side of a rule.

use entropy_core::Categorical;
use rl_losses::{
    Aggregation, Centering, ClipCov, ClipRange, Column, CorrectionLevel, CovarianceBand,
    CovarianceWeight, DppoKl, DppoTv, EntropyDiscriminator, EntropyRatioClip, Gspo, KlCov,
    LossOutput, PolicyLoss, PpoClip, Scope, Semantics, SequenceMask, Steer, TokenBatch,
    TokenColumns, Topr, Vespo, entropy_bonus,
};

use crate::batches::seeded;

/// One sequence under its plan; `entropy` and `old_entropy` in nats.
fn evaluate(
    loss: &PolicyLoss,
    columns: TokenColumns<'_>,
    entropy: &[f64],
    old_entropy: &[f64],
) -> LossOutput {
    let lengths = [columns.log_prob.len()];
    let batch =
        TokenBatch::new(columns, &lengths).and_then(|batch| batch.with(Column::Entropy, entropy));
    let batch = batch.and_then(|batch| batch.with(Column::OldEntropy, old_entropy));
    let batch = batch.expect("columns of one length");
    let plan = loss.plan(&batch, &Aggregation::TokenMean, &mut seeded(0)).expect("all columns");
    loss.evaluate(&batch, plan.part(0..batch.len()))
}

fn close(computed: f64, expected: f64) {
    assert!(
        (computed - expected).abs() <= 1e-14 * expected.abs().max(1.0),
        "{computed} {expected}"
    );
}

/// `Ω = 0.1 · ½ · (ln ½ + 0.8)` is about 0.005: without the floor of 0.02 the token would weigh `λ`, with it `λ^(Ω / 0.02)`.
#[test]
fn steer_holds_back_no_token_of_a_small_change_by_more_than_its_share() {
    let (log_prob, steer) = ([0.5f64.ln()], Steer::default());
    let columns = TokenColumns { log_prob: &log_prob, old_log_prob: &log_prob, advantage: &[0.1] };
    let change: f64 = 0.1 * 0.5 * (0.5f64.ln() + 0.8);
    let output = evaluate(&PolicyLoss::Steer(steer), columns, &[0.8], &[0.8]);
    close(output.grad_log_prob[0], -0.1 * 0.8f64.powf(change / 0.02));

    // Ten times the advantage is past the floor: the largest change weighs λ.
    let columns = TokenColumns { advantage: &[1.0], ..columns };
    let output = evaluate(&PolicyLoss::Steer(steer), columns, &[0.8], &[0.8]);
    close(output.grad_log_prob[0], -0.8);
}

/// From ½ to 0.7 the divergence from the old policy, `-½ ln(4 · 0.7 · 0.3) = 0.0872`, is more than the other way round,
/// `0.7 ln 1.4 + 0.3 ln 0.6 = 0.0823`; a bound lies between them.
#[test]
fn dppo_measures_its_divergence_from_the_old_policy() {
    let gradient = |old: f64, new: f64, divergence_high: f64| {
        let loss = DppoKl { divergence_low: 0.0, divergence_high, ratio_ceiling: 20.0 };
        let columns =
            TokenColumns { log_prob: &[new.ln()], old_log_prob: &[old.ln()], advantage: &[1.0] };
        evaluate(&PolicyLoss::DppoKl(loss), columns, &[0.0], &[0.0]).grad_log_prob[0]
    };
    close(gradient(0.5, 0.7, 0.085), 0.0);
    close(gradient(0.5, 0.7, 0.088), -1.4);
}

/// A sequence's log-ratio of 12 counts as 10, and the loss is flat beyond; one of 9 counts.
#[test]
fn gspo_holds_the_ratio_of_a_sequence_at_ten_nats() {
    let output = |moved: f64| {
        let columns = TokenColumns {
            log_prob: &[-1.0, -1.0],
            old_log_prob: &[-1.0 - moved, -1.0 - moved],
            advantage: &[-1.0, -1.0],
        };
        evaluate(&PolicyLoss::Gspo(Gspo::default()), columns, &[0.0; 2], &[0.0; 2])
    };
    close(output(12.0).value, 10f64.exp());
    assert_eq!(output(12.0).grad_log_prob, [0.0; 2]);
    close(output(9.0).value, 9f64.exp());
    close(output(9.0).grad_log_prob[0], 0.5 * 9f64.exp());
}

/// A probability may rise by 0.3 and fall by 0.1: from ½ to 0.7 it may, from ½ to 0.3 it may not.
#[test]
fn dppo_bounds_a_rise_and_a_fall_apart() {
    let gradient = |new: f64, advantage: f64| {
        let loss =
            DppoTv { divergence_low: 0.1, divergence_high: 0.3, ratio_ceiling: 20.0, pull: 0.0 };
        let columns = TokenColumns {
            log_prob: &[new.ln()],
            old_log_prob: &[0.5f64.ln()],
            advantage: &[advantage],
        };
        evaluate(&PolicyLoss::DppoTv(loss), columns, &[0.0], &[0.0]).grad_log_prob[0]
    };
    close(gradient(0.7, 1.0), -1.4);
    close(gradient(0.85, 1.0), 0.0);
    close(gradient(0.45, -1.0), 0.9);
    close(gradient(0.3, -1.0), 0.0);
}

/// The band (0.5, 1.2) keeps an entropy that fell to 0.6 of the old one; upside down, 1 / 0.6 lies outside.
#[test]
fn the_entropy_ratio_is_new_over_old() {
    let loss = PolicyLoss::EntropyRatioClip(EntropyRatioClip {
        entropy_ratio_low: 0.5,
        entropy_ratio_high: 1.2,
        ..EntropyRatioClip::default()
    });
    let column = [-1.0, -1.0];
    let columns = TokenColumns { log_prob: &column, old_log_prob: &column, advantage: &[1.0, 1.0] };
    let output = evaluate(&loss, columns, &[0.6, 1.0], &[1.0, 0.6]);
    close(output.grad_log_prob[0], -0.5);
    close(output.grad_log_prob[1], 0.0);
}

/// Discriminators `π (ln π + H)` of -0.2, 0 and 0.2 for `π = ½`: mean 0, deviation `√(0.08 / 3) = 0.163`. At one deviation the first is
/// dropped if its advantage is negative, at 1.3 none is; where all are the same, none is.
#[test]
fn the_discriminator_drops_negative_tokens_far_below_the_mean() {
    let log_prob = [0.5f64.ln(); 3];
    let gradient = |deviations: f64, first: f64, spread: f64| {
        let loss = EntropyDiscriminator { deviations, ..Default::default() };
        let columns = TokenColumns {
            log_prob: &log_prob,
            old_log_prob: &log_prob,
            advantage: &[first, -1.0, -1.0],
        };
        let entropy = [-0.4, 0.0, 0.4].map(|shift| 2f64.ln() + spread * shift);
        evaluate(&PolicyLoss::EntropyDiscriminator(loss), columns, &entropy, &entropy).grad_log_prob
    };
    let third = 1.0 / 3.0;
    assert_eq!(gradient(1.0, -1.0, 1.0), [0.0, third, third]);
    assert_eq!(gradient(1.0, 1.0, 1.0), [-third, third, third]);
    assert_eq!(gradient(1.3, -1.0, 1.0), [third; 3]);
    assert_eq!(gradient(0.0, -1.0, 0.0), [third; 3]);
}

/// Advantages of ±1 and centred log-probabilities of 3, -1, 1 and -3: covariances of 3, 1, 1 and 3, of mean 2 and variance 1, whose
/// weights are as `e^-4.5` to `e^-0.5`.
#[test]
fn a_token_weighs_by_the_gaussian_of_its_covariance() {
    let loss = PolicyLoss::CovarianceWeight(CovarianceWeight::default());
    let log_prob = [-1.0, -5.0, -3.0, -7.0];
    let gradient = |advantage: &[f64; 4]| {
        let columns = TokenColumns { log_prob: &log_prob, old_log_prob: &log_prob, advantage };
        evaluate(&loss, columns, &[0.0; 4], &[0.0; 4]).grad_log_prob
    };
    let (near, far) = ((-0.5f64).exp(), (-4.5f64).exp());
    let advantage = [1.0, -1.0, 1.0, -1.0];
    for (slope, (weight, advantage)) in
        std::iter::zip(gradient(&advantage), std::iter::zip([far, near, near, far], advantage))
    {
        close(slope, -0.25 * advantage * 2.0 * weight / (near + far));
    }
    // Covariances of 0 throughout: all weigh the same.
    assert_eq!(gradient(&[0.5; 4]), [-0.125; 4]);
}

/// PPO's log-ratios are held at 20 nats: one of 18 is not, one of 22 is.
#[test]
fn log_ratios_are_held_at_twenty_nats() {
    let loss = PolicyLoss::PpoClip(PpoClip::default());
    let columns = TokenColumns {
        log_prob: &[-1.0, -1.0],
        old_log_prob: &[-19.0, -23.0],
        advantage: &[1.0, 1.0],
    };
    let output = evaluate(&loss, columns, &[0.0; 2], &[0.0; 2]);
    close(output.sums.abs_log_ratio, 38.0);
    close(output.sums.ppo_kl(), -19.0);
}

/// Two responses without an advantage beside two with one: covariances 1, 1, 2.5 and -4.5.
#[test]
fn tokens_without_an_advantage_are_candidates_in_verl_alone() {
    let log_prob = [-6.0, -6.0, -3.0, -1.0];
    let old_log_prob = log_prob.map(|log_prob| log_prob + 0.5);
    let columns =
        |advantage| TokenColumns { log_prob: &log_prob, old_log_prob: &old_log_prob, advantage };
    let kl_cov = |semantics| {
        let loss = KlCov::new(0.5, 1.0).expect("a share");
        PolicyLoss::KlCov(loss.with(Centering::Batch, Scope::MiniBatch, semantics))
    };
    let clip_cov = |semantics| {
        let band = CovarianceBand::new(0.5, 5.0).expect("a band");
        let loss = ClipCov::new(1.0, band, ClipRange::new(1.0, 1.0).expect("a clip"));
        let loss = loss.expect("a share");
        PolicyLoss::ClipCov(loss.with(Centering::Batch, Scope::MiniBatch, semantics))
    };
    let lengths = [1; 4];
    let batch = TokenBatch::new(columns(&[0.0, 0.0, 3.0, -1.0]), &lengths).expect("one length");
    let selected = |loss: PolicyLoss| {
        let plan = loss.plan(&batch, &Aggregation::TokenMean, &mut seeded(0)).expect("a plan");
        plan.selected_tokens().to_vec()
    };
    assert_eq!(selected(kl_cov(Semantics::Exact)), [2, 3]);
    assert_eq!(selected(kl_cov(Semantics::Verl)), [0, 2]);
    assert_eq!(selected(clip_cov(Semantics::Exact)), [2]);
    assert_eq!(selected(clip_cov(Semantics::Verl)), [0, 1, 2]);

    // Groups of equal rewards alone: in verl the first half is pulled back by β, though nothing was learnt.
    let gradient = |semantics| {
        evaluate(&kl_cov(semantics), columns(&[0.0; 4]), &[0.0; 4], &[0.0; 4]).grad_log_prob
    };
    assert_eq!(gradient(Semantics::Exact), [0.0; 4]);
    assert_eq!(gradient(Semantics::Verl), [-0.25, -0.25, 0.0, 0.0]);
}

/// The policy left every sequence by half a nat a token on average: that of the negative advantage is dropped and stays in the
/// denominator. At a bound of half a nat none is.
#[test]
fn a_stale_sequence_is_left_out_if_its_advantage_is_negative() {
    let gradient = |divergence: f64| {
        let loss = PolicyLoss::SequenceMask(SequenceMask { divergence, ..Default::default() });
        let (log_prob, rollout) = ([-2.0, -1.0, -2.0, -1.0], [-1.25, -0.75, -1.25, -0.75]);
        let columns = TokenColumns {
            log_prob: &log_prob,
            old_log_prob: &log_prob,
            advantage: &[-1.0, -1.0, 2.0, 2.0],
        };
        let lengths = [2, 2];
        let batch = TokenBatch::new(columns, &lengths).expect("columns of one length");
        let batch = batch.with(Column::RolloutLogProb, &rollout).expect("columns of one length");
        let plan = loss.plan(&batch, &Aggregation::TokenMean, &mut seeded(0)).expect("a plan");
        loss.evaluate(&batch, plan.part(0..4)).grad_log_prob
    };
    assert_eq!(gradient(0.49), [0.0, 0.0, -0.5, -0.5]);
    assert_eq!(gradient(0.5), [0.25, 0.25, -0.5, -0.5]);
}

/// Sequences that rose by half a nat and fell by half a nat, of either sign: only a negative one that fell weighs less than 1.
#[test]
fn topr_tapers_negative_sequences_that_the_policy_has_left() {
    let old = [-2.0; 8];
    let log_prob = [-1.8, -1.7, -2.2, -2.3, -1.8, -1.7, -2.2, -2.3];
    let columns = TokenColumns {
        log_prob: &log_prob,
        old_log_prob: &old,
        advantage: &[-1.0, -1.0, -1.0, -1.0, 1.0, 1.0, 1.0, 1.0],
    };
    let lengths = [2; 4];
    let batch = TokenBatch::new(columns, &lengths).expect("columns of one length");
    let loss = PolicyLoss::Topr(Topr::default());
    let plan = loss.plan(&batch, &Aggregation::SeqMeanTokenSum, &mut seeded(0)).expect("a plan");
    let output = loss.evaluate(&batch, plan.part(0..8));
    let tapered = 0.25 * (-0.5f64).exp();
    for (slope, expected) in std::iter::zip(
        output.grad_log_prob,
        [0.25, 0.25, tapered, tapered, -0.25, -0.25, -0.25, -0.25],
    ) {
        close(slope, expected);
    }
    assert_eq!(output.sums.clipped, 2);
}

/// By the mean of a sequence's log-ratios a negative sequence that fell by 0.2 and 0.3 nats weighs `e^-0.25`.
#[test]
fn topr_takes_the_mean_ratio_of_a_sequence_if_asked() {
    let columns = TokenColumns {
        log_prob: &[-2.2, -2.3],
        old_log_prob: &[-2.0, -2.0],
        advantage: &[-1.0, -1.0],
    };
    let loss = Topr { level: CorrectionLevel::Geometric, ..Topr::default() };
    let output = evaluate(&PolicyLoss::Topr(loss), columns, &[0.0; 2], &[0.0; 2]);
    close(output.grad_log_prob[0], 0.5 * (-0.25f64).exp());
}

/// Log-ratios of -30 and 15 count as -20 and 15: the sequence's is -5. Two of -15 make -30, which counts as `ln 1e-8`.
#[test]
fn vespo_holds_the_ratios_of_tokens_and_of_sequences() {
    let gradient = |old_log_prob: &[f64; 2]| {
        let columns =
            TokenColumns { log_prob: &[-40.0, -20.0], old_log_prob, advantage: &[1.0, 1.0] };
        let loss = Vespo { power_positive: 0.25, decay_positive: 1.5, ..Vespo::default() };
        evaluate(&PolicyLoss::Vespo(loss), columns, &[0.0; 2], &[0.0; 2]).grad_log_prob[0]
    };
    let weight = |ratio: f64| ratio.powf(0.25) * (1.5 * (1.0 - ratio)).exp();
    close(gradient(&[-10.0, -35.0]), -0.5 * weight((-5f64).exp()));
    close(gradient(&[-25.0, -5.0]), -0.5 * weight(1e-8));
}

/// Two tokens have one covariance, a quarter of the product of their differences: none weighs more, whatever the rounding.
#[test]
fn two_tokens_have_one_covariance_and_weigh_alike() {
    let loss = PolicyLoss::CovarianceWeight(CovarianceWeight::default());
    for pair in 0..200 {
        let value = |salt: f64| 3.0 * (f64::from(pair) + salt).sin();
        let log_prob = [0.1, 0.2].map(|salt| value(salt) - 3.5);
        let advantage = [value(0.3), value(0.4)];
        let columns =
            TokenColumns { log_prob: &log_prob, old_log_prob: &log_prob, advantage: &advantage };
        let output = evaluate(&loss, columns, &[0.0; 2], &[0.0; 2]);
        close(output.grad_log_prob[0], -0.5 * advantage[0]);
        close(output.grad_log_prob[1], -0.5 * advantage[1]);
    }
}

/// Certain tokens have their entropy as discriminator. One at the mean less the deviations is not below it: of 0, 1 and 2 the second at
/// no deviation, of 0 and 2 the first at one.
#[test]
fn a_discriminator_at_its_bound_is_not_below_it() {
    let gradient = |deviations: f64, entropy: &[f64]| {
        let loss = EntropyDiscriminator { deviations, ..Default::default() };
        let (zeros, advantage) = (vec![0.0; entropy.len()], vec![-1.0; entropy.len()]);
        let columns =
            TokenColumns { log_prob: &zeros, old_log_prob: &zeros, advantage: &advantage };
        evaluate(&PolicyLoss::EntropyDiscriminator(loss), columns, entropy, entropy).grad_log_prob
    };
    let third = 1.0 / 3.0;
    assert_eq!(gradient(0.0, &[0.0, 1.0, 2.0]), [0.0, third, third]);
    assert_eq!(gradient(1.0, &[0.0, 2.0]), [0.5, 0.5]);
}

/// An advantage of 1e9 counts as 1e6, in means and variance as in its own covariance: by definition over three tokens.
#[test]
fn covariances_are_those_of_columns_held_at_a_million() {
    let (log_prob, held) = ([-1.0, -2.0, -4.0], [1e6, -1.0, 1.0]);
    let mean = |values: [f64; 3]| values.iter().sum::<f64>() / 3.0;
    let covariance: [f64; 3] = std::array::from_fn(|token| {
        (log_prob[token] - mean(log_prob)) * (held[token] - mean(held))
    });
    let variance = mean(covariance.map(|c| (c - mean(covariance)).powi(2)));
    let weights = covariance.map(|c| (-c * c / (2.0 * variance)).exp());
    let columns =
        TokenColumns { log_prob: &log_prob, old_log_prob: &log_prob, advantage: &[1e9, -1.0, 1.0] };
    let loss = PolicyLoss::CovarianceWeight(CovarianceWeight::default());
    let output = evaluate(&loss, columns, &[0.0; 3], &[0.0; 3]);
    for (token, advantage) in [1e9, -1.0, 1.0].into_iter().enumerate() {
        let expected = -advantage / 3.0 * weights[token] / mean(weights);
        assert!((output.grad_log_prob[token] / expected - 1.0).abs() < 1e-9, "{token}");
    }
}

/// Tokens alike in probability and entropy have one discriminator: none lies below the mean, whatever the rounding.
#[test]
fn no_token_is_dropped_where_all_discriminators_are_the_same() {
    let loss = EntropyDiscriminator { deviations: 0.0, ..Default::default() };
    let loss = PolicyLoss::EntropyDiscriminator(loss);
    for case in 1..200 {
        let log_prob = [-0.01 * f64::from(case); 7];
        let entropy = [0.3; 7];
        let columns =
            TokenColumns { log_prob: &log_prob, old_log_prob: &log_prob, advantage: &[-1.0; 7] };
        let output = evaluate(&loss, columns, &entropy, &entropy);
        assert!(output.grad_log_prob.iter().all(|slope| *slope > 0.0), "{case}");
    }
}

/// A step against the gradient of the bonus raises the entropy of a policy.
#[test]
fn descending_the_bonus_raises_the_entropy() {
    let logits = [1.0, 0.0, -0.5];
    let policy = Categorical::from_logits(&logits).expect("finite logits");
    let (_, slope) = entropy_bonus(0.01, &[policy.entropy()], &[1.0]);
    let mut gradient = [0.0; 3];
    policy.vjp_entropy(slope[0], &mut gradient);
    let moved: Vec<f64> =
        std::iter::zip(logits, gradient).map(|(logit, gradient)| logit - gradient).collect();
    let moved = Categorical::from_logits(&moved).expect("finite logits");
    assert!(moved.entropy() > policy.entropy() + 1e-4);
}
