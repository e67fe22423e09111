//! Cases of what weighs a token: aggregation, rollout correction, the filter of groups, overlong
//! responses.

use rl_losses::{
    Aggregation, CorrectionLevel, OverlongPenalty, Rejection, RejectionEstimator, RejectionSpan,
    RolloutCorrection, WeightBound, informative_groups,
};
use serde_json::Value;

use crate::batches::token_weights;

use super::recorded::{
    Case, Mask, assert_all_close, assert_close, assert_means_close, number, numbers, weighted_sum,
    weights,
};

pub(crate) fn scaling_by_micro_batch(case: &Case) {
    let mask = case.mask();
    let (terms, lengths) = (mask.pack(case.input("loss_mat")), mask.lengths());
    let weighted = weighted_sum(&token_weights(&Aggregation::TokenMean, &lengths), &terms);
    assert_close(weighted, number(case.output("true_token_mean")), "true token mean");
    assert_close(weighted, number(case.output("engine_sum_with_batch_num_tokens")), "engine");

    let micro_batches: Vec<Vec<usize>> =
        serde_json::from_value(case.param("micro_batches").clone()).expect("lists of sequences");
    let starts: Vec<usize> = (0..lengths.len()).map(|i| lengths[..i].iter().sum()).collect();
    let legacy: f64 = micro_batches
        .iter()
        .map(|sequences| {
            let lengths: Vec<usize> = sequences.iter().map(|&i| lengths[i]).collect();
            let tokens =
                sequences.iter().zip(&lengths).flat_map(|(&i, n)| starts[i]..starts[i] + n);
            let terms: Vec<f64> = tokens.map(|token| terms[token]).collect();
            let mean = weighted_sum(&token_weights(&Aggregation::TokenMean, &lengths), &terms);
            mean * sequences.len() as f64 / case.param_number("mini_batch_size")
        })
        .sum();
    assert_close(legacy, number(case.output("legacy_sum_of_scaled_micro_losses")), "legacy");
}

pub(crate) fn aggregation(case: &Case) {
    let mode = case.param("mode").as_str().expect("a mode");
    for (mask_name, loss_name, gradient_name) in [
        ("loss_mask", "loss", "dloss_dmat"),
        ("loss_mask_empty_row", "loss_with_empty_row", "dloss_dmat_with_empty_row"),
    ] {
        let mask = Mask::new(case.input(mask_name));
        let terms = mask.pack(case.input("loss_mat"));
        let weights = weights(mode, &mask, mask.width() as f64);
        assert_close(weighted_sum(&weights, &terms), number(case.output(loss_name)), mode);
        assert_all_close(&weights, &mask.pack(case.output(gradient_name)), mode);
    }

    // Counts over all ranks in place of this rank's: a factor on the weights.
    let global = |key: &str| number(&case.param("global_info")[key]);
    let mask = Mask::new(case.input("loss_mask"));
    let (tokens, sequences) = (mask.tokens() as f64, mask.lengths().len() as f64);
    let factor = match mode {
        "token-mean" => tokens / global("batch_num_tokens"),
        "token-sum" => 1.0,
        _ => sequences / global("global_batch_size"),
    };
    let weights = weights(mode, &mask, global("loss_scale_factor"));
    let local = weighted_sum(&weights, &mask.pack(case.input("loss_mat")));
    let expected = number(case.output("loss_global_info"));
    assert_close(local * factor * global("dp_size"), expected, mode);
}

/// verl gives NaN where nothing was sampled (0/0); here there is nothing to weigh and the sum is 0.
pub(crate) fn aggregation_of_nothing(case: &Case) {
    let mask = Mask::new(case.input("loss_mask"));
    assert_eq!(mask.tokens(), 0);
    assert!(number(case.output("token-mean")).is_nan());
    assert!(weights("token-mean", &mask, 1.0).is_empty());
}

pub(crate) fn filter(case: &Case) {
    let groups = case.input("acc").as_object().expect("groups by name");
    let accuracy = |json: &Value| json.as_bool().map_or_else(|| number(json), f64::from);
    let rewards: Vec<Vec<f64>> = groups
        .values()
        .map(|group| group.as_array().expect("a list").iter().map(accuracy).collect())
        .collect();
    let sizes: Vec<usize> = rewards.iter().map(Vec::len).collect();
    let kept = informative_groups(&rewards.concat(), &sizes);
    let kept: Vec<&String> =
        groups.keys().zip(kept).filter(|(_, kept)| *kept).map(|(name, _)| name).collect();
    let expected: Vec<String> =
        serde_json::from_value(case.output("kept").clone()).expect("names of groups");
    assert_eq!(kept, expected.iter().collect::<Vec<_>>());
}

pub(crate) fn rollout_correction(case: &Case) {
    let mask = case.mask();
    let old = mask.pack(case.input("log_ratio"));
    let rollout = vec![0.0; old.len()];
    let truncate = WeightBound::Truncate { low: 0.0, high: case.param_number("threshold") };
    let band = numbers(case.param("icepop"));
    let band = WeightBound::Mask { low: band[0], high: band[1] };
    let with = |level, bound| RolloutCorrection { level, bound, ..RolloutCorrection::default() };
    let token = with(CorrectionLevel::Token, truncate);
    let corrections = [
        ("icepop_token", with(CorrectionLevel::Token, band)),
        ("sequence", with(CorrectionLevel::Sequence, truncate)),
        ("token", token),
        ("token_batch_normalised", RolloutCorrection { normalise: true, ..token }),
    ];
    assert!(case.outputs().keys().eq(corrections.map(|(name, _)| name).iter()), "every output");
    for (name, correction) in corrections {
        let corrected =
            correction.weights(&old, &rollout, &mask.lengths()).expect("columns of a batch");
        assert_all_close(&corrected.weights, &mask.pack(case.output(name)), name);
    }
}

/// verl's weights under its rejection mask: a rejected token weighs 0 here.
pub(crate) fn rollout_rejection(case: &Case) {
    let mask = case.mask();
    let log_ratio = mask.pack(case.input("log_ratio"));
    let numbers_of = |key: &str| -> Vec<f64> {
        let text = case.param(key).as_str().map(str::to_owned);
        let text = text.unwrap_or_else(|| case.param(key).to_string());
        text.split('_').map(|part| part.parse().expect("a number")).collect()
    };
    let bound = match numbers_of("threshold")[..] {
        [high] => WeightBound::Truncate { low: 0.0, high },
        [low, high] => WeightBound::Mask { low, high },
        _ => panic!("one bound or two"),
    };
    let level: CorrectionLevel =
        serde_json::from_value(case.param("level").clone()).expect("a level");
    let limits = numbers_of("bound");
    // verl's k1 is the logarithm of the inverse ratio.
    let ratio = |level| Rejection::Ratio { level, low: 1.0 / limits[1], high: 1.0 / limits[0] };
    let divergence = |over, estimator| Rejection::Divergence { estimator, over, high: limits[0] };
    let reject = match case.param("option").as_str().expect("an option") {
        "token_k1" => ratio(CorrectionLevel::Token),
        "seq_sum_k1" => ratio(CorrectionLevel::Sequence),
        "seq_mean_k1" => ratio(CorrectionLevel::Geometric),
        "token_k2" => divergence(RejectionSpan::Token, RejectionEstimator::K2),
        "seq_sum_k2" => divergence(RejectionSpan::Sum, RejectionEstimator::K2),
        "seq_mean_k3" => divergence(RejectionSpan::Mean, RejectionEstimator::K3),
        "seq_max_k3" => divergence(RejectionSpan::Max, RejectionEstimator::K3),
        option => panic!("{option} is recorded but not run"),
    };
    let normalise = case.param("normalise") == true;
    let correction = RolloutCorrection { level, bound, normalise, veto: 0.0, reject };
    let rollout = vec![0.0; log_ratio.len()];
    let corrected = correction.weights(&log_ratio, &rollout, &mask.lengths()).expect("a batch");
    let expected = mask.pack(case.output("weights"));
    assert!(expected.contains(&0.0) && expected.iter().any(|weight| *weight > 0.0), "both sorts");
    // A normalised sequence is divided by its length in verl.
    assert_means_close(&corrected.weights, &expected, mask.shortest(), case.name());
}

pub(crate) fn overlong(case: &Case) {
    let tokens = |key: &str| {
        usize::try_from(case.param(key).as_u64().expect("a count")).expect("a count that fits")
    };
    let factor = case.param_number("penalty_factor");
    let shaping = OverlongPenalty::new(tokens("max_resp_len"), tokens("buffer"), factor);
    let shaping = shaping.expect("a buffer within the response");
    let lengths: Vec<usize> =
        serde_json::from_value(case.input("lengths").clone()).expect("lengths");
    let penalties: Vec<f64> = lengths.iter().map(|&length| shaping.penalty(length)).collect();
    assert_all_close(&penalties, &numbers(case.output("penalty")), case.name());
}
