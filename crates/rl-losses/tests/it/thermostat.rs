//! The thermostat on simulated plants: it settles where its documentation says, does not oscillate,
//! and saturates cleanly.

use std::collections::VecDeque;

use insta::assert_snapshot;
use proptest::prelude::*;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rl_losses::{EntropyTarget, Thermostat, ThermostatSettings};
use serde_json::Value;

const TARGET: f64 = 0.3;
const INITIAL_KNOB: f64 = 2e-3;
const LOW: f64 = 1e-5;
const HIGH: f64 = 0.5;

/// A field of the state that a checkpoint keeps.
fn state(thermostat: &Thermostat, field: &str) -> Value {
    serde_json::to_value(thermostat).expect("numbers and words")[field].clone()
}

/// The bound at which the knob misses the target: `high`, `low` or `none`.
pub(crate) fn saturation(thermostat: &Thermostat) -> String {
    state(thermostat, "saturation").as_str().expect("a word").to_owned()
}

/// How entropy falls by itself.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Drift {
    /// By a share of what is left: `H ← H - λ H + g u`.
    Proportional,
    /// By the same amount every step: `H ← H - λ H* + g u`.
    Constant,
}

/// Entropy that falls by itself and is raised by a knob, after a delay.
#[derive(Debug, Clone)]
struct Plant {
    drift: Drift,
    /// `λ`, per step.
    rate: f64,
    /// `g` relative to the one for which the initial knob holds the target.
    gain: f64,
    entropy: f64,
    /// Knobs that have not acted yet.
    pending: VecDeque<f64>,
    /// Standard deviation of what is measured, relative.
    noise: f64,
    rng: ChaCha8Rng,
}

impl Plant {
    fn new(drift: Drift, rate: f64, gain: f64, delay: usize) -> Self {
        Self {
            drift,
            rate,
            gain,
            entropy: 2.0 * TARGET,
            pending: std::iter::repeat_n(INITIAL_KNOB, delay).collect(),
            noise: 0.0,
            rng: ChaCha8Rng::seed_from_u64(3),
        }
    }

    fn step(&mut self, knob: f64) {
        self.pending.push_back(knob);
        let acting = self.pending.pop_front().expect("just pushed");
        let lost = match self.drift {
            Drift::Proportional => self.rate * self.entropy,
            Drift::Constant => self.rate * TARGET,
        };
        let raised = self.gain * self.rate * TARGET * acting / INITIAL_KNOB;
        // A vocabulary bounds entropy above; sampling bounds what is left of it below.
        self.entropy = (self.entropy - lost + raised).clamp(1e-4, 3.0);
    }

    /// Twelve uniform draws are a normal one, nearly.
    fn measured(&mut self) -> f64 {
        let normal: f64 = (0..12).map(|_| self.rng.random_range(-0.5..0.5)).sum();
        self.entropy * (self.noise * normal).exp()
    }

    /// `ln H / H*` after each of `steps`.
    fn run(&mut self, thermostat: &mut Thermostat, steps: usize) -> Vec<f64> {
        (0..steps)
            .map(|_| {
                let (measured, target) = (self.measured(), thermostat.target());
                thermostat.update(measured).expect("a finite entropy");
                self.step(thermostat.knob());
                (self.entropy / target).ln()
            })
            .collect()
    }
}

fn thermostat() -> Thermostat {
    let target = EntropyTarget::constant(TARGET);
    let settings = ThermostatSettings::new(target, INITIAL_KNOB, LOW, HIGH);
    Thermostat::new(settings.expect("settings in range")).expect("settings in range")
}

/// The first step from which on the error stays within `band`.
fn settled(errors: &[f64], band: f64) -> usize {
    errors.iter().rposition(|error| error.abs() > band).map_or(0, |last| last + 1)
}

fn spread(errors: &[f64]) -> f64 {
    let ends = errors.iter().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), &error| {
        (low.min(error), high.max(error))
    });
    ends.1 - ends.0
}

/// Every plant the documentation promises: drift, `1/λ` in steps, gain, delay.
fn plants() -> Vec<(Drift, u16, f64, usize)> {
    let mut plants = Vec::new();
    for drift in [Drift::Proportional, Drift::Constant] {
        for time_constant in [400, 100, 30, 10] {
            for gain in [0.1, 0.3, 1.0, 3.0, 10.0] {
                let delays = [0, 2, 5, 20].into_iter();
                let promised =
                    delays.filter(|&delay| 10 * (delay + 1) <= 3 * usize::from(time_constant));
                plants.extend(promised.map(|delay| (drift, time_constant, gain, delay)));
            }
        }
    }
    plants
}

#[test]
fn it_settles_within_the_steps_it_states_and_stays() {
    let plants = plants();
    assert_eq!(plants.len(), 2 * 5 * 13);
    for (drift, time_constant, gain, delay) in plants {
        let stated = 300 + 6 * usize::from(time_constant);
        let rate = 1.0 / f64::from(time_constant);
        let errors = Plant::new(drift, rate, gain, delay).run(&mut thermostat(), 3 * stated);
        let steps = settled(&errors, 0.05);
        let plant = format!("{drift:?}, rate {rate}, gain {gain}, delay {delay}");
        assert!(steps <= stated, "{plant}: {steps} steps, stated {stated}");
        // No sustained oscillation: what is left in the last third is next to nothing.
        let rest = spread(&errors[2 * stated..]);
        assert!(rest < 0.01, "{plant}: still moves by {rest}");
    }
}

#[test]
fn noise_is_not_amplified() {
    for (rate, smoothing) in [(1.0 / 100.0, 0.0), (1.0 / 30.0, 0.0), (1.0 / 30.0, 0.7)] {
        for noise in [0.02, 0.1] {
            let mut plant = Plant { noise, ..Plant::new(Drift::Proportional, rate, 1.0, 2) };
            let target = EntropyTarget::constant(TARGET);
            let settings = ThermostatSettings::new(target, INITIAL_KNOB, LOW, HIGH).unwrap();
            let mut thermostat =
                Thermostat::new(ThermostatSettings { smoothing, ..settings }).unwrap();
            let errors = plant.run(&mut thermostat, 6000).split_off(1500);
            let squares: f64 = errors.iter().map(|error| error * error).sum();
            let deviation = (squares / errors.len() as f64).sqrt();
            assert!(deviation < noise / 2.0, "rate {rate}, noise {noise}: {deviation}");
        }
    }
}

#[test]
fn it_follows_a_falling_trajectory() {
    let target = EntropyTarget { start: 0.6, end: 0.15, steps: 2000 };
    let settings = ThermostatSettings::new(target, INITIAL_KNOB, LOW, HIGH).unwrap();
    let mut thermostat = Thermostat::new(settings).unwrap();
    let errors = Plant::new(Drift::Proportional, 1.0 / 50.0, 2.0, 2).run(&mut thermostat, 4000);
    let after = &errors[400..];
    assert!(after.iter().all(|error| error.abs() < 0.05), "{:?}", settled(after, 0.05));
}

#[test]
fn out_of_reach_it_rests_at_its_bound_and_says_so() {
    // A knob of 0.5 is 250 times the initial one: too little for a gain of 1/1000.
    let mut plant = Plant::new(Drift::Proportional, 1.0 / 30.0, 1e-3, 2);
    let mut thermostat = thermostat();
    let errors = plant.run(&mut thermostat, 2000);
    assert!((thermostat.knob() - HIGH).abs() < 1e-12);
    assert_eq!(saturation(&thermostat), "high");
    assert!(thermostat.saturated_steps() > 1500);
    assert!(spread(&errors[1500..]) < 1e-9, "at rest");

    // Back in reach, it lets go as if it had never been at the bound: nothing has wound up.
    plant.gain = 1.0;
    let errors = plant.run(&mut thermostat, 800);
    assert!(settled(&errors, 0.05) < 500, "{}", settled(&errors, 0.05));
    assert_eq!((saturation(&thermostat), thermostat.saturated_steps()), ("none".to_owned(), 0));
}

#[test]
fn entropy_that_will_not_fall_takes_the_knob_to_its_lower_bound() {
    let mut plant = Plant { entropy: 2.0, ..Plant::new(Drift::Proportional, 0.0, 0.0, 0) };
    let mut thermostat = thermostat();
    plant.run(&mut thermostat, 500);
    assert!((thermostat.knob() - LOW).abs() < 1e-15);
    assert_eq!(saturation(&thermostat), "low");
}

/// At a bound that holds the target nothing is out of reach; from one bound to the other the count begins anew.
#[test]
fn the_steps_out_of_reach_are_those_at_one_bound() {
    let target = EntropyTarget::constant(TARGET);
    let settings = ThermostatSettings::new(target, 0.11, 0.1, 0.11).unwrap();
    let mut thermostat = Thermostat::new(settings).unwrap();
    let mut after = |entropy: f64| {
        thermostat.update(entropy).unwrap();
        (saturation(&thermostat), thermostat.saturated_steps())
    };
    assert_eq!(after(TARGET), ("none".to_owned(), 0));
    assert_eq!(after(0.1), ("high".to_owned(), 1));
    assert_eq!(after(0.1), ("high".to_owned(), 2));
    assert_eq!(after(3.0), ("low".to_owned(), 1));
    assert_eq!(after(3.0), ("low".to_owned(), 2));
    assert_eq!(after(0.1), ("high".to_owned(), 1));
}

/// `ln(0.3 / 0.1)`, then half of it and half of `ln(0.3 / 0.6)`.
#[test]
fn the_first_error_is_taken_whole_and_the_next_one_smoothed() {
    let settings =
        ThermostatSettings::new(EntropyTarget::constant(TARGET), INITIAL_KNOB, LOW, HIGH);
    let settings = ThermostatSettings { smoothing: 0.5, ..settings.unwrap() };
    let mut thermostat = Thermostat::new(settings).unwrap();
    let error = |thermostat: &Thermostat| state(thermostat, "error").as_f64().expect("a number");
    thermostat.update(0.1).unwrap();
    assert!((error(&thermostat) - 3f64.ln()).abs() < 1e-15);
    thermostat.update(0.6).unwrap();
    assert!((error(&thermostat) - 0.5 * (3f64.ln() - 2f64.ln())).abs() < 1e-15);
}

#[test]
fn a_resumed_thermostat_goes_on_bit_for_bit() {
    let mut plant = Plant { noise: 0.1, ..Plant::new(Drift::Constant, 1.0 / 50.0, 0.5, 1) };
    let mut thermostat = thermostat();
    plant.run(&mut thermostat, 100);
    let text = serde_json::to_string(&thermostat).unwrap();
    let mut resumed: Thermostat = serde_json::from_str(&text).unwrap();
    assert_eq!(resumed, thermostat);
    let mut same_plant = plant.clone();
    plant.run(&mut thermostat, 100);
    same_plant.run(&mut resumed, 100);
    assert_eq!(resumed, thermostat);
}

proptest! {
    /// Whatever is measured, the knob keeps its bounds and its largest step.
    #[test]
    fn the_knob_keeps_its_bounds(measured in prop::collection::vec(prop_oneof![
        0.0..5.0f64, Just(0.0), Just(f64::MAX), Just(f64::MIN_POSITIVE)], 1..100)) {
        let mut thermostat = thermostat();
        for entropy in measured {
            let before = thermostat.knob();
            thermostat.update(entropy)?;
            let knob = thermostat.knob();
            prop_assert!((LOW..=HIGH).contains(&knob), "{knob}");
            prop_assert!((knob / before).ln().abs() <= 0.5 + 1e-9, "{before} {knob}");
        }
    }
}

#[test]
fn bad_input_is_refused_by_name() {
    let target = EntropyTarget::constant(TARGET);
    let new = |initial, low, high| ThermostatSettings::new(target, initial, low, high);
    let mut complaints = vec![
        new(0.1, 0.2, 0.3).unwrap_err().to_string(),
        new(0.4, 0.2, 0.3).unwrap_err().to_string(),
        new(0.1, 0.3, 0.2).unwrap_err().to_string(),
        new(0.1, 0.0, 0.2).unwrap_err().to_string(),
        ThermostatSettings::new(EntropyTarget::constant(-1.0), 0.1, 0.01, 0.2)
            .unwrap_err()
            .to_string(),
    ];
    let mut thermostat = thermostat();
    let before = thermostat;
    complaints.push(thermostat.update(f64::NAN).unwrap_err().to_string());
    complaints.push(thermostat.update(-0.1).unwrap_err().to_string());
    assert_eq!(thermostat, before);
    let misspelt = "target = { start = 0.3, end = 0.3, steps = 0 }
        initial = 0.1\nlow = 0.01\nhigh = 0.2\nintegrall = 0.1";
    complaints.push(toml::from_str::<ThermostatSettings>(misspelt).unwrap_err().message().into());
    assert_snapshot!(complaints.join("\n"));
}
