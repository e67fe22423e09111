//! A thermostat: holds an entropy trajectory by moving one knob of a policy loss.

use serde::{Deserialize, Serialize};

use super::{ControlError, EntropyTarget};
use crate::parameter::{
    ParameterError, Settings, check_at_most, check_below, check_not_negative, check_positive,
    settings,
};

/// An error of `ln H` counts as no more than this: entropy 0 is `ln 0`.
const ERROR_LIMIT: f64 = 2.0;

settings! {
    /// Settings of a [`Thermostat`].
    ///
    /// The knob is any number that raises entropy when it grows: see [`Knob`](crate::Knob).
    pub struct ThermostatSettings required {
        /// The entropy to hold.
        pub target: EntropyTarget, check_within;
        /// Knob at the start, `low..=high`: a guess of the value that holds the target.
        pub initial: f64;
        /// Smallest knob, above 0.
        pub low: f64, check_positive;
        /// Largest knob, above `low`.
        pub high: f64, check_positive;
        /// Relative change of the knob per relative error of the entropy, at least 0.
        #[serde(default = "default_proportional")]
        pub proportional: f64, check_not_negative;
        /// Relative change of the knob per relative error and step, at least 0.
        #[serde(default = "default_integral")]
        pub integral: f64, check_not_negative;
        /// Weight of the past in the measured entropy, at least 0, below 1. It delays by `s / (1 - s)`
        /// steps.
        #[serde(default)]
        pub smoothing: f64, check_below_one;
        /// Largest move of the knob's logarithm in one step, above 0.
        #[serde(default = "default_largest_step")]
        pub largest_step: f64, check_positive;
    } also |settings| {
        let (low, high) = (("low", settings.low), ("high", settings.high));
        let initial = ("initial", settings.initial);
        check_positive(initial.0, initial.1)?;
        check_below(low, high)?;
        check_at_most(low, initial)?;
        check_at_most(initial, high)
    }
}

fn default_proportional() -> f64 {
    1.5
}

fn default_integral() -> f64 {
    0.03
}

fn default_largest_step() -> f64 {
    0.5
}

impl ThermostatSettings {
    /// Default gains for a knob that starts at `initial` and stays within `low..=high`.
    ///
    /// # Errors
    ///
    /// [`ParameterError`] if a number is out of its range or the bounds are upside down.
    pub fn new(
        target: EntropyTarget,
        initial: f64,
        low: f64,
        high: f64,
    ) -> Result<Self, ParameterError> {
        let settings = Self {
            target,
            initial,
            low,
            high,
            proportional: default_proportional(),
            integral: default_integral(),
            smoothing: 0.0,
            largest_step: default_largest_step(),
        };
        settings.check().map(|()| settings)
    }
}

/// Bound that a knob has reached while the target is still out of reach.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Saturation {
    /// The knob is free.
    None,
    /// The knob is at its upper bound and the entropy below the target: the method cannot raise it
    /// further. KL-Cov, strictly on-policy, ends here.
    High,
    /// The knob is at its lower bound and the entropy above the target: something else raises it.
    Low,
}

/// Holds an entropy by a PI controller between the logarithms of entropy and knob.
///
/// ```text
/// e = ln H* - ln H                       relative error, smoothed, clamped to ±2
/// v = ln initial + K_p e + K_i Σ e       ln knob, clamped to its bounds and to largest_step a step
/// ```
///
/// The sum rests while `v` is clamped and the error would push it further (no wind-up).
///
/// **Why logarithms.** To first order in the share of treated tokens, a step changes the entropy by
/// `ΔH = -d + g u`, with the drift `d` of the policy gradient and a knob `u` of unknown effect `g`
/// (`docs/theory.md#detached-tokens`: what is detached from the covariance is taken off the drift). At the
/// operating point `g u* = d`, so `∂(Δ ln H) / ∂ ln u = g u* / H* = d / H* = λ`: **the gain of the
/// loop is the relative decay rate of the entropy, whatever `g`**, which is not known within a
/// factor of ten. What is left to know is `λ`, and a run shows it (paper, Fig. 2: 0.1 to 0.001 a
/// step).
///
/// **Gains.** With `d ∝ H` the loop is `s² + λ(1 + K_p) s + λ K_i = 0`, with constant `d` it is `s² +
/// λ K_p s + λ K_i = 0`. Damping is at least `K_p/2 √(λ/K_i)`, so slow runs want a small `K_i`; a
/// delay of `n` steps (updates per rollout, smoothing) asks for `K_p λ (n + 1) < 1/2`. The defaults
/// `K_p = 1.5`, `K_i = 0.03` come to within 5 % of a constant target in `300 + 6/λ` steps and stay
/// there, for `λ` from 1/400 to 1/10, `g` over two decades, and `λ (n + 1) ≤ 0.3`
/// (`tests/it/thermostat.rs`, which simulates both plants).
///
/// **What it can reach.** The loop is stable; the limit is the knob. KL-Cov holds a token to the policy
/// before the update: its fraction slows a fall of the entropy. Below the target it is at its upper bound,
/// as [`saturated_steps`](Thermostat::saturated_steps) says. Clip-Cov can raise entropy while groups still
/// differ in reward. A penalty anchored where the entropy was high pulls back at any time:
/// `covariance-control` with `treatment.penalise = { divergence = "k2", anchor = "reference" }`, moved by
/// [`Knob::Coefficient`](crate::Knob), which holds the mean of tabular policies within 0.02 times the target
/// (`tests/it/thermostat_on_a_policy.rs`).
///
/// Source: ours.
///
/// ```
/// use rl_losses::{EntropyTarget, KlCov, Knob, PolicyLoss, Thermostat, ThermostatSettings};
///
/// let mut loss = PolicyLoss::KlCov(KlCov::default());
/// let target = EntropyTarget { start: 0.6, end: 0.2, steps: 400 };
/// let settings = ThermostatSettings::new(target, Knob::Fraction.read(&loss)?, 1e-5, 0.2)?;
/// let mut thermostat = Thermostat::new(settings)?;
/// // After each step, with the entropy it measured:
/// thermostat.update(0.55)?;
/// loss = Knob::Fraction.set(&loss, thermostat.knob())?;
/// assert!(thermostat.knob() > KlCov::DEFAULT.fraction, "less entropy than asked for");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Thermostat {
    pub(super) settings: ThermostatSettings,
    step: u64,
    log_knob: f64,
    error: f64,
    integral: f64,
    saturation: Saturation,
    saturated_steps: u64,
}

impl Thermostat {
    /// A thermostat at step 0 with its initial knob.
    ///
    /// # Errors
    ///
    /// [`ParameterError`] if a setting is out of its range.
    pub fn new(settings: ThermostatSettings) -> Result<Self, ParameterError> {
        settings.check()?;
        Ok(Self {
            settings,
            step: 0,
            log_knob: settings.initial.ln(),
            error: 0.0,
            integral: 0.0,
            saturation: Saturation::None,
            saturated_steps: 0,
        })
    }

    /// The knob of the next step, within its bounds.
    pub fn knob(&self) -> f64 {
        // The logarithm and back may leave the bounds by rounding.
        self.log_knob.exp().clamp(self.settings.low, self.settings.high)
    }

    /// Target of the next measurement, in nats.
    pub fn target(&self) -> f64 {
        self.settings.target.at(self.step)
    }

    /// Number of steps in a row for which the target has been out of reach.
    pub fn saturated_steps(&self) -> u64 {
        self.saturated_steps
    }

    /// Takes in the entropy of a step, in nats, and moves the knob.
    ///
    /// # Errors
    ///
    /// [`ControlError`] if the entropy is not finite or below 0; the state then stays.
    pub fn update(&mut self, entropy: f64) -> Result<(), ControlError> {
        ControlError::check_finite("entropy", entropy)?;
        check_not_negative("entropy", entropy)?;
        let ThermostatSettings { initial, low, high, proportional, integral, .. } = self.settings;
        self.error = self.smoothed((self.target() / entropy).ln().clamp(-ERROR_LIMIT, ERROR_LIMIT));
        let step = integral * self.error;
        let wanted = initial.ln() + proportional * self.error + self.integral + step;
        let bounded = wanted.clamp(low.ln(), high.ln());
        let largest = self.settings.largest_step;
        self.log_knob += (bounded - self.log_knob).clamp(-largest, largest);
        // Rest the sum while the knob lags behind what the error already asks for.
        if (wanted - self.log_knob) * self.error <= 0.0 {
            self.integral += step;
        }
        self.note_saturation(wanted);
        self.step += 1;
        Ok(())
    }

    fn smoothed(&self, error: f64) -> f64 {
        let past = if self.step == 0 { 0.0 } else { self.settings.smoothing };
        past * self.error + (1.0 - past) * error
    }

    fn note_saturation(&mut self, wanted: f64) {
        let (low, high) = (self.settings.low.ln(), self.settings.high.ln());
        let saturation = if wanted > high && self.log_knob >= high {
            Saturation::High
        } else if wanted < low && self.log_knob <= low {
            Saturation::Low
        } else {
            Saturation::None
        };
        let before = if saturation == self.saturation { self.saturated_steps } else { 0 };
        self.saturated_steps = if saturation == Saturation::None { 0 } else { before + 1 };
        self.saturation = saturation;
    }
}
