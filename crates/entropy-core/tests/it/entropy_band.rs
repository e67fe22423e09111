//! The temperature at which a policy has a given entropy.

use entropy_core::{EntropyBand, entropy_at_temperature, temperature_of_entropy};
use proptest::prelude::*;

fn binary(p: f64) -> f64 {
    -(p * p.ln() + (1.0 - p) * (1.0 - p).ln())
}

/// Two actions with a gap of g have odds e^(g/T).
#[test]
fn two_actions_have_the_temperature_of_their_odds() {
    for gap in [0.5, 3.0, 40.0] {
        for p in [0.55f64, 0.9, 0.999, 1.0 - 1e-9] {
            let expected = gap / (p / (1.0 - p)).ln();
            let temperature = temperature_of_entropy(&[gap, 0.0], binary(p), 1e-3, 1e4).unwrap();
            // Near even odds the entropy is flat: half the digits are left.
            assert!(
                (temperature / expected - 1.0).abs() < 1e-6,
                "{gap} {p}: {temperature} {expected}"
            );
        }
    }
}

/// One action above n equal ones: ln(1 + n e^-u) + u n e^-u / (1 + n e^-u) with u = g / T.
#[test]
fn one_action_above_many_equal_ones_has_its_closed_form() {
    let (gap, others, wanted) = (12.0f64, 50_000_u32, 4.0f64);
    let mut logits = vec![0.0; 50_001];
    logits[7] = gap;
    let temperature = temperature_of_entropy(&logits, wanted, 0.1, 10.0).unwrap();
    let u = gap / temperature;
    let odds = f64::from(others) * (-u).exp();
    let entropy = odds.ln_1p() + u * odds / (1.0 + odds);
    assert!((entropy - wanted).abs() < 1e-11, "{entropy} at {temperature}");
}

#[test]
fn what_no_temperature_reaches_gives_the_nearer_end() {
    let tie = [1.0, 1.0, 0.0];
    assert!((temperature_of_entropy(&tie, 0.5, 0.1, 10.0).unwrap() - 0.1).abs() < 1e-15);
    assert!((temperature_of_entropy(&tie, 1.2, 0.1, 10.0).unwrap() - 10.0).abs() < 1e-15);
}

/// Odds of `e^(1 / T)`: too even they sharpen to the ceiling, too sharp they flatten to the floor, and no further than tenfold.
#[test]
fn outside_the_band_the_nearer_bound_is_held() {
    let hold = |floor, ceiling, base| {
        EntropyBand::new(Some(floor), Some(ceiling)).unwrap().hold(&[1.0, 0.0], base).unwrap()
    };
    let temperature = |p: f64| 1.0 / (p / (1.0 - p)).ln();
    let cooled = hold(binary(0.99), binary(0.9), 1.0);
    assert!((cooled.entropy - binary(0.9)).abs() < 1e-12, "{cooled:?}");
    assert!((cooled.temperature - temperature(0.9)).abs() < 1e-9, "{cooled:?}");
    let warmed = hold(binary(0.9), binary(0.7), 0.2);
    assert!((warmed.temperature - temperature(0.9)).abs() < 1e-9, "{warmed:?}");
    assert!((hold(0.69, 0.7, 0.2).temperature - 2.0).abs() < 1e-12);
    assert!((hold(0.0, 0.001, 2.0).temperature - 0.2).abs() < 1e-12);
}

#[test]
fn inside_the_band_nothing_moves() {
    let band = EntropyBand::new(Some(0.1), Some(1.0)).unwrap();
    let result = band.hold(&[1.0, 0.0], 0.7).unwrap();
    assert_eq!(result.temperature.to_bits(), 0.7f64.to_bits());
    let free = EntropyBand::new(None, None).unwrap().hold(&[0.0; 9], 1.3).unwrap();
    assert_eq!(free.temperature.to_bits(), 1.3f64.to_bits());
    assert!((free.entropy - 9f64.ln()).abs() < 1e-14);
}

#[test]
fn bounds_that_are_none_are_refused() {
    let refused = |floor, ceiling| EntropyBand::new(floor, ceiling).unwrap_err().to_string();
    let floor = "`entropy floor` is -1; expected a number of at least 0, in nats";
    assert_eq!(refused(Some(-1.0), None), floor);
    let ceiling = "`entropy ceiling` is 0.5; expected a number of at least the floor, in nats";
    assert_eq!(refused(Some(1.0), Some(0.5)), ceiling);
    assert!(refused(None, Some(f64::NAN)).contains("entropy ceiling"));
    assert!(temperature_of_entropy(&[0.0, 1.0], 0.5, 2.0, 1.0).is_err());
    assert!(entropy_at_temperature(&[0.0, 1.0], 0.0).is_err());
}

proptest! {
    /// The entropy lies on the bound that was missed, or the temperature at the end of its reach.
    #[test]
    fn the_band_is_held_or_the_reach_is_spent(
        logits in prop::collection::vec(-20.0..20.0f64, 2..60),
        floor in 0.0..2.0f64,
        width in 0.0..1.0f64,
        base in 0.2..2.0f64,
    ) {
        let band = EntropyBand::new(Some(floor), Some(floor + width)).unwrap();
        let result = band.hold(&logits, base).unwrap();
        let again = entropy_at_temperature(&logits, result.temperature).unwrap();
        prop_assert!((again - result.entropy).abs() < 1e-12);
        let inside = result.entropy > floor - 1e-9 && result.entropy < floor + width + 1e-9;
        let is_at = |end: f64| (result.temperature / end - 1.0).abs() < 1e-9;
        let (lowest, highest) = (base / EntropyBand::REACH, base * EntropyBand::REACH);
        let spent =
            (is_at(highest) && again < floor) || (is_at(lowest) && again > floor + width);
        prop_assert!(inside || spent, "{result:?}");
    }

    /// Half way in ln T between two entropies there is another between them.
    #[test]
    fn entropy_rises_with_the_temperature(
        logits in prop::collection::vec(-20.0..20.0f64, 1..60),
        low in 0.1..5.0f64,
        factor in 1.0..3.0f64,
    ) {
        let cool = entropy_at_temperature(&logits, low).unwrap();
        let warm = entropy_at_temperature(&logits, low * factor).unwrap();
        prop_assert!(warm >= cool - 1e-13, "{cool} {warm}");
    }
}
