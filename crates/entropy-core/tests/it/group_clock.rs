//! How fast group-normalised advantages run: GRPO is the policy gradient on another clock.

use entropy_core::grpo_clock;

#[test]
fn a_pair_has_the_same_clock_everywhere() {
    for success in [0.0, 1e-300, 1e-9, 0.3, 0.5, 1.0] {
        let clock = grpo_clock(success, 2).unwrap();
        assert!((clock - 0.5f64.sqrt()).abs() < 1e-15, "{success}: {clock}");
    }
}

#[test]
fn large_groups_tend_to_one_over_the_deviation() {
    let clock = grpo_clock(0.3, 1_000_000).unwrap();
    assert!((clock - 1.0 / 0.21f64.sqrt()).abs() < 1e-5, "{clock}");
}

#[test]
fn what_is_no_probability_or_no_group_is_named() {
    let message = |success, size| grpo_clock(success, size).unwrap_err().to_string();
    assert_eq!(message(1.5, 8), "`success` is 1.5; expected a probability within 0..=1");
    assert_eq!(message(f64::NAN, 8), "`success` is NaN; expected a probability within 0..=1");
    assert_eq!(message(0.5, 1), "`group_size` is 1; expected at least 2");
}
