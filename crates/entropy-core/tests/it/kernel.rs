//! The row kernels against the reference implementation, against recorded multi-precision steps, and
//! against themselves on every instruction set of the machine.

mod short_row;

use entropy_core::kernel::{ExactStep, InstructionSet, StepSummary, row};
use entropy_core::{Categorical, UpdateRule};
use serde::Deserialize;

const RULES: [UpdateRule; 2] = [UpdateRule::PolicyGradient, UpdateRule::NaturalPolicyGradient];

/// Policies from uniform to as peaked as `f64` holds, of every length around a block of lanes and some
/// long ones, with and without impossible actions.
fn policies() -> impl Iterator<Item = (Vec<f64>, Vec<f64>)> {
    let lengths = (1..=33).chain([100, 1000, 10_000]);
    lengths.flat_map(|n| {
        [0.0, 1e-6, 0.5, 5.0, 40.0, 300.0, 700.0].map(move |spread| {
            let wave = |a: usize, k: u64| {
                let hash = (a as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(23) ^ k;
                (hash.wrapping_mul(0xD6E8_FEB8_6659_FD93) >> 11) as f64 / (1u64 << 52) as f64 - 1.0
            };
            let impossible = |a: usize| n > 3 && a % 5 == n % 5;
            let logits = (0..n)
                .map(|a| if impossible(a) { f64::NEG_INFINITY } else { spread * wave(a, 1) + 3.0 });
            (logits.collect(), (0..n).map(|a| wave(a, 2) + 0.5).collect())
        })
    })
}

fn close(found: f64, expected: f64, relative: f64, floor: f64) -> bool {
    found.to_bits() == expected.to_bits()
        || (found - expected).abs() <= relative * expected.abs() + floor
}

#[test]
fn row_functions_agree_with_the_reference() {
    for (logits, _) in policies() {
        let policy = Categorical::from_logits(&logits).expect("a valid row");
        let mut probs = vec![0.0; logits.len()];
        let entropy = row::softmax_into(&logits, &mut probs).expect("a valid row");
        assert!(close(entropy, policy.entropy(), 1e-12, 0.0), "{entropy} of {policy:?}");
        assert_eq!(row::entropy(&logits), Ok(entropy));
        assert_eq!(row::mode(&logits), Ok(policy.mode()));
        let log_sum_exp = row::log_sum_exp(&logits).expect("a valid row");
        for (action, logit) in logits.iter().enumerate() {
            // The exponentials differ by a unit in the last place, which is all of a subnormal number.
            assert!(close(probs[action], policy.probs()[action], 1e-12, 1e-322), "{policy:?}");
            assert!(close(logit - log_sum_exp, policy.log_probs()[action], 1e-12, 1e-12));
        }
    }
}

#[test]
fn a_step_agrees_with_the_reference() {
    for (logits, reward) in policies() {
        let policy = Categorical::from_logits(&logits).expect("a valid row");
        let value = policy.mean(&reward);
        let advantage: Vec<f64> = reward.iter().map(|r| r - value).collect();
        for rule in RULES {
            let eta = 0.3;
            // The direction is the step of size 1.
            let direction = rule.step(&policy, reward_or(&advantage, &reward, rule), 1.0);
            let covariance = policy.covariance(policy.centred_log_probs(), &direction);
            // What rounding may do to it where its terms cancel.
            let scale = policy.covariance(policy.centred_log_probs(), policy.centred_log_probs())
                * policy.covariance(&direction, &direction);
            let mut moved = logits.clone();
            let mut summary = [StepSummary::default()];
            let step = ExactStep::new(rule, eta);
            let mode = step.run(&mut moved, &reward, policy.mode(), &mut Vec::new(), &mut summary);
            let [measured] = summary;
            assert!(
                close(measured.entropy, policy.entropy(), 1e-12, 0.0),
                "{measured:?} {policy:?}"
            );
            assert!(close(measured.value, value, 1e-12, 1e-15), "{measured:?} {policy:?}");
            assert!(
                close(measured.covariance, covariance, 1e-12, 1e-13 * scale.sqrt()),
                "{measured:?}, expected {covariance}, {rule:?} {policy:?}"
            );
            for (action, logit) in logits.iter().enumerate() {
                let expected = logit + eta * direction[action];
                assert!(
                    close(moved[action], expected, 1e-14, 1e-13),
                    "{action} {rule:?} {policy:?}"
                );
            }
            assert_eq!(moved[mode].to_bits(), largest(&moved).to_bits());
        }
    }
}

/// The policy gradient centres by itself; the natural one takes the advantage as it is.
fn reward_or<'a>(advantage: &'a [f64], reward: &'a [f64], rule: UpdateRule) -> &'a [f64] {
    match rule {
        UpdateRule::PolicyGradient => reward,
        UpdateRule::NaturalPolicyGradient => advantage,
    }
}

fn largest(row: &[f64]) -> f64 {
    row.iter().copied().fold(f64::NEG_INFINITY, f64::max)
}

#[test]
fn every_instruction_set_takes_the_same_steps_bit_for_bit() {
    for (logits, reward) in policies() {
        for rule in RULES {
            let mut seen = None;
            for set in InstructionSet::available() {
                let mut moved = logits.clone();
                let mut summaries = [StepSummary::default(); 5];
                let mode = row::mode(&logits).expect("a valid row");
                let step = ExactStep::on(set, rule, 0.7);
                let mode = step.run(&mut moved, &reward, mode, &mut Vec::new(), &mut summaries);
                let bits = |x: &f64| x.to_bits();
                let numbers = summaries.iter().flat_map(|s| [s.entropy, s.covariance, s.value]);
                let actual: (usize, Vec<u64>) =
                    (mode, numbers.chain(moved).map(|x| bits(&x)).collect());
                assert_eq!(*seen.get_or_insert_with(|| actual.clone()), actual, "{set} {rule:?}");
            }
        }
    }
}

#[test]
fn a_run_cut_in_two_is_the_same_run() {
    let (logits, reward) = policies().nth(150).expect("there are as many");
    for rule in RULES {
        let step = ExactStep::new(rule, 0.5);
        let (mut one_run, mut parts) = (logits.clone(), logits.clone());
        let (mut all, mut some) = ([StepSummary::default(); 40], [StepSummary::default(); 40]);
        let start = row::mode(&logits).expect("a valid row");
        step.run(&mut one_run, &reward, start, &mut Vec::new(), &mut all);
        let (first, second) = some.split_at_mut(17);
        // Scratch memory as another row left it.
        let mut scratch = vec![f64::NAN; 3];
        let mode = step.run(&mut parts, &reward, start, &mut scratch, first);
        step.run(&mut parts, &reward, mode, &mut scratch, second);
        assert_eq!((one_run, all), (parts, some));
    }
}

#[test]
fn the_mode_follows_the_best_action() {
    let mut logits = [0.0, 1.0, -1.0, f64::NEG_INFINITY];
    let reward = [0.0, 0.0, 1.0, 9.0];
    let step = ExactStep::new(UpdateRule::NaturalPolicyGradient, 1.0);
    let mut summaries = [StepSummary::default(); 50];
    let mode = step.run(&mut logits, &reward, 1, &mut Vec::new(), &mut summaries);
    assert_eq!(mode, 2);
    assert_eq!(logits[3].to_bits(), f64::NEG_INFINITY.to_bits());
    assert!(summaries[49].value > 0.99 && summaries[49].entropy < 0.01, "{:?}", summaries[49]);
}

#[derive(Deserialize)]
struct Recorded {
    eta: f64,
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    rule: UpdateRule,
    logits: Vec<f64>,
    reward: Vec<f64>,
    summaries: Vec<[f64; 3]>,
    after: Vec<f64>,
}

/// A hundred steps in 40 digits: `data/exact_steps.py` makes the file.
#[test]
fn a_hundred_steps_agree_with_multi_precision_ones() {
    let recorded: Recorded =
        serde_json::from_str(include_str!("../data/exact_steps.json")).expect("recorded steps");
    assert_eq!(recorded.cases.len(), 8);
    for case in recorded.cases {
        let mut logits = case.logits;
        let mode = row::mode(&logits).expect("a valid row");
        let mut summaries = vec![StepSummary::default(); case.summaries.len()];
        let step = ExactStep::new(case.rule, recorded.eta);
        step.run(&mut logits, &case.reward, mode, &mut Vec::new(), &mut summaries);
        for (summary, [entropy, covariance, value]) in summaries.iter().zip(case.summaries) {
            assert!(close(summary.entropy, entropy, 1e-13, 0.0), "{summary:?}, expected {entropy}");
            assert!(close(summary.value, value, 1e-13, 0.0), "{summary:?}, expected {value}");
            assert!(
                close(summary.covariance, covariance, 1e-12, 1e-15),
                "{summary:?}, expected {covariance}"
            );
        }
        for (logit, expected) in logits.iter().zip(case.after) {
            assert!(close(*logit, expected, 1e-13, 1e-13), "{logit}, expected {expected}");
        }
    }
}
