//! Intervals and forecasts of the law; expected numbers by multi-precision least squares (mpmath)
//! from the columns of `tests/data/theory_vectors.json`.

use entropy_core::{Forecast, InputError, Interval, PerformanceLaw};
use serde_json::Value;

/// Entropies and rewards of one recorded case.
fn case(name: &str) -> (Vec<f64>, Vec<f64>) {
    let oracle: Value = serde_json::from_str(include_str!("../data/theory_vectors.json"))
        .expect("the oracle is JSON");
    let cases = oracle["fit_cases"].as_array().expect("cases");
    let case = cases.iter().find(|case| case["name"] == name).expect("the case exists");
    let column = |field: &str| -> Vec<f64> {
        let number = |value: &Value| value.as_str().expect("a string").parse().expect("a number");
        case[field].as_array().expect("a column").iter().map(number).collect()
    };
    (column("H"), column("R"))
}

fn assert_interval(found: Result<Interval, InputError>, low: f64, high: f64) {
    let interval = found.expect("there are points enough");
    let width = high - low;
    assert!((interval.low - low).abs() < 1e-10 * width, "{interval:?} vs {low}");
    assert!((interval.high - high).abs() < 1e-10 * width, "{interval:?} vs {high}");
}

#[test]
fn intervals_agree_with_high_precision_least_squares() {
    let (entropy, reward) = case("noise_0.01");
    let law = PerformanceLaw::fit(&entropy, &reward).unwrap();
    assert_interval(law.interval_a(0.95), 0.097_444_656_757_749_7, 0.100_428_978_965_256_62);
    assert_interval(law.interval_b(0.95), 0.546_427_758_468_760_8, 0.551_376_788_706_466_9);
    assert_interval(law.interval_ceiling(0.95), 0.448_524_386_908_165_8, 0.451_406_524_544_055_54);
    assert_interval(
        law.confidence_interval(0.25, 0.95),
        0.420_546_033_359_197_6,
        0.423_183_736_255_278_56,
    );
    assert_interval(
        law.prediction_interval(0.25, 0.95),
        0.403_352_973_911_219_3,
        0.440_376_795_703_256_84,
    );
    assert!((law.linear_rmse / 0.022_539_231_254_101_346 - 1.0).abs() < 1e-12);
    assert!((law.linear_r_squared.unwrap() - 0.932_991_428_475_508_7).abs() < 1e-12);
}

#[test]
fn a_forecast_carries_its_interval() {
    let (entropy, reward) = case("toy_L1_env0_grpo");
    let forecast = Forecast::from_share(&entropy, &reward, 0.15, 0.95).unwrap();
    assert_eq!(forecast.fitted, 11);
    let last = forecast.final_interval.ok_or(InputError::Support { action: 0 });
    assert_interval(last, 0.949_711_601_560_421_3, 0.971_472_327_826_369_2);
    assert_interval(
        forecast.law.interval_ceiling(0.95),
        0.959_666_666_847_700_5,
        0.967_652_887_965_045_1,
    );
    // The run bends: the law errs by 0.8 points, a straight line by more, and the interval, which
    // takes the residuals as independent, is too narrow.
    assert!(forecast.linear_rmse_rest > 2.0 * forecast.rmse_rest, "{forecast:?}");
    assert!(forecast.covered.unwrap() < 0.95, "{forecast:?}");
}

#[test]
fn intervals_cover_what_independent_noise_leaves() {
    let (entropy, reward) = case("noise_0.01");
    let forecast = Forecast::from_first(&entropy, &reward, 100, 0.9).unwrap();
    let covered = forecast.covered.unwrap();
    // 100 points at 0.9 each: 0.8 to 0.97 but once in a thousand.
    assert!((0.8..0.97).contains(&covered), "{covered}");
}

#[test]
fn a_law_without_noise_has_intervals_without_width() {
    let entropy = [1.5, 1.0, 0.5, 0.1];
    let reward = entropy.map(|h: f64| 0.75 - 0.125 * h.exp());
    let law = PerformanceLaw::fit(&entropy, &reward).unwrap();
    let ceiling = law.interval_ceiling(0.99).unwrap();
    assert!(ceiling.high - ceiling.low < 1e-13, "{ceiling:?}");
    assert!((ceiling.low - 0.625).abs() < 1e-13);
}

#[test]
fn a_constant_reward_is_foretold_as_it_is() {
    let forecast = Forecast::from_first(&[1.0, 0.8, 0.5, 0.2], &[0.5; 4], 3, 0.95).unwrap();
    assert!(forecast.law.a.abs() < 1e-15 && forecast.rmse_rest < 1e-15, "{forecast:?}");
    assert_eq!((forecast.law.r_squared, forecast.linear.r_squared), (None, None));
}

#[test]
fn what_cannot_be_foretold_is_named() {
    let (entropy, reward) = ([1.0, 0.5, 0.2, 0.1], [0.1, 0.3, 0.4, 0.5]);
    let message = |entropy: &[f64], share, confidence| {
        Forecast::from_share(entropy, &reward, share, confidence).unwrap_err().to_string()
    };
    assert_eq!(message(&entropy, 1.5, 0.95), "`share` is 1.5; expected a number between 0 and 1");
    assert_eq!(
        message(&entropy, 0.99, 0.95),
        "`fitted` is 4; expected fewer points than the run has"
    );
    assert_eq!(
        message(&entropy, 0.75, 1.0),
        "`confidence` is 1; expected a number between 0 and 1"
    );
    assert_eq!(
        message(&[1.0, 0.5, 0.2, f64::NAN], 0.5, 0.95),
        "`entropy` is NaN at point 3; expected a finite number"
    );
    assert_eq!(
        message(&[0.5, 0.5, 0.2, 0.1], 0.5, 0.95),
        "entropy is 0.5 at all 2 points; a fit needs two different entropies"
    );
    assert!(message(&entropy, 0.75, f64::NAN).starts_with("`confidence` is NaN; expected"));
    let two = Forecast::from_share(&entropy, &reward, 0.5, 0.95).unwrap();
    assert_eq!((two.fitted, two.final_interval, two.covered), (2, None, None));
    assert!(two.law.interval_a(0.95).unwrap_err().to_string().contains("at least 3 points"));
}
