//! Paired comparison of two evaluations of the same problems.

use run_report::evaluation::comparison::sign_test;

/// R: `binom.test(c(1, 9))$p.value` and so on; closed forms 2 Σ C(n, i) / 2^n.
#[test]
fn the_sign_test_is_exact() {
    assert!((sign_test(9, 1) - 22.0 / 1024.0).abs() < 1e-14);
    assert!((sign_test(1, 9) - 22.0 / 1024.0).abs() < 1e-14);
    assert!((sign_test(6, 0) - 2.0 / 64.0).abs() < 1e-15);
    assert!((sign_test(3, 2) - 1.0).abs() < 1e-15);
    assert!((sign_test(0, 0) - 1.0).abs() < 1e-15);
}
