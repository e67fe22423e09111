//! Entropies beside Shannon's: Tsallis and Rényi, and their differentials.

use entropy_core::{Categorical, InputError};

fn policy() -> Categorical {
    Categorical::from_logits(&[0.5, -1.0, f64::NEG_INFINITY, 2.0, 0.0]).expect("finite logits")
}

#[test]
fn known_orders_are_the_known_entropies() {
    let policy = policy();
    let square: f64 = policy.probs().iter().map(|p| p * p).sum();
    let close = |found: f64, expected: f64| {
        assert!((found - expected).abs() < 1e-14, "{found} vs {expected}");
    };
    close(policy.tsallis_entropy(2.0).unwrap(), 1.0 - square);
    close(policy.tsallis_entropy(0.0).unwrap(), 3.0);
    close(policy.tsallis_entropy(1.0).unwrap(), policy.entropy());
    close(policy.renyi_entropy(2.0).unwrap(), -square.ln());
    close(policy.renyi_entropy(0.0).unwrap(), 4f64.ln());
    close(policy.renyi_entropy(1.0).unwrap(), policy.entropy());
    close(policy.renyi_entropy(f64::INFINITY).unwrap(), -policy.log_probs()[3]);
    assert!((policy.renyi_entropy(1e4).unwrap() + policy.log_probs()[3]).abs() < 1e-3);
    for order in [1.0 - 1e-9, 1.0 + 1e-9] {
        assert!((policy.tsallis_entropy(order).unwrap() - policy.entropy()).abs() < 1e-8);
    }
}

#[test]
fn differentials_are_central_differences() {
    let (policy, step) = (policy(), [1.0, -0.5, f64::NAN, 0.25, 2.0]);
    let width = 1e-5;
    let moved = |sign: f64| {
        let logits: Vec<f64> = (0..5)
            .map(|a| policy.log_probs()[a] + if a == 2 { 0.0 } else { sign * width * step[a] })
            .collect();
        Categorical::from_logits(&logits).unwrap()
    };
    let (ahead, behind) = (moved(1.0), moved(-1.0));
    for order in [0.0, 0.3, 1.0 - 1e-10, 1.0, 2.0, 7.0] {
        let slope = |f: fn(&Categorical, f64) -> Result<f64, InputError>| {
            (f(&ahead, order).unwrap() - f(&behind, order).unwrap()) / (2.0 * width)
        };
        let tsallis = policy.tsallis_change_first_order(order, &step).unwrap();
        let renyi = policy.renyi_change_first_order(order, &step).unwrap();
        assert!((tsallis - slope(Categorical::tsallis_entropy)).abs() < 1e-9, "{order}");
        assert!((renyi - slope(Categorical::renyi_entropy)).abs() < 1e-9, "{order}");
    }
    let lemma = policy.entropy_change_first_order(&step);
    let shannon = policy.tsallis_change_first_order(1.0, &step).unwrap();
    assert!((shannon - lemma).abs() < 1e-15);
}

#[test]
fn negative_orders_are_refused() {
    let message = |order| policy().renyi_entropy(order).unwrap_err().to_string();
    assert_eq!(message(-0.5), "`order` is -0.5; expected 0 or above");
    assert_eq!(message(f64::NAN), "`order` is NaN; expected 0 or above");
    assert!(policy().tsallis_entropy(f64::INFINITY).is_err());
}

#[test]
fn impossible_and_vanishing_actions_do_no_harm() {
    let peaked = Categorical::from_logits(&[0.0, -800.0]).unwrap();
    assert!((peaked.renyi_entropy(0.0).unwrap() - 2f64.ln()).abs() < 1e-14);
    let half = peaked.tsallis_entropy(0.5).unwrap();
    assert!((half / (2.0 * (-400f64).exp()) - 1.0).abs() < 1e-12, "{half:e}");
}
