//! One thermostat for each bucket of difficulty.

use rl_losses::{
    DifficultyThermostat, DifficultyThermostatSettings, EntropyTarget, Thermostat,
    ThermostatSettings,
};

fn thermostat() -> DifficultyThermostat {
    let target = EntropyTarget::constant(0.3);
    let settings = DifficultyThermostatSettings {
        accuracy_edges: vec![0.25, 0.75],
        thermostat: ThermostatSettings::new(target, 2e-3, 1e-5, 0.2).expect("in range"),
    };
    DifficultyThermostat::new(&settings).expect("in range")
}

#[test]
fn a_group_falls_into_the_bucket_its_accuracy_says() {
    let buckets = [0.0, 0.24, 0.25, 0.74, 0.75, 1.0].map(|a| thermostat().bucket(a));
    assert_eq!(buckets, [0, 0, 1, 1, 2, 2]);
}

/// Two groups of two, the second of one token and none; the middle bucket has no group.
#[test]
fn the_entropy_of_a_bucket_is_the_mean_over_its_tokens() {
    let thermostat = thermostat();
    let buckets = thermostat.buckets(&[0.0, 0.0, 1.0, 1.0], 2);
    assert_eq!(buckets, [0, 0, 2, 2]);
    let entropies = thermostat.entropies(&buckets, &[2, 1, 1, 0], &[0.5, 1.0, 1.5, 0.25]);
    assert_eq!(entropies, [Some(1.0), None, Some(0.25)]);
}

#[test]
fn each_bucket_moves_by_its_own_entropy() {
    let mut thermostat = thermostat();
    thermostat.update(&[Some(0.6), None, Some(0.1)]).unwrap();
    let knobs: Vec<f64> = thermostat.thermostats().iter().map(Thermostat::knob).collect();
    assert!(knobs[0] < knobs[1] && knobs[1] < knobs[2], "{knobs:?}");
    assert!((knobs[1] - 2e-3).abs() < 1e-15);
}

#[test]
fn a_bad_measurement_moves_no_bucket() {
    let mut thermostat = thermostat();
    let before = thermostat.clone();
    let error = thermostat.update(&[Some(0.6), None, Some(f64::NAN)]).unwrap_err();
    assert_eq!(error.to_string(), "measured `entropy` is NaN, expected a finite number");
    assert!(thermostat.update(&[]).is_err());
    assert_eq!(thermostat, before);
}
