//! Inputs that the fit of `R = -a e^H + b` accepts and refuses.

use entropy_core::{Forecast, PerformanceLaw};

#[test]
fn a_law_without_noise_is_found_again() {
    let entropy = [1.5, 1.0, 0.5, 0.1];
    let reward = entropy.map(|h: f64| 0.75 - 0.125 * h.exp());
    let law = PerformanceLaw::fit(&entropy, &reward).unwrap();
    assert!((law.a - 0.125).abs() < 1e-15, "{law:?}");
    assert!((law.b - 0.75).abs() < 1e-15, "{law:?}");
    assert!((law.ceiling() - 0.625).abs() < 1e-15);
    assert!((law.predict(0.0) - law.ceiling()).abs() < 1e-15);
    assert!(law.r_squared.unwrap() > 1.0 - 1e-14);
    assert!(law.linear_r_squared.unwrap() < 0.99);
}

/// The first three points lie on `R = 0.75 - 0.125 e^H`; the last is measured a quarter above it.
#[test]
fn a_forecast_below_the_measurement_has_a_negative_error() {
    let entropy = [1.5, 1.0, 0.5, 0.1];
    let mut reward = entropy.map(|h: f64| 0.75 - 0.125 * h.exp());
    reward[3] += 0.25;
    let forecast = Forecast::from_first(&entropy, &reward, 3, 0.95).unwrap();
    assert!((forecast.final_error + 0.25).abs() < 1e-14, "{forecast:?}");
    assert!((forecast.law.ceiling() - 0.625).abs() < 1e-14, "{forecast:?}");
    reward[3] -= 0.5;
    let forecast = Forecast::from_first(&entropy, &reward, 3, 0.95).unwrap();
    assert!((forecast.final_error - 0.25).abs() < 1e-14, "{forecast:?}");
}

#[test]
fn two_points_have_no_standard_error() {
    let law = PerformanceLaw::fit(&[0.0, 1.0], &[0.5, 0.25]).unwrap();
    assert_eq!((law.standard_error_a, law.standard_error_b), (None, None));
    assert!(law.rmse < 1e-16);
}

#[test]
fn a_constant_reward_has_a_law_but_no_r_squared() {
    let law = PerformanceLaw::fit(&[0.1, 0.7, 1.3], &[0.1; 3]).unwrap();
    assert!(law.a.abs() < 1e-16, "{law:?}");
    assert!((law.b - 0.1).abs() < 1e-15);
    assert_eq!((law.r_squared, law.linear_r_squared), (None, None));
}

#[test]
fn large_entropies_keep_their_digits() {
    let entropy: Vec<f64> = (0..50).map(|i| 10.0 + 1e-6 * f64::from(i)).collect();
    let reward: Vec<f64> = entropy.iter().map(|h| 3.0 - 1e-4 * h.exp()).collect();
    let law = PerformanceLaw::fit(&entropy, &reward).unwrap();
    assert!((law.a / 1e-4 - 1.0).abs() < 1e-8, "{law:?}");
}

#[test]
fn columns_that_determine_no_law_are_named() {
    let message = |entropy: &[f64], reward: &[f64]| {
        PerformanceLaw::fit(entropy, reward).unwrap_err().to_string()
    };
    assert_eq!(
        message(&[1.0], &[1.0, 2.0]),
        "1 entropies and 2 rewards; expected one of each per point"
    );
    assert_eq!(
        message(&[1.0], &[1.0]),
        "a fit of two coefficients needs at least 2 points, found 1"
    );
    assert_eq!(
        message(&[1.0, 2.0], &[1.0, f64::NAN]),
        "`reward` is NaN at point 1; expected a finite number"
    );
    assert_eq!(
        message(&[1.0, 800.0], &[1.0, 2.0]),
        "`exp(entropy)` is inf at point 1; expected a finite number"
    );
    assert_eq!(
        message(&[0.3, 0.3, 0.3], &[1.0, 2.0, 3.0]),
        "entropy is 0.3 at all 3 points; a fit needs two different entropies"
    );
}

#[test]
fn results_are_written_with_their_names() {
    let law = PerformanceLaw::fit(&[0.0, 1.0], &[0.5, 0.5]).unwrap();
    let json = serde_json::to_value(&law).unwrap();
    assert_eq!(json["points"], 2);
    assert!(json["r_squared"].is_null());
    assert_eq!(serde_json::from_value::<PerformanceLaw>(json).unwrap(), law);
    let none = PerformanceLaw::fit(&[], &[]).unwrap_err().to_string();
    assert_eq!(none, "a fit of two coefficients needs at least 2 points, found 0");
}

/// The difference of both criteria, each from its own residuals.
#[test]
fn the_criterion_prefers_the_form_with_the_smaller_residual() {
    let entropy = [0.0, 0.5, 1.0, 1.5, 2.0];
    let curved = entropy.map(|h: f64| 1.0 - 0.1 * h.exp());
    let straight = entropy.map(|h: f64| 1.0 - 0.1 * h);
    let law = PerformanceLaw::fit(&entropy, &curved).unwrap();
    assert!(law.aic_over_linear().unwrap() > 100.0);
    let law = PerformanceLaw::fit(&entropy, &straight).unwrap();
    assert!(law.aic_over_linear().unwrap() < -100.0);
    let noisy = [0.8, 0.9, 0.6, 0.55, 0.2];
    let law = PerformanceLaw::fit(&entropy, &noisy).unwrap();
    // n ln(SSE / n) + 2 k of each, from the residuals themselves.
    let line = entropy_core::LineFit::through(&entropy, &noisy).unwrap();
    let criterion = |predict: &dyn Fn(f64) -> f64| {
        let squares: f64 = entropy.iter().zip(noisy).map(|(&h, r)| (r - predict(h)).powi(2)).sum();
        5.0 * (squares / 5.0).ln() + 4.0
    };
    let expected = criterion(&|h| line.predict(h)) - criterion(&|h| law.predict(h));
    assert!((law.aic_over_linear().unwrap() - expected).abs() < 1e-10);
}

/// Fitted to two points of the law 1 - 0.1 e^H with -0.2 added at the end; the line through them is written out.
#[test]
fn a_forecast_is_compared_with_persistence_and_with_a_line() {
    let entropy = [2.0, 1.5, 1.0, 0.5];
    let law = |h: f64| 1.0 - 0.1 * h.exp();
    let reward = [law(2.0), law(1.5), law(1.0), law(0.5) - 0.2];
    let forecast = Forecast::from_first(&entropy, &reward, 2, 0.95).unwrap();
    let rmse = |a: f64, b: f64| (0.5 * (a * a + b * b)).sqrt();
    let persistence = rmse(reward[2] - reward[1], reward[3] - reward[1]);
    let slope = (law(2.0) - law(1.5)) / 0.5;
    let line = |h: f64| law(1.5) + slope * (h - 1.5);
    let line = rmse(line(1.0) - reward[2], line(0.5) - reward[3]);
    let law_error = 0.2 / 2f64.sqrt();
    assert!((forecast.skill_over_persistence() - (1.0 - law_error / persistence)).abs() < 1e-12);
    assert!((forecast.skill_over_line() - (1.0 - law_error / line)).abs() < 1e-12);
    // Promised is 0.2 more than came.
    assert!((forecast.gain_left - (reward[3] - reward[1])).abs() < 1e-15);
    assert!((forecast.bias() - 0.2 / forecast.gain_left).abs() < 1e-12);
}
