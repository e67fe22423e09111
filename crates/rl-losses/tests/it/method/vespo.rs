//! VESPO: a smooth weight of the sequence's ratio.

use rl_losses::{Token, TokenLoss, Vespo};

/// With one setting for both signs the largest weight is at `k / λ`.
#[test]
fn the_weight_is_one_on_policy_and_largest_at_power_over_decay() {
    let weight = |ratio: f64| {
        let token = Token {
            log_prob: -1.0,
            old_log_prob: -1.0,
            detached_log_prob: -1.0,
            ratio: 1.0,
            held: false,
            advantage: 1.0,
            constant: ratio.ln(),
            selected: false,
        };
        -Vespo::default().score(&token).term.d_log_prob
    };
    assert!((weight(1.0) - 1.0).abs() < 1e-15);
    let best = weight(2.0 / 3.0);
    assert!((best - (2.0f64 / 3.0).powi(2) * 1f64.exp()).abs() < 1e-14);
    assert!(best > weight(0.66) && best > weight(0.67));
}
