//! Flows, estimates, sequences, shared features, other entropies, reward.

use crate::wrong_formulas::{ORDER, failed, states};
use entropy_core::{
    BinarySplit, CovarianceDecomposition, CovarianceEstimate, ExchangeRate, SequenceEntropyChange,
    StateGraph,
};
use softmax_sim::statement::{
    estimator, exchange, flow, generalised_entropy, law, sequence, shared_features,
};

#[test]
fn an_unbiased_estimator_is_not_the_one_of_the_paper() {
    let right = estimator::FORMULAS;
    let unbiased = estimator::Formulas {
        estimate: |advantage, log_prob, entropy| {
            let n = advantage.len() as f64;
            (estimator::FORMULAS.estimate)(advantage, log_prob, entropy) * n / (n - 1.0)
        },
        ..right
    };
    let wrong = estimator::check(2, &unbiased);
    assert!(failed(&estimator::check(2, &right)).is_empty());
    assert_eq!(failed(&wrong).len(), 5, "{wrong:#?}");
}

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
    let of_batch = estimator::Formulas { state_estimate: right.estimate, ..right };
    let centred = "centred in the states: mean E Cov_s, gap";
    assert_eq!(failed(&estimator::check(2, &of_batch)), [centred]);
}

#[test]
fn sequences_without_the_change_of_visits_fail() {
    let change = StateGraph::entropy_change_first_order;
    assert!(failed(&sequence::check(4, StateGraph::entropy, change)).is_empty());
    let by_tokens: sequence::Change = |graph, policies, step| {
        let change = graph.entropy_change_first_order(policies, step);
        SequenceEntropyChange { visitation: 0.0, ..change }
    };
    assert_eq!(
        failed(&sequence::check(4, StateGraph::entropy, by_tokens)),
        [
            "change: gap to -Cov_y(log π(y), d log π(y))",
            ORDER,
            "order of the error, policy gradient, distance from 2",
            "order of the error, natural gradient, distance from 2",
            "visits alone: 0 within states, ½ ln 2 in all, gap",
        ]
    );
    let first_token = sequence::check(4, |_, policies| policies[0].entropy(), change);
    assert_eq!(failed(&first_token), ["entropy by the chain rule, gap"]);
}

#[test]
fn a_law_without_its_spacing_clocks_or_power_fails() {
    let right = law::FORMULAS;
    assert!(failed(&law::check(4, &right)).is_empty(), "{:#?}", law::check(4, &right));
    let wrong = law::Formulas {
        effective_actions: |gap| std::f64::consts::E * gap,
        law: |states| ((law::FORMULAS.law)(states).0, 0.0),
        exponent: |_| 1.0,
    };
    assert_eq!(
        failed(&law::check(4, &wrong)),
        [
            "even rewards: H against that of their gap, gap",
            "order of the error, one state, distance from 2",
            "order of the error, own clocks, distance from 2",
            "g^k actions within g: gap against exp(H/k), slope",
        ]
    );
    let one_clock = law::Formulas {
        law: |states| {
            let alike: Vec<(f64, f64)> =
                states.iter().map(|(spacing, _)| (*spacing, 1.0)).collect();
            (law::FORMULAS.law)(&alike)
        },
        ..right
    };
    let clocks = "order of the error, own clocks, distance from 2";
    assert_eq!(failed(&law::check(4, &one_clock)), [clocks]);
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
    assert!(failed(&generalised_entropy::check(&states(), &right)).is_empty());
    let wrong = right.map(|kind| generalised_entropy::Kind {
        change: |policy, _, step| policy.entropy_change_first_order(step),
        ..kind
    });
    let wrong = generalised_entropy::check(&states(), &wrong);
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
    let check = |rate: exchange::Rate, split: exchange::Split| {
        let rows = exchange::check(&states(), rate, split);
        failed(&rows).into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    assert!(check(ExchangeRate::of, BinarySplit::of).is_empty());
    let rate: exchange::Rate = |policy, advantage, rule| {
        let rate = ExchangeRate::of(policy, advantage, rule);
        ExchangeRate { reward: 1.01 * rate.reward, ..rate }
    };
    assert_eq!(check(rate, BinarySplit::of), ["order of the error of ΔR, distance from 2"]);
    let split: exchange::Split = |policy, is_right| {
        let split = BinarySplit::of(policy, is_right);
        BinarySplit {
            entropy_right: split.entropy_wrong,
            entropy_wrong: split.entropy_right,
            ..split
        }
    };
    let parts = "h(R) + R H_c + (1 - R) H_w: gap to H, and of Cov";
    assert_eq!(check(ExchangeRate::of, split), [parts]);
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
