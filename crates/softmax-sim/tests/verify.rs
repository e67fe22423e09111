//! Verification passes for the theory, fails for anything else, and does not depend on threads.

use entropy_core::UpdateRule;
use softmax_sim::population::Population;
use softmax_sim::statement::{lemma1, proposition1, theorem1, theorem2};
use softmax_sim::{Report, Row, verify};

fn populations() -> [Population; 2] {
    [Population::random(1, 40, 3), Population::random(1, 40, 16)]
}

/// The checks among `rows` that failed.
fn failed(rows: &[Row]) -> Vec<&str> {
    rows.iter().filter(|row| !row.passed).map(|row| row.check.as_str()).collect()
}

const ORDER: &str = "order of the remainder in the step size, distance from 2";
const BOUND: &str = "remainder over its bound";
const LOCAL_BOUND: &str = "remainder over its bound for peaked policies";

#[test]
fn every_statement_passes_for_any_seed() {
    for seed in [0, 1, 2, u64::MAX] {
        let report = verify(seed, 30);
        assert!(report.passed(), "seed {seed}\n{}", report.table());
    }
}

#[test]
fn a_single_policy_is_enough() {
    for seed in 0..12 {
        let report = verify(seed, 1);
        assert!(report.passed(), "seed {seed}\n{}", report.table());
    }
}

#[test]
fn each_statement_is_checked_on_its_populations() {
    let report = verify(0, 10);
    for statement in ["Lemma 1", "Proposition 1", "Theorem 1", "Theorem 2"] {
        let rows = report.rows.iter().filter(|row| row.statement == statement);
        let cases: Vec<usize> = rows.map(|row| row.cases).collect();
        assert!(cases.len() >= 3, "{statement}: {cases:?}");
        assert!(cases.iter().all(|cases| *cases > 15), "{statement}: {cases:?}");
    }
}

#[test]
fn rows_do_not_depend_on_the_number_of_threads() {
    let on = |threads: usize| -> Report {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        pool.expect("threads can be started").install(|| verify(5, 40))
    };
    let (one, many) = (on(1), on(7));
    let bits = |report: &Report| -> Vec<u64> {
        report.rows.iter().map(|row| row.worst.to_bits()).collect()
    };
    assert_eq!(one, many);
    assert_eq!(bits(&one), bits(&many));
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
    assert_eq!(failed(&rows), [ORDER, BOUND, LOCAL_BOUND]);
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
