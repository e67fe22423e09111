//! The fitted law: its coefficients, their intervals, and forecasts.

use entropy_core::PerformanceLaw;
use softmax_sim::fit_law::{LawFit, Points};

fn csv(rows: impl IntoIterator<Item = String>) -> Points {
    let rows: Vec<String> = rows.into_iter().collect();
    let text = format!("entropy,reward\n{}", rows.join("\n"));
    Points::read(text.as_bytes(), "entropy", "reward").expect("rows that can be read").0
}

fn points(noise: f64) -> Points {
    let rows = (0..40u32).map(|step| {
        let entropy = 1.4 * (-0.1 * f64::from(step)).exp();
        let wobble = noise * f64::from((step * 7919) % 13) / 13.0 - 0.5 * noise;
        format!("{entropy},{}", 0.9 - 0.15 * entropy.exp() + wobble)
    });
    csv(rows)
}

#[test]
fn an_exact_law_is_found_and_forecast_from_its_beginning() {
    let fit = LawFit::of(&points(0.0), &[0.15]).unwrap();
    assert!((fit.a.value - 0.15).abs() < 1e-12 && (fit.b.value - 0.9).abs() < 1e-12);
    assert!((fit.ceiling.value - 0.75).abs() < 1e-12 && fit.rmse < 1e-12);
    let forecast = &fit.forecasts[0];
    assert_eq!(forecast.points, 6);
    assert!(forecast.rmse < 1e-12 && forecast.final_error.abs() < 1e-12);
    assert!(forecast.linear_rmse > 0.05, "{forecast:?}");
    assert!(fit.linear.r_squared < fit.r_squared);
}

/// The ceiling is the intercept of the law in `e^H - 1`, whose standard error needs no formula
/// but that of an intercept.
#[test]
fn the_interval_of_the_ceiling_is_that_of_an_intercept_at_no_entropy() {
    let points = points(0.02);
    let fit = LawFit::of(&points, &[]).unwrap();
    let shifted: Vec<f64> = points.entropy.iter().map(|h| h.exp_m1().ln()).collect();
    let law = PerformanceLaw::fit(&shifted, &points.reward).unwrap();
    let [low, high] = fit.ceiling.interval.unwrap();
    // t(0.975; 38) of the tables.
    let half_width = 2.024_394 * law.standard_error_b.unwrap();
    assert!((law.b - fit.ceiling.value).abs() < 1e-12);
    assert!((0.5 * (high - low) / half_width - 1.0).abs() < 1e-6);
    assert!((low..high).contains(&0.75));
}

/// Reward noise of some size shows in the width of the forecast's interval, which holds the last point.
#[test]
fn a_forecast_of_noisy_points_comes_with_its_interval() {
    let fit = LawFit::of(&points(0.02), &[0.3]).unwrap();
    let forecast = &fit.forecasts[0];
    let [low, high] = forecast.final_interval.unwrap();
    let last = *points(0.02).reward.last().unwrap();
    assert!(low < last && last < high && high - low > 0.02, "{forecast:?}");
    let middle = 0.5 * (low + high);
    assert!((middle - last - forecast.final_error).abs() < 1e-12, "{forecast:?}");
}

#[test]
fn two_points_have_no_interval() {
    let two = csv(["1,0.2", "0.5,0.6"].map(String::from));
    assert_eq!(LawFit::of(&two, &[]).unwrap().a.interval, None);
}

#[test]
fn too_few_points_and_shares_that_are_none_are_refused() {
    let message = |points: &Points, shares: &[f64]| {
        LawFit::of(points, shares).map(|_| ()).unwrap_err().to_string()
    };
    let one = csv(["1,0.2"].map(String::from));
    assert_eq!(message(&one, &[]), "a fit of two coefficients needs at least 2 points, found 1");
    let flat = csv(["1,0.2", "1,0.3", "0.5,0.6", "0.2,0.7"].map(String::from));
    let prefix = message(&flat, &[0.5]);
    assert!(
        prefix.starts_with("the first 0.5 of 4 points: entropy is 1 at all 2 points"),
        "{prefix}"
    );
    for share in [0.0, 1.0, -0.5, f64::NAN] {
        let text = message(&points(0.0), &[share]);
        assert!(text.ends_with("expected a share of the points, above 0 and below 1"), "{text}");
    }
}
