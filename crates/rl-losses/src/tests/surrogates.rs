//! Surrogates at their bounds, and without any.

use proptest::prelude::*;

use crate::{
    fast::real::Real,
    method::Plain,
    surrogate::{Surrogate, clipped_at},
    term::{Token, TokenLoss},
};

/// A token without an advantage is at no bound, whatever its ratio.
#[test]
fn without_an_advantage_nothing_is_clipped() {
    for ratio in [0.1, 1.0, 2.5, 9.0] {
        let scored = clipped_at(ratio, 0.0, [0.8, 1.28, 2.0]);
        assert!(!scored.clipped && !scored.ceiling && !scored.altered, "{ratio}");
    }
}

proptest! {
    #[test]
    fn plain_is_the_surrogate_without_bounds(x in -800.0f64..800.0, advantage in -3.0f64..3.0) {
        let token = Token {
            log_prob: x,
            old_log_prob: 0.0,
            detached_log_prob: x,
            ratio: Real::exp(x),
            held: x.magnitude() > <f64 as Real>::EXP_LIMIT,
            advantage,
            constant: 0.0,
            selected: false,
        };
        prop_assert_eq!(Plain.score(&token), Surrogate::PLAIN.score(&token));
    }
}
