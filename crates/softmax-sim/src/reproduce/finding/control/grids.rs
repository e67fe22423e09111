//! The knob of each method and the grid that it is tuned over: as many values for each, the published one among them.

use super::arena::{clip_cov, kl_cov};
use crate::training::{Method, ThermostatControl};
use rl_losses::{
    AdaptiveEntropy, AdaptiveKl, AdvantageEstimator, Annealing, EntropyTarget, Knob,
    ThermostatSettings, estimators, registry,
};
use serde_json::{Value, json};

/// Values of a grid.
pub(super) const POINTS: usize = 5;

/// A method and its knob.
pub(super) struct Candidate {
    /// Name in a configuration.
    pub(super) name: &'static str,
    pub(super) kind: Kind,
    /// Name of the knob in a configuration; empty of a method without a number.
    pub(super) knob: &'static str,
    /// Values of the knob, each with the method that has it.
    pub(super) grid: Vec<(f64, Method)>,
}

/// Kind of a method.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Loss,
    Advantage,
    Control,
}

impl Kind {
    pub(super) fn text(self) -> &'static str {
        match self {
            Self::Loss => "loss",
            Self::Advantage => "advantage",
            Self::Control => "control",
        }
    }
}

/// Knobs of the losses: keys that take the same value, and the values.
const LOSSES: [(&str, &[&str], [f64; POINTS]); 23] = [
    ("ppo-clip", &["clip_ratio_high"], CLIPS),
    ("clip-cov", &["fraction"], [2e-4, 3e-3, 0.01, 0.03, 0.1]),
    ("kl-cov", &["fraction"], FRACTIONS),
    ("covariance-control", &["fraction"], FRACTIONS),
    ("cispo", &["clip_ratio_high"], [0.2, 0.5, 1.0, 2.0, 4.0]),
    ("gspo", &["clip_ratio_low", "clip_ratio_high"], [4e-4, 4e-3, 0.04, 0.1, 0.4]),
    ("gmpo", &["clip_ratio_low", "clip_ratio_high"], [0.05, 0.1, 0.2, 0.4, 0.8]),
    ("sapo", &["temperature_negative"], [0.5, 1.05, 2.0, 4.0, 8.0]),
    ("dppo-tv", &["divergence_low", "divergence_high"], [0.02, 0.05, 0.1, 0.2, 0.4]),
    ("dppo-kl", &["divergence_low", "divergence_high"], [0.005, 0.02, 0.05, 0.1, 0.3]),
    ("dro", &["beta"], [0.01, 0.05, 0.2, 0.5, 1.0]),
    ("high-entropy", &["fraction"], [0.1, 0.2, 0.4, 0.6, 0.8]),
    ("steer", &["smallest_weight"], [0.2, 0.4, 0.6, 0.8, 0.95]),
    ("ce-gppo", &["beta_high"], [0.25, 0.5, 0.75, 1.0, 1.5]),
    ("sign-weight", &["positive"], [0.1, 0.25, 0.5, 0.75, 1.0]),
    ("entropy-ratio-clip", &["entropy_ratio_low"], [0.5, 0.8, 0.9, 0.95, 0.98]),
    ("dynamic-clip", &["clip_ratio_high"], [0.1, 0.2, 0.3, 0.5, 1.0]),
    ("sequence-mask", &["divergence"], [0.02, 0.05, 0.1, 0.2, 0.5]),
    ("vespo", &["decay_negative"], [0.5, 1.0, 2.0, 4.0, 8.0]),
    ("topr", &["negative"], [0.1, 0.25, 0.5, 1.0, 2.0]),
    ("bapo", &["balance"], [0.25, 0.5, 1.0, 2.0, 4.0]),
    ("entropy-discriminator", &["deviations"], [0.5, 1.0, 1.5, 2.0, 2.5]),
    ("covariance-weight", &["clip_ratio_high"], CLIPS),
];

/// Knobs of the estimators that have one here; the others are tuned by the clip of the loss beneath.
const ESTIMATORS: [(&str, &str, [f64; POINTS]); 6] = [
    ("reinforce", "discount", [0.8, 0.9, 0.95, 0.99, 1.0]),
    ("reinforce-plus-plus", "discount", [0.8, 0.9, 0.95, 0.99, 1.0]),
    ("quantile", "quantile", [0.2, 0.3, 0.4, 0.5, 0.6]),
    ("pass-at-k", "k", [2.0, 3.0, 4.0, 5.0, 6.0]),
    ("prime", "process_coefficient", [0.0, 0.5, 1.0, 2.0, 5.0]),
    ("gae", "lambda", [0.5, 0.8, 0.9, 0.95, 1.0]),
];

const CLIPS: [f64; POINTS] = [0.1, 0.2, 0.28, 0.4, 0.8];
const FRACTIONS: [f64; POINTS] = [2e-3, 0.01, 0.05, 0.15, 0.4];
/// Coefficients of a regulariser, reward per nat.
const COEFFICIENTS: [f64; POINTS] = [0.001, 0.003, 0.01, 0.03, 0.1];
/// Entropies to hold, in nats.
const ENTROPIES: [f64; POINTS] = [0.05, 0.1, 0.2, 0.4, 0.8];

/// Every loss, every estimator and every control, each with its grid.
pub(super) fn candidates() -> Vec<Candidate> {
    let losses = registry().iter().map(|entry| of_loss(entry.name));
    // GRPO is the estimator of the losses.
    let others = estimators().into_iter().filter(|one| one.default != AdvantageEstimator::Grpo);
    let estimators = others.map(|entry| of_estimator(entry.name, entry.default));
    losses.chain(estimators).chain(controls()).collect()
}

fn of_loss(name: &'static str) -> Candidate {
    let aggregation = rl_losses::method(name).expect("a loss of the registry").aggregation;
    let method = |keys: &[&str], value: f64| Method {
        aggregation,
        ..Method::of(serde_json::from_value(with(name, keys, value)).expect("values in range"))
    };
    let row = LOSSES.iter().find(|row| row.0 == name);
    let (knob, grid) = row.map_or(("", vec![(f64::NAN, method(&[], 0.0))]), |(_, keys, values)| {
        let grid = values.map(|value| (value, method(keys, value)));
        (keys[keys.len() - 1], grid.to_vec())
    });
    Candidate { name, kind: Kind::Loss, knob, grid }
}

fn of_estimator(name: &'static str, default: AdvantageEstimator) -> Candidate {
    let row = ESTIMATORS.iter().find(|row| row.0 == name);
    let (knob, grid) = row.map_or_else(
        || {
            let method = |value| {
                let loss = serde_json::from_value(with("ppo-clip", &["clip_ratio_high"], value));
                Method::of(loss.expect("values in range")).with_advantage(default)
            };
            ("clip_ratio_high", CLIPS.map(|value| (value, method(value))))
        },
        |(_, key, values)| {
            let estimator = |value| serde_json::from_value(with(name, &[key], value));
            let method = |value| {
                Method::default().with_advantage(estimator(value).expect("values in range"))
            };
            (*key, values.map(|value| (value, method(value))))
        },
    );
    Candidate { name, kind: Kind::Advantage, knob, grid: grid.to_vec() }
}

/// `{ name = { key = value, … } }`, as a configuration has it.
fn with(name: &str, keys: &[&str], value: f64) -> Value {
    // As it is printed: 3 for 3.0, which a count takes too.
    let number: Value = serde_json::from_str(&value.to_string()).expect("a finite number");
    let settings = keys.iter().map(|key| ((*key).to_owned(), number.clone()));
    json!({ name: Value::Object(settings.collect()) })
}

fn controls() -> Vec<Candidate> {
    let control = |name, knob, values: [f64; POINTS], method: &dyn Fn(f64) -> Method| Candidate {
        name,
        kind: Kind::Control,
        knob,
        grid: values.map(|value| (value, method(value))).to_vec(),
    };
    let adaptive_entropy = |target| Method {
        adaptive_entropy: Some(AdaptiveEntropy { target, ..AdaptiveEntropy::default() }),
        ..Method::default()
    };
    let adaptive_kl = |target| Method {
        adaptive_kl: Some(AdaptiveKl { target, ..AdaptiveKl::default() }),
        ..Method::default()
    };
    let held = |entropy| {
        let target = EntropyTarget::constant(entropy);
        let thermostat = ThermostatSettings::new(target, 0.01, 1e-4, 0.5).expect("in range");
        let control =
            ThermostatControl { knob: Knob::Fraction, accuracy_edges: vec![], thermostat };
        Method { thermostat: Some(control), ..clip_cov(0.01) }
    };
    let annealed =
        |fraction| Method { annealing: Some(Annealing::default()), ..kl_cov(fraction, 1.0) };
    let bonus = |coefficient| Method::default().with_entropy_bonus(coefficient);
    let pulled = |coefficient| Method::default().with_reference_kl(coefficient);
    vec![
        control("entropy_bonus", "entropy_bonus", COEFFICIENTS, &bonus),
        control("reference_kl", "reference_kl", COEFFICIENTS, &pulled),
        control("adaptive_entropy", "target", ENTROPIES, &adaptive_entropy),
        control("adaptive_kl", "target", ENTROPIES, &adaptive_kl),
        control("thermostat of clip-cov", "target", ENTROPIES, &held),
        control("annealing of kl-cov", "fraction", FRACTIONS, &annealed),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// Every method has as many values, all different, that stand in its settings, and those of the registries their default
    /// among them.
    #[test]
    fn every_method_has_the_same_budget_and_its_published_value() {
        let candidates = candidates();
        assert_eq!(candidates.len(), registry().len() + estimators().len() - 1 + controls().len());
        let without: Vec<&str> =
            candidates.iter().filter(|one| one.knob.is_empty()).map(|one| one.name).collect();
        assert_eq!(without, ["reinforce"], "the score function has no number");
        for Candidate { name, kind, knob, grid } in
            candidates.iter().filter(|one| !one.knob.is_empty())
        {
            let methods: BTreeSet<String> =
                grid.iter().map(|(_, method)| serde_json::to_string(method).unwrap()).collect();
            assert_eq!((grid.len(), methods.len()), (POINTS, POINTS), "{name}");
            assert!(grid.iter().all(|(_, method)| method.check().is_ok()), "{name}");
            let (published, settings): (Value, fn(&Method) -> Value) = match kind {
                Kind::Loss => {
                    (json!(rl_losses::method(name).unwrap().default), |method| json!(method.loss))
                }
                Kind::Advantage => {
                    let entries = estimators();
                    let entry = entries.iter().find(|entry| entry.name == *name).unwrap();
                    (json!(entry.default), |method| json!(method.advantage))
                }
                Kind::Control => continue,
            };
            let Some(default) = published.get(name).and_then(|settings| settings[knob].as_f64())
            else {
                assert_eq!((*kind, *knob), (Kind::Advantage, "clip_ratio_high"), "{name}");
                continue;
            };
            let loss = LOSSES.iter().find(|row| row.0 == *name);
            let keys = loss.map_or(vec![*knob], |row| row.1.to_vec());
            for (value, method) in grid {
                let set = |key: &&str| settings(method)[name][key].as_f64().unwrap();
                assert!(keys.iter().all(|key| (set(key) - value).abs() < 1e-15), "{name} {value}");
            }
            assert!(
                grid.iter().any(|(value, _)| (value - default).abs() < 1e-12),
                "{name}: {knob} = {default}"
            );
        }
    }
}
