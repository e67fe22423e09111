//! Rollout corrections: what they estimate, merging and bad input.

use entropy_core::Categorical;
use insta::{assert_snapshot, assert_yaml_snapshot, rounded_redaction};
use proptest::prelude::*;
use rl_losses::{
    CorrectionLevel, Rejection, RejectionEstimator, RejectionSpan, RolloutCorrection, WeightBound,
};

fn correction(level: CorrectionLevel, bound: WeightBound) -> RolloutCorrection {
    RolloutCorrection { level, bound, ..RolloutCorrection::default() }
}

/// Weights are what turns a mean under one policy into a mean under another.
#[test]
fn unbounded_weights_correct_the_mean_exactly() {
    let (rollout, old) = ([0.3, -0.2, 1.0], [1.0, 0.0, -0.5]);
    let [rollout, old] = [rollout, old].map(|z| Categorical::from_logits(&z).unwrap());
    let score = [2.0, -1.0, 0.5];
    let free = correction(CorrectionLevel::Sequence, WeightBound::Off);
    // Every response of two tokens, with the probability the rollout gives it.
    let (mut corrected, mut expected) = (0.0, 0.0);
    for (first, second) in (0..3).flat_map(|a| (0..3).map(move |b| (a, b))) {
        let log_probs = |policy: &Categorical| [first, second].map(|a| policy.log_probs()[a]);
        let weights = free.weights(&log_probs(&old), &log_probs(&rollout), &[2]).unwrap().weights;
        let value = score[first] * score[second];
        corrected += rollout.probs()[first] * rollout.probs()[second] * weights[0] * value;
        expected += old.probs()[first] * old.probs()[second] * value;
    }
    assert!((corrected - expected).abs() < 1e-14, "{corrected} {expected}");
}

#[test]
fn a_geometric_weight_does_not_grow_with_length() {
    let geometric = correction(CorrectionLevel::Geometric, WeightBound::Off);
    let weights = geometric.weights(&[0.1; 500], &[0.0; 500], &[500]).unwrap().weights;
    assert!((weights[0] - 0.1f64.exp()).abs() < 1e-12);
}

/// A ratio of `1/e` is at the bound and stays; a smaller one does not.
#[test]
fn a_token_at_the_veto_stays() {
    let vetoed = |rollout: f64| {
        let veto = (-1.0f64).exp();
        let settings =
            RolloutCorrection { veto, ..correction(CorrectionLevel::Token, WeightBound::Off) };
        settings.weights(&[-2.0], &[rollout], &[1]).unwrap().sums.vetoed
    };
    assert_eq!((vetoed(-1.0), vetoed(-0.99)), (0, 1));
}

#[test]
fn one_impossible_token_vetoes_its_response() {
    let correction =
        RolloutCorrection { veto: 1e-3, ..correction(CorrectionLevel::Token, WeightBound::Off) };
    let corrected = correction.weights(&[0.0, -9.0, 0.0], &[0.0; 3], &[2, 1]).unwrap();
    assert_eq!(corrected.weights, [0.0, 0.0, 1.0]);
    assert_eq!(corrected.sums.vetoed, 1);
    assert!((corrected.sums.effective_fraction() - 1.0 / 3.0).abs() < 1e-15);
}

/// A ratio of 1 is inside a band that begins or ends there.
#[test]
fn a_ratio_at_a_bound_is_inside() {
    for (low, high) in [(1.0, 2.0), (0.5, 1.0)] {
        for bound in [
            WeightBound::Truncate { low, high },
            WeightBound::Mask { low, high },
            WeightBound::Reject { low, high },
        ] {
            let corrected =
                correction(CorrectionLevel::Token, bound).weights(&[-1.0], &[-1.0], &[1]);
            let corrected = corrected.unwrap();
            assert_eq!(corrected.weights, [1.0], "{bound:?}");
            assert_eq!((corrected.sums.above, corrected.sums.below), (0, 0), "{bound:?}");
        }
    }
}

/// A log-ratio of 1 has the divergence `k2` of 1/2: at that bound it stays, over a token as over a response.
#[test]
fn a_divergence_at_its_bound_is_kept() {
    for over in [RejectionSpan::Token, RejectionSpan::Sum, RejectionSpan::Mean, RejectionSpan::Max]
    {
        let weights = |high: f64| {
            let estimator = RejectionEstimator::K2;
            let reject = Rejection::Divergence { estimator, over, high };
            let settings = RolloutCorrection {
                reject,
                ..correction(CorrectionLevel::Token, WeightBound::Off)
            };
            settings.weights(&[0.0], &[-1.0], &[1]).unwrap().weights
        };
        assert_eq!(weights(0.5), [1f64.exp()], "{over:?}");
        assert_eq!(weights(0.499), [0.0], "{over:?}");
    }
}

/// A response that a veto and a rejection leave out is one response, and its weight of 0 counts in the mean of the others.
#[test]
fn a_response_left_out_twice_counts_once() {
    let ratio = Rejection::Ratio { level: CorrectionLevel::Sequence, low: 0.5, high: 2.0 };
    let settings = RolloutCorrection {
        veto: 1e-3,
        reject: ratio,
        normalise: true,
        ..correction(CorrectionLevel::Sequence, WeightBound::Off)
    };
    let corrected = settings.weights(&[-9.0, 0.0, 0.0], &[0.0; 3], &[1, 2]).unwrap();
    assert_eq!((corrected.sums.vetoed, corrected.sums.sequences), (1, 2));
    assert_eq!(corrected.weights, [0.0, 2.0, 2.0]);
}

/// Token weights, truncated at 2, and the second response rejected: the mean of its log-ratios is 0.3, the first's 0.15.
#[test]
fn weights_by_token_and_rejection_by_response_act_together() {
    let truncate = WeightBound::Truncate { low: 0.9, high: 2.0 };
    let ratio = Rejection::Ratio { level: CorrectionLevel::Geometric, low: 0.8, high: 1.25 };
    let correction =
        RolloutCorrection { reject: ratio, ..correction(CorrectionLevel::Token, truncate) };
    let corrected = correction.weights(&[0.8, -0.5, 0.3, 0.3], &[0.0; 4], &[2, 2]).unwrap();
    assert_eq!(corrected.weights, [2.0, 0.9, 0.0, 0.0]);
    assert_eq!((corrected.sums.vetoed, corrected.sums.above, corrected.sums.below), (1, 1, 1));
    assert!((corrected.sums.weight - 2.9).abs() < 1e-15);
}

#[test]
fn policies_that_agree_need_no_correction() {
    for level in [CorrectionLevel::Token, CorrectionLevel::Sequence, CorrectionLevel::Geometric] {
        let log_prob = [-0.1, -3.0, -700.0];
        let corrected = correction(level, WeightBound::Reject { low: 0.5, high: 2.0 })
            .weights(&log_prob, &log_prob, &[1, 2])
            .unwrap();
        assert_eq!(corrected.weights, [1.0; 3]);
        let sums = corrected.sums;
        assert_eq!(sums.mismatch_k3().to_bits(), 0);
        assert!((sums.effective_fraction() - 1.0).abs() < 1e-15);
    }
}

fn sequences() -> impl Strategy<Value = Vec<Vec<(f64, f64)>>> {
    prop::collection::vec(prop::collection::vec((-8.0..0.0f64, -8.0..0.0f64), 0..6), 1..8)
}

type Columns = (Vec<f64>, Vec<f64>, Vec<usize>);

fn columns(sequences: &[Vec<(f64, f64)>]) -> Columns {
    let (old, rollout) = sequences.iter().flatten().copied().unzip();
    (old, rollout, sequences.iter().map(Vec::len).collect())
}

proptest! {
    #[test]
    fn weights_keep_to_their_bound(sequences in sequences(), high in 0.5..4.0f64, low in 0.0..0.5f64) {
        let (old, rollout, lengths) = columns(&sequences);
        for level in [CorrectionLevel::Token, CorrectionLevel::Sequence, CorrectionLevel::Geometric] {
            let weights = |bound| {
                correction(level, bound).weights(&old, &rollout, &lengths).map(|found| found.weights)
            };
            let held = weights(WeightBound::Truncate { low, high })?;
            prop_assert!(held.iter().all(|w| (low..=high).contains(w)));
            let masked = weights(WeightBound::Mask { low, high })?;
            prop_assert!(masked.iter().all(|w| *w == 0.0 || (low..=high).contains(w)));
            let kept = weights(WeightBound::Reject { low, high })?;
            for (masked, kept) in std::iter::zip(masked, kept) {
                prop_assert!(kept == 0.0 || (kept - 1.0).abs() < f64::EPSILON);
                prop_assert_eq!(masked > 0.0, kept > 0.0);
            }
        }
    }

    /// Normalised token weights have mean 1.
    #[test]
    fn normalised_weights_have_mean_one(sequences in sequences()) {
        let (old, rollout, lengths) = columns(&sequences);
        prop_assume!(!old.is_empty());
        let bound = WeightBound::Truncate { low: 0.0, high: 2.0 };
        let correction = RolloutCorrection { normalise: true, ..correction(CorrectionLevel::Token, bound) };
        let weights = correction.weights(&old, &rollout, &lengths)?.weights;
        let mean = weights.iter().sum::<f64>() / weights.len() as f64;
        prop_assert!((mean - 1.0).abs() < 1e-12, "{mean}");
    }

    #[test]
    fn log_ratios_of_any_size_give_finite_weights(ratios in prop::collection::vec(-700.0..700.0f64, 1..20)) {
        let corrected = correction(CorrectionLevel::Sequence, WeightBound::Off)
            .weights(&ratios, &vec![0.0; ratios.len()], &[ratios.len()])?;
        prop_assert!(corrected.weights.iter().all(|w| w.is_finite()));
        prop_assert!(corrected.sums.k3.is_finite());
    }
}

#[test]
fn sums_of_a_small_batch() {
    let old = [-0.1, -1.0, -2.0, -0.5, -3.0, -0.2];
    let rollout = [-0.2, -1.1, -0.5, -0.5, -2.0, -9.0];
    let correction = RolloutCorrection {
        normalise: true,
        veto: 0.3,
        ..correction(CorrectionLevel::Token, WeightBound::Mask { low: 0.5, high: 2.0 })
    };
    let corrected = correction.weights(&old, &rollout, &[2, 2, 1, 1]).unwrap();
    assert_yaml_snapshot!((corrected.weights, corrected.sums), {".**" => rounded_redaction(10)});
}

#[test]
fn bad_input_is_refused_by_name() {
    let token = |bound| correction(CorrectionLevel::Token, bound);
    let complain = |correction: RolloutCorrection, old: &[f64], lengths: &[usize]| {
        correction.weights(old, &[0.0; 2], lengths).expect_err("bad input").to_string()
    };
    let complaints = [
        complain(token(WeightBound::Mask { low: 2.0, high: 0.5 }), &[0.0; 2], &[2]),
        complain(token(WeightBound::Truncate { low: 0.0, high: -1.0 }), &[0.0; 2], &[2]),
        complain(RolloutCorrection { veto: 1.0, ..RolloutCorrection::default() }, &[0.0; 2], &[2]),
        complain(RolloutCorrection::default(), &[0.0; 3], &[2]),
        complain(RolloutCorrection::default(), &[0.0; 2], &[1]),
        complain(RolloutCorrection::default(), &[0.0, f64::INFINITY], &[2]),
    ];
    assert_snapshot!(complaints.join("\n"));
}

#[test]
fn a_correction_survives_toml_and_refuses_nonsense() {
    let correction = RolloutCorrection {
        veto: 1e-4,
        ..correction(CorrectionLevel::Geometric, WeightBound::Reject { low: 0.5, high: 1.5 })
    };
    let text = toml::to_string(&correction).unwrap();
    assert_eq!(toml::from_str::<RolloutCorrection>(&text).unwrap(), correction, "{text}");
    let error = toml::from_str::<RolloutCorrection>("bound.mask = { low = 1.0, high = 0.5 }");
    assert_eq!(error.unwrap_err().message(), "`low` is 1, expected less than `high`, which is 0.5");
}
