//! Cases of the policy losses: selection, value, gradient and metrics.

use entropy_core::token_covariances;
use rl_losses::{
    Aggregation, Bapo, Centering, Cispo, ClipCov, ClipRange, Column, CorrectionLevel,
    CovarianceBand, DppoTv, Dro, DualClip, EntropyDiscriminator, Gmpo, Gspo, KlCov, LossOutput,
    PolicyLoss, PpoClip, Sapo, Scope, ScoreFunction, Semantics, SequenceMask, StepPlan, TokenBatch,
    Topr, Vespo,
};
use serde_json::Value;

use crate::batches::{marked, seeded, token_weights};

use super::recorded::{
    Case, Columns, Mask, assert_all_close, assert_close, assert_means_close, assert_metric, number,
    numbers,
};

pub(crate) fn vanilla(case: &Case) {
    let dual_clip = DualClip::at(case.param_number("clip_c")).expect("a ceiling above 1");
    let loss = PolicyLoss::PpoClip(PpoClip::new(clip_range(case), dual_clip));
    let (mask, columns) = (case.mask(), Columns::of(case, &case.mask()));
    let output = evaluate(case, &mask, &loss, &columns.batch(), vec![false; mask.tokens()]);
    assert_metric(case, "ppo_kl", output.sums.ppo_kl());
    assert_metric(case, "pg_clipfrac", output.sums.clip_fraction());
    assert_metric(case, "pg_clipfrac_lower", output.sums.clip_fraction_lower());
}

pub(crate) fn clip_cov(case: &Case) {
    let band =
        CovarianceBand::new(case.param_number("clip_cov_lb"), case.param_number("clip_cov_ub"));
    let band = band.expect("a band");
    let loss = ClipCov::new(case.param_number("clip_cov_ratio"), band, clip_range(case));
    let loss = loss.expect("parameters of Clip-Cov");
    let loss = loss.with(Centering::Batch, Scope::MiniBatch, Semantics::Verl);
    let (mask, columns) = (case.mask(), Columns::of(case, &case.mask()));
    let batch = columns.batch();

    let loss = PolicyLoss::ClipCov(loss);
    let eligible = marks_of(&loss.eligible(&batch).expect("no further column"), batch.len());
    assert_eq!(eligible, mask.marks(case.output("eligible")), "eligible of {}", case.name());
    let chosen = mask.marks(case.output("chosen"));
    let selected = marked(&loss, &batch).expect("no further column");
    assert_eq!(count(&selected), count(&chosen), "tokens chosen in {}", case.name());
    assert!(std::iter::zip(&selected, &eligible).all(|(selected, eligible)| selected <= eligible));

    let output = evaluate(case, &mask, &loss, &batch, chosen);
    assert_metric(case, "ppo_kl", output.sums.ppo_kl());
    assert_metric(case, "pg_clipfrac", output.sums.selected_fraction());
    assert_eq!(output.sums.clipped, case.output("ppo_clipped").as_array().map_or(0, Vec::len));
}

pub(crate) fn kl_cov(case: &Case) {
    let loss = KlCov::new(case.param_number("kl_cov_ratio"), case.param_number("ppo_kl_coef"));
    let loss = PolicyLoss::KlCov(loss.expect("parameters of KL-Cov"));
    let (mask, columns) = (case.mask(), Columns::of(case, &case.mask()));
    let batch = columns.batch();
    let recorded = mask.marks(case.output("selected"));

    // Which of equal covariances torch takes is not specified; their values are.
    let covariances = numbers(case.output("cov_valid"));
    let selected = chosen(&marked(&loss, &batch).expect("no further column"), &covariances);
    assert_all_close(&selected, &chosen(&recorded, &covariances), case.name());

    let output = evaluate(case, &mask, &loss, &batch, recorded);
    assert_metric(case, "ppo_kl", mean_abs_log_ratio(&output));
}

/// The fork's share in percent, cap included (`docs/paper-vs-code.md`, row 2).
pub(crate) fn kl_cov_percent(case: &Case) {
    let fraction = case.param_number("k_percent") / 100.0;
    let loss = KlCov::new(fraction, case.param_number("ppo_kl_coef")).expect("a coefficient");
    let loss = loss.with(Centering::Batch, Scope::MiniBatch, Semantics::Prime);
    let loss = PolicyLoss::KlCov(loss);
    let (mask, columns) = (case.mask(), Columns::of(case, &case.mask()));
    let selected = mask.marks(case.output("selected"));
    let covariances = numbers(case.output("cov_valid"));
    let marks = marked(&loss, &columns.batch()).expect("no further column");
    assert_all_close(&chosen(&marks, &covariances), &chosen(&selected, &covariances), case.name());
    let output = evaluate(case, &mask, &loss, &columns.batch(), selected);
    assert_metric(case, "ppo_kl", mean_abs_log_ratio(&output));
}

/// The tokens that Trinity-RFT takes out of the mask are the selected ones.
pub(crate) fn entropy_discriminator(case: &Case) {
    let loss = PolicyLoss::EntropyDiscriminator(EntropyDiscriminator {
        deviations: case.param_number("deviations"),
        ..EntropyDiscriminator::default()
    });
    let (mask, columns) = (case.mask(), Columns::of(case, &case.mask()));
    let entropy = mask.pack(case.input("entropy"));
    let batch = columns.batch().with(Column::Entropy, &entropy).expect("a column of the batch");
    let dropped: Vec<bool> =
        mask.pack(case.output("dropped")).iter().map(|&dropped| dropped > 0.0).collect();
    assert_eq!(marked(&loss, &batch).expect("all columns"), dropped, "{}", case.name());
    let plan = loss.plan(&batch, &Aggregation::TokenMean, &mut seeded(0)).expect("all columns");
    let output = loss.evaluate(&batch, plan.part(0..batch.len()));
    assert_close(output.value, number(case.output("loss")), case.name());
    assert_all_close(&output.grad_log_prob, &mask.pack(case.output("grad_log_prob")), case.name());
}

/// The loss of a case that selects nothing, or by its plan alone.
fn loss_of(case: &Case) -> PolicyLoss {
    let clip = || (case.param_number("clip_low"), case.param_number("clip_high"));
    match case.function().as_str() {
        "gpg" => PolicyLoss::Reinforce(ScoreFunction {}),
        "cispo" => {
            let (clip_ratio_low, clip_ratio_high) = clip();
            PolicyLoss::Cispo(Cispo { clip_ratio_low, clip_ratio_high })
        }
        "gspo" => {
            let (clip_ratio_low, clip_ratio_high) = clip();
            PolicyLoss::Gspo(Gspo { clip_ratio_low, clip_ratio_high })
        }
        "geo_mean" => {
            let (clip_ratio_low, clip_ratio_high) = clip();
            PolicyLoss::Gmpo(Gmpo { clip_ratio_low, clip_ratio_high })
        }
        "sapo" => PolicyLoss::Sapo(Sapo {
            temperature_positive: case.param_number("tau_pos"),
            temperature_negative: case.param_number("tau_neg"),
        }),
        "dro" => PolicyLoss::Dro(Dro { beta: case.param_number("dro_beta") }),
        other => of_another_framework(case, other),
    }
}

/// The losses that select nothing that is recorded, under the plan this crate makes for them.
pub(crate) fn without_selection(case: &Case) {
    let loss = loss_of(case);
    let (mask, columns) = (case.mask(), Columns::of(case, &case.mask()));
    let rollout = match case.input("rollout_log_prob") {
        Value::Null => Vec::new(),
        column => mask.pack(column),
    };
    let batch = if rollout.is_empty() {
        columns.batch()
    } else {
        columns.batch().with(Column::RolloutLogProb, &rollout).expect("a column of the batch")
    };
    let aggregation = match case.function().as_str() {
        // GMPO's own, which verl does not spell out.
        "geo_mean" | "gspo" | "sapo" => Aggregation::SeqMeanTokenMean,
        // LUSPO multiplies the loss of a sequence by its length.
        "luspo" | "topr" => Aggregation::SeqMeanTokenSum,
        _ => Aggregation::TokenMean,
    };
    let mut plan = loss.plan(&batch, &aggregation, &mut seeded(0)).expect("no further column");
    let (value, gradient) =
        ([number(case.output("loss"))], mask.pack(case.output("grad_log_prob")));
    if case.param("loss_agg_mode") == "seq-mean-token-mean" {
        plan.reweight(&mask.row_factors());
    }
    let output = loss.evaluate(&batch, plan.part(0..batch.len()));
    if let PolicyLoss::Gmpo(_) = loss {
        assert_means_close(&[output.value], &value, mask.shortest(), case.name());
        assert_means_close(&output.grad_log_prob, &gradient, mask.shortest(), case.name());
    } else {
        // prime-rl differentiates the ratio where DPPO's weight is held: another value, the same slope.
        if case.function() != "dppo_tv_squared" {
            assert_all_close(&[output.value], &value, case.name());
        }
        assert_all_close(&output.grad_log_prob, &gradient, case.name());
    }
    let metrics = case.output("metrics");
    if !metrics["ppo_kl"].is_null() {
        assert_metric(case, "ppo_kl", output.sums.ppo_kl());
    }
    if !metrics["pg_clipfrac"].is_null() {
        assert_metric(case, "pg_clipfrac", output.sums.clip_fraction());
    }
}

/// A loss that was recorded from TRL, prime-rl, ROLL or BAPO.
fn of_another_framework(case: &Case, function: &str) -> PolicyLoss {
    let number = |key: &str| case.param_number(key);
    match function {
        "vespo" => PolicyLoss::Vespo(Vespo {
            power_positive: number("k_pos"),
            decay_positive: number("lambda_pos"),
            power_negative: number("k_neg"),
            decay_negative: number("lambda_neg"),
        }),
        "luspo" => PolicyLoss::Gspo(Gspo {
            clip_ratio_low: number("clip_low"),
            clip_ratio_high: number("clip_high"),
        }),
        "topr" => PolicyLoss::Topr(Topr {
            positive: number("positive"),
            negative: number("negative"),
            level: CorrectionLevel::Token,
        }),
        "bapo" => {
            let bound =
                |side: &str| <[f64; 3]>::try_from(numbers(case.param(side))).expect("three");
            let [ratio_low_start, ratio_low_end, ratio_low_step] = bound("low");
            let [ratio_high_start, ratio_high_end, ratio_high_step] = bound("high");
            PolicyLoss::Bapo(Bapo {
                balance: number("target"),
                ratio_low_start,
                ratio_low_end,
                ratio_low_step,
                ratio_high_start,
                ratio_high_end,
                ratio_high_step,
                ..Bapo::default()
            })
        }
        "off_policy_mask" => PolicyLoss::SequenceMask(SequenceMask {
            divergence: number("delta"),
            clip_ratio_low: number("clip_low"),
            clip_ratio_high: number("clip_high"),
        }),
        "dppo_tv_squared" => PolicyLoss::DppoTv(DppoTv {
            divergence_low: number("low"),
            divergence_high: number("high"),
            ratio_ceiling: 1e9,
            pull: number("kl_tau"),
        }),
        other => panic!("{other} is no loss of this list"),
    }
}

/// Planning each micro-batch by itself reproduces the published codes, and their dependence on the
/// split.
pub(crate) fn selection_by_micro_batch(case: &Case) {
    let loss = KlCov::new(case.param_number("kl_cov_ratio"), case.param_number("ppo_kl_coef"));
    let loss = PolicyLoss::KlCov(loss.expect("parameters of KL-Cov"));
    let (mask, columns) = (case.mask(), Columns::of(case, &case.mask()));
    let batch = columns.batch();
    let sequences = batch.sequence_lengths().len();
    for (split, parts) in [("full", 1), ("two_micro", 2), ("eight_micro", 8)] {
        let (losses, size) = (numbers(&case.output(split)["losses"]), sequences / parts);
        assert_eq!(losses.len(), parts);
        for (part, expected) in losses.into_iter().enumerate() {
            let run = part * size..(part + 1) * size;
            let micro = batch.part(batch.token_range(run.clone()));
            let recorded = mask.marks(&case.output(split)["selected"][part]);
            let recorded = recorded[batch.token_range(run)].to_vec();
            let covariances = token_covariances(micro.advantage(), micro.log_prob());
            let selected = chosen(&marked(&loss, &micro).expect("no further column"), &covariances);
            assert_all_close(&selected, &chosen(&recorded, &covariances), split);

            let weights = token_weights(&Aggregation::TokenMean, micro.sequence_lengths());
            let plan = StepPlan::new(recorded, weights);
            assert_close(loss.evaluate(&micro, plan.part(0..micro.len())).value, expected, split);
        }
    }
}

/// Evaluates with a recorded selection and compares loss and gradient.
fn evaluate(
    case: &Case,
    mask: &Mask,
    loss: &PolicyLoss,
    batch: &TokenBatch<'_>,
    selected: Vec<bool>,
) -> LossOutput {
    let mut plan = StepPlan::new(selected, case.weights(mask));
    if !case.input("rollout_is_weights").is_null() {
        plan.reweight(&mask.pack(case.input("rollout_is_weights")));
    }
    let output = loss.evaluate(batch, plan.part(0..batch.len()));
    assert_close(output.value, number(case.output("loss")), case.name());
    assert_all_close(&output.grad_log_prob, &mask.pack(case.output("grad_log_prob")), case.name());
    output
}

fn clip_range(case: &Case) -> ClipRange {
    ClipRange::new(case.param_number("clip_low"), case.param_number("clip_high"))
        .expect("a clip range")
}

/// verl's `ppo_kl` of KL-Cov.
fn mean_abs_log_ratio(output: &LossOutput) -> f64 {
    output.sums.abs_log_ratio / output.sums.tokens as f64
}

/// Covariances of the marked tokens, in order of size.
fn chosen(marks: &[bool], covariances: &[f64]) -> Vec<f64> {
    let pairs = std::iter::zip(marks, covariances);
    let mut values: Vec<f64> = pairs.filter(|(mark, _)| **mark).map(|(_, c)| *c).collect();
    values.sort_by(f64::total_cmp);
    values
}

fn marks_of(tokens: &[usize], length: usize) -> Vec<bool> {
    (0..length).map(|token| tokens.contains(&token)).collect()
}

fn count(marks: &[bool]) -> usize {
    marks.iter().filter(|&&mark| mark).count()
}
