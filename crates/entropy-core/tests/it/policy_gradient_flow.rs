//! The continuous-time policy gradient where it can be solved: two kinds of arms.

use entropy_core::{InputError, PolicyGradientFlow};

#[test]
fn going_back_returns_to_the_start() {
    let flow = PolicyGradientFlow::new(3, 5, -1.0, 0.5).unwrap();
    for time in [1e-9, 0.3, 20.0, 1e6] {
        let there = flow.log_ratio_at(time);
        let back = PolicyGradientFlow::new(3, 5, there, 0.5).unwrap().log_ratio_at(-time);
        assert!((back + 1.0).abs() < 1e-10, "{time}: {back}");
    }
}

#[test]
fn a_short_time_moves_with_the_initial_rate() {
    let flow = PolicyGradientFlow::new(1, 1, 0.25, 2.0).unwrap();
    let rate = 2.0 / (1.0 + 0.25f64.cosh());
    let moved = flow.log_ratio_at(1e-7) - 0.25;
    assert!((moved / (rate * 1e-7) - 1.0).abs() < 1e-6, "{moved}");
    let swapped = PolicyGradientFlow::new(1, 1, -0.25, -2.0).unwrap();
    assert!((swapped.log_ratio_at(3.0) + flow.log_ratio_at(3.0)).abs() < 1e-15);
}

#[test]
fn a_flow_without_arms_is_refused() {
    let message = |flow: Result<PolicyGradientFlow, InputError>| flow.unwrap_err().to_string();
    assert_eq!(
        message(PolicyGradientFlow::new(0, 5, 0.0, 1.0)),
        "`better` is 0; expected at least 1 action"
    );
    assert!(message(PolicyGradientFlow::new(1, 1, 701.0, 1.0)).starts_with("`log_ratio`"));
    assert!(message(PolicyGradientFlow::new(1, 1, 0.0, f64::NAN)).starts_with("`gap` is NaN"));
}
