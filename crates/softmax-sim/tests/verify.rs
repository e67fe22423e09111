//! Verification passes for the theory, fails for anything else, and does not depend on threads.

use entropy_core::{
    BinarySplit, Categorical, CovarianceDecomposition, CovarianceEstimate, EntropyIdentities,
    ExchangeRate, SequenceEntropyChange, StepDivergence, UpdateRule,
};
use softmax_sim::population::Population;
use softmax_sim::statement::{
    bound, clip_cov, clipped, clock, estimator, exchange, flow, generalised_entropy, identity,
    kl_cov, lemma1, proposition1, regulariser, sampled, sequence, shared_features, sign, theorem1,
    theorem2,
};
use softmax_sim::{Report, Row, Settings, verify, verify_watched};

fn populations() -> [Population; 2] {
    [Population::random(1, 40, 3), Population::random(1, 40, 16)]
}

fn small(seed: u64, policies: usize) -> Settings {
    Settings { seed, policies, cases: 600 }
}

/// The checks among `rows` that failed.
fn failed(rows: &[Row]) -> Vec<&str> {
    rows.iter().filter(|row| !row.passed).map(|row| row.check.as_str()).collect()
}

/// The rows are right for the formula, and exactly `checks` fail for the wrong one.
fn assert_fails(right: &[Row], wrong: &[Row], checks: &[&str]) {
    assert!(failed(right).is_empty(), "{right:#?}");
    assert_eq!(failed(wrong), checks, "{wrong:#?}");
}

const ORDER: &str = "order of the error, distance from 2";
const BOUND: &str = "error over its bound";
const LOCAL_BOUND: &str = "error over its bound for peaked policies";

#[test]
fn every_statement_passes_for_any_seed() {
    for seed in [0, 1, 2, u64::MAX] {
        let report = verify(&small(seed, 24));
        assert!(report.passed(), "seed {seed}\n{}", report.table(false));
    }
}

#[test]
fn one_policy_of_each_kind_is_enough() {
    for seed in 0..6 {
        let report = verify(&small(seed, 8));
        assert!(report.passed(), "seed {seed}\n{}", report.table(false));
    }
}

#[test]
fn each_row_says_what_was_measured_and_fits_the_page() {
    let report = verify(&small(0, 8));
    for row in &report.rows {
        assert!(row.cases > 0 && row.method.is_some(), "{row:?}");
        assert!(row.check.chars().count() <= 56, "{row:?}");
        if let Some([low, high]) = row.interval {
            assert!(row.estimate.is_some_and(|mean| low <= mean && mean <= high), "{row:?}");
        }
    }
    let widest = report.table(true).lines().map(|line| line.chars().count()).max();
    assert!(widest <= Some(120), "{widest:?}\n{}", report.table(true));
}

#[test]
fn stages_count_up_to_the_end() {
    let mut stages = Vec::new();
    verify_watched(&small(0, 8), |stage| stages.push(stage));
    assert!(stages.iter().enumerate().all(|(at, stage)| stage.done == at as u64), "{stages:?}");
    let last = stages.last().expect("there are stages");
    assert_eq!(last.done, last.total);
}

#[test]
fn rows_do_not_depend_on_the_number_of_threads() {
    let on = |threads: usize| -> Report {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        pool.expect("threads can be started").install(|| verify(&small(5, 16)))
    };
    let (one, many) = (on(1), on(7));
    let bits = |report: &Report| -> Vec<u64> {
        report.rows.iter().map(|row| row.worst.to_bits()).collect()
    };
    assert_eq!(one, many);
    assert_eq!(bits(&one), bits(&many));
}

#[test]
fn higher_orders_that_are_one_per_cent_off_fail() {
    type Prediction = fn(&Categorical, &[f64]) -> f64;
    let predictions: [(u32, Prediction); 2] =
        [(3, lemma1::predict_second_order), (4, lemma1::predict_third_order)];
    for (order, predict) in predictions {
        let right = lemma1::check_higher_order(&populations(), order, predict);
        let lower = lemma1::check_higher_order(&populations(), order, |policy, step| {
            let below = match order {
                3 => lemma1::predict(policy, step),
                _ => lemma1::predict_second_order(policy, step),
            };
            // 1 % of the last term is missing.
            below + 0.99 * (predict(policy, step) - below)
        });
        assert!(failed(&right).is_empty(), "{right:#?}");
        assert!(!failed(&lower).is_empty(), "order {order}: {lower:#?}");
    }
}

#[test]
fn a_change_that_is_slightly_off_breaks_every_identity() {
    let right = identity::FORMULAS;
    assert!(failed(&identity::check(&populations(), &right)).is_empty());
    let off = identity::Formulas {
        change: |policy, step| 1.000_001 * policy.entropy_change(step),
        ..right
    };
    assert_eq!(failed(&identity::check(&populations(), &off)).len(), 6);
    // A plain difference of entropies passes the plain sums: it is only less exact for small steps.
    let naive = identity::Formulas {
        change: |policy, step| {
            let logits: Vec<f64> =
                std::iter::zip(policy.centred_log_probs(), step).map(|(c, u)| c + u).collect();
            let moved = Categorical::from_logits(&logits).map_or(f64::NAN, |moved| moved.entropy());
            moved - policy.entropy()
        },
        ..right
    };
    assert_eq!(
        failed(&identity::check(&populations(), &naive)),
        [
            "first identity to rounding, relative gap",
            "second identity to rounding, relative gap",
            "third identity to rounding, relative gap",
        ]
    );
}

#[test]
fn identities_and_divergences_that_are_exchanged_fail() {
    let right = identity::FORMULAS;
    let exchanged = identity::Formulas {
        divergence: |policy, step| {
            let StepDivergence { new_from_old, old_from_new } = policy.step_divergence(step);
            StepDivergence { new_from_old: old_from_new, old_from_new: new_from_old }
        },
        ..right
    };
    let wrong = identity::check(&populations(), &exchanged);
    assert_eq!(failed(&wrong), ["KL(q‖π) and KL(π‖q), relative gap"], "{wrong:#?}");
    let without = identity::Formulas {
        identities: |policy, step| {
            let StepDivergence { new_from_old, old_from_new } = policy.step_divergence(step);
            let forms = policy.entropy_change_identities(step);
            // The divergences are left out.
            EntropyIdentities {
                from_old: forms.from_old + new_from_old,
                from_new: forms.from_new - old_from_new,
                symmetric: forms.symmetric + 0.5 * (new_from_old - old_from_new),
            }
        },
        ..right
    };
    assert_eq!(failed(&identity::check(&populations(), &without)).len(), 3);
}

#[test]
fn a_bound_of_half_the_size_is_violated() {
    let half = |policy: &Categorical, step: &[f64]| 0.5 * bound::bound(policy, step);
    assert!(bound::row(&bound::shares(0, 0..4000, bound::bound)).passed);
    assert!(!bound::row(&bound::shares(0, 0..4000, half)).passed);
    // Without the logarithm of the actions it is too small as well.
    let constant = |policy: &Categorical, step: &[f64]| {
        bound::bound(policy, step) * 0.25 / (1.0 + (1.0 + 0.25 * ln_others(policy).powi(2)).sqrt())
            * 4.0
    };
    assert!(!bound::row(&bound::shares(0, 0..40_000, constant)).passed);
}

fn ln_others(policy: &Categorical) -> f64 {
    (policy.support() as f64 - 1.0).ln()
}

#[test]
fn swapped_theorems_give_the_wrong_signs() {
    let swapped = |rule, policy: &Categorical, advantage: &[f64], eta| {
        let other = match rule {
            UpdateRule::PolicyGradient => UpdateRule::NaturalPolicyGradient,
            UpdateRule::NaturalPolicyGradient => UpdateRule::PolicyGradient,
        };
        sign::predict(other, policy, advantage, eta)
    };
    assert_fails(
        &sign::check(sign::predict),
        &sign::check(swapped),
        &["sign of the prediction, disagreements"],
    );
}

#[test]
fn an_unbiased_estimator_is_not_the_one_of_the_paper() {
    let right = estimator::FORMULAS;
    let unbiased = estimator::Formulas {
        estimate: |advantage, log_prob| {
            let n = advantage.len() as f64;
            (estimator::FORMULAS.estimate)(advantage, log_prob) * n / (n - 1.0)
        },
        ..right
    };
    let wrong = estimator::check(2, &unbiased);
    assert!(failed(&estimator::check(2, &right)).is_empty());
    assert_eq!(failed(&wrong).len(), 5, "{wrong:#?}");
}

/// The library's own moments are what is held against the sums over all batches.
#[test]
fn moments_of_the_estimate_that_are_off_fail() {
    let right = estimator::FORMULAS;
    let biased = estimator::Formulas {
        moments: |policy, advantage, tokens| {
            let moments = (estimator::FORMULAS.moments)(policy, advantage, tokens);
            CovarianceEstimate { expected_batch_mean: moments.covariance, ..moments }
        },
        ..right
    };
    let by_n = "mean of the batch covariance: (1 - 1/N) Cov, gap";
    assert_eq!(failed(&estimator::check(2, &biased)), [by_n]);
    let narrow = estimator::Formulas {
        moments: |policy, advantage, tokens| {
            let moments = (estimator::FORMULAS.moments)(policy, advantage, tokens);
            let variance_of_unbiased = 0.99 * moments.variance_of_unbiased;
            CovarianceEstimate { variance_of_unbiased, ..moments }
        },
        ..right
    };
    let variance = "its variance, times N²/(N - 1)²: the formula, gap";
    assert_eq!(failed(&estimator::check(2, &narrow)), [variance]);
    let within_alone = estimator::Formulas {
        decomposition: |states| {
            let split = (estimator::FORMULAS.decomposition)(states);
            CovarianceDecomposition { between: 0.0, ..split }
        },
        ..right
    };
    assert_eq!(failed(&estimator::check(2, &within_alone)).len(), 3);
    let of_batch = estimator::Formulas {
        state_estimate: |advantage, log_prob, _| {
            (estimator::FORMULAS.estimate)(advantage, log_prob)
        },
        ..right
    };
    let centred = "centred in the states: mean E Cov_s, gap";
    assert_eq!(failed(&estimator::check(2, &of_batch)), [centred]);
}

/// The token-level statement in place of the whole.
#[test]
fn sequences_without_the_change_of_visits_fail() {
    assert!(failed(&sequence::check(4, &sequence::FORMULAS)).is_empty());
    let by_tokens = sequence::Formulas {
        change: |policy, step| {
            let change = (sequence::FORMULAS.change)(policy, step);
            SequenceEntropyChange { total: change.within_states, ..change }
        },
        ..sequence::FORMULAS
    };
    assert_eq!(
        failed(&sequence::check(4, &by_tokens)),
        [
            "change: gap to -Cov_y(log π(y), d log π(y))",
            "order of the error, distance from 2",
            "visits alone: 0 within states, ½ ln 2 in all, gap",
        ]
    );
    let first_token =
        sequence::Formulas { entropy: |policy| policy.policy().entropy(), ..sequence::FORMULAS };
    assert_eq!(failed(&sequence::check(4, &first_token)), ["entropy by the chain rule, gap"]);
}

#[test]
fn shared_features_slightly_off_fail_row_by_row() {
    let right = shared_features::FORMULAS;
    assert!(failed(&shared_features::check(4, &right)).is_empty());
    let gradient = shared_features::Formulas {
        gradient: |states| {
            (shared_features::FORMULAS.gradient)(states).into_iter().map(|x| 1.01 * x).collect()
        },
        ..right
    };
    assert_eq!(
        failed(&shared_features::check(4, &gradient)),
        [
            "Σ ρ Cov(φ, A): gap to gradient of Σ ρ E A",
            "order of the error over all states, distance from 2",
        ]
    );
    let alone = shared_features::Formulas {
        interference: |state, features, policy| {
            let same = std::ptr::eq(state.features, features);
            if same { state.interference(features, policy) } else { 0.0 }
        },
        ..right
    };
    let order = "order of the error over all states, distance from 2";
    assert_eq!(failed(&shared_features::check(4, &alone)), [order]);
    let plain = shared_features::Formulas { natural: right.gradient, ..right };
    assert_eq!(failed(&shared_features::check(4, &plain)).len(), 2);
    let sign = shared_features::Formulas {
        entropy_gradient: |features, policy| {
            features.covariances(policy, policy.centred_log_probs())
        },
        ..right
    };
    let gap = "-Cov(log π, φ): gap to the gradient of H";
    assert_eq!(failed(&shared_features::check(4, &sign)), [gap]);
}

#[test]
fn the_change_of_shannons_entropy_is_not_that_of_the_others() {
    let right = generalised_entropy::KINDS;
    assert!(failed(&generalised_entropy::check(&populations(), &right)).is_empty());
    let wrong = right.map(|kind| generalised_entropy::Kind {
        change: |policy, _, step| policy.entropy_change_first_order(step),
        ..kind
    });
    let wrong = generalised_entropy::check(&populations(), &wrong);
    assert_eq!(
        failed(&wrong),
        [
            "order of the error, Tsallis, distance from 2",
            "order of the error, Rényi, distance from 2",
        ]
    );
}

#[test]
fn rates_and_splits_that_are_off_fail() {
    let right = exchange::FORMULAS;
    assert!(failed(&exchange::check(&populations(), &right)).is_empty());
    let rate = exchange::Formulas {
        rate: |policy, advantage, rule| {
            let rate = ExchangeRate::of(policy, advantage, rule);
            ExchangeRate { reward: 1.01 * rate.reward, ..rate }
        },
        ..right
    };
    let order = "order of the error of ΔR, distance from 2";
    assert_eq!(failed(&exchange::check(&populations(), &rate)), [order]);
    let split = exchange::Formulas {
        split: |policy, is_right| {
            let split = BinarySplit::of(policy, is_right);
            BinarySplit {
                entropy_right: split.entropy_wrong,
                entropy_wrong: split.entropy_right,
                ..split
            }
        },
        ..right
    };
    let parts = "h(R) + R H_c + (1 - R) H_w: gap to H, and of Cov";
    assert_eq!(failed(&exchange::check(&populations(), &split)), [parts]);
}

/// Eq. 10 read as the effect on the entropy: the covariance in place of `A G`.
#[test]
fn clip_cov_by_the_covariance_alone_fails() {
    let by_covariance =
        |policy: &Categorical, advantage: &[f64], actions: &[usize], count: usize| {
            let centred = policy.centred_log_probs();
            actions.iter().map(|a| advantage[*a] * centred[*a]).sum::<f64>() / count as f64
        };
    let right = clip_cov::check(&populations(), 1, clip_cov::predict);
    let wrong = clip_cov::check(&populations(), 1, by_covariance);
    assert!(failed(&right).is_empty(), "{right:#?}");
    assert!(
        failed(&wrong).contains(&"first-order effect of the dropped tokens, gap"),
        "{wrong:#?}"
    );
    assert!(failed(&wrong).contains(&"detaching Cov > 0 can lower H, by hand: misses"));
}

/// As the paper writes it, a divergence: no effect of first order in the drift at the tokens.
#[test]
fn kl_cov_without_its_sign_fails() {
    let unsigned = |policy: &Categorical, coefficient: f64, selected: &[(usize, f64)], count| {
        let sizes: Vec<(usize, f64)> = selected.iter().map(|(a, x)| (*a, x.abs())).collect();
        kl_cov::predict(policy, coefficient, &sizes, count)
    };
    let right = kl_cov::check(&populations(), 1, kl_cov::predict);
    let wrong = kl_cov::check(&populations(), 1, unsigned);
    assert!(failed(&right).is_empty(), "{right:#?}");
    assert!(
        failed(&wrong).contains(&"first-order effect of the penalised tokens, gap"),
        "{wrong:#?}"
    );
}

#[test]
fn a_sampled_gradient_with_the_covariance_of_theorem_2_fails() {
    let natural = |policy: &Categorical, advantage: &[f64]| {
        let rule = UpdateRule::NaturalPolicyGradient;
        let (_, variance) = sampled::predict(policy, advantage);
        (rule.predicted_entropy_change(policy, advantage, 1.0), 2.0 * variance)
    };
    assert!(failed(&sampled::check(3, sampled::predict)).is_empty());
    assert_eq!(failed(&sampled::check(3, natural)).len(), 2);
}

#[test]
fn a_clipped_surrogate_without_its_mask_fails() {
    let unmasked = |policy: &Categorical, advantage: &[f64], mask: &[bool]| {
        clipped::predict(policy, advantage, &vec![true; mask.len()])
    };
    assert_fails(
        &clipped::check(&populations(), clipped::predict),
        &clipped::check(&populations(), unmasked),
        &[ORDER],
    );
}

#[test]
fn regularisers_one_per_cent_off_fail() {
    let off = |term, rule, policy: &Categorical, reference: &Categorical| {
        1.01 * regulariser::predict(term, rule, policy, reference)
    };
    assert!(failed(&regulariser::check(&populations(), regulariser::predict)).is_empty());
    let wrong = regulariser::check(&populations(), off);
    let orders = failed(&wrong).iter().filter(|check| check.starts_with("order")).count();
    assert_eq!(orders, 3, "{wrong:#?}");
}

/// The clock in place of which a large group would have `1/σ`.
#[test]
fn a_clock_of_one_over_sigma_fails() {
    assert!(failed(&clock::check(0, clock::clock)).is_empty());
    let sigma = |success: f64, _: usize| 1.0 / (success * (1.0 - success)).sqrt();
    assert_eq!(failed(&clock::check(0, sigma)).len(), 2);
}

#[test]
fn flows_at_a_slightly_wrong_time_fail() {
    assert!(failed(&flow::check(0, &flow::CLOSED_FORMS)).is_empty());
    let late = flow::ClosedForms {
        natural: |flow, time| flow.policy_at(1.001 * time),
        policy_gradient: |flow, time| flow.policy_at(1.001 * time),
        same_curve_time: |beta, time| 1.001 * (flow::CLOSED_FORMS.same_curve_time)(beta, time),
    };
    assert_eq!(failed(&flow::check(0, &late)).len(), 4);
}

#[test]
fn lemma_1_with_the_wrong_sign_fails() {
    let rows = lemma1::check(&populations(), |policy, step| -lemma1::predict(policy, step));
    assert_eq!(failed(&rows), [ORDER, BOUND, LOCAL_BOUND]);
}

/// An error of one per cent in the prediction is seen as well.
#[test]
fn lemma_1_that_is_slightly_off_fails() {
    let rows = lemma1::check(&populations(), |policy, step| 1.01 * lemma1::predict(policy, step));
    let failed = failed(&rows);
    assert!([ORDER, BOUND, LOCAL_BOUND].iter().all(|check| failed.contains(check)), "{failed:?}");
}

#[test]
fn theorem_1_with_the_wrong_sign_fails() {
    let rows = theorem1::check(&populations(), |policy, advantage, eta| {
        -theorem1::predict(policy, advantage, eta)
    });
    assert!(failed(&rows).starts_with(&[ORDER, BOUND, LOCAL_BOUND]), "{rows:#?}");
}

/// Theorem 1 as printed holds for a centred advantage only.
#[test]
fn theorem_1_without_the_centring_fails() {
    let rows = theorem1::check(&populations(), |policy, advantage, eta| {
        let weighted: Vec<f64> =
            std::iter::zip(policy.probs(), advantage).map(|(p, a)| p * a).collect();
        -eta * policy.covariance(policy.log_probs(), &weighted)
    });
    assert!(failed(&rows).contains(&ORDER), "{rows:#?}");
}

#[test]
fn theorem_2_with_the_prediction_of_theorem_1_fails() {
    let rows = theorem2::check(&populations(), theorem1::predict);
    assert!(failed(&rows).contains(&ORDER), "{rows:#?}");
}

#[test]
fn theorem_2_with_the_wrong_sign_fails() {
    let rows = theorem2::check(&populations(), |policy, advantage, eta| {
        -theorem2::predict(policy, advantage, eta)
    });
    assert_eq!(failed(&rows), [ORDER, BOUND, LOCAL_BOUND]);
}

#[test]
fn proposition_1_with_the_natural_step_fails_every_check() {
    let rows = proposition1::check(&populations(), 1, |policy, advantage, eta| {
        UpdateRule::NaturalPolicyGradient.step(policy, advantage, eta)
    });
    assert_eq!(failed(&rows).len(), rows.len(), "{rows:#?}");
}

#[test]
fn a_prediction_that_is_not_a_number_fails() {
    let rows = lemma1::check(&populations(), |_, _| f64::NAN);
    assert_eq!(failed(&rows), [ORDER, BOUND, LOCAL_BOUND]);
    assert!(rows.iter().all(|row| row.worst.is_finite()));
}
